"""The rows of one task and the figures in them: times, speedups, acceptance, equality.

Rows are written as they are finished and read back when a bench resumes. This module knows no
session and no clock; a row is numbers and names only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

Cause = Literal["check", "length", "loop", "context", "time"]
"""Why a task does not count for speed: its plain output failed the task's check, or did not end
by itself (such outputs repeat themselves, and inflate what a drafter gains), or did not fit."""


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of the decodes, one of each kind per repeat, in the order they were run."""

    same_numerics: tuple[float, ...]
    drafted: tuple[float, ...]
    plain: tuple[float, ...]
    control: tuple[float, ...]
    """`plain` once more in each repeat: how far two equal things differ here."""
    drafted_engine: tuple[float, ...]
    """The part of `drafted` inside target forwards."""
    plain_prompt: float
    """Seconds to evaluate the prompt before `plain`."""
    drafted_prompt: float
    """The same before `same_numerics`, which `drafted` shares: it is the same code."""

    @property
    def speedup(self) -> float:
        """Fastest plain decoding ÷ drafted, medians, without the prompt."""
        return median(self.plain) / median(self.drafted)

    @property
    def speedup_total(self) -> float:
        """The same with the prompt's evaluation on both sides."""
        plain = median(self.plain) + self.plain_prompt
        return plain / (median(self.drafted) + self.drafted_prompt)

    @property
    def over_same_numerics(self) -> float:
        """Plain decoding in the same numerics ÷ drafted."""
        return median(self.same_numerics) / median(self.drafted)

    @property
    def control_ratios(self) -> tuple[float, ...]:
        """Control ÷ plain, one per repeat: 1 on a quiet machine."""
        return tuple(b / a for a, b in zip(self.plain, self.control, strict=True))

    @property
    def spread(self) -> float:
        """(slowest - fastest) ÷ median, of plain or drafted, whichever varies more."""
        varying = (self.plain, self.drafted)
        return max((max(times) - min(times)) / median(times) for times in varying)


@dataclass(frozen=True, slots=True)
class Drafting:
    """Counts of the drafted run; equal in every repeat but for the policy's timing."""

    forwards: int
    proposed: int
    accepted: int
    reached: tuple[int, ...]
    survived: tuple[int, ...]
    by_drafter: Mapping[str, tuple[int, int]]
    """Drafter to (proposed, accepted)."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What came of one task."""

    name: str
    kind: str
    """For a scenario its cell: `scenario/language`."""
    language: str
    excluded: Cause | None
    """None for a task that counts for speed."""
    reason: str
    """One line more about an excluded task."""
    equal: bool | None
    """Whether drafted and plain output in the same numerics agree token by token; None when
    nothing could be run."""
    differs_at: int | None
    """The first output token that differs."""
    exact: bool
    """Whether equality was promised."""
    prompt_tokens: int
    output_tokens: int
    output_sha256: str
    """Of the output's text, to compare machines."""
    unchanged_share: float | None
    """Share of the output's tokens taken over from the source, for edits."""
    drift: int
    """Positions at which one-token numerics would have chosen another token."""
    drafting: Drafting | None
    """None where nothing was run, or nothing timed."""
    timings: Timings | None

    @property
    def counts(self) -> bool:
        """Whether the row takes part in the speed figures."""
        return self.excluded is None and self.timings is not None


def to_json(row: TaskRow) -> dict[str, Any]:
    """The row with its derived figures beside it, for readers."""
    content = asdict(row)
    timings, drafting = row.timings, row.drafting
    if timings is not None:
        content |= {
            "speedup": timings.speedup,
            "speedup_total": timings.speedup_total,
            "over_same_numerics": timings.over_same_numerics,
            "control": list(timings.control_ratios),
            "spread": timings.spread,
        }
    if drafting is not None:
        proposed, forwards = drafting.proposed, drafting.forwards
        content["tokens_per_forward"] = row.output_tokens / forwards if forwards else None
        content["accepted_of_proposed"] = drafting.accepted / proposed if proposed else None
    return content


def from_json(content: Mapping[str, Any]) -> TaskRow:
    """The row that `to_json` made this of. Raises KeyError or TypeError for anything else."""
    names = TaskRow.__dataclass_fields__
    plain = {name: content[name] for name in names}
    timings, drafting = content["timings"], content["drafting"]
    if timings is not None:
        several = {name: tuple(v) for name, v in timings.items() if isinstance(v, list)}
        plain["timings"] = Timings(**{**timings, **several})
    if drafting is not None:
        by_drafter = {name: tuple(pair) for name, pair in drafting["by_drafter"].items()}
        reached, survived = tuple(drafting["reached"]), tuple(drafting["survived"])
        changed = {"by_drafter": by_drafter, "reached": reached, "survived": survived}
        plain["drafting"] = Drafting(**{**drafting, **changed})
    return TaskRow(**plain)
