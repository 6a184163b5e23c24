"""Prints the largest modules and functions, and fails where one is too large.

Modules have at most 400 lines, functions at most 60 and nine of ten at most 30: what is larger is
not read in one piece. Run by `make check`.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
LONGEST_MODULE, LONGEST_FUNCTION, NINTH_DECILE = 400, 60, 30
SHOWN = 5


def main() -> int:
    """Print the table; 1 when a limit is exceeded."""
    modules = sorted((len(path.read_text().splitlines()), str(path)) for path in modules_of(SOURCE))
    functions = sorted(size for path in modules_of(SOURCE) for size in function_sizes(path))
    decile = functions[int(0.9 * len(functions))][0]
    print(f"{len(modules)} modules, {sum(size for size, _ in modules)} lines")
    for size, name in modules[: -SHOWN - 1 : -1]:
        print(f"  {size:4} lines  {name.removeprefix(str(SOURCE) + '/')}")
    print(f"{len(functions)} functions, nine of ten have at most {decile} lines")
    for size, name in functions[: -SHOWN - 1 : -1]:
        print(f"  {size:4} lines  {name}")
    too_large = [name for size, name in modules if size > LONGEST_MODULE]
    too_large += [name for size, name in functions if size > LONGEST_FUNCTION]
    if decile > NINTH_DECILE:
        too_large.append(f"one in ten functions has more than {NINTH_DECILE} lines")
    for name in too_large:
        print(f"too large: {name}")
    return 1 if too_large else 0


def modules_of(folder: Path) -> list[Path]:
    """All Python files below the folder."""
    return sorted(folder.rglob("*.py"))


def function_sizes(path: Path) -> list[tuple[int, str]]:
    """(lines, module:name) of each function in a file, from its `def` to its end."""
    tree = ast.parse(path.read_text())
    return [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{path.name}:{node.name}")
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


if __name__ == "__main__":
    sys.exit(main())
