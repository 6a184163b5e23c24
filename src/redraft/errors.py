"""The exceptions that redraft raises, and the exit code that each becomes.

    RedraftError                 2  anything we can explain in one line
    ├── UsageError               2  a flag, setting or argument that cannot be used
    ├── DrafterFailed            2  a drafter that cannot be loaded or used
    ├── InputError               2  a file that cannot be read, decoded or written
    ├── ModelError               3  weights that are missing, damaged or unsuitable
    │   ├── ModelMissing            not on this machine yet
    │   ├── ModelDamaged            truncated, corrupt, wrong checksum, not GGUF
    │   ├── ModelUnsupported        sound, but not usable for what was asked
    │   └── DownloadFailed          every source failed
    ├── EngineError              3  the engine cannot be had, or refused
    │   ├── EngineUnavailable       not installed, or not for this machine
    │   ├── ContextFull          2  more tokens than the context holds
    │   ├── BadToken             2  a token id outside the vocabulary, or a bad row count
    │   └── SequenceClosed       2  used after close()
    ├── CheckFailed              1  the work was done and a check says no
    └── Cancelled              130  stopped on request; nothing was lost

The message of each is one line: what failed, where, what to do. This module does not know who
prints it; `redraft.cli` turns it into `redraft: …` and the exit code, later a server into HTTP.
"""

from __future__ import annotations

from typing import ClassVar


class RedraftError(Exception):
    """Base of all; `str(error)` is one line that a user can act on."""

    exit_code: ClassVar[int] = 2


class UsageError(RedraftError):
    """A flag, setting or argument that cannot be used."""


class DrafterFailed(RedraftError):
    """A drafter, most likely somebody else's, that cannot be loaded or used."""

    @classmethod
    def by(cls, name: str, error: BaseException) -> DrafterFailed:
        """The drafter called `name` raised this."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return cls(f"drafter {name!r} failed: {reason.removesuffix(':')}; leave it out")


class InputError(RedraftError):
    """A file that cannot be read, decoded or written."""


class ModelError(RedraftError):
    """Weights that are missing, damaged or unsuitable."""

    exit_code = 3


class ModelMissing(ModelError):
    """The weights are not on this machine yet."""


class ModelDamaged(ModelError):
    """The weights file is truncated, corrupt, has another checksum or is no GGUF file."""


class ModelUnsupported(ModelError):
    """The weights are sound but lack what was asked of them."""


class DownloadFailed(ModelError):
    """No source could deliver the weights."""


class EngineError(RedraftError):
    """The engine cannot be had, or refused the call."""

    exit_code = 3


class EngineUnavailable(EngineError):
    """The engine is not installed or does not run on this machine."""


class ContextFull(EngineError):
    """The sequence would grow past the context length; with both numbers where a prompt does."""

    exit_code = 2

    def __init__(self, message: str, prompt_tokens: int = 0, context_length: int = 0) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.context_length = context_length


class BadToken(EngineError):
    """A token id outside the vocabulary, or a row count outside 1 … 64."""

    exit_code = 2


class SequenceClosed(EngineError):
    """The sequence or its engine was closed before this call."""

    exit_code = 2


class CheckFailed(RedraftError):
    """The work was done, and a check of the result says no."""

    exit_code = 1


class Cancelled(RedraftError):
    """Stopped on request. State is as it was before the call."""

    exit_code = 130
