"""`redraft complete` and `redraft generate`: text that goes to stdout or into a new file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redraft.errors import UsageError
from redraft.terminal import outputs, report
from redraft.terminal.inputs import parse_place, read_input, split_at
from redraft.terminal.job import Job
from redraft.terminal.languages import chosen_language
from redraft.terminal.outputs import Written
from redraft.terminal.progress import display
from redraft.terminal.screen import as_text, say, shortened, write_data, write_json

if TYPE_CHECKING:
    from redraft.config import Settings
    from redraft.session import Result, Run, Session


@dataclass(frozen=True, slots=True)
class CompleteOptions:
    """What the user asked for."""

    place: str
    language: str = ""
    single_line: bool = False
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What the user asked for."""

    instruction: str
    language: str = ""
    output: Path | None = None
    as_json: bool = False


def complete(options: CompleteOptions, settings: Settings) -> int:
    """Print what fits at a place in a file. A completion that reached its limit is fine."""
    from redraft.session import CompleteRequest

    place = parse_place(options.place)
    prefix, suffix = split_at(read_input(place.name).text, place)
    language = chosen_language(options.language, place.name)
    request = CompleteRequest(prefix, suffix, language, options.single_line)
    result = _answer(
        f"completing {shortened(options.place)}",
        lambda session: session.complete(request),
        settings,
    )
    if options.as_json:
        write_json({"place": as_text(options.place), **report.as_json(result)})
    else:
        write_data(_with_newline_for_eyes(result.text))
        if not result.text.strip() and result.finish_reason == "stop":
            say(f"{shortened(options.place)}: the model would insert nothing")
    report.say_summary(result, settings)
    return 0


def generate(options: GenerateOptions, settings: Settings) -> int:
    """Print or write code by instruction; returns 1 where it is not whole."""
    from redraft.session import GenerateRequest

    if not options.instruction.strip():
        raise UsageError("the instruction is empty; say what to write")
    output = outputs.target(options.output) if options.output is not None else None
    if output is not None:
        outputs.require_writable(output.path)
    language = chosen_language(options.language, options.output.name if options.output else "")
    request = GenerateRequest(options.instruction, language)
    result = _answer("generating", lambda session: session.generate(request), settings)
    whole = result.finish_reason == "stop"
    written = Written()
    if output is not None and whole:
        written = outputs.write_all([(output, result.text.encode())])
    for path in written.paths:
        say(f"{path}: written")
    try:
        if options.as_json:
            place = options.output if written.paths else None
            write_json({**report.as_json(result), "written_to": place})
        elif options.output is None or written.trouble is not None:  # minutes of work are kept
            write_data(result.text)
    finally:
        if not whole:
            say(f"redraft: the output is not whole: {report.INCOMPLETE[result.finish_reason]}")
        report.say_summary(result, settings)
        if written.trouble is not None:
            raise written.trouble
    return 0 if whole else 1


def _answer(title: str, start: Callable[[Session], Run], settings: Settings) -> Result:
    def work(job: Job[Result]) -> Result:
        from redraft.session import Session

        with Session(settings, notify=job.notify) as session:
            job.check()
            return job.follow(title, start(session))

    job = Job(work)
    with display() as shown:
        return job.do(shown.show)


def _with_newline_for_eyes(text: str) -> str:
    return text + "\n" if sys.stdout.isatty() and not text.endswith("\n") else text
