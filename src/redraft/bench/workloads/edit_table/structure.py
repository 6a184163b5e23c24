"""Edits of how code is built: constructs, extracted functions, order, classes."""

from __future__ import annotations

from redraft.bench.workloads.checks import contains, keeps_rest, ordered, without
from redraft.bench.workloads.code_checks import extracts, f_string, grouped, percent_format
from redraft.bench.workloads.edit_spec import EditSpec

STRUCTURE_EDITS: tuple[EditSpec, ...] = (
    EditSpec(
        "replace-fstrings-backoff",
        "replace",
        "iterutils",
        ("backoff", "backoff_iter"),
        "Turn all %-formatted error messages into f-strings.",
        (
            keeps_rest(touched=("backoff", "backoff_iter")),
            without("% formatting", percent_format),
            contains("f-strings", f_string, "", 5),
        ),
        docstrings=False,
    ),
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
        "extract-shell-quote",
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
        "reorder-private-last",
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
