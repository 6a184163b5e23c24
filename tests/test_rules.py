"""Rules of the source text that a program can check: sizes, names, signatures, seams."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import quantiles

import pytest

from redraft import protocols

SOURCE = Path(__file__).parents[1] / "src" / "redraft"
MODULES = sorted(SOURCE.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function):
            yield node


def lines(node: Function) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


@cache
def every_function() -> list[tuple[str, Function]]:
    return [
        (f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}", node)
        for path in MODULES
        for node in functions(path)
    ]


def test_the_source_is_found() -> None:
    assert len(MODULES) > 20
    assert len(every_function()) > 200


@pytest.mark.parametrize(
    ("module", "name", "most"), [("decode.py", "decode", 40), ("verify.py", "verify", 25)]
)
def test_the_loop_and_the_acceptance_rule_stay_readable(module: str, name: str, most: int) -> None:
    [size] = [lines(node) for node in functions(SOURCE / module) if node.name == name]
    assert size <= most


def test_no_function_is_long() -> None:
    assert [(name, lines(node)) for name, node in every_function() if lines(node) > 60] == []
    assert quantiles([lines(node) for _, node in every_function()], n=10)[-1] <= 30


def test_no_module_is_long() -> None:
    sizes = {str(path.relative_to(SOURCE)): len(path.read_text("utf-8").splitlines())
             for path in MODULES}  # fmt: skip
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_modules_are_named_for_what_they_do() -> None:
    forbidden = {"utils", "util", "helpers", "helper", "common", "misc", "core", "manager"}
    names = [part for path in MODULES for part in path.relative_to(SOURCE).with_suffix("").parts]
    assert forbidden.isdisjoint(names)


def test_every_module_says_what_it_does() -> None:
    silent = [path for path in MODULES if not ast.get_docstring(parsed(path))]
    assert silent == []


def public_functions(path: Path) -> Iterator[Function]:
    """Those that others can call: of modules and of classes, not inside functions."""
    for node in parsed(path).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        yield from (m for m in members if isinstance(m, Function) and m.name[0] != "_")


def test_functions_take_few_arguments() -> None:
    many = []
    for name, node in every_function():
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if len([argument for argument in given if argument.arg not in ("self", "cls")]) > 7:
            many.append(name)
    assert many == []


def test_public_functions_name_their_arguments() -> None:
    unnamed = [
        f"{path.relative_to(SOURCE)} {node.name}"
        for path in MODULES
        for node in public_functions(path)
        if node.args.kwarg is not None
    ]
    assert unnamed == []


def annotations(protocol: type) -> Iterator[str]:
    """All annotations of a protocol's members, as written."""
    for name, member in vars(protocol).items():
        if name.startswith("_"):
            continue
        function = member.fget if isinstance(member, property) else member
        assert function is not None
        signature = inspect.signature(function)
        yield str(signature.return_annotation)
        yield from (str(p.annotation) for p in signature.parameters.values() if p.name != "self")


@pytest.mark.parametrize(
    ("protocol", "members"),
    [
        (protocols.Engine, {"vocab_size", "invariant_from", "open_sequence", "close"}),
        (protocols.Sequence, {"length", "evaluate", "truncate", "fork", "close"}),
    ],
)
def test_engines_know_no_text(protocol: type, members: set[str]) -> None:
    """Tokens in, logits out, and no member more."""
    assert {name for name in vars(protocol) if not name.startswith("_")} == members
    assert "str" not in {word for text in annotations(protocol) for word in _words(text)}


def _words(text: str) -> list[str]:
    return "".join(c if c.isidentifier() else " " for c in text).split()


def test_drafters_have_a_name_and_three_methods() -> None:
    members = {name for name in vars(protocols.Drafter) if not name.startswith("_")}
    assert members == {"name", "start", "propose", "commit"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    ("package", "members"),
    [
        ("drafters", ["source", "suffix", "corpus", "model", "forced"]),
        ("engines", ["ik", "llamacpp", "fake"]),
    ],
)
def test_drafters_and_engines_do_not_import_each_other(package: str, members: list[str]) -> None:
    for member in members:
        paths = [SOURCE / package / f"{member}.py", *(SOURCE / package / member).glob("*.py")]
        others = [f"redraft.{package}.{other}" for other in members if other != member]
        for path in filter(Path.exists, paths):
            for name in imports(path):
                for other in others:
                    assert name != other and not name.startswith(other + "."), path


def test_one_module_each_for_a_heavy_dependency() -> None:
    heavy = ("huggingface_hub", "jinja2", "llama_cpp", "pydantic_settings")
    for dependency in heavy:
        users = [path for path in MODULES if dependency in {n.split(".")[0] for n in imports(path)}]
        assert len(users) <= 1, (dependency, users)
