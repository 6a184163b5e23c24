"""Edit tasks that write much of a file anew: docstrings, types, tests, comments, order."""

from __future__ import annotations

from redraft.bench.workloads.checks import (
    keeps_rest,
    ordered,
    same_code,
)
from redraft.bench.workloads.code_checks import (
    grouped,
)
from redraft.bench.workloads.edit_spec import EditSpec
from redraft.bench.workloads.text_checks import (
    commented,
    documented,
    has_tests,
    typed,
    undocumented,
)

ARGUMENTS = ("Args:", "Arguments:", "Parameters:")

DOCSTRINGS = (
    EditSpec(
        "docstrings-strip",
        "docstrings",
        "iterutils",
        (
            "is_iterable",
            "is_scalar",
            "is_collection",
            "lstrip",
            "lstrip_iter",
            "strip",
            "strip_iter",
            "flatten_iter",
            "flatten",
        ),
        "Add a Google-style docstring with Args and Returns sections to every function.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-tables",
        "docstrings",
        "tableutils",
        ("InputType", "DictInputType", "ListInputType", "TupleInputType"),
        "Document this module: a docstring for each class and a one-line docstring for each "
        "method.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-text",
        "docstrings",
        "strutils",
        (
            "camel2under",
            "under2camel",
            "slugify",
            "split_punct_ws",
            "a10n",
            "unwrap_text",
            "removeprefix",
            "is_uuid",
        ),
        "Write a docstring for every function, in Google style with Args and Returns.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-shell",
        "docstrings",
        "strutils",
        ("escape_shell_args", "args2sh", "parse_int_list", "indent"),
        "Add docstrings in Google style (Args, Returns, Raises) to all functions.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-errors",
        "docstrings",
        "excutils",
        ("_DeferredLine", "_extract_from_frame"),
        "Add a docstring to the class and to each of its methods, saying what it returns.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-numpy",
        "docstrings",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time", "strpdate"),
        "Add numpy-style docstrings (Parameters, Returns) to all functions.",
        (same_code, documented(("Parameters",))),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-subdict",
        "docstrings",
        "funcutils",
        ("get_module_callables", "mro_items", "dir_dict", "copy_function"),
        "Every function needs a docstring with a summary, an Args section and a Returns section.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-zone",
        "docstrings",
        "timeutils",
        ("ConstantTZInfo", "LocalTZInfo"),
        "Add docstrings to both classes and all their methods, Google style with Args and Returns.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-restyle",
        "docstrings",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Convert the docstrings from Google style to Sphinx style (:param x:, :returns:).",
        (same_code, documented((":param",)), undocumented(("Args:",))),
    ),
)

TYPES = (
    EditSpec(
        "types-math",
        "types",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Add type hints to all parameters and return values.",
        (same_code, typed()),
    ),
    EditSpec(
        "types-strip",
        "types",
        "iterutils",
        (
            "is_iterable",
            "is_scalar",
            "is_collection",
            "lstrip",
            "lstrip_iter",
            "strip",
            "strip_iter",
            "flatten_iter",
            "flatten",
            "one",
            "first",
            "same",
        ),
        "Add type hints to all functions, parameters and return values.",
        (same_code, typed()),
        docstrings=False,
    ),
    EditSpec(
        "types-files",
        "types",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file", "iter_find_files"),
        "Annotate every function with types for parameters and return values.",
        (same_code, typed()),
        docstrings=False,
    ),
    EditSpec(
        "types-tables",
        "types",
        "tableutils",
        ("to_text", "escape_html", "DictInputType", "ListInputType", "TupleInputType", "InputType"),
        "Add type annotations to every function and method.",
        (keeps_rest(touched=("InputType.__init__",)), typed("to_text", "escape_html")),
        docstrings=False,
    ),
    EditSpec(
        "types-text",
        "types",
        "strutils",
        (
            "camel2under",
            "under2camel",
            "slugify",
            "split_punct_ws",
            "a10n",
            "unwrap_text",
            "removeprefix",
            "is_uuid",
        ),
        "Add type hints for all parameters and return values.",
        (same_code, typed()),
        docstrings=False,
    ),
)

TESTS = (
    EditSpec(
        "tests-math",
        "tests",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Add a unittest.TestCase at the end of the file with tests for clamp, ceil and floor, "
        "at least three assertions for each, the error cases too.",
        (keeps_rest(added=("*",)), has_tests(("clamp", "ceil", "floor"), 3)),
    ),
    EditSpec(
        "tests-iter",
        "tests",
        "iterutils",
        ("one", "first", "flatten_iter", "flatten", "same", "is_iterable", "lstrip", "lstrip_iter"),
        "Add pytest tests for one, first, flatten and same below the code, two assertions or "
        "more for each.",
        (keeps_rest(added=("*",)), has_tests(("one", "first", "flatten", "same"), 2)),
        docstrings=False,
    ),
    EditSpec(
        "tests-text",
        "tests",
        "strutils",
        (
            "camel2under",
            "under2camel",
            "split_punct_ws",
            "a10n",
            "removeprefix",
            "unwrap_text",
            "parse_int_list",
        ),
        "Write a unittest.TestCase class at the end of the file that tests camel2under, "
        "under2camel, a10n, removeprefix and parse_int_list with at least two assertions each.",
        (
            keeps_rest(added=("*",)),
            has_tests(("camel2under", "under2camel", "a10n", "removeprefix", "parse_int_list"), 2),
        ),
        docstrings=False,
    ),
    EditSpec(
        "tests-paths",
        "tests",
        "urlutils",
        ("resolve_path_parts", "parse_qsl", "unquote", "unquote_to_bytes"),
        "Add tests for resolve_path_parts, parse_qsl and unquote as a unittest.TestCase at the "
        "end of the file.",
        (keeps_rest(added=("*",)), has_tests(("resolve_path_parts", "parse_qsl", "unquote"), 1)),
        docstrings=False,
    ),
)

COMMENTS = (
    EditSpec(
        "comments-find-files",
        "comments",
        "fileutils",
        ("rotate_file", "mkdir_p", "path_to_unicode"),
        "Explain each step with a short comment line above it.",
        (same_code, commented(10)),
        docstrings=False,
    ),
    EditSpec(
        "comments-bucketize",
        "comments",
        "strutils",
        ("format_int_list", "parse_int_list"),
        "Remove all comments and blank lines inside the functions.",
        (same_code, lambda edited: None if "#" not in edited.text else "a comment is left"),
        docstrings=False,
    ),
    EditSpec(
        "comments-backoff",
        "comments",
        "iterutils",
        ("frange", "xfrange", "backoff", "unique", "unique_iter"),
        "Add a comment above each statement that says what it does.",
        (same_code, commented(15)),
        docstrings=False,
    ),
)

ORDERS = (
    EditSpec(
        "reorder-public-first",
        "reorder",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time", "strpdate"),
        "Move the private helper `_cardinalize_time_unit` to the end of the file.",
        (
            keeps_rest(),
            ordered(
                ("decimal_relative_time", "relative_time", "strpdate", "_cardinalize_time_unit")
            ),
        ),
    ),
    EditSpec(
        "reorder-alphabetical",
        "reorder",
        "iterutils",
        ("one", "first", "flatten", "flatten_iter", "same"),
        "Sort the functions by name.",
        (keeps_rest(), ordered(("first", "flatten", "flatten_iter", "one", "same"))),
    ),
    EditSpec(
        "reorder-move-up",
        "reorder",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Move `clamp` to the end of the file, after `floor`.",
        (keeps_rest(), ordered(("ceil", "floor", "clamp"))),
    ),
    EditSpec(
        "reorder-methods",
        "reorder",
        "timeutils",
        ("ConstantTZInfo", "dt_to_timestamp", "isoparse"),
        "Put the methods of ConstantTZInfo in alphabetical order after `__init__`.",
        (
            keeps_rest(),
            ordered(
                ("__init__", "__repr__", "dst", "tzname", "utcoffset", "utcoffset_hours"),
                "ConstantTZInfo",
            ),
        ),
    ),
)

GROUPS = (
    EditSpec(
        "group-static-case",
        "group",
        "strutils",
        ("camel2under", "under2camel", "a10n", "split_punct_ws", "unwrap_text", "removeprefix"),
        "Put all functions into a class `Text` as static methods.",
        (
            keeps_rest(
                touched=(
                    "camel2under",
                    "under2camel",
                    "a10n",
                    "split_punct_ws",
                    "unwrap_text",
                    "removeprefix",
                ),
                added=("Text",),
            ),
            grouped(
                "Text",
                (
                    "camel2under",
                    "under2camel",
                    "a10n",
                    "split_punct_ws",
                    "unwrap_text",
                    "removeprefix",
                ),
            ),
        ),
        docstrings=False,
    ),
    EditSpec(
        "group-static-math",
        "group",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Put clamp, ceil and floor into a class `Rounding` as static methods.",
        (
            keeps_rest(touched=("clamp", "ceil", "floor"), added=("Rounding",)),
            grouped("Rounding", ("clamp", "ceil", "floor")),
        ),
    ),
)

MORE_TEXT = (
    EditSpec(
        "docstrings-inputs",
        "docstrings",
        "tableutils",
        ("DictInputType", "ListInputType", "TupleInputType", "NamedTupleInputType"),
        "Add a docstring to every class and to every method.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-times",
        "docstrings",
        "timeutils",
        ("_cardinalize_time_unit", "decimal_relative_time", "relative_time"),
        "Write numpy-style docstrings with a Parameters and a Returns section for all functions.",
        (same_code, documented(("Parameters",))),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-ranges",
        "docstrings",
        "iterutils",
        ("one", "first", "same", "frange", "xfrange"),
        "Add a Google-style docstring with Args and Returns sections to every function.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-urls",
        "docstrings",
        "urlutils",
        ("resolve_path_parts", "parse_qsl", "_make_quote_map", "to_unicode"),
        "Add a Google-style docstring with Args and Returns sections to every function.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-formats",
        "docstrings",
        "formatutils",
        (
            "construct_format_field_str",
            "split_format_str",
            "infer_positional_format_args",
            "tokenize_format_str",
        ),
        "Add a Google-style docstring with Args and Returns sections to every function.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-queue",
        "docstrings",
        "queueutils",
        ("BasePriorityQueue",),
        "Add a docstring to the class and to each of its methods.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-guid",
        "docstrings",
        "iterutils",
        ("GUIDerator", "SequentialGUIDerator"),
        "Document both classes and all their methods with docstrings.",
        (same_code, documented(classes=True)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-stats",
        "docstrings",
        "statsutils",
        ("format_histogram_counts", "_get_conv_func", "describe"),
        "Add a Google-style docstring with Args and Returns sections to every function.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "docstrings-files",
        "docstrings",
        "fileutils",
        ("mkdir_p", "path_to_unicode", "rotate_file"),
        "Give each function a docstring with a summary, an Args section and a Raises section.",
        (same_code, documented(ARGUMENTS)),
        docstrings=False,
    ),
    EditSpec(
        "tests-strings",
        "tests",
        "strutils",
        ("a10n", "unwrap_text", "removeprefix", "is_uuid", "parse_int_list"),
        "Add a unittest.TestCase class below the functions, with a test method for each of a10n, "
        "unwrap_text, removeprefix and parse_int_list.",
        (
            keeps_rest(added=("*",)),
            has_tests(("a10n", "unwrap_text", "removeprefix", "parse_int_list")),
        ),
        docstrings=False,
    ),
    EditSpec(
        "tests-flatten",
        "tests",
        "iterutils",
        (
            "is_iterable",
            "is_scalar",
            "is_collection",
            "lstrip",
            "lstrip_iter",
            "strip",
            "strip_iter",
            "flatten_iter",
            "flatten",
        ),
        "Write a unittest.TestCase at the end of the file that tests is_iterable, is_scalar, "
        "lstrip and flatten.",
        (
            keeps_rest(added=("*",)),
            has_tests(("is_iterable", "is_scalar", "lstrip", "flatten")),
        ),
        docstrings=False,
    ),
    EditSpec(
        "comments-each-if",
        "comments",
        "strutils",
        ("parse_int_list", "unwrap_text", "is_uuid", "a10n", "removeprefix"),
        "Write a comment above every if, for and return statement that explains it.",
        (same_code, commented(15)),
        docstrings=False,
    ),
    EditSpec(
        "reorder-to-top",
        "reorder",
        "strutils",
        ("camel2under", "under2camel", "a10n", "split_punct_ws", "unwrap_text", "removeprefix"),
        "Move the function `unwrap_text` up, so that it is the first function of the file.",
        (
            keeps_rest(),
            ordered(
                (
                    "unwrap_text",
                    "camel2under",
                    "under2camel",
                    "split_punct_ws",
                    "a10n",
                    "removeprefix",
                )
            ),
        ),
        docstrings=False,
    ),
    EditSpec(
        "reorder-swap",
        "reorder",
        "tableutils",
        ("DictInputType", "ListInputType", "TupleInputType", "NamedTupleInputType"),
        "Move the class DictInputType to the end of the file.",
        (
            keeps_rest(),
            ordered(("ListInputType", "TupleInputType", "NamedTupleInputType", "DictInputType")),
        ),
    ),
    EditSpec(
        "group-static-strings",
        "group",
        "urlutils",
        ("to_unicode", "resolve_path_parts", "parse_qsl"),
        "Make the three functions static methods of a new class `Parsing`.",
        (
            keeps_rest(
                touched=("to_unicode", "resolve_path_parts", "parse_qsl"), added=("Parsing",)
            ),
            grouped("Parsing", ("to_unicode", "resolve_path_parts", "parse_qsl")),
        ),
        docstrings=False,
    ),
)

HEAVY_EDITS: tuple[EditSpec, ...] = (
    *DOCSTRINGS,
    *TYPES,
    *TESTS,
    *COMMENTS,
    *ORDERS,
    *GROUPS,
    *MORE_TEXT,
)
