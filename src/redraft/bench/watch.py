"""What a long bench tells while it runs, on stderr: what it does, how far it is, when it is done.

A bar with the remaining time on a terminal, a line per task elsewhere. It does not know figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column


class Watch(Protocol):
    """Is told what happens."""

    def stage(self, text: str, share: float | None = None) -> None:
        """Something before the tasks; the share that is done where it is known."""
        ...

    def begin(self, units: int, done: int) -> None:
        """The tasks begin: so many units of work, so many of them done by an earlier run."""
        ...

    def unit(self, count: int = 1) -> None:
        """Units are finished."""
        ...

    def task(self, text: str) -> None:
        """A task begins."""
        ...

    def finished(self, text: str) -> None:
        """A task is finished, and this is the line about it."""
        ...


class Silent:
    """Tells nobody."""

    def stage(self, text: str, share: float | None = None) -> None:
        """Nothing."""

    def begin(self, units: int, done: int) -> None:
        """Nothing."""

    def unit(self, count: int = 1) -> None:
        """Nothing."""

    def task(self, text: str) -> None:
        """Nothing."""

    def finished(self, text: str) -> None:
        """Nothing."""


class Lines:
    """A line per stage and finished task, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def stage(self, text: str, share: float | None = None) -> None:
        """Say what is new."""
        if text != self._last:
            self._last = text
            self._say(text)

    def begin(self, units: int, done: int) -> None:
        """Say where it goes on."""
        if done:
            self._say(f"resuming: {done} of {units} runs were made before")

    def unit(self, count: int = 1) -> None:
        """Nothing: a line per run is too much."""

    def task(self, text: str) -> None:
        """Nothing: the line comes at its end."""

    def finished(self, text: str) -> None:
        """Say it."""
        self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)


class Bar:
    """A live bar with the time that is left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._id: TaskID = progress.add_task("starting", total=None)

    def stage(self, text: str, share: float | None = None) -> None:
        """Show it beside the bar."""
        if share is None:
            self._progress.update(self._id, description=text)
        else:
            self._progress.update(self._id, description=text, completed=share, total=1.0)

    def begin(self, units: int, done: int) -> None:
        """Start the count anew, so that the time left is reckoned from work done now."""
        self._progress.remove_task(self._id)
        self._id = self._progress.add_task("", total=units - done)

    def unit(self, count: int = 1) -> None:
        """Move the bar."""
        self._progress.advance(self._id, count)

    def task(self, text: str) -> None:
        """Name it beside the bar."""
        self._progress.update(self._id, description=text)

    def finished(self, text: str) -> None:
        """Leave the line above the bar."""
        self._progress.console.print(text, soft_wrap=True)


@contextmanager
def watching() -> Iterator[Watch]:
    """The watch that fits where stderr goes."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        # last, where a narrow line is cut
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress)
