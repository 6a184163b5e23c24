"""`redraft edit`: files changed by instruction, shown as a diff, applied when asked.

Nothing is written until every file has been edited, so an interruption leaves all as they were.
Writing comes before showing, so trouble with stdout costs no edit. An output that is not whole is
never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redraft import files
from redraft.errors import UsageError
from redraft.files import SourceFile
from redraft.terminal import outputs, report
from redraft.terminal.diff import coloured, unified_diff
from redraft.terminal.inputs import STDIN, read_input
from redraft.terminal.job import Job
from redraft.terminal.languages import chosen_language
from redraft.terminal.outputs import Target, Written
from redraft.terminal.progress import display
from redraft.terminal.screen import as_text, data_console, say, shortened, write_data, write_json

if TYPE_CHECKING:
    from redraft.config import Settings
    from redraft.session import Result


@dataclass(frozen=True, slots=True)
class EditOptions:
    """What the user asked for."""

    names: tuple[str, ...]
    instruction: str
    language: str = ""
    apply: bool = False
    output: Path | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """One file after its run."""

    name: str
    source: SourceFile
    before: bytes
    after: bytes
    result: Result

    @property
    def complete(self) -> bool:
        """Whether the output is the whole file."""
        return self.result.finish_reason == "stop"

    @property
    def changed(self) -> bool:
        """Whether the file would be another."""
        return self.before != self.after

    def diff(self) -> str:
        """The unified diff; line ends and all, so that it can be applied as a patch."""
        encoding = self.source.form.encoding
        skipped = len(self.source.form.mark)
        return unified_diff(
            self.before[skipped:].decode(encoding), self.after[skipped:].decode(encoding), self.name
        )


def edit(options: EditOptions, settings: Settings) -> int:
    """Edit the files; returns the exit code: 1 where an output is not whole.

    Raises RedraftError for what cannot be read, done or written.
    """
    _require_sensible(options)
    output = outputs.target(options.output) if options.output is not None else None
    sources = [(name, read_input(name)) for name in options.names]
    if output is not None:
        outputs.require_writable(output.path)
    elif options.apply:
        for name in options.names:
            outputs.require_writable(Path(name))

    def work(job: Job[list[Edited]]) -> list[Edited]:
        from redraft.session import Session

        with Session(settings, notify=job.notify) as session:
            return [_edit_one(job, session, options, name, source) for name, source in sources]

    job = Job(work)
    with display() as shown:
        edits = job.do(shown.show)
    written = _write(edits, options, output)
    places = [_place(one, output, written) for one in edits]
    try:
        for one, place in zip(edits, places, strict=True):
            if options.as_json:
                write_json(_as_json(one, place))
            elif one.complete:
                _show(one)
    finally:  # what was written is said even where stdout takes nothing
        for one, place in zip(edits, places, strict=True):
            _say_what_happened(one, place)
            report.say_summary(one.result, settings, one.name if len(edits) > 1 else "")
        if written.trouble is not None:
            raise written.trouble
    return 0 if all(one.complete for one in edits) else 1


def _require_sensible(options: EditOptions) -> None:
    names = options.names
    if not options.instruction.strip():
        raise UsageError("the instruction is empty; say with -i what to change")
    chosen_language(options.language, "")
    if options.output is not None and (options.apply or len(names) > 1):
        raise UsageError("--output takes one file and goes without --apply")
    if STDIN in names and options.apply:
        raise UsageError(
            "standard input has no file to apply to; leave out --apply, or use --output"
        )
    if len(set(names)) < len(names):
        raise UsageError("a file is named twice; name each once")
    _require_different([name for name in names if name != STDIN])


def _require_different(names: Sequence[str]) -> None:
    """Refuse two names of one file, which would each be edited from the same text."""
    seen: dict[tuple[int, int], str] = {}
    for name in names:
        try:
            state = Path(name).stat()
        except (OSError, ValueError):
            continue  # refused when it is read
        first = seen.setdefault((state.st_dev, state.st_ino), name)
        if first != name:
            raise UsageError(
                f"a file is named twice, as {shortened(first)} and {shortened(name)};"
                " name each once"
            )


def _edit_one(
    job: Job[list[Edited]], session: object, options: EditOptions, name: str, source: SourceFile
) -> Edited:
    from redraft.session import EditRequest, Session

    assert isinstance(session, Session)
    job.check()
    language = chosen_language(options.language, name)
    shown = "file" if name == STDIN else Path(name).name
    request = EditRequest(source.text, options.instruction, shown, language)
    result = job.follow(f"editing {shortened(name)}", session.edit(request))
    return Edited(
        name,
        source,
        files.render(source.text, source.form),
        files.render(result.text, source.form),
        result,
    )


def _as_json(one: Edited, written_to: str | None) -> dict[str, object]:
    return {
        "file": as_text(one.name),
        **report.as_json(one.result),
        "diff": one.diff(),
        "changed": one.changed,
        "written_to": written_to and as_text(written_to),
    }


def _write(edits: Sequence[Edited], options: EditOptions, output: Target | None) -> Written:
    """Write what the options say and is whole."""
    whole = [one for one in edits if one.complete]
    if output is not None:
        return outputs.write_all([(output, one.after) for one in whole])
    if not options.apply:
        return Written()
    changed = [one for one in whole if one.changed]
    return outputs.write_all([(Target(Path(one.name), one.before), one.after) for one in changed])


def _place(one: Edited, output: Target | None, written: Written) -> str | None:
    """Where an edit was written; None if nowhere."""
    path = output.path if output is not None else Path(one.name)
    return str(path) if path in written.paths else None


def _show(one: Edited) -> None:
    if one.name == STDIN:
        write_data(one.after.decode(one.source.form.encoding))
        return
    console = data_console()
    if console.is_terminal:
        console.print(coloured(one.diff()), end="")
    else:
        write_data(one.diff())


def _say_what_happened(one: Edited, applied: str | None) -> None:
    if not one.complete:
        say(f"redraft: {one.name} is unchanged: {report.INCOMPLETE[one.result.finish_reason]}")
    elif not one.changed:
        say(f"{one.name}: nothing to change")
    elif applied is not None:
        say(f"{applied}: written")
    if one.complete and one.changed:
        added, removed = _changed_lines(one)
        hint = "; more went than came, so look at what" if removed > added else ""
        noun = "line" if added == 1 else "lines"
        say(f"{one.name}: {added} {noun} added, {removed} removed{hint}")


def _changed_lines(one: Edited) -> tuple[int, int]:
    """Lines of the diff that were added and removed; a changed line is both."""
    lines = [line for line in one.diff().split("\n") if not line.startswith(("+++", "---"))]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)
