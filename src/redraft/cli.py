"""The command line: declares the commands; `redraft.terminal` does what they say.

Exit codes: 0 done, 1 done but a check says no (an output that is not whole), 2 bad usage or input,
3 model or engine unavailable, 70 an error in redraft itself, 130 interrupted, 141 the reader of
the output went away. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from redraft.errors import RedraftError
from redraft.terminal import interruption
from redraft.terminal.flags import Flags, SettingsCommand, with_settings
from redraft.terminal.screen import ignore_useless_width, say
from redraft.terminal.streams import ReaderGone

INTERNAL_ERROR = 70
CHANGES_NOTHING = frozenset({"edit", "complete", "generate", "explain-run", "config"})
"""Commands that change no file before their moment of writing, if they have one."""


@dataclass(slots=True)
class State:
    """What the flags before a command set."""

    debug: bool = False


app = typer.Typer(
    name="redraft",
    help="Code models answer sooner and say the same: drafts are verified, so output stays exact.",
    epilog="Example: redraft edit app.py -i 'Rename load to read_settings' --apply",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models_app = typer.Typer(
    help="Fetch and check model weights.",
    epilog="Example: redraft models pull qwen2.5-coder-1.5b",
    no_args_is_help=True,
)
corpus_app = typer.Typer(
    help="The index of your project and packages that the corpus drafter reads.",
    epilog="Example: redraft corpus build",
    no_args_is_help=True,
)
app.add_typer(models_app, name="models")
app.add_typer(corpus_app, name="corpus")

Json = Annotated[bool, typer.Option("--json", help="One JSON object per result on stdout.")]
JsonArray = Annotated[bool, typer.Option("--json", help="One JSON array of all on stdout.")]
Language = Annotated[
    str, typer.Option("--lang", metavar="NAME", help="Language, where the name does not tell.")
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help="Write the result there.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from redraft import __version__

        print(f"redraft {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors. Goes before the command.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Flags that go before a command."""
    interruption.promise_unchanged(context.invoked_subcommand in CHANGES_NOTHING)
    if debug and isinstance(context.obj, State):
        context.obj.debug = True


@app.command(cls=SettingsCommand, epilog="Example: redraft edit app.py -i 'Add type hints' --apply")
@with_settings
def edit(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files; - for stdin.")],
    instruction: Annotated[
        str, typer.Option("--instruction", "-i", metavar="TEXT", help="What to change.")
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Write the files.")] = False,
    output: Output = None,
    lang: Language = "",
    as_json: Json = False,
    *,
    flags: Flags,
) -> None:
    """Change whole files by instruction, each by itself; shows a diff, or writes when asked."""
    from redraft.config import load_settings
    from redraft.terminal.corpus import update_in_background
    from redraft.terminal.edit import EditOptions
    from redraft.terminal.edit import edit as run
    from redraft.terminal.outputs import output_path

    settings = load_settings(flags)
    place = output_path(output)
    options = EditOptions(tuple(files), instruction, lang, apply, place, as_json)
    code = run(options, settings)
    update_in_background(settings)
    raise typer.Exit(code)


@app.command(cls=SettingsCommand, epilog="Example: redraft complete app.py:12:5 --single-line")
@with_settings
def complete(
    place: Annotated[
        str, typer.Argument(metavar="FILE:LINE:COL", help="Both from 1; :LINE:COL reads stdin.")
    ],
    single_line: Annotated[
        bool, typer.Option("--single-line", help="End at the end of the line.")
    ] = False,
    lang: Language = "",
    as_json: Json = False,
    *,
    flags: Flags,
) -> None:
    """Print what fits between the text before and after a place in a file."""
    from redraft.config import load_settings
    from redraft.terminal.answers import CompleteOptions
    from redraft.terminal.answers import complete as run
    from redraft.terminal.corpus import update_in_background

    settings = load_settings(flags)
    code = run(CompleteOptions(place, lang, single_line, as_json), settings)
    update_in_background(settings)
    raise typer.Exit(code)


@app.command(
    cls=SettingsCommand,
    epilog="Example: redraft generate 'an LRU cache with a time to live' --lang go",
)
@with_settings
def generate(
    instruction: Annotated[str, typer.Argument(metavar="TEXT", help="What to write.")],
    output: Output = None,
    lang: Language = "",
    as_json: Json = False,
    *,
    flags: Flags,
) -> None:
    """Write code by instruction, to stdout or into a file."""
    from redraft.config import load_settings
    from redraft.terminal.answers import GenerateOptions
    from redraft.terminal.answers import generate as run
    from redraft.terminal.corpus import update_in_background
    from redraft.terminal.outputs import output_path

    settings = load_settings(flags)
    code = run(GenerateOptions(instruction, lang, output_path(output), as_json), settings)
    update_in_background(settings)
    raise typer.Exit(code)


@app.command("explain-run", epilog="Example: redraft explain-run")
def explain_run(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A run's id or a record's path; else the last run."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the runs, newest first.")] = False,
    as_json: Json = False,
) -> None:
    """Show a run step by step: drafts, what was accepted, rejected, and the target's own."""
    from redraft.config import load_settings
    from redraft.terminal import steps

    directory = load_settings().runs_folder
    if list_all:
        steps.list_runs(directory)
    else:
        steps.explain_run(run, directory, as_json)


@app.command(cls=SettingsCommand, epilog="Example: redraft doctor")
@with_settings
def doctor(
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure this machine again and keep the result.")
    ] = False,
    as_json: Json = False,
    *,
    flags: Flags,
) -> None:
    """Check engine, weights and numerics; show what forwards cost here."""
    from redraft.config import load_settings
    from redraft.terminal.doctor import doctor as run

    raise typer.Exit(run(load_settings(flags), as_json, measure))


@app.command(cls=SettingsCommand, epilog="Example: redraft config --json")
@with_settings
def config(as_json: Json = False, *, flags: Flags) -> None:
    """Show the effective settings, and where each comes from."""
    from redraft.config import load_settings
    from redraft.terminal.settings_table import show_config

    show_config(load_settings(flags), as_json)


@app.command(cls=SettingsCommand, epilog="Example: redraft serve --port 8012")
@with_settings
def serve(
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="Serve only those who send this key."),
    ] = None,
    *,
    flags: Flags,
) -> None:
    """Serve editors and programs over HTTP: llama.cpp's, OpenAI's and Ollama's dialects."""
    from redraft.config import load_settings
    from redraft.server.serve import read_key
    from redraft.server.serve import serve as run
    from redraft.terminal.corpus import update_in_background

    settings, key = load_settings(flags), read_key(key_file)
    update_in_background(settings)  # an index that is replaced is opened by the next run
    run(settings, key, lambda text: say(f"redraft: {text}"))


@models_app.command("list", epilog="Example: redraft models list")
def models_list(as_json: JsonArray = False) -> None:
    """List the models known by name, and which of them are here."""
    from redraft.terminal.weights import list_models

    list_models(as_json)


@models_app.command("pull", epilog="Example: redraft models pull qwen2.5-coder-1.5b")
def models_pull(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Names from the list; else the target model."),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Take this file; download nothing."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch weights: resumable, verified by SHA-256, several sources."""
    from redraft.config import load_settings
    from redraft.errors import UsageError
    from redraft.terminal.weights import pull_models

    if given is not None and len(names or ()) > 1:
        raise UsageError("--from takes one model; pull them one by one")
    pull_models(tuple(names or (load_settings().model,)), given, as_json)


@models_app.command("path", epilog="Example: redraft models path qwen2.5-coder-1.5b")
def models_path(
    name: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Name or path; else the target model.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the path of a model's file."""
    from redraft.config import load_settings
    from redraft.terminal.weights import show_path

    show_path(load_settings().model if name is None else name, as_json)


@models_app.command("verify", epilog="Example: redraft models verify qwen2.5-coder-1.5b")
def models_verify(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="A name from the list.")],
    as_json: Json = False,
) -> None:
    """Read a model's whole file and compare its SHA-256."""
    from redraft.terminal.weights import verify_model

    verify_model(name, as_json)


@corpus_app.command("build", cls=SettingsCommand, epilog="Example: redraft corpus build")
@with_settings
def corpus_build(as_json: JsonArray = False, *, flags: Flags) -> None:
    """Bring the index up to date; files that did not change are not read again."""
    from redraft.config import load_settings
    from redraft.terminal import corpus

    corpus.build(load_settings(flags), as_json)


@corpus_app.command("status", epilog="Example: redraft corpus status")
def corpus_status(as_json: Json = False) -> None:
    """Show what is indexed for this project."""
    from redraft.config import load_settings
    from redraft.terminal import corpus

    corpus.status(load_settings(), as_json)


@corpus_app.command("clear", epilog="Example: redraft corpus clear")
def corpus_clear(
    every: Annotated[bool, typer.Option("--all", help="Those of all projects.")] = False,
    as_json: Json = False,
) -> None:
    """Remove this project's index."""
    from redraft.config import load_settings
    from redraft.terminal import corpus

    corpus.clear(load_settings(), every, as_json)


@app.command(
    "bench",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Example: redraft bench edits --sample 8",
)
def bench(context: typer.Context) -> None:
    """Measure speed and exactness on real tasks; the figures that are published."""
    from redraft.bench.cli import app as bench_app

    raise typer.Exit(
        bench_app(list(context.args), prog_name="redraft bench", standalone_mode=False)
    )


@app.command(
    "gate",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Example: redraft gate train traces/edits -o gate.json",
)
def gate(context: typer.Context) -> None:
    """Train and test the learned survival model that the policy `gate` decides by."""
    from redraft.bench.gate.cli import app as gate_app

    raise typer.Exit(gate_app(list(context.args), prog_name="redraft gate", standalone_mode=False))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. Never raises but what --debug asks for."""
    state = State()
    interruption.promise_unchanged(True)
    ignore_useless_width()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # whatever the locale cannot show
    interruption.interrupt_on_signals()
    try:
        code = app(list(arguments), obj=state, standalone_mode=False, prog_name="redraft")
        sys.stdout.flush()
        if code == interruption.INTERRUPTED:  # what typer makes of KeyboardInterrupt
            say(f"redraft: {interruption.message()}")
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort) as error:
        return _failed(state, error, interruption.message(), interruption.INTERRUPTED)
    except ReaderGone as error:
        return error.exit_code
    except RedraftError as error:
        return _failed(state, error, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001  # the last resort before the user
        return _unexpected(state, error)


def _unexpected(state: State, error: Exception) -> int:
    """A usage error of typer, which has a message and an exit code, or a bug."""
    formatted = getattr(error, "format_message", None)
    code = getattr(error, "exit_code", None)
    if formatted is not None and isinstance(code, int):
        text = formatted()  # none where typer has shown the help instead
        return _failed(state, error, " ".join(text.split()), code) if text else code
    text = " ".join(f"{type(error).__name__}: {error}".split())
    hint = "run again with 'redraft --debug …' for where it happened"
    return _failed(state, error, f"internal error: {text}; {hint}", INTERNAL_ERROR)


def _failed(state: State, error: BaseException, text: str, code: int) -> int:
    if state.debug:
        import traceback

        traceback.print_exception(error)
    say(f"redraft: {text}")
    return code
