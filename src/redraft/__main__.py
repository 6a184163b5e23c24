"""The program: `redraft`, which is also `python -m redraft`.

Signals and streams come first, and the command line is imported inside `main`, so that Ctrl-C,
SIGTERM or SIGHUP in the tenth of a second that this takes is an interruption like any other.
"""

import contextlib
import sys


def main() -> None:
    """Run the command line and exit."""
    try:
        from redraft.terminal.interruption import interrupt_on_signals

        interrupt_on_signals()
        from redraft.terminal.streams import guard

        guard()
        from redraft.cli import run

        code = run(sys.argv[1:])
        _flush()
    except KeyboardInterrupt:
        code = _interrupted()
    sys.exit(code)


def _flush() -> None:
    """Python would do it at exit, and complain."""
    from redraft.errors import RedraftError

    with contextlib.suppress(RedraftError):  # told already, where there was anything to tell
        sys.stdout.flush()


def _interrupted() -> int:
    from redraft.terminal.interruption import INTERRUPTED, message

    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            print(f"redraft: {message()}", file=sys.stderr)
    return INTERRUPTED


if __name__ == "__main__":
    main()
