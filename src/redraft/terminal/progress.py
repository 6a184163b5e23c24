"""Shows a running job on stderr: stages, prompt evaluation, tokens, speed, accepted share.

On a terminal it is one live panel that vanishes at the end; elsewhere a line per stage. It does
not know what the text means.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from redraft.terminal.job import Begun, Event, Stage
from redraft.terminal.screen import say, talk_console, visible
from redraft.tokens import Prefill, Step

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

SHOWN_LINES = 4
BAR_WIDTH = 28
LINE_SECONDS = 5.0
"""Least time between two lines about the same stage."""


class Display(Protocol):
    """Takes a job's events."""

    def show(self, event: Event) -> None:
        """Called in the main thread, in order."""
        ...


@contextmanager
def display(quiet: bool = False) -> Iterator[Display]:
    """The display that fits where stderr goes; `quiet` shows nothing."""
    if quiet:
        yield Silence()
    elif sys.stderr.isatty() and not talk_console().is_dumb_terminal:
        with LivePanel() as panel:
            yield panel
    else:
        yield Lines()


class Silence:
    """Shows nothing."""

    def show(self, event: Event) -> None:
        """Nothing."""


class Lines:
    """A line when a stage begins, and for each quarter of one that takes long; for logs."""

    def __init__(self) -> None:
        self._last: tuple[str, int] = ("", 0)
        self._said = 0.0

    def show(self, event: Event) -> None:
        """Say what is new."""
        if isinstance(event, Begun):
            self._say(event.title, 0, "")
        elif isinstance(event, Stage):
            self._say(event.text, int(4 * (event.share or 0)), event.detail)

    def _say(self, text: str, quarter: int, detail: str) -> None:
        is_new = text != self._last[0]
        if is_new or (quarter != self._last[1] and perf_counter() - self._said > LINE_SECONDS):
            self._last, self._said = (text, quarter), perf_counter()
            say(f"{text} ({detail or f'{25 * quarter} %'})" if quarter else text)


class LivePanel:
    """A spinner with what is going on, a bar where a share is known, the last lines of output."""

    def __init__(self) -> None:
        self._title = ""
        self._stage = "starting"
        self._share: float | None = None
        self._lines: deque[str] = deque([""], maxlen=SHOWN_LINES)
        self._counts = Counts()
        self._live: Live | None = None

    def __enter__(self) -> LivePanel:
        from rich.live import Live

        self._live = Live(
            console=talk_console(),
            transient=True,
            refresh_per_second=8,
            get_renderable=self._render,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def show(self, event: Event) -> None:
        """Remember what the next refresh shows."""
        if isinstance(event, Stage):
            self._stage = f"{event.detail}  {event.text}".lstrip()
            self._share = event.share
            return
        if isinstance(event, Begun):
            self._title, self._counts = event.title, Counts()
            self._stage, self._share = "evaluating the prompt", None
            self._lines.clear()
            self._lines.append("")
            return
        self._counts.add(event.event)
        if isinstance(event.event, Prefill):
            self._share = event.event.done / max(1, event.event.total)
            self._stage = f"evaluating the prompt{self._counts.prefill_speed()}"
            return
        self._share, self._stage = None, self._counts.summary()
        for part in event.text.splitlines(keepends=True):
            self._lines[-1] += part.rstrip("\n")
            if part.endswith("\n"):
                self._lines.append("")

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        # what changes stands first, and what is known anyway last, where a narrow line is cut
        row = Table.grid(padding=(0, 1))
        cells: list[RenderableType] = [_SPINNER.setdefault("dots", Spinner("dots"))]
        if self._share is not None:
            width = min(BAR_WIDTH, talk_console().width // 4)
            cells.append(ProgressBar(1.0, self._share, width=width))
            cells.append(Text(f"{self._share:.0%}", no_wrap=True))
        words = visible(f"{self._stage}  {self._title}".strip())
        cells.append(Text(words, no_wrap=True, overflow="ellipsis"))
        row.add_row(*cells)
        tail = [
            Text(visible(line.expandtabs(4)), "dim", no_wrap=True, overflow="ellipsis")
            for line in self._lines
            if line.strip()
        ]
        return Group(row, *tail)


_SPINNER: dict[str, RenderableType] = {}  # kept, since a new one starts its turn again


class Counts:
    """Speed and acceptance so far, for display; `redraft.statistics` keeps the exact ones."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._tokens = self._proposed = self._accepted = 0
        self._prefilled: tuple[int, float] = (0, 0.0)

    def add(self, event: Prefill | Step) -> None:
        """Count an event."""
        if isinstance(event, Prefill):
            self._prefilled = (event.done, self._prefilled[1] + event.seconds)
            return
        if self._begun is None:
            self._begun = perf_counter()
            return  # its time is not known
        self._tokens += len(event.tokens)
        guesses = sum(value > 0 for value in event.verdict.draft.survival)
        self._proposed += guesses
        self._accepted += min(event.verdict.accepted, guesses)

    def prefill_speed(self) -> str:
        """Words for the tokens per second of the prompt."""
        tokens, seconds = self._prefilled
        return f", {tokens / seconds:.0f} tokens/s" if seconds > 0 else ""

    def summary(self) -> str:
        """Words for the output so far."""
        if self._begun is None or not self._tokens:
            return "writing"
        seconds = max(1e-9, perf_counter() - self._begun)
        words = f"{self._tokens} tokens, {self._tokens / seconds:.1f} tokens/s"
        if self._proposed:
            words += f", {self._accepted / self._proposed:.0%} of drafts accepted"
        return words
