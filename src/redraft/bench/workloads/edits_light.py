"""Edit tasks that leave most of a file as it is: a name, a parameter, a fault, one construct."""

from __future__ import annotations

from redraft.bench.workloads.checks import (
    contains,
    defines,
    imports,
    keeps_rest,
    without,
)
from redraft.bench.workloads.code_checks import (
    calling,
    extracts,
    format_call,
    has_parameter,
    is_dataclass,
    lacks_parameter,
    passes,
    percent_format,
    raising,
    reading,
    renames,
)
from redraft.bench.workloads.edit_spec import EditSpec, Fault

RENAMES = (
    EditSpec(
        "rename-function-cardinalize",
        "rename",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time"),
        "Rename the function `decimal_relative_time` to `relative_time_parts` everywhere.",
        (renames(("decimal_relative_time", "relative_time_parts")),),
    ),
    EditSpec(
        "rename-helper-validate",
        "rename",
        "iterutils",
        ("_validate_positive_int", "chunk_ranges"),
        "Rename `_validate_positive_int` to `_positive_int` and update every call.",
        (renames(("_validate_positive_int", "_positive_int")),),
    ),
    EditSpec(
        "rename-parameter-options",
        "rename",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Rename the parameter `options` of `ceil` and `floor` to `choices`.",
        (renames(("options", "choices")),),
    ),
    EditSpec(
        "rename-variable-ret",
        "rename",
        "urlutils",
        ("resolve_path_parts", "parse_qsl"),
        "The variable name `ret` says nothing. Call it `parts` in `resolve_path_parts` and in "
        "`parse_qsl` too.",
        (renames(("ret", "parts")),),
    ),
    EditSpec(
        "rename-attribute-inv",
        "rename",
        "dictutils",
        ("ManyToMany",),
        "Rename the attribute `inv` to `inverse` in the whole class.",
        (renames(("inv", "inverse")),),
        docstrings=False,
    ),
    EditSpec(
        "rename-class-hashedkey",
        "rename",
        "cacheutils",
        ("_HashedKey", "make_cache_key"),
        "Rename the class `_HashedKey` to `CallKey`.",
        (renames(("_HashedKey", "CallKey")),),
    ),
)

FAULTS = (
    EditSpec(
        "fix-clamp-order",
        "bugfix",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "`clamp(15, 0, 10)` returns 15 instead of 10, and `clamp(-5, 0, 10)` returns 10. Fix it.",
        fault=Fault(
            "clamp",
            "min(max(x, lower), upper)",
            "max(min(x, lower), upper)",
            ("max(min(x, upper), lower)", "max(lower, min(x, upper))", "min(upper, max(x, lower))"),
        ),
    ),
    EditSpec(
        "fix-relative-time-sign",
        "bugfix",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time"),
        "`relative_time` says 'from now' for dates in the past and 'ago' for dates in the future. "
        "Fix that.",
        fault=Fault("relative_time", "if drt < 0:", "if drt > 0:", ("if 0 > drt:",)),
    ),
    EditSpec(
        "fix-parse-range-end",
        "bugfix",
        "strutils",
        ("parse_int_list", "unwrap_text", "indent", "iter_splitlines"),
        "`parse_int_list('1,3,5-8')` returns [1, 3, 5, 6, 7]: the end of a range is missing. "
        "It should be included.",
        docstrings=False,
        fault=Fault(
            "parse_int_list", "max(range_limits)+1", "max(range_limits)", ("1+max(range_limits)",)
        ),
    ),
    EditSpec(
        "fix-rotate-keep",
        "bugfix",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "`rotate_file(name, keep=3)` keeps only two old files. It should keep `keep` of them.",
        fault=Fault("rotate_file", "range(1, keep + 1)", "range(1, keep)", ("range(1, 1 + keep)",)),
    ),
    EditSpec(
        "fix-quote-upper",
        "bugfix",
        "urlutils",
        ("resolve_path_parts", "parse_qsl", "register_scheme"),
        "`parse_qsl('a=1&b=')` drops `b` although blank values are kept by default: it should "
        "return it with the value None, and drop it only with `keep_blank_values=False`.",
        docstrings=False,
        fault=Fault(
            "parse_qsl",
            "            if keep_blank_values:",
            "            if not keep_blank_values:",
        ),
    ),
    EditSpec(
        "fix-unique-seen",
        "bugfix",
        "iterutils",
        ("unique", "unique_iter", "partition", "one", "first", "flatten", "flatten_iter"),
        "`unique` returns duplicates when a `key` is given: `unique(['hi', 'hello'], key=len)` is "
        "right, but `unique(['hi', 'ok'], key=len)` returns both. Items should be compared by "
        "their key.",
        docstrings=False,
        fault=Fault("unique_iter", "seen.add(k)", "seen.add(i)"),
    ),
)

PARAMETERS = (
    EditSpec(
        "parameter-reverse-flatten",
        "parameter",
        "iterutils",
        ("flatten_iter", "flatten", "same", "one", "first"),
        "Add a parameter `max_depth=None` to `flatten_iter` and `flatten`: with a number, nested "
        "iterables are flattened at most that many levels deep. `flatten` passes it on.",
        (
            keeps_rest(touched=("flatten_iter", "flatten")),
            has_parameter("flatten_iter", "max_depth", "None"),
            has_parameter("flatten", "max_depth", "None"),
            passes("flatten", "flatten_iter", "max_depth"),
            passes("flatten_iter", "flatten_iter", "max_depth"),
        ),
    ),
    EditSpec(
        "parameter-suffix-relative",
        "parameter",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time"),
        "Add a parameter `cardinalize=True` to `relative_time` and pass it on to "
        "`decimal_relative_time` instead of the fixed True.",
        (
            keeps_rest(touched=("relative_time",)),
            has_parameter("relative_time", "cardinalize", "True"),
            passes("relative_time", "decimal_relative_time", "cardinalize"),
        ),
    ),
    EditSpec(
        "parameter-encoding-html",
        "parameter",
        "tableutils",
        ("to_text", "escape_html", "InputType", "DictInputType", "ListInputType", "TupleInputType"),
        "Give `to_text` and `escape_html` a parameter `ellipsis='...'` for the text that marks a "
        "cut, and let `escape_html` pass it on to `to_text`.",
        (
            keeps_rest(touched=("to_text", "escape_html")),
            has_parameter("to_text", "ellipsis", "'...'"),
            has_parameter("escape_html", "ellipsis", "'...'"),
            passes("escape_html", "to_text", "ellipsis"),
        ),
    ),
    EditSpec(
        "parameter-strip-limit",
        "parameter",
        "strutils",
        ("indent", "iter_splitlines", "removeprefix", "unwrap_text", "is_uuid"),
        "Add a parameter `width=1` to `indent`: the margin is repeated that many times in front "
        "of each line.",
        (keeps_rest(touched=("indent",)), has_parameter("indent", "width", "1")),
    ),
    EditSpec(
        "remove-parameter-lower",
        "remove",
        "strutils",
        ("camel2under", "under2camel", "slugify", "split_punct_ws", "a10n"),
        "Remove the `ascii` parameter from `slugify` together with the code that uses it.",
        (keeps_rest(touched=("slugify",)), lacks_parameter("slugify", "ascii")),
    ),
    EditSpec(
        "remove-parameter-cardinalize",
        "remove",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time"),
        "Remove the parameter `cardinalize` from `decimal_relative_time`: it always cardinalizes. "
        "Update the caller.",
        (
            keeps_rest(touched=("decimal_relative_time", "relative_time")),
            lacks_parameter("decimal_relative_time", "cardinalize"),
        ),
    ),
)

CONSTRUCTS = (
    EditSpec(
        "fstrings-mathutils",
        "replace",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Replace % formatting by f-strings.",
        (
            keeps_rest(touched=("clamp", "ceil", "floor")),
            without("% formatting", percent_format),
            contains("f-strings", lambda node: type(node).__name__ == "JoinedStr", "", 3),
        ),
    ),
    EditSpec(
        "fstrings-timedelta",
        "replace",
        "timeutils",
        ("parse_timedelta", "isoparse", "dt_to_timestamp", "strpdate"),
        "Use f-strings instead of % formatting in `parse_timedelta`.",
        (
            keeps_rest(touched=("parse_timedelta",)),
            without("% formatting", percent_format, "parse_timedelta"),
            contains(
                "f-strings", lambda node: type(node).__name__ == "JoinedStr", "parse_timedelta", 2
            ),
        ),
        docstrings=False,
    ),
    EditSpec(
        "fstrings-backoff",
        "replace",
        "iterutils",
        ("backoff", "backoff_iter"),
        "Turn all %-formatted error messages into f-strings.",
        (
            keeps_rest(touched=("backoff", "backoff_iter")),
            without("% formatting", percent_format),
            contains("f-strings", lambda node: type(node).__name__ == "JoinedStr", "", 5),
        ),
        docstrings=False,
    ),
    EditSpec(
        "fstring-format-bytes",
        "replace",
        "funcutils",
        ("format_invocation", "format_exp_repr", "format_nonexp_repr"),
        "Replace the `.format()` call and the % formatting by f-strings.",
        (
            keeps_rest(touched=("format_invocation", "format_nonexp_repr")),
            without("% formatting", percent_format),
            without("a format call", format_call),
        ),
        docstrings=False,
    ),
    EditSpec(
        "comprehension-split",
        "replace",
        "formatutils",
        ("construct_format_field_str", "split_format_str", "infer_positional_format_args"),
        "Rewrite `split_format_str` as a single list comprehension.",
        (
            keeps_rest(touched=("split_format_str",)),
            contains(
                "comprehension", lambda node: type(node).__name__ == "ListComp", "split_format_str"
            ),
            without(
                "a for statement", lambda node: type(node).__name__ == "For", "split_format_str"
            ),
        ),
    ),
    EditSpec(
        "comprehension-values",
        "replace",
        "tableutils",
        ("InputType", "DictInputType", "ListInputType", "TupleInputType", "NamedTupleInputType"),
        "Remove the `check_type` methods; `guess_headers` stays.",
        (
            keeps_rest(
                touched=tuple(
                    f"{name}InputType.check_type"
                    for name in ("Dict", "List", "Tuple", "NamedTuple")
                )
            ),
            without("check_type", lambda node: getattr(node, "name", "") == "check_type"),
        ),
    ),
    EditSpec(
        "contextlib-suppress",
        "replace",
        "strutils",
        ("gunzip_bytes", "is_ascii", "is_uuid", "asciify"),
        "Replace the old-style % formatting in the error message of `is_ascii` by an f-string.",
        (
            keeps_rest(touched=("is_ascii",)),
            without("% formatting", percent_format, "is_ascii"),
        ),
    ),
    EditSpec(
        "makedirs-exist-ok",
        "replace",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file", "iter_find_files"),
        "Simplify `mkdir_p`: use `exist_ok=True` instead of catching the OSError.",
        (
            keeps_rest(touched=("mkdir_p",)),
            contains("exist_ok", lambda node: getattr(node, "arg", "") == "exist_ok", "mkdir_p"),
            without("a try statement", lambda node: type(node).__name__ == "Try", "mkdir_p"),
        ),
    ),
    EditSpec(
        "pathlib-rotate",
        "replace",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "Use pathlib.Path instead of os and os.path in `rotate_file`.",
        (
            keeps_rest(touched=("rotate_file",)),
            imports("pathlib"),
            contains("Path", reading("Path"), "rotate_file"),
            without("os", lambda node: getattr(node, "id", "") == "os", "rotate_file"),
        ),
        docstrings=False,
    ),
)

EXTRACTIONS = (
    EditSpec(
        "extract-patterns",
        "extract",
        "fileutils",
        ("mkdir_p", "iter_find_files"),
        "The two lines that compile patterns in `iter_find_files` do the same. Extract them into "
        "a function `_compile_patterns(patterns)` that joins the translated patterns and returns "
        "the compiled regular expression, and use it for both.",
        (
            keeps_rest(touched=("iter_find_files",), added=("_compile_patterns",)),
            extracts("iter_find_files", "_compile_patterns", ("translate",)),
        ),
    ),
    EditSpec(
        "extract-key-function",
        "extract",
        "iterutils",
        ("unique", "unique_iter", "same"),
        "Move the part of `unique_iter` that turns `key` into a function to a new function "
        "`_key_function(key)` which returns it, and call that.",
        (
            keeps_rest(touched=("unique_iter",), added=("_key_function",)),
            extracts("unique_iter", "_key_function", ("callable",)),
        ),
    ),
    EditSpec(
        "extract-unique-names",
        "extract",
        "funcutils",
        ("format_invocation", "format_exp_repr", "format_nonexp_repr"),
        "`format_exp_repr` and `format_nonexp_repr` both collect names without duplicates. "
        "Extract that into a helper `_unique_names(req_names, opt_names)` returning the list and "
        "use it in both.",
        (
            keeps_rest(touched=("format_exp_repr", "format_nonexp_repr"), added=("_unique_names",)),
            extracts("format_exp_repr", "_unique_names", ("append",)),
            extracts("format_nonexp_repr", "_unique_names", ("append",)),
        ),
        docstrings=False,
    ),
    EditSpec(
        "extract-shell-quote",
        "extract",
        "strutils",
        ("escape_shell_args", "args2sh", "unwrap_text"),
        "Extract the quoting of one argument in `args2sh` into a function `_quote_sh(arg)` that "
        "returns the quoted text; `args2sh` joins the results.",
        (
            keeps_rest(touched=("args2sh",), added=("_quote_sh",)),
            extracts("args2sh", "_quote_sh", ("_find_sh_unsafe",)),
        ),
    ),
)

GUARDS = (
    EditSpec(
        "validate-chunked",
        "errors",
        "iterutils",
        ("lstrip", "lstrip_iter", "strip", "strip_iter", "flatten", "flatten_iter"),
        "`flatten` and `lstrip` should raise a TypeError with a clear message when they are "
        "given a string.",
        (
            keeps_rest(touched=("flatten", "lstrip")),
            contains("TypeError", raising("TypeError"), "flatten"),
            contains("TypeError", raising("TypeError"), "lstrip"),
        ),
    ),
    EditSpec(
        "validate-strpdate",
        "errors",
        "timeutils",
        ("isoparse", "strpdate", "dt_to_timestamp"),
        'Make `isoparse` raise a ValueError with the message "cannot parse date: ..." (with the '
        "text in it) when the text is empty.",
        (
            keeps_rest(touched=("isoparse",)),
            contains("ValueError", raising("ValueError"), "isoparse"),
        ),
    ),
    EditSpec(
        "handle-copy-errors",
        "errors",
        "funcutils",
        ("get_module_callables", "mro_items", "dir_dict", "copy_function"),
        "In `get_module_callables`, raise a ValueError naming the module when a module name is "
        "not in sys.modules, instead of letting the KeyError through.",
        (
            keeps_rest(touched=("get_module_callables",)),
            contains("ValueError", raising("ValueError"), "get_module_callables"),
        ),
    ),
    EditSpec(
        "logging-files",
        "logging",
        "fileutils",
        ("mkdir_p", "rotate_file", "iter_find_files"),
        "Add a module logger with the logging module and log each rename and each removal in "
        "`rotate_file` at debug level.",
        (
            keeps_rest(touched=("rotate_file",)),
            imports("logging"),
            contains("getLogger", calling("getLogger"), ""),
            contains("debug calls", calling("debug"), "rotate_file", 2),
        ),
    ),
    EditSpec(
        "logging-gc",
        "logging",
        "gcutils",
        ("get_all", "GCToggler"),
        "Add a logger for this module and log at debug level when garbage collection is switched "
        "off and on in GCToggler.",
        (
            keeps_rest(touched=("GCToggler",)),
            imports("logging"),
            contains("debug calls", calling("debug"), "GCToggler", 2),
        ),
    ),
)

CLASSES = (
    EditSpec(
        "repr-gctoggler",
        "methods",
        "timeutils",
        ("ConstantTZInfo", "LocalTZInfo"),
        "Add `__eq__` and `__hash__` to ConstantTZInfo, based on name and offset.",
        (
            keeps_rest(added=("ConstantTZInfo.__eq__", "ConstantTZInfo.__hash__")),
            defines("ConstantTZInfo.__eq__", "ConstantTZInfo.__hash__"),
        ),
    ),
    EditSpec(
        "repr-priority-queue",
        "methods",
        "queueutils",
        ("BasePriorityQueue", "HeapPriorityQueue"),
        "Add `__contains__` (is a task queued?) and `__bool__` to BasePriorityQueue.",
        (
            keeps_rest(added=("BasePriorityQueue.__contains__", "BasePriorityQueue.__bool__")),
            defines("BasePriorityQueue.__contains__", "BasePriorityQueue.__bool__"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "repr-multireplace",
        "methods",
        "strutils",
        ("MultiReplace", "multi_replace"),
        "Add a `__repr__` to MultiReplace that shows the class name and the pattern.",
        (
            keeps_rest(added=("MultiReplace.__repr__",)),
            defines("MultiReplace.__repr__"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "dataclass-callpoint",
        "dataclass",
        "gcutils",
        ("get_all", "GCToggler"),
        "Make GCToggler a dataclass.",
        (
            keeps_rest(touched=("GCToggler",)),
            is_dataclass("GCToggler", ("postcollect",)),
            imports("dataclasses"),
            defines("GCToggler.__enter__", "GCToggler.__exit__"),
        ),
    ),
    EditSpec(
        "dataclass-path-error",
        "dataclass",
        "tbutils",
        ("ExceptionInfo",),
        "Turn ExceptionInfo into a dataclass instead of writing `__init__` by hand.",
        (
            keeps_rest(touched=("ExceptionInfo.__init__", "ExceptionInfo")),
            is_dataclass("ExceptionInfo", ("exc_type", "exc_msg", "tb_info")),
            imports("dataclasses"),
            defines("ExceptionInfo.from_exc_info", "ExceptionInfo.to_dict"),
        ),
        docstrings=False,
    ),
)

MORE = (
    EditSpec(
        "rename-method-cull",
        "rename",
        "queueutils",
        ("BasePriorityQueue", "HeapPriorityQueue"),
        "Rename the method `_cull` to `_drop_removed` and update the calls.",
        (renames(("_cull", "_drop_removed")),),
        docstrings=False,
    ),
    EditSpec(
        "rename-parameter-quote",
        "rename",
        "urlutils",
        ("quote_path_part", "quote_query_part", "quote_fragment_part", "quote_userinfo_part"),
        "Rename the parameter `full_quote` to `quote_all` in all functions.",
        (renames(("full_quote", "quote_all")),),
    ),
    EditSpec(
        "rename-class-guid",
        "rename",
        "iterutils",
        ("GUIDerator", "SequentialGUIDerator"),
        "Rename the class `GUIDerator` to `UniqueIds` and `SequentialGUIDerator` to "
        "`SequentialIds`.",
        (renames(("GUIDerator", "UniqueIds"), ("SequentialGUIDerator", "SequentialIds")),),
        docstrings=False,
    ),
    EditSpec(
        "fix-camel-capital",
        "bugfix",
        "strutils",
        ("camel2under", "under2camel", "split_punct_ws", "a10n", "unwrap_text", "removeprefix"),
        "`under2camel('some_name')` returns 'SOMENAME' instead of 'SomeName'. Fix it.",
        docstrings=False,
        fault=Fault("under2camel", "w.capitalize()", "w.upper()", ("w.title()",)),
    ),
    EditSpec(
        "fix-abbreviation-count",
        "bugfix",
        "strutils",
        ("a10n", "unwrap_text", "removeprefix", "is_uuid", "parse_int_list"),
        "`a10n('internationalization')` returns 'i20n', but the number should count only the "
        "letters between the first and the last: 'i18n'. Fix `a10n`.",
        docstrings=False,
        fault=Fault("a10n", "len(string[1:-1])", "len(string)", ("len(string) - 2",)),
    ),
    EditSpec(
        "fix-frange-direction",
        "bugfix",
        "iterutils",
        ("frange", "xfrange", "one", "first", "same"),
        "`frange(5)` returns [0.0, -1.0, -2.0, -3.0, -4.0]: it goes down instead of up. Fix the "
        "loop in `frange`.",
        docstrings=False,
        fault=Fault("frange", "ret[i - 1] + step", "ret[i - 1] - step", ("step + ret[i - 1]",)),
    ),
    EditSpec(
        "fix-same-any",
        "bugfix",
        "iterutils",
        (
            "is_iterable",
            "is_scalar",
            "one",
            "first",
            "same",
            "flatten",
            "flatten_iter",
            "unique",
            "unique_iter",
        ),
        "`same([1, 2, 1])` returns True because it uses any(): it should be True only when all "
        "values are equal.",
        docstrings=False,
        fault=Fault("same", "return all(", "return any("),
    ),
    EditSpec(
        "fix-uuid-version",
        "bugfix",
        "strutils",
        ("is_uuid", "indent", "iter_splitlines", "unwrap_text", "a10n"),
        "`is_uuid` returns False for version 4 UUIDs and True for all other versions, it should be "
        "the other way round. The comparison is wrong.",
        docstrings=False,
        fault=Fault(
            "is_uuid",
            "obj.version != int(version)",
            "obj.version == int(version)",
            ("int(version) != obj.version",),
        ),
    ),
    EditSpec(
        "parameter-ellipsis",
        "parameter",
        "tableutils",
        ("to_text", "escape_html", "DictInputType", "ListInputType", "TupleInputType", "InputType"),
        "Add a parameter `ellipsis='...'` to `to_text` and append it instead of the literal.",
        (keeps_rest(touched=("to_text",)), has_parameter("to_text", "ellipsis", "'...'")),
        docstrings=False,
    ),
    EditSpec(
        "parameter-mode",
        "parameter",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "Add a parameter `mode=0o777` to `mkdir_p` and pass it to os.makedirs.",
        (
            keeps_rest(touched=("mkdir_p",)),
            has_parameter("mkdir_p", "mode", "511"),
            passes("mkdir_p", "makedirs", "mode"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "parameter-minimum",
        "parameter",
        "strutils",
        ("a10n", "unwrap_text", "removeprefix", "is_uuid", "parse_int_list"),
        "Add a parameter `minimum=3` to `a10n`: strings shorter than that are returned as they "
        "are.",
        (keeps_rest(touched=("a10n",)), has_parameter("a10n", "minimum", "3")),
        docstrings=False,
    ),
    EditSpec(
        "parameter-default-key",
        "parameter",
        "iterutils",
        ("lstrip", "lstrip_iter", "rstrip", "rstrip_iter", "strip", "strip_iter"),
        "Add a parameter `key=None` to `lstrip_iter` and `lstrip`; `lstrip` passes it on. With a "
        "key, `key(i)` is compared with strip_value instead of `i`.",
        (
            keeps_rest(touched=("lstrip", "lstrip_iter")),
            has_parameter("lstrip_iter", "key", "None"),
            has_parameter("lstrip", "key", "None"),
            passes("lstrip", "lstrip_iter", "key"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "fstrings-netstring",
        "replace",
        "socketutils",
        (
            "MessageTooLong",
            "Timeout",
            "NetstringInvalidSize",
            "NetstringMessageTooLong",
            "ConnectionClosed",
            "Error",
            "NetstringProtocolError",
        ),
        "Use f-strings instead of the % operator to format messages.",
        (
            keeps_rest(touched=("Timeout", "NetstringMessageTooLong")),
            without("% formatting", percent_format),
        ),
    ),
    EditSpec(
        "fstrings-chunked",
        "replace",
        "iterutils",
        ("chunked_iter", "_validate_positive_int", "untyped_sorted"),
        "Turn the %-formatted error messages into f-strings.",
        (
            keeps_rest(touched=("chunked_iter", "untyped_sorted")),
            without("% formatting", percent_format),
        ),
        docstrings=False,
    ),
    EditSpec(
        "yield-from",
        "replace",
        "iterutils",
        ("lstrip", "lstrip_iter", "strip", "strip_iter", "rstrip", "rstrip_iter"),
        "Replace the second for loop in `lstrip_iter` by `yield from iterator`.",
        (
            keeps_rest(touched=("lstrip_iter",)),
            contains("yield from", lambda node: type(node).__name__ == "YieldFrom", "lstrip_iter"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "makedirs-short",
        "replace",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "Replace the body of `mkdir_p` by one call: os.makedirs(path, exist_ok=True).",
        (
            keeps_rest(touched=("mkdir_p",)),
            contains("exist_ok", lambda node: getattr(node, "arg", "") == "exist_ok", "mkdir_p"),
            without("a try statement", lambda node: type(node).__name__ == "Try", "mkdir_p"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "lambda-to-def",
        "replace",
        "iterutils",
        ("soft_sorted", "one", "first", "same", "flatten", "flatten_iter"),
        "Replace the lambda `key or (lambda x: x)` in soft_sorted by a nested function `identity`.",
        (
            keeps_rest(touched=("soft_sorted",)),
            contains(
                "identity", lambda node: getattr(node, "name", "") == "identity", "soft_sorted"
            ),
        ),
        docstrings=False,
    ),
    EditSpec(
        "extract-splitter",
        "extract",
        "strutils",
        ("args2sh", "escape_shell_args", "unwrap_text", "a10n"),
        "Extract the loop body of `args2sh` into a function `_quote_sh(arg)` that returns the "
        "quoted argument, and use it in a list comprehension in `args2sh`.",
        (
            keeps_rest(touched=("args2sh",), added=("_quote_sh",)),
            extracts("args2sh", "_quote_sh", ("_find_sh_unsafe",)),
        ),
        docstrings=False,
    ),
    EditSpec(
        "extract-range",
        "extract",
        "strutils",
        ("parse_int_list", "unwrap_text", "a10n", "removeprefix", "is_uuid"),
        "Extract the handling of a range in `parse_int_list` into a new function "
        "`_expand_range(text, range_delim)` that returns the list of integers.",
        (
            keeps_rest(touched=("parse_int_list",), added=("_expand_range",)),
            extracts("parse_int_list", "_expand_range", ("map",)),
        ),
        docstrings=False,
    ),
    EditSpec(
        "errors-chain",
        "errors",
        "iterutils",
        ("frange", "xfrange", "one", "first", "same"),
        "Raise a TypeError in `one` and in `first` when `key` is neither None nor callable.",
        (
            keeps_rest(touched=("one", "first")),
            contains("TypeError", raising("TypeError"), "one"),
            contains("TypeError", raising("TypeError"), "first"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "errors-empty",
        "errors",
        "strutils",
        ("a10n", "unwrap_text", "removeprefix", "is_uuid", "parse_int_list"),
        "`parse_int_list` should raise a ValueError when range_string is not a string.",
        (
            keeps_rest(touched=("parse_int_list",)),
            contains("ValueError", raising("ValueError"), "parse_int_list"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "logging-rotate",
        "logging",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "Add `import logging` and a module-level `logger`, and call logger.debug before each "
        "os.rename and os.remove in `rotate_file`.",
        (
            keeps_rest(touched=("rotate_file",)),
            imports("logging"),
            contains("getLogger", calling("getLogger"), ""),
            contains("debug calls", calling("debug"), "rotate_file", 2),
        ),
        docstrings=False,
    ),
    EditSpec(
        "methods-queue-contains",
        "methods",
        "queueutils",
        ("BasePriorityQueue",),
        "Add a method `__contains__(self, task)` to the class that says whether a task is queued.",
        (
            keeps_rest(added=("BasePriorityQueue.__contains__",)),
            defines("BasePriorityQueue.__contains__"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "methods-zone-eq",
        "methods",
        "timeutils",
        ("ConstantTZInfo", "LocalTZInfo"),
        "Add an `__eq__` method to ConstantTZInfo that compares name and offset.",
        (
            keeps_rest(added=("ConstantTZInfo.__eq__",)),
            defines("ConstantTZInfo.__eq__"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "dataclass-zone",
        "dataclass",
        "timeutils",
        ("ConstantTZInfo", "dt_to_timestamp", "isoparse", "strpdate"),
        "Turn ConstantTZInfo into a dataclass with the fields `name: str` and "
        "`offset: timedelta`, in place of its `__init__`.",
        (
            keeps_rest(touched=("ConstantTZInfo",)),
            is_dataclass("ConstantTZInfo", ("name", "offset")),
            imports("dataclasses"),
            defines("ConstantTZInfo.utcoffset", "ConstantTZInfo.tzname", "ConstantTZInfo.dst"),
        ),
        docstrings=False,
    ),
    EditSpec(
        "methods-many-len",
        "methods",
        "tableutils",
        ("InputType", "DictInputType", "ListInputType", "TupleInputType", "NamedTupleInputType"),
        "Add a `__repr__` method to the base class InputType that returns the class name followed "
        "by `()`.",
        (
            keeps_rest(added=("InputType.__repr__",)),
            defines("InputType.__repr__"),
        ),
    ),
)

LIGHT_EDITS: tuple[EditSpec, ...] = (
    *RENAMES,
    *FAULTS,
    *PARAMETERS,
    *CONSTRUCTS,
    *EXTRACTIONS,
    *GUARDS,
    *CLASSES,
    *MORE,
)
