"""Edits of what code does: faults, errors, logging, new methods."""

from __future__ import annotations

from redraft.bench.workloads.checks import contains, defines, imports, keeps_rest
from redraft.bench.workloads.code_checks import calling, raising
from redraft.bench.workloads.edit_spec import EditSpec, Fault

BEHAVIOUR_EDITS: tuple[EditSpec, ...] = (
    EditSpec(
        "bugfix-range-end",
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
        "bugfix-letter-count",
        "bugfix",
        "strutils",
        ("a10n", "unwrap_text", "removeprefix", "is_uuid", "parse_int_list"),
        "`a10n('internationalization')` returns 'i20n', but the number should count only the "
        "letters between the first and the last: 'i18n'. Fix `a10n`.",
        docstrings=False,
        fault=Fault("a10n", "len(string[1:-1])", "len(string)", ("len(string) - 2",)),
    ),
    EditSpec(
        "errors-parse-int-list",
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
        "logging-rotate-file",
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
        "methods-repr-input",
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
    EditSpec(
        "methods-repr-replace",
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
)
