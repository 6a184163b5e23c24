"""The commands of `redraft bench`: declares them; the modules beside it do what they say.

A command prints a table and, as its last line on stdout, the path of the JSON. It exits with 1
when an output differs from plain where equality is promised, and with 3 when its tasks cannot be
had. It does not know how anything is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from redraft.bench.options import ExactOptions, RunOptions, SyntaxOptions, with_options
from redraft.bench.tasks import Workload
from redraft.errors import Cancelled, CheckFailed, RedraftError
from redraft.terminal.flags import Flags, with_settings

app = typer.Typer(
    name="bench",
    help="Measure speed and exactness on real tasks, by the rules in the documentation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class TasksMissing(RedraftError):
    """The tasks of a workload cannot be had here."""

    exit_code: ClassVar[int] = 3


@app.command(epilog="Example: redraft bench edits --sample 8")
@with_settings
@with_options
def edits(options: RunOptions, flags: Flags) -> None:
    """Whole-file edits over a pinned package, each with a check that it was carried out."""
    _bench("edits", options, flags)


@app.command(epilog="Example: redraft bench functions --path HumanEval.jsonl.gz --sample 24")
@with_settings
@with_options
def functions(options: RunOptions, flags: Flags) -> None:
    """Functions from signature and docstring: HumanEval, by path."""
    _bench("functions", options, flags)


@app.command(epilog="Example: redraft bench completions --path SingleLine.jsonl.gz --sample 40")
@with_settings
@with_options
def completions(options: RunOptions, flags: Flags) -> None:
    """Gaps in files: HumanEval-Infilling's single lines and random spans, by path."""
    _bench("completions", options, flags)


@app.command(epilog="Example: redraft bench exact --functions HumanEval.jsonl.gz")
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
        command=_command(),
    )
    with _resumable(), watching() as watch:
        outcome = run_exact(plan, settings, watch)
    _show(outcome.path, outcome.document, options.as_json)


@app.command(epilog="Example: redraft bench edits --corpus $(redraft bench corpus)")
@with_settings
def corpus(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where it goes.")
    ] = None,
    *,
    flags: Flags,
) -> None:
    """Build the index that the bench may draft from, without the packages that tasks are from."""
    from redraft.bench.corpus import build_bench_corpus, default_folder
    from redraft.bench.watch import watching
    from redraft.config import load_settings
    from redraft.loading import load_tokenizer

    settings = load_settings(flags)
    with watching() as watch:
        tokenizer = load_tokenizer(settings.engine, settings.model, watch.stage)
        folder = output or default_folder(tokenizer)
        watch.stage("indexing the standard library and installed packages")
        facts = build_bench_corpus(folder, tokenizer, settings.corpus_tokens)
    print(f"{facts.files:,} files, {facts.tokens:,} tokens, {facts.sha256}", file=sys.stderr)
    print(folder)


@app.command(epilog="Example: redraft bench syntax src tests")
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
        tuple(paths), options.offsets, options.files, settings.seed, options.output, _command()
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


def _bench(workload: Workload, options: RunOptions, flags: Flags) -> None:
    from redraft.bench.run import BenchPlan, run_bench
    from redraft.bench.tasks import load_tasks, select
    from redraft.bench.watch import watching
    from redraft.bench.workloads import WorkloadMissing, tasks_sha256
    from redraft.config import load_settings

    settings = load_settings(flags)
    try:
        tasks = load_tasks(workload, options.path or ())
    except WorkloadMissing as error:
        if options.skip_missing:
            print(f"{workload} skipped: {error}", file=sys.stderr)
            raise typer.Exit(0) from None
        raise TasksMissing(str(error)) from None
    selection = options.selection(settings.seed)
    chosen = select(tasks, selection)
    plan = BenchPlan(
        workload=workload,
        tasks=chosen,
        sample=selection.describe(len(chosen), len(tasks)),
        set_sha256=tasks_sha256(tasks),
        repeats=options.times,
        output=options.output,
        corpus=options.corpus,
        fresh=options.fresh,
        command=_command(),
    )
    with _resumable(), watching() as watch:
        outcome = run_bench(plan, settings, watch)
    _show(outcome.path, outcome.document, options.as_json)


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


def _command() -> str:
    """What was typed, without folders: a figure names it, and folders are this machine's."""
    return " ".join(["redraft", *map(_word, sys.argv[1:])])


def _word(word: str) -> str:
    flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    value = Path(value).name if "/" in value else value
    return f"{flag}{equals}" + (f"'{value}'" if " " in value else value)
