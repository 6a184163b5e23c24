"""The languages: for each its grammar and what its words mean for structure.

A language is one entry of `LANGUAGES`: where its grammar comes from, and the words and signs by
which blocks, brackets, strings and statements open and close. All words are leaf types of the
grammar. It does not know how they are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from redraft.syntax.values import Kind

Layout = Literal["braces", "indentation", "words"]
"""What delimits blocks: `{` and `}`; columns; or words such as `end`, besides braces."""
Ending = Literal["newline", "complete", "semicolon"]
"""What ends a statement besides `;`: every line end outside of brackets, a line end after what can
be its last word, or nothing."""


@dataclass(frozen=True, slots=True)
class Language:
    """What is to be known of one language."""

    package: str
    """The grammar's module."""
    loader: str = "language"
    """The function of the module that gives the grammar."""
    layout: Layout = "braces"
    ending: Ending = "semicolon"
    heads: Mapping[str, Kind] = field(default_factory=dict)
    """Words that say what the next block is."""
    words: Mapping[str, tuple[Kind, str]] = field(default_factory=dict)
    """Words that open a block at once, with its kind and the word that closes it."""
    modifiers: frozenset[str] = frozenset()
    """Those of `words` that open nothing when they stand behind what they govern."""
    brackets: Mapping[str, str] = field(default_factory=dict)
    """Openers with their closers, besides round, square and curly ones."""
    quotes: Mapping[str, str] = field(default_factory=dict)
    """Leaf types that open a string with those that close it."""
    inside: frozenset[str] = frozenset()
    """Leaf types that a string may hold, besides its text."""
    imports: frozenset[str] = frozenset({"import"})
    raises: frozenset[str] = frozenset({"throw"})
    labels: frozenset[str] = frozenset({"case", "default"})
    """Words whose statement ends at a colon."""
    boilerplate: frozenset[str] = frozenset()
    """First words and signs of decorators, attributes and the like."""
    functions_after: frozenset[str] = frozenset()
    """Signs after which a brace opens the body of a function without a name."""
    test_calls: frozenset[str] = frozenset()
    """Functions that are called with a test."""
    error_names: frozenset[str] = frozenset()
    """Variables that a branch looks at to handle an error."""
    block_comment: bytes = b"/*"
    line_comment: bytes = b"//"
    declared_types: bool = False
    """Whether a function's head may begin with the word of a type, as in `struct node *next()`."""
    anonymous_types: bool = False
    """Whether braces after `new Name()` hold members."""
    semicolons_in_heads: bool = False
    """Whether `if` and `for` have no brackets around, and so may hold semicolons."""
    regexes: bool = False
    """Whether a slash where a value is expected begins a text."""
    raw_strings: bool = False
    """Whether the opening of a raw string is no leaf."""
    indent: str = "    "
    """One level of indentation, where a file does not show another."""


_CONTROL: dict[str, Kind] = {
    **dict.fromkeys(("if", "else", "switch"), "branch"),
    **dict.fromkeys(("for", "while", "do"), "loop"),
    "try": "try",
    **dict.fromkeys(("catch", "finally"), "handler"),
}
_PREPROCESSOR = frozenset(
    ("#define", "#undef", "#if", "#ifdef", "#ifndef", "#else", "#elif", "#endif", "#pragma", "[[")
)
_QUOTE = {'"': '"'}
_BOTH_QUOTES = {'"': '"', "'": "'"}

_C_HEADS: dict[str, Kind] = {**_CONTROL, **dict.fromkeys(("struct", "union", "enum"), "type")}
_C = Language(
    "tree_sitter_c",
    heads=_C_HEADS,
    quotes={**_BOTH_QUOTES, 'L"': '"', 'u8"': '"'},
    imports=frozenset({"#include"}),
    boilerplate=_PREPROCESSOR,
    declared_types=True,
)
_JAVASCRIPT = Language(
    "tree_sitter_javascript",
    ending="complete",
    heads={**_CONTROL, "class": "type", "function": "function", "static": "scope"},
    brackets={"${": "}"},
    quotes={**_BOTH_QUOTES, "`": "`"},
    inside=frozenset({"${"}),
    boilerplate=frozenset({"@"}),
    functions_after=frozenset({"=>"}),
    regexes=True,
    test_calls=frozenset(
        {"describe", "it", "test", "suite", "beforeEach", "afterEach", "beforeAll", "afterAll"}
    ),
    indent="  ",
)
_TYPESCRIPT_HEADS: dict[str, Kind] = {
    **_JAVASCRIPT.heads,
    **dict.fromkeys(("interface", "enum"), "type"),
    **dict.fromkeys(("namespace", "module"), "module"),
}


def _typescript(loader: str) -> Language:
    return Language(
        "tree_sitter_typescript",
        loader,
        ending="complete",
        heads=_TYPESCRIPT_HEADS,
        brackets=_JAVASCRIPT.brackets,
        quotes=_JAVASCRIPT.quotes,
        inside=_JAVASCRIPT.inside,
        boilerplate=_JAVASCRIPT.boilerplate,
        functions_after=_JAVASCRIPT.functions_after,
        test_calls=_JAVASCRIPT.test_calls,
        regexes=True,
        indent="  ",
    )


LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        "tree_sitter_python",
        layout="indentation",
        ending="newline",
        heads={
            "def": "function",
            "class": "type",
            **dict.fromkeys(("if", "elif", "else", "match", "case"), "branch"),
            **dict.fromkeys(("for", "while"), "loop"),
            "try": "try",
            **dict.fromkeys(("except", "finally"), "handler"),
            "with": "scope",
        },
        quotes={"string_start": "string_end"},
        imports=frozenset({"import", "from"}),
        raises=frozenset({"raise"}),
        labels=frozenset(),
        boilerplate=frozenset({"@"}),
        block_comment=b"",
        line_comment=b"#",
    ),
    "typescript": _typescript("language_typescript"),
    "tsx": _typescript("language_tsx"),
    "javascript": _JAVASCRIPT,
    "rust": Language(
        "tree_sitter_rust",
        heads={
            "fn": "function",
            **dict.fromkeys(("struct", "enum", "trait", "impl", "union"), "type"),
            "mod": "module",
            **dict.fromkeys(("if", "else", "match"), "branch"),
            **dict.fromkeys(("for", "while", "loop"), "loop"),
            **dict.fromkeys(("unsafe", "async"), "scope"),
        },
        quotes={'"': '"', 'b"': '"', 'c"': '"'},
        imports=frozenset({"use", "extern"}),
        raises=frozenset({"panic"}),
        labels=frozenset(),
        boilerplate=frozenset({"#"}),
        functions_after=frozenset({"|", "||"}),
        raw_strings=True,
    ),
    "go": Language(
        "tree_sitter_go",
        ending="complete",
        heads={
            "func": "function",
            **dict.fromkeys(("struct", "interface"), "type"),
            **dict.fromkeys(("if", "else", "switch", "select"), "branch"),
            "for": "loop",
        },
        quotes={'"': '"', "`": "`"},
        raises=frozenset({"panic"}),
        boilerplate=frozenset({"package"}),
        error_names=frozenset({"err"}),
        semicolons_in_heads=True,
        indent="\t",
    ),
    "java": Language(
        "tree_sitter_java",
        heads={
            **_CONTROL,
            **dict.fromkeys(("class", "interface", "enum", "record", "@interface"), "type"),
            **dict.fromkeys(("synchronized", "static"), "scope"),
        },
        quotes={'"': '"', '"""': '"""'},
        boilerplate=frozenset({"@", "package"}),
        functions_after=frozenset({"->"}),
        anonymous_types=True,
    ),
    "c": _C,
    "cpp": Language(
        "tree_sitter_cpp",
        heads={**_C.heads, "class": "type", "namespace": "module", "extern": "module"},
        quotes={**_C.quotes, 'R"': '"'},
        inside=frozenset({"(", ")", "raw_string_delimiter"}),
        imports=frozenset({"#include", "using"}),
        labels=frozenset({"case", "default", "public", "private", "protected"}),
        boilerplate=_PREPROCESSOR,
        declared_types=True,
    ),
    "csharp": Language(
        "tree_sitter_c_sharp",
        heads={
            **_CONTROL,
            "foreach": "loop",
            **dict.fromkeys(("class", "interface", "enum", "record", "struct"), "type"),
            "namespace": "module",
            **dict.fromkeys(("using", "lock", "unsafe", "checked", "fixed"), "scope"),
        },
        quotes={'"': '"', "'": "'", "raw_string_start": "raw_string_end"},
        inside=frozenset({"interpolation_brace"}),
        imports=frozenset({"using"}),
        boilerplate=_PREPROCESSOR | {"[", "#region", "#endregion", "#nullable"},
        functions_after=frozenset({"=>"}),
    ),
    "ruby": Language(
        "tree_sitter_ruby",
        layout="words",
        ending="complete",
        heads={
            "rescue": "handler",
            "ensure": "handler",
        },
        words={
            "def": ("function", "end"),
            "class": ("type", "end"),
            "module": ("module", "end"),
            **dict.fromkeys(("if", "unless", "case"), ("branch", "end")),
            **dict.fromkeys(("while", "until", "for"), ("loop", "end")),
            "begin": ("try", "end"),
            "do": ("scope", "end"),
        },
        modifiers=frozenset({"if", "unless", "while", "until"}),
        brackets={"#{": "}"},
        quotes={
            **_BOTH_QUOTES,
            "`": "`",
            ':"': '"',
            "%w(": ")",
            "%i(": ")",
        },
        inside=frozenset({"#{"}),
        imports=frozenset({"require", "require_relative", "load", "autoload"}),
        raises=frozenset({"raise"}),
        labels=frozenset(),
        test_calls=frozenset({"describe", "context", "it", "specify"}),
        regexes=True,
        block_comment=b"=begin",
        line_comment=b"#",
        indent="  ",
    ),
    "php": Language(
        "tree_sitter_php",
        "language_php",
        heads={
            **_CONTROL,
            **dict.fromkeys(("elseif", "match"), "branch"),
            "foreach": "loop",
            **dict.fromkeys(("class", "interface", "trait", "enum"), "type"),
            "function": "function",
            "namespace": "module",
        },
        brackets={"#[": "]"},
        quotes={**_BOTH_QUOTES, "`": "`", "heredoc_start": "heredoc_end"},
        inside=frozenset(
            {"$", "name", "variable_name", "{", "${", "->", "[", "]", "integer", "nowdoc_string"}
        ),
        imports=frozenset({"use", "require", "require_once", "include", "include_once"}),
        boilerplate=frozenset({"#[", "php_tag", "namespace", "declare"}),
    ),
    "bash": Language(
        "tree_sitter_bash",
        layout="words",
        ending="newline",
        heads={"function": "function"},
        words={
            "if": ("branch", "fi"),
            "case": ("branch", "esac"),
            **dict.fromkeys(("for", "while", "until", "select"), ("loop", "done")),
        },
        brackets={"$(": ")", "${": "}", "$((": "))", "((": "))", "[[": "]]", "<(": ")", ">(": ")"},
        quotes={'"': '"', '$"': '"'},
        inside=frozenset(
            {"$", "variable_name", "special_variable_name", "$(", "${", "$((", "`", "word"}
        ),
        imports=frozenset({"source", "."}),
        raises=frozenset(),
        labels=frozenset(),
        block_comment=b"",
        line_comment=b"#",
        indent="  ",
    ),
}  # fmt: skip

OTHER_NAMES = {
    "py": "python",
    "ts": "typescript",
    "js": "javascript",
    "jsx": "javascript",
    "rs": "rust",
    "golang": "go",
    "h": "c",
    "c++": "cpp",
    "cc": "cpp",
    "c#": "csharp",
    "cs": "csharp",
    "rb": "ruby",
    "sh": "bash",
    "shell": "bash",
    "zsh": "bash",
}
"""What else a language is called, at a code fence or by its file's suffix."""


_JSX = re.compile(rb"</[A-Za-z>]|/>")
_CPP = re.compile(rb"\b(?:class|namespace|template|public:|private:|using)\b|::")


def dialect(name: str, sample: bytes) -> str:
    """The language that a text is in, where one name or suffix is used for two."""
    if name == "typescript" and _JSX.search(sample):
        return "tsx"
    if name == "c" and _CPP.search(sample):
        return "cpp"
    return name


def find_language(name: str) -> tuple[str, Language] | None:
    """The language with its own name, by any of its names; None for one that is not here."""
    lowered = name.lower()
    own = OTHER_NAMES.get(lowered, lowered)
    language = LANGUAGES.get(own)
    return (own, language) if language is not None else None
