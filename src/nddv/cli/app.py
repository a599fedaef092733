"""Run a command; every expected error becomes one line on stderr and exit status 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nddv.cli.arguments import build_parser, explain
from nddv.support.jobs import Terminated, stoppable

BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : the arguments after the program's name; by default those of this process.

    Returns
    -------
    The exit status: 0, 2 for bad input, 130 when interrupted, 143 when terminated.
    """
    arguments = build_parser().parse_args(argv)
    try:
        with stoppable():
            # imported here, for their pandas: not for --help and --version
            if arguments.command == "score":
                from nddv.cli.score import run
            else:
                from nddv.cli.value import run
            run(arguments)
    except KeyboardInterrupt as error:
        print("nddv: interrupted, nothing written", file=sys.stderr)
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    except (ValueError, ArithmeticError, OSError, MemoryError, RuntimeError) as error:
        if arguments.traceback:
            raise
        message = explain(error) or type(error).__name__
        print(f"nddv: error: {message}", file=sys.stderr)
        return BAD_INPUT
    return 0
