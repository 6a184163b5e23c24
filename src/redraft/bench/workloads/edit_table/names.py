"""Edits of names and parameters: rename, add, thread through, remove."""

from __future__ import annotations

from redraft.bench.workloads.checks import keeps_rest
from redraft.bench.workloads.code_checks import has_parameter, lacks_parameter, passes, renames
from redraft.bench.workloads.edit_spec import EditSpec

NAMES_EDITS: tuple[EditSpec, ...] = (
    EditSpec(
        "rename-parameter-options",
        "rename",
        "mathutils",
        ("clamp", "ceil", "floor"),
        "Rename the parameter `options` of `ceil` and `floor` to `choices`.",
        (renames(("options", "choices")),),
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
        "parameter-ellipsis",
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
        "remove-parameter-ascii",
        "remove",
        "strutils",
        ("camel2under", "under2camel", "slugify", "split_punct_ws", "a10n"),
        "Remove the `ascii` parameter from `slugify` together with the code that uses it.",
        (keeps_rest(touched=("slugify",)), lacks_parameter("slugify", "ascii")),
    ),
)
