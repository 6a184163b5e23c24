"""The table of bad inputs: what is given, what is said, and the exit code.

`…` in a message stands for any text. `prepare` names what `scenes` does before the command runs;
without it the project holds a readable `a.py` and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

ASK = ("-i", "rename find")


@dataclass(frozen=True, slots=True)
class Row:
    """One bad input."""

    what: str
    command: tuple[str, ...]
    message: str
    code: int = 2
    prepare: str = ""
    answer: str = ""
    """What the model says."""


def edit(*arguments: str) -> tuple[str, ...]:
    """`redraft edit a.py -i …` and more."""
    return ("edit", "a.py", *ASK, *arguments)


FILES = [
    Row("no such file", ("edit", "b.py", *ASK), "there is no file b.py; check the path"),
    Row("a folder", ("edit", "folder", *ASK), "folder is a folder; give the files in it", 2,
        "folder"),
    Row("a device", ("edit", "/dev/zero", *ASK),
        "/dev/zero is not a regular file; give a text file"),
    Row("a named pipe", ("edit", "pipe", *ASK), "pipe is not a regular file; give a text file", 2,
        "pipe"),
    Row("a dangling link", ("edit", "link", *ASK), "there is no file link; check the path", 2,
        "dangling link"),
    Row("a link to itself", ("edit", "link", *ASK),
        "link cannot be read: Too many levels of symbolic links", 2, "link loop"),
    Row("a file that fails while it is read", ("edit", "/proc/self/mem", *ASK),
        "/proc/self/mem cannot be read: Input/output error"),
    Row("an empty name", ("edit", "", *ASK), "'' is no file name; check the path"),
    Row("a name with a line end", ("edit", "x\ny", *ASK),
        "there is no file 'x\\ny'; check the path"),
    Row("a name that is too long", ("edit", "x" * 300, *ASK),
        "…cannot be read: File name too long"),
    Row("a binary file", edit(), "a.py looks binary (it holds NUL bytes); give a text file", 2,
        "binary"),
    Row("a file of 5 MB", edit(), "a.py is longer than 4,194,304 bytes; give a smaller file", 2,
        "large"),
    Row("more text than the context holds", edit("--context", "256"),
        "the prompt has … tokens and the context holds 256; raise --context or give a smaller file",
        2, "long"),
    Row("a file that was changed meanwhile", edit("--apply"),
        "a.py was changed meanwhile, so nothing was written; run it again", 2, "changed meanwhile",
        "def lookup(a):\n    return a\n```\n"),
    Row("an answer with a character that the file's encoding lacks", edit("--apply"),
        "a.py is encoded as cp1252, which has no '\\u2192' (new line 1); save the file as UTF-8 "
        "first", 2, "cp1252", "# →\n```\n"),
    Row("binary standard input", ("edit", "-", *ASK),
        "standard input looks binary (it holds NUL bytes); give a text file", 2, "binary stdin"),
    Row("standard input that is closed", ("edit", "-", *ASK),
        "standard input cannot be read: it is closed", 2, "closed stdin"),
    Row("a working directory that was removed", edit(),
        "the working directory does not exist any more; go to another", 2, "removed folder"),
]  # fmt: skip

WRITING = [
    Row("a full disk", ("edit", "small/a.py", *ASK, "--apply"),
        "small/a.py was not changed: the disk is full; make room and run the command again", 2,
        "full disk", "".join(f"# line {number}\n" for number in range(30)) + "```\n"),
    Row("a read-only target", ("edit", "fixed/a.py", *ASK, "--apply"),
        "fixed/a.py is read-only; make it writable, or use --output", 2, "read-only"),
    Row("output into a folder that is not there", edit("--output", "no/b.py"),
        "there is no folder …/no; create it first"),
    Row("output into a folder that is not there, by its name", edit("--output", "no/"),
        "there is no folder no; create it first"),
    Row("output onto a named pipe", edit("--output", "pipe"),
        "pipe is not a regular file; it cannot be replaced", 2, "pipe"),
    Row("output under a name that is too long", edit("--output", "x" * 300),
        "… cannot be written: File name too long; use another path"),
    Row("output into a folder with a name that is too long", edit("--output", "x" * 300 + "/"),
        "there is no folder …; create it first"),
    Row("output to -", ("generate", "a list", "-o", "-"),
        "--output takes a file's name; leave it out for standard output"),
    Row("output without a name", edit("--output", ""), "'' is no file name; check the path"),
    Row("output onto a folder", edit("--output", "folder"),
        "folder is a folder; give the name of a file in it", 2, "folder"),
    Row("output of two files into one", ("edit", "a.py", "b.py", *ASK, "--output", "c.py"),
        "--output takes one file and goes without --apply"),
    Row("standard input applied", ("edit", "-", *ASK, "--apply"),
        "standard input has no file to apply to; leave out --apply, or use --output"),
    Row("Ctrl-C during an edit", edit("--apply"), "interrupted; no file was changed", 130,
        "interrupt"),
    Row("SIGTERM during an edit", edit("--apply"), "interrupted; no file was changed", 130,
        "terminate"),
    Row("SIGHUP during an edit", edit("--apply"), "interrupted; no file was changed", 130,
        "hang_up"),
]  # fmt: skip

ANSWERS = [
    Row("an answer that is cut off", edit("--apply", "--max-tokens", "3"),
        "a.py is unchanged: the output reached the limit of tokens; raise --max-tokens", 1,
        answer="def lookup(a)"),
    Row("an answer that outgrows the context", edit("--apply", "--context", "600"),
        "a.py is unchanged: the output no longer fits the context; raise --context or give a "
        "smaller file", 1, answer="".join(f"{number}\n" for number in range(300))),
    Row("an answer that repeats itself", edit("--apply"),
        "a.py is unchanged: the model began to repeat itself; word the instruction otherwise", 1,
        answer="again " * 300),
    Row("code that is cut off", ("generate", "a list", "-o", "b.py", "--max-tokens", "3"),
        "the output is not whole: the output reached the limit of tokens; raise --max-tokens", 1,
        answer="values = [1]"),
]  # fmt: skip

USAGE = [
    Row("an unknown command", ("edt", "a.py"), "No such command 'edt'. Did you mean 'edit'?"),
    Row("an unknown flag", edit("--aply"), "No such option: --aply (Possible options: --apply, …)"),
    Row("no instruction", ("edit", "a.py"), "Missing option '--instruction'…"),
    Row("an empty instruction", ("edit", "a.py", "-i", " "),
        "the instruction is empty; say with -i what to change"),
    Row("no file", ("edit", *ASK), "Missing argument 'FILE...'."),
    Row("a file twice", ("edit", "a.py", "a.py", *ASK), "a file is named twice; name each once"),
    Row("a file twice, spelt otherwise", ("edit", "a.py", "./a.py", *ASK),
        "a file is named twice, as a.py and ./a.py; name each once"),
    Row("a language that breaks the prompt", edit("--lang", "py\nthon"),
        "--lang is 'py\\nthon'; it must be one word such as python"),
    Row("a language that is not known", ("generate", "a list", "--lang", "pyton"),
        "--lang is 'pyton', which is no known language; did you mean python? 'redraft generate "
        "--help' lists those that are"),
    Row("a place without line and column", ("complete", "a.py"),
        "'a.py' names no place; give FILE:LINE:COL, both from 1, such as app.py:12:5"),
    Row("line 0", ("complete", "a.py:0:1"), "'a.py:0:1' names no place; give FILE:LINE:COL, …"),
    Row("a line behind the end", ("complete", "a.py:9:1"),
        "a.py has 3 lines, so there is no line 9"),
    Row("a column behind the end", ("complete", "a.py:1:99"),
        "line 1 of a.py has 12 characters, so columns go from 1 to 13; 99 is none of them"),
    Row("nothing to generate", ("generate", ""), "the instruction is empty; say what to write"),
    Row("two models from one file", ("models", "pull", "a", "b", "--from", "x"),
        "--from takes one model; pull them one by one"),
]  # fmt: skip

SETTINGS = [
    Row("a temperature that is no number", edit("--temperature", "hot"),
        "--temperature is 'hot'; it must be a number, 0 … 100"),
    Row("a temperature that is not finite", edit("--temperature", "nan"),
        "--temperature is 'nan'; it must be a number, 0 … 100"),
    Row("a probability above 1", edit("--top-p", "1.5"),
        "--top-p is '1.5'; it must be a number, above 0, at most 1"),
    Row("a negative seed", edit("--seed", "-1"),
        "--seed is '-1'; it must be a whole number, 0 … 2^64 - 1"),
    Row("half a thread", edit("--threads", "1.5"),
        "--threads is '1.5'; it must be a whole number, 0 … 1024"),
    Row("a context of 3 tokens", edit("--context", "3"),
        "--context is '3'; it must be a whole number, 256 … 1048576"),
    Row("a policy that does not exist", edit("--policy", "fixed:64"),
        "--policy is 'fixed:64'; it must be none, cost, gate, seed, seed-regions or fixed:k with"
        " k = 1 … 63"),
    Row("a drafter that does not exist", edit("--drafters", "source,sufix"),
        "--drafters is 'source,sufix'; it must be different names of source, suffix, …"),
    Row("an engine that does not exist", edit("--engine", "gpu"),
        "--engine is 'gpu'; it must be one of auto, ik, llamacpp, fake"),
    Row("numerics that do not exist", edit("--numerics", "exact"),
        "--numerics is 'exact'; it must be one of invariant, fast"),
    Row("a bad environment variable", edit(),
        "environment variable REDRAFT_SEED is 'x'; it must be a whole number, 0 … 2^64 - 1", 2,
        "REDRAFT_SEED=x"),
    Row("a misspelt environment variable", edit(),
        "REDRAFT_TEMPRATURE is no setting; did you mean temperature?", 2, "REDRAFT_TEMPRATURE=1"),
    Row("a misspelt key", edit(),
        "…/redraft.toml: tempreature is no setting; did you mean temperature?", 2,
        "toml: tempreature = 1"),
    Row("an unknown key", edit(),
        "…/redraft.toml: there is no setting 'corpus'; known are model, …", 2,
        "toml: [corpus]"),
    Row("a setting that no file may give", edit(),
        "…/redraft.toml: home cannot be set there; set the environment variable REDRAFT_HOME", 2,
        "toml: home = 'x'"),
    Row("a file that is no TOML", edit(), "…/redraft.toml is no valid TOML: … (at …)", 2,
        "toml: seed ="),
    Row("a settings file in another encoding", edit(),
        "…/redraft.toml is not UTF-8 (line 1); save it as UTF-8", 2, "toml in latin-1"),
    Row("a settings file that is a folder", edit(),
        "…/redraft.toml cannot be read: Is a directory; mend or remove it", 2, "toml is a folder"),
    Row("a settings file that is a named pipe", edit(),
        "…/redraft.toml cannot be read: it is not a regular file; mend or remove it", 2,
        "toml is a pipe"),
    Row("a number in quotation marks", edit(),
        "…/redraft.toml: seed is '1'; it must be a whole number, 0 … 2^64 - 1, without quotation "
        "marks", 2, "toml: seed = '1'"),
    Row("a number of thousands of digits", edit(),
        "…/redraft.toml has a number of thousands of digits; shorten it", 2,
        "toml: seed = " + "9" * 5000),
    Row("a key of 50,000 parts", edit(),
        "…/redraft.toml is nested too deeply; settings are plain keys", 2,
        "toml: " + "a." * 50_000 + "a = 1"),
    Row("a settings file without end", edit(),
        "…/redraft.toml is longer than 262,144 bytes; settings are a few lines", 2,
        "toml: seed = 1" + "\n" * 300_000),
    Row("a path in the home folder of nobody", edit(),
        "…/redraft.toml: corpus_paths names the home folder of a user who has none here; give a "
        "full path", 2, "toml: corpus_paths = ['~nosuchuser/x']"),
    Row("a value that is not UTF-8", ("config", "--json"),
        "environment variable REDRAFT_MODEL is …; it must be a model's name or the path of a .gguf "
        "file, in UTF-8", 2, "REDRAFT_MODEL=\udcff"),
    Row("a home of nobody", edit(),
        "REDRAFT_HOME=~nosuchuser names no user's home folder; set REDRAFT_HOME to a folder by its "
        "full path", 2, "REDRAFT_HOME=~nosuchuser"),
    Row("a corpus folder that is not there", ("corpus", "build", "--corpus-paths", "no"),
        "corpus path no does not exist; correct corpus_paths"),
    Row("a home that is a file", ("corpus", "build"),
        "…cannot be written: Not a directory; set REDRAFT_HOME to a folder that you can write to",
        2, "home is a file"),
]  # fmt: skip

PULL = "run 'redraft models pull qwen2.5-coder-1.5b'"
IK = ("--engine", "ik")
WEIGHTS = [
    Row("weights that are not here", edit(*IK),
        f"the model qwen2.5-coder-1.5b is not on this machine; {PULL}", 3),
    Row("an unknown model", edit(*IK, "--model", "qwen2.5-coder-15b"),
        "no model is called qwen2.5-coder-15b; did you mean 'qwen2.5-coder-1.5b'? There are …", 3),
    Row("a path where no file is", edit(*IK, "--model", "x.gguf"),
        "no model file x.gguf; fetch the file again, or choose another model", 3),
    Row("a folder as weights", edit(*IK, "--model", "./folder"),
        "folder is a folder; give the path of a .gguf file in it", 3, "folder"),
    Row("a named pipe as weights", edit(*IK, "--model", "./pipe"),
        "model file pipe is not a regular file; fetch the file again, or choose another model", 3,
        "pipe"),
    Row("an empty name as weights", ("models", "path", ""), "no model is called ''; there are …",
        3),
    Row("weights that end early", edit(*IK),
        f"model file … is 1,117,320,760 bytes short of 1,117,320,768; {PULL} to resume", 3,
        "truncated weights"),
    Row("weights with other bytes", ("models", "verify", "qwen2.5-coder-0.5b"),
        "model file … has SHA-256 …, but qwen2.5-coder-0.5b has …; run 'redraft models pull "
        "qwen2.5-coder-0.5b' to replace it", 3, "other weights"),
    Row("an empty file as weights", edit(*IK, "--model", "m.gguf"), "model file m.gguf …", 3,
        "gguf: empty"),
    Row("text as weights", edit(*IK, "--model", "m.gguf"), "model file m.gguf …", 3, "gguf: text"),
    Row("a GGUF file cut in its header", edit(*IK, "--model", "m.gguf"), "model file m.gguf …", 3,
        "gguf: cut"),
    Row("an architecture that the engine does not know", edit(*IK, "--model", "m.gguf"),
        "model file m.gguf is of the architecture 'mamba9', which the ik engine does not support; "
        "choose another model, or the llamacpp engine if it knows this one", 3, "gguf: mamba9"),
    Row("weights of no known model to verify", ("models", "verify", "nope"),
        "no model is called nope; there are …", 3),
    Row("weights to verify that are not here", ("models", "verify", "qwen2.5-coder-1.5b"),
        f"the model qwen2.5-coder-1.5b is not on this machine; {PULL}", 3),
    Row("a given file that is not there", ("models", "pull", "--from", "x.gguf"),
        "qwen2.5-coder-1.5b could not be fetched (the given file: …); …", 3),
    Row("a given file that is another model", ("models", "pull", "--from", "a.py"),
        "qwen2.5-coder-1.5b could not be fetched (the given file: …); …", 3),
    Row("an engine that is not installed", edit("--engine", "llamacpp", "--model", "m.gguf"),
        "the llamacpp engine is not installed; install it with: pip install 'redraft[llamacpp]' …",
        3, "no llamacpp"),
]  # fmt: skip

RECORDS = [
    Row("no run yet", ("explain-run",),
        "there are no run records in … yet; run 'redraft edit', 'complete' or 'generate' first"),
    Row("an unknown run", ("explain-run", "20200101"),
        "no recorded run is called '20200101'; 'redraft explain-run' without an id shows the …"),
    Row("a record that is no record", ("explain-run", "./a.py"),
        "run record a.py is damaged in line 1 (…"),
    Row("a record that is a named pipe", ("explain-run", "./pipe"),
        "run record 'pipe' cannot be read: it is not a regular file", 2, "pipe"),
    Row("a record without end", ("explain-run", "/dev/zero"),
        "run record '/dev/zero' cannot be read: it is not a regular file"),
    Row("a record of a later version", ("explain-run", "./new.jsonl"),
        "run record new.jsonl was written by a newer redraft; update this one", 2, "new record"),
]  # fmt: skip

BENCHES = [
    Row("gate weights that are a named pipe", edit("--policy", "gate", "--gate-weights", "pipe"),
        "pipe cannot be read: it is not a regular file", 2, "pipe"),
    Row("gate weights that are a device",
        edit("--policy", "gate", "--gate-weights", "/dev/zero"),
        "/dev/zero cannot be read: it is not a regular file"),
    Row("a trace that is a named pipe", ("bench", "replay", "pipe"),
        "pipe cannot be read: it is not a regular file", 2, "pipe"),
    Row("a result that is a named pipe", ("bench", "report", "pipe"),
        "pipe cannot be read: it is not a regular file", 2, "pipe"),
    Row("tasks that are a named pipe", ("bench", "functions", "--path", "pipe"),
        "cannot read pipe: it is not a regular file", 2, "pipe"),
]  # fmt: skip

TABLES = {
    "Files": FILES,
    "Writing and interruption": WRITING,
    "Answers that are not whole": ANSWERS,
    "Usage": USAGE,
    "Settings": SETTINGS,
    "Weights and engines": WEIGHTS,
    "Run records": RECORDS,
    "Benches and the gate": BENCHES,
}

NOTES = {
    "Writing and interruption": [
        "While files are written, which takes milliseconds, no signal is heard but SIGKILL and",
        "SIGSTOP. A process that is killed in that moment leaves each file whole, old or new, and",
        "may leave a file `.redraft-….tmp` beside one, which can be removed.",
    ],
}


def page() -> str:
    """docs/bad-inputs.md."""
    lines = [
        "# Bad inputs",
        "",
        "What redraft says to each, on stderr behind `redraft: `, and its exit code. `…` stands",
        "for any text. Each row is a test (`tests/e2e/test_bad_inputs.py`), and this page is made",
        "from the same table by `make docs`.",
        "",
        "Exit codes: 0 done, 1 done but a check says no (an output that is not whole), 2 bad usage",
        "or input, 3 model or engine unavailable, 70 an error in redraft itself, 130 interrupted,",
        "141 the reader of the output went away.",
    ]
    for title, rows in TABLES.items():
        lines += [
            "",
            f"## {title}",
            "",
            *([*NOTES[title], ""] if title in NOTES else []),
            "| input | command | message | exit |",
            "|---|---|---|---|",
        ]
        for row in rows:
            command = " ".join(_quoted(part) for part in row.command)
            lines.append(f"| {row.what} | `{_cell(command)}` | {_cell(row.message)} | {row.code} |")
    return "\n".join(lines) + "\n"


def _quoted(part: str) -> str:
    if len(part) > 40:
        return part[:8] + "…"
    plain = part and part.isprintable() and " " not in part
    return part if plain else repr(part)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
