"""Places in small files of every language: what stands before the cursor, and what that tells."""

from __future__ import annotations

import pytest

from code_samples import SAMPLES
from redraft.engines.fake import FakeTokenizer
from redraft.protocols import DraftContext
from redraft.syntax import Place, Syntax
from redraft.syntax.languages import LANGUAGES, find_language

# language, text from which the cursor stands right behind, then kind, depth, definition, region
# fmt: off
CASES = [
    ("python", "import o", "import", 0, "", "import"),
    ("python", "class Store(", "arguments", 1, "", "declaration"),
    ("python", '"""Keeps', "string", 1, "Store", "comment"),
    ("python", "def load(self, ", "arguments", 2, "Store", "declaration"),
    ("python", "with open(path", "arguments", 4, "load", "error_handling"),
    ("python", "return loads(file.read(", "arguments", 6, "load", "error_handling"),
    ("python", "raise ", "raise", 3, "load", "error_handling"),
    ("python", 'f"{pa', "braces", 5, "load", "error_handling"),
    ("python", "@prop", "statement", 1, "Store", "boilerplate"),
    ("python", "return len(self", "arguments", 3, "size", "expression"),
    ("python", '{"a": (3', "parentheses", 4, "test_load", "test"),
    ("python", "# cou", "comment", 2, "test_load", "comment"),
    ("python", "assert size ", "statement", 2, "test_load", "test"),
    ("python", "print(", "arguments", 2, "", "boilerplate"),
    ("typescript", "import { read", "braces", 1, "", "import"),
    ("typescript", "/** Keeps", "comment", 0, "", "comment"),
    ("typescript", "class Store<T", "type", 0, "", "declaration"),
    ("typescript", "private path", "statement", 1, "Store", "declaration"),
    ("typescript", "`${process.", "braces", 2, "Store", "declaration"),
    ("typescript", "const [key", "list", 5, "load", "error_handling"),
    ("typescript", "this.set(key", "arguments", 5, "load", "error_handling"),
    ("typescript", 'Error("cannot', "string", 4, "load", "error_handling"),
    ("typescript", "large: [2", "list", 2, "", "data"),
    ("typescript", "return x", "return", 1, "double", "expression"),
    ("typescript", "expect(dou", "arguments", 5, "", "test"),
    ("tsx", "<li key={it", "braces", 6, "List", "data"),
    ("tsx", "It's", "string", 5, "List", "data"),
    ("javascript", "if (/[a-z", "string", 3, "load", "expression"),
    ("javascript", "return fs.", "return", 3, "load", "expression"),
    ("javascript", "throw new", "raise", 3, "load", "error_handling"),
    ("javascript", "large: [2", "list", 2, "", "data"),
    ("javascript", "return x *", "return", 2, "double", "expression"),
    ("rust", "use std::{f", "braces", 1, "", "import"),
    ("rust", "    path: &", "statement", 1, "Store", "declaration"),
    ("rust", "pub fn load(&", "arguments", 2, "Store", "declaration"),
    ("rust", "match text.", "branch", 2, "load", "expression"),
    ("rust", '0 => { panic!("em', "string", 5, "load", "error_handling"),
    ("rust", 'r#"{', "string", 5, "load", "expression"),
    ("rust", "fn loads() {\n    let", "statement", 1, "loads", "test"),
    ("rust", "|size| { *", "statement", 4, "loads", "test"),
    ("go", 'import (\n\t"o', "string", 1, "", "import"),
    ("go", "Store struct {\n\tpath", "statement", 1, "", "declaration"),
    ("go", "Load(strict ", "arguments", 1, "", "declaration"),
    ("go", "return nil", "return", 2, "Load", "error_handling"),
    ("go", "i := 0; i <", "loop", 1, "Load", "expression"),
    ("go", "[]int{1", "braces", 3, "Load", "data"),
    ("go", "sizes[i", "index", 3, "Load", "expression"),
    ("java", "import java.u", "import", 0, "", "import"),
    ("java", "private int", "statement", 1, "Store", "declaration"),
    ("java", "void load(String", "arguments", 2, "Store", "declaration"),
    ("java", 'throw new IOException("no', "string", 4, "load", "error_handling"),
    ("java", "use(x", "arguments", 5, "load", "expression"),
    ("c", "#include <std", "import", 0, "", "import"),
    ("c", "struct store { int", "statement", 1, "store", "declaration"),
    ("c", "sizes[] = {1", "braces", 2, "load", "data"),
    ("c", "printf(\"%", "string", 3, "load", "expression"),
    ("c", "/* noth", "comment", 1, "load", "comment"),
    ("cpp", "class Store :", "type", 1, "store", "declaration"),
    ("cpp", "load(const std", "arguments", 3, "Store", "declaration"),
    ("cpp", "(int x) { return", "statement", 4, "all", "expression"),
    ("csharp", "using Sys", "import", 0, "", "import"),
    ("csharp", "{ get; set", "statement", 3, "Size", "expression"),
    ("csharp", '$"{pat', "braces", 6, "Load", "error_handling"),
    ("csharp", "{ throw;", "handler", 4, "Load", "error_handling"),
    ("ruby", "require 'js", "string", 0, "", "import"),
    ("ruby", "def load(pa", "arguments", 3, "load", "declaration"),
    ("ruby", "return nil if path.n", "return", 2, "load", "expression"),
    ("ruby", "#{it", "braces", 4, "load", "data"),
    ("ruby", "raise Arg", "raise", 3, "load", "error_handling"),
    ("php", "use Some", "import", 0, "", "import"),
    ("php", "load(?str", "arguments", 2, "Store", "declaration"),
    ("php", "echo \"size {$si", "braces", 4, "load", "data"),
    ("php", "'a' =", "list", 3, "load", "data"),
    ("bash", "local pa", "statement", 1, "load", "expression"),
    ("bash", "if [ -n", "list", 3, "load", "data"),
    ("bash", "do\n      echo", "statement", 3, "load", "expression"),
    ("bash", "${item", "braces", 4, "load", "data"),
    ("bash", "a|b) return", "statement", 2, "load", "expression"),
    ("bash", "it's", "string", 0, "", "expression"),
    ("bash", "load 'x", "string", 0, "", "expression"),
]
# fmt: on
TOKENIZER = FakeTokenizer()


def place(language: str, text: str) -> Place | None:
    syntax = Syntax(TOKENIZER)
    syntax.start(DraftContext((1, 2, 3), language=language))
    syntax.commit(TOKENIZER.encode(text))
    assert syntax.unavailable is None
    return syntax.place()


@pytest.mark.parametrize(("language", "ends", "kind", "depth", "definition", "region"), CASES)
def test_places(
    language: str, ends: str, kind: str, depth: int, definition: str, region: str
) -> None:
    sample = SAMPLES[language]
    found = place(language, sample[: sample.index(ends) + len(ends)])
    assert found is not None
    assert (found.kind, found.depth, found.definition, found.region) == (
        kind, depth, definition, region
    )  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_the_end_of_a_file_nothing_is_open(language: str) -> None:
    syntax = Syntax(TOKENIZER)
    syntax.start(DraftContext((1, 2, 3), language=language))
    text = SAMPLES[language] + ("x = 1\n" if language == "python" else "")
    syntax.commit(TOKENIZER.encode(text))
    assert syntax.open() == ()
    found = syntax.place()
    assert found is not None and found.depth == 0


@pytest.mark.parametrize(
    ("text", "token_class"),
    [
        ("", "whitespace"),
        ("return", "keyword"),
        ("retur", "identifier"),
        ("x = 1", "literal"),
        ("x =", "operator"),
        ("x = (", "bracket"),
        ("x = 'a", "literal"),
        ("x = 1 # a", "comment"),
        ("x = 1 ", "whitespace"),
    ],
)
def test_token_classes(text: str, token_class: str) -> None:
    found = place("python", text)
    assert found is not None and found.token_class == token_class


def test_languages_have_other_names() -> None:
    assert find_language("C++") == ("cpp", LANGUAGES["cpp"])
    assert find_language("shell") == ("bash", LANGUAGES["bash"])
    assert find_language("klingon") is None


def test_markup_in_typescript_is_read_as_such() -> None:
    syntax = Syntax(TOKENIZER)
    source = tuple(TOKENIZER.encode(SAMPLES["tsx"]))
    syntax.start(DraftContext((1, 2, 3), source, language="typescript"))
    syntax.commit(source[: SAMPLES["tsx"].index("It's") + 4])
    found = syntax.place()
    assert found is not None and found.kind == "string"
