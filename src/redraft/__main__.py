"""The program: `redraft`, which is also `python -m redraft`.

Imports the command line inside `main`, so that Ctrl-C in the tenth of a second that this takes is
an interruption like any other.
"""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit."""
    try:
        from redraft.cli import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
