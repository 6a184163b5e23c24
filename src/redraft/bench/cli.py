"""The commands of `redraft bench`: declares them; the modules beside it do what they say.

A command prints a table and, as its last line on stdout, the path of the JSON. It exits with 1
when an output differs from plain where equality is promised, with 2 when nobody says where its
tasks are, and with 3 when they cannot be had. It does not know how anything is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft.bench.options import (
    AsJson,
    ExactOptions,
    PeerOptions,
    RunOptions,
    ScenarioOptions,
    SyntaxOptions,
    TraceOptions,
    with_options,
)
from redraft.bench.plans import (
    TasksMissing,
    command_line,
    plan_from_files,
    plan_of_scenarios,
    tasks_from_files,
    workload_from_files,
)
from redraft.bench.replay.command import ReplayOptions
from redraft.bench.tasks import FromFiles, select
from redraft.errors import Cancelled, CheckFailed, UsageError
from redraft.terminal.flags import Flags, SettingsCommand, SettingsGroup, with_settings

if TYPE_CHECKING:
    from redraft.bench.run import BenchPlan
    from redraft.config import Settings

app = typer.Typer(
    name="bench",
    help="Measure speed and exactness on real tasks, by the rules in the documentation.",
    epilog="Example: redraft bench edits --sample 8",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=SettingsCommand, epilog="Example: redraft bench edits --sample 8")
@with_settings
@with_options
def edits(options: RunOptions, flags: Flags) -> None:
    """Whole-file edits over a pinned package, each with a check that it was carried out."""
    _bench("edits", options, flags)


@app.command(
    cls=SettingsCommand,
    epilog="Example: redraft bench functions --path HumanEval.jsonl.gz --sample 24",
)
@with_settings
@with_options
def functions(options: RunOptions, flags: Flags) -> None:
    """Functions from signature and docstring: HumanEval, by path."""
    _bench("functions", options, flags)


@app.command(
    cls=SettingsCommand,
    epilog="Example: redraft bench completions --path SingleLine.jsonl.gz --sample 40",
)
@with_settings
@with_options
def completions(options: RunOptions, flags: Flags) -> None:
    """Gaps in files: HumanEval-Infilling's single lines and random spans, by path."""
    _bench("completions", options, flags)


scenario_app = typer.Typer(
    name="scenarios", help="Completion, function and refactoring in Go, Rust, Python, TypeScript."
)
app.add_typer(scenario_app)


@scenario_app.callback(
    cls=SettingsGroup,
    invoke_without_command=True,
    epilog="Example: redraft bench scenarios --cell refactoring/go",
)
@with_settings
@with_options
def scenarios(invocation: typer.Context, options: ScenarioOptions, flags: Flags) -> None:
    """Completion, function and refactoring in Go, Rust, Python, TypeScript, from real packages.

    Runs the fixed sample of 4 tasks per cell, unless --all, --sample or --limit say otherwise.
    """
    from redraft.config import load_settings

    if invocation.invoked_subcommand is not None:
        return
    settings = load_settings(flags)
    plan = plan_of_scenarios(options, settings)
    _run(plan, settings, options.as_json)


@scenario_app.command("fetch", epilog="Example: redraft bench scenarios fetch")
def fetch_scenarios(as_json: AsJson = False) -> None:
    """Fetch the pinned packages that scenarios are cut from (6 MB), and count the tasks."""
    from redraft.bench.scenarios import fetch_all, print_fetched
    from redraft.bench.watch import watching
    from redraft.terminal.screen import write_json

    with watching() as watch:
        fetched = fetch_all(watch)
    if as_json:
        write_json(asdict(fetched))
    else:
        print_fetched(fetched, print)
    if fetched.skipped:
        raise TasksMissing(
            f"{len(fetched.skipped)} of {len(fetched.counts)} cells have no tasks here, for the "
            "reasons above; the others can be run"
        )


@app.command(
    cls=SettingsCommand,
    epilog="Example: redraft bench peers --workload scenarios --cell completion",
)
@with_settings
@with_options
def peers(options: PeerOptions, flags: Flags) -> None:
    """The same weights and prompts in llama.cpp's server engine, with each of its drafters.

    Needs the extra `peers`. Each timed run of a peer loads the weights anew.
    """
    from redraft.bench.peers.run import run_peers
    from redraft.bench.peers.specs import PEERS, field_of
    from redraft.bench.watch import watching
    from redraft.config import load_settings

    settings = load_settings(flags)
    field = field_of(PEERS, options.mode or ())
    if options.workload == "scenarios":
        plan = plan_of_scenarios(options, settings)
    elif options.cell or options.every:
        raise UsageError("--cell and --all choose among scenarios; add --workload scenarios")
    else:
        plan = plan_from_files(workload_from_files(options.workload), options, settings)
    with _resumable(), watching() as watch:
        outcome = run_peers(plan, field, settings, watch)
    _show(outcome.path, outcome.document, options.as_json)


@app.command(
    cls=SettingsCommand, epilog="Example: redraft bench exact --functions HumanEval.jsonl.gz"
)
@with_settings
@with_options
def exact(options: ExactOptions, flags: Flags) -> None:
    """Whether output with every drafter equals plain output, greedy and seeded."""
    from redraft.bench.exact import DRAFTERS, ExactPlan, run_exact
    from redraft.bench.exact_tasks import gather
    from redraft.bench.watch import watching
    from redraft.config import load_settings

    settings = load_settings(flags)
    plan = ExactPlan(
        gathered=gather(options.functions, options.completions or ()),
        drafters=settings.drafters if flags.get("drafters") else DRAFTERS,
        output=options.output,
        sampled=options.sample,
        corpus=options.corpus,
        fresh=options.fresh,
        command=command_line(),
    )
    with _resumable(), watching() as watch:
        outcome = run_exact(plan, settings, watch)
    _show(outcome.path, outcome.document, options.as_json)


@app.command(
    cls=SettingsCommand, epilog="Example: redraft bench edits --corpus $(redraft bench corpus)"
)
@with_settings
def corpus(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where it goes.")
    ] = None,
    as_json: AsJson = False,
    *,
    flags: Flags,
) -> None:
    """Build the index that the bench may draft from, without the packages that tasks are from."""
    from redraft.bench.corpus import build_bench_corpus, default_folder
    from redraft.bench.watch import watching
    from redraft.config import load_settings
    from redraft.loading import load_tokenizer
    from redraft.terminal.screen import say, write_json

    settings = load_settings(flags)
    with watching() as watch:
        tokenizer = load_tokenizer(settings.engine, settings.model, watch.stage)
        folder = output or default_folder(tokenizer)
        watch.stage("indexing the standard library and installed packages")
        facts = build_bench_corpus(folder, tokenizer, settings.corpus_tokens)
    if as_json:
        write_json({"directory": folder, **asdict(facts)})
        return
    say(f"{facts.files:,} files, {facts.tokens:,} tokens, {facts.sha256}")
    print(folder)


@app.command(
    cls=SettingsCommand, epilog="Example: redraft bench trace edits --sample 12 -o traces/edits"
)
@with_settings
@with_options
def trace(
    workload: Annotated[FromFiles, typer.Argument(help="edits, functions or completions.")],
    options: TraceOptions,
    flags: Flags,
) -> None:
    """Draft tasks once and keep their traces, for replay; nothing is compared or timed."""
    from redraft.bench.recording import RecordingPlan, record
    from redraft.bench.watch import watching
    from redraft.config import load_settings

    settings = load_settings(flags)
    tasks = tasks_from_files(workload, options.path or (), skip_missing=False)
    chosen = select(tasks, options.selection(settings.seed))
    plan = RecordingPlan(workload, chosen, options.output, options.corpus, options.fresh)
    with _resumable(), watching() as watch:
        too_long = record(plan, settings, watch)
    for name in too_long:
        print(f"not recorded: {name}: its prompt does not fit; raise --context", file=sys.stderr)
    print(options.output)


@app.command(epilog="Example: redraft bench replay traces/edits --policy cost --policy fixed:5")
@with_options
def replay(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE...", help="Traces, or folders of them.")
    ],
    options: ReplayOptions,
) -> None:
    """Decode recorded outputs again by other policies and drafters; time is simulated."""
    from redraft.bench.replay.command import replay as replay_traces

    replay_traces(traces, options, command_line())


@app.command(cls=SettingsCommand, epilog="Example: redraft bench syntax src tests")
@with_settings
@with_options
def syntax(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.")],
    *,
    options: SyntaxOptions,
    flags: Flags,
) -> None:
    """How much the text before a cursor tells of its syntax, on source files, and how fast."""
    from redraft.bench.syntax import SyntaxPlan, run_syntax, syntax_table
    from redraft.bench.watch import watching
    from redraft.config import load_settings
    from redraft.terminal.screen import data_console, write_json

    settings = load_settings(flags)
    plan = SyntaxPlan(
        tuple(paths), options.offsets, options.files, settings.seed, options.output, command_line()
    )
    with watching() as watch:
        outcome = run_syntax(plan, settings, watch)
    if options.as_json:
        write_json(outcome.document)
    else:
        data_console().print(syntax_table(outcome.document))
    print(outcome.path, flush=True)


@app.command(epilog="Example: redraft bench report bench-results/edits-*.json")
def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON of benches.")],
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="One Markdown table, a row per file.")
    ] = False,
) -> None:
    """Show results again."""
    from redraft.bench.report import markdown, print_document, read_document

    documents = [read_document(path) for path in files]
    if as_markdown:
        print(markdown(documents))
        return
    for document in documents:
        print_document(document)


def _bench(workload: FromFiles, options: RunOptions, flags: Flags) -> None:
    from redraft.config import load_settings

    settings = load_settings(flags)
    _run(plan_from_files(workload, options, settings), settings, options.as_json)


def _run(plan: BenchPlan, settings: Settings, as_json: bool) -> None:
    from redraft.bench.run import run_bench
    from redraft.bench.watch import watching

    with _resumable(), watching() as watch:
        outcome = run_bench(plan, settings, watch)
    _show(outcome.path, outcome.document, as_json)


@contextmanager
def _resumable() -> Iterator[None]:
    """Say after Ctrl-C that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        raise Cancelled("interrupted; finished tasks are kept, the same command goes on") from None


def _show(path: Path, document: Mapping[str, Any], as_json: bool) -> None:
    """Print a finished bench. Raises CheckFailed where an output differs that must not."""
    from redraft.bench.report import print_document
    from redraft.terminal.screen import write_json

    if as_json:
        write_json(document)
    else:
        print_document(document)
    print(path, flush=True)
    unequal: Sequence[Mapping[str, Any]] = document["unequal"]
    if unequal and document["exact"]:
        first = unequal[0]
        raise CheckFailed(
            f"{len(unequal)} of {document['compared']} outputs differ from plain decoding, the "
            f"first in {first['task']} at token {first['differs_at']}; please report this"
        )
