"""The options of the command line."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

from nddv.dynamics.readouts import READOUTS, Readout, get_readout
from nddv.estimator.settings import SETTINGS, TASKS
from nddv.problems.encoders.known import DEFAULTS
from nddv.support.wording import hint, one_line

# options that are not called as what they set: the arguments of `NDDV.fit`, and its settings
OPTIONS = {"X_meta": "--meta", "X_valid": "--valid", "y": "--target", "random_state": "--seed"}

DESCRIPTION = "Neural Dynamic Data Valuation: one score per training point, from training itself."

AUTO = "auto"
BUDGET = 0.1
"""Share of the rows that is flagged where wrong rows cannot be told by their probability."""

EXAMPLES = """\
examples:
  nddv value data.csv --target label
  nddv value data.csv --target label --out values.csv --report values.html
  nddv value data.parquet --target price --task regression --id house --drop comment
  nddv value noisy.csv --target label --meta checked.csv --readout participation
  nddv value data.csv --target label --save run && nddv score new.csv --run run
  nddv value reviews.csv --target stars --text review
  nddv value photos/                    # a folder per class
  nddv value photos.csv --target label --picture path
"""

VALUE_DESCRIPTION = """\
Give every row of a table a value: higher is better (in regression not with every readout),
and the values sum to zero. Of classes also say which labels are wrong, how many, and what
they should be.

The result is a CSV file with one line a row:
  row          the row's number in the table, the first after the header being 1
  value        its value for a model trained on this table
  rank         1 for the most valuable row
  p_wrong      the probability that its label is wrong
  suggested    the label that it should have, with its probability p_suggested
  typicality   how usual its features are (higher is more usual); outlier: strange ones
  group        number of the group of duplicates that it is in, or -1; exact: to the last
               digit; conflicting: with different labels
  flag         1 for the rows to look at: p_wrong above 1/2, or as many as --flag says

The columns from p_wrong to conflicting are there for classes and the default readout. They
take five more runs; a budget such as --flag 0.1 leaves them out, and flags the lowest values.
"""

SCORE_DESCRIPTION = """\
Score rows that a run has not seen; nddv value ... --save FOLDER keeps a run.

The result is a CSV file with one line a row: value, p_wrong, suggested and p_suggested, as
nddv value has them. Rows without the target column get suggested labels only. A row that the
run cannot judge, with a category or a class that it does not know, is left out and named.
"""


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, and what is nearest to an unknown name."""

    def parse_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse, but look for unknown options first: argparse would miss the one that was meant."""
        words = sys.argv[1:] if args is None else list(args)
        options = self.option_names()
        for word in words[: words.index("--") if "--" in words else None]:
            name = word.partition("=")[0]
            if name.startswith("--") and not any(o.startswith(name) for o in options):
                self.error(f"unknown option {name}; {hint(name, options)}")
        return super().parse_args(words, namespace)

    def option_names(self) -> list[str]:
        """The long options of this parser and of its commands."""
        names = [name for name in self._option_string_actions if name.startswith("--")]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                names += [
                    name for parser in action.choices.values() for name in parser.option_names()
                ]
        return list(dict.fromkeys(names))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Called by argparse for every argument that has choices."""
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            raise argparse.ArgumentError(action, f"unknown {value!r}; {hint(str(value), choices)}")

    def error(self, message: str) -> NoReturn:
        """Print the mistake and leave with status 2."""
        print(f"nddv: error: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


def version() -> str | None:
    """The version of the installed package; None when run from the sources."""
    try:
        return importlib.metadata.version("nddv")
    except importlib.metadata.PackageNotFoundError:
        return None


def explain(problem: object) -> str:
    """An error or a notice of the library in one line, and the options that help."""
    options = []
    for name, value in getattr(problem, "remedies", {}).items():
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        options.append(option if value is None else f"{option} {shlex.quote(one_line(value))}")
    return one_line(problem) + (f" ({' or '.join(options)})" if options else "")


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    texts: Any = {"epilog": EXAMPLES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = OneLineParser(prog="nddv", description=DESCRIPTION, **texts)
    named = f"nddv {version() or '(from sources)'}"
    parser.add_argument("--version", action="version", version=named)
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="command", required=True
    )
    texts |= {"help": "value the rows of a table", "description": VALUE_DESCRIPTION}
    _add_options(commands.add_parser("value", **texts))
    texts |= {"help": "score rows that a saved run has not seen", "description": SCORE_DESCRIPTION}
    _add_score_options(commands.add_parser("score", **texts))
    return parser


def _add_score_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("data").add_argument
    add("data", type=Path, help="a table, or a folder of pictures, like the one that was valued")
    text = "the folder that nddv value --save wrote"
    add("--run", type=Path, metavar="FOLDER", required=True, help=text)
    _add_text_file_options(add)
    add = parser.add_argument_group("output").add_argument
    text = "the scores (default: DATA.scores.csv, in this folder)"
    add("--out", type=Path, metavar="FILE", help=text)
    text = "keep a column in the result (may be repeated)"
    add("--id", action="append", default=[], metavar="COLUMN", help=text)
    add("--device", **_choice("device"), help="of an encoder of texts or pictures; default: auto")
    _add_common_options(add)


def _add_text_file_options(add: Any) -> None:
    text = "between entries of a text file (default: comma, or tab for .tsv)"
    add("--separator", type=_separator, metavar="CHAR", help=text)
    text = "of a text file (default: utf-8)"
    add("--encoding", default="utf-8", metavar="NAME", help=text)
    text = "an entry of a text file that stands for missing, such as '?' (may be repeated)"
    add("--na", action="append", default=[], metavar="TEXT", help=text)


def _add_common_options(add: Any) -> None:
    add("--force", action="store_true", help="replace files that exist")
    add("--quiet", action="store_true", help="print errors only")
    add("--traceback", action="store_true", help="show where in the code an error arose")


def _add_options(parser: argparse.ArgumentParser) -> None:
    file: Any = {"type": Path, "metavar": "FILE"}
    several: Any = {"action": "append", "default": []}
    add = parser.add_argument_group("data").add_argument
    text = (
        "the table: .csv or .tsv (also .gz) with a header, or .parquet; or a folder of pictures, "
    )
    text += "with a folder per class"
    add("data", type=Path, help=text)
    add("--target", metavar="COLUMN", help="the column to predict; needed for a table")
    needed = " and ".join(r.name for r in READOUTS.values() if "meta" in r.needs)
    text = f"a small table with the same columns and trusted targets, which the readouts {needed} "
    text += "need; without it they train twice, and each time hold out another 20 %% of the rows"
    add("--meta", **file, help=text)
    text = "a table on which a readout measures utility (default: the meta data)"
    add("--valid", **file, help=text)
    _add_text_file_options(add)
    text = "read a table in pieces, which need not fit in memory: auto (default) if it is large"
    add("--stream", choices=(AUTO, "always", "never"), default=AUTO, help=text)

    add = parser.add_argument_group("columns").add_argument
    for option, text in {
        "--id": "keep a column out of the model and copy it into the result",
        "--drop": "keep a column out altogether",
        "--categorical": "take a column of numbers as categories",
        "--group": "say whether rows are valued worse by the entries of a column",
        "--text": "encode the texts of a column with a language model",
        "--picture": "encode the pictures whose paths, seen from the table's folder, a column has",
    }.items():
        add(option, **several, metavar="COLUMN", help=f"{text} (may be repeated)")
    usual = " and ".join(f"{name} for a {kind}" for kind, name in DEFAULTS.items())
    text = f"what encodes texts or pictures (default: {usual}); once for each"
    add("--encoder", **several, metavar="NAME", help=text)
    text = "missing entries: stop and say where (default), or impute: the median and an extra 0/1 "
    text += "column for numbers, a level of its own for categories"
    add("--missing", choices=("error", "impute"), default="error", help=text)
    text = "levels of a column that get a 0/1 column each; rarer ones are pooled (default: 50)"
    add("--max-categories", type=_whole(2), default=50, metavar="N", help=text)

    add = parser.add_argument_group("method").add_argument
    text = ". ".join(map(_in_words, READOUTS.values()))
    text += ". beta(16,1) and so on: Beta Shapley with another α and β"
    add("--readout", type=_readout, metavar="NAME", help=text)
    text = "what readouts that replay the run measure on the validation data (default: "
    text += f"{SETTINGS['utility'].default})"
    add("--utility", **_choice("utility"), help=text)
    text = "also say what the utility would be without the rows of lowest value, for any "
    text += "number of rows; the run is trained again a few times to check it. Needs --meta"
    add("--curve", action="store_true", help=text)
    add("--task", **_choice("task"), help="auto (default) decides by the target")
    add("--seed", type=_whole(0), default=0, metavar="N", help="default: 0")
    add("--device", **_choice("device"), help="default: auto")
    text = f"default: {SETTINGS['epochs'].usual}"
    add("--epochs", type=_whole(1), metavar="N", help=text)

    add = parser.add_argument_group("output").add_argument
    add("--out", **file, help="the values (default: DATA.values.csv, in this folder)")
    add("--report", **file, help="also write an HTML page, complete in one file")
    text = "auto (default): the rows whose label is more likely wrong than right. A fraction such "
    text += "as 0.1: that part of the rows, those with the lowest values"
    add("--flag", type=_flag, default=AUTO, metavar="FRACTION", help=text)
    text = "keep the run in a folder, for nddv score"
    add("--save", type=Path, metavar="FOLDER", help=text)
    _add_common_options(add)


def _choice(name: str) -> dict[str, Any]:
    """The choices of a setting of the estimator, and its default."""
    setting = SETTINGS[name]
    return {"choices": setting.kind.schema["enum"], "default": setting.default}


def _in_words(readout: Readout) -> str:
    notes = [f"default for {task}" for task in sorted(readout.default_for)]
    notes += [] if readout.tasks.issuperset(TASKS) else [f"for {' and '.join(readout.tasks)} only"]
    mute = [task for task in TASKS if task in readout.tasks and task not in readout.low_is_bad]
    notes += [f"in {task} low values do not mean bad rows" for task in mute]
    return f"{readout.name}: {readout.meaning}" + (f" ({'; '.join(notes)})" if notes else "")


def _readout(text: str) -> str:
    try:
        return get_readout(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _whole(least: int):  # type: ignore[no-untyped-def]  # argparse wants any callable
    def whole_number(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    return whole_number


def _flag(text: str) -> float | str:
    if text == AUTO:
        return text
    number = float(text)
    if not (math.isfinite(number) and 0.0 <= number < 1.0):
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1); for ten per cent give 0.1")
    return number


def _separator(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError("must be one character, or tab")
    return text
