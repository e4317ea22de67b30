"""What commands print: data on stdout, all else on stderr.

Knows pipes, encodings and how an error looks. Knows nothing of what is said.
"""

import io
import json
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import typer

from pgsum.errors import ConfigError, PgsumError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDTH = 80
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Control characters, line ends that JSON does not escape, and what turns the writing around.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def _silence(stream: TextIO) -> None:
    """From now on it leads nowhere: at its end Python flushes it once more, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_to_stderr(line: str) -> None:
    if sys.stderr is None:  # a shell has closed it
        return
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # Nobody listens any more (`2>&1 | head`), or the disk is full: no reason to end the work.
        _silence(sys.stderr)


@dataclass
class Mode:
    """How much is said, how errors look, and where lines go."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    as_json: bool = False
    """What goes to stderr is read by a program: a JSON object a line, without notes."""
    put: Callable[[str], None] = _print_to_stderr
    """Prints a line; a progress bar puts its own here while it is on the screen."""


mode = Mode()


def prepare_streams() -> None:
    """Make stdout and stderr take any text, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            reconfigure(encoding=encoding, errors="backslashreplace")


def set_mode(
    *, quiet: bool = False, verbose: bool = False, debug: bool = False, as_json: bool = False
) -> None:
    """For the command that is about to run."""
    mode.quiet, mode.verbose, mode.debug, mode.as_json = quiet, verbose, debug, as_json
    # What libraries have to say is for whoever looks for a fault.
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(message)s")
    if not verbose:
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    if quiet or as_json:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if not (verbose or debug or sys.warnoptions):
        warnings.simplefilter("ignore")


def terminal() -> "Console":
    """Stderr, for whoever draws more than lines; silent with --quiet."""
    from rich.console import Console

    return Console(stderr=True, quiet=mode.quiet)


def data(text: str) -> None:
    """A line of what was asked for, on stdout.

    Whoever reads it may have read enough (`| head`): then the command ends, and all is well.
    """
    if sys.stdout is None:
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _silence(sys.stdout)
        raise typer.Exit from None
    except OSError as error:
        raise ConfigError(f"Standard output cannot be written: {error.strerror}.") from error


def json_data(content: Mapping[str, Any]) -> None:
    """An object of what was asked for, on a line of its own."""
    data(
        _UNPRINTABLE.sub(
            lambda match: f"\\u{ord(match[0]):04x}", json.dumps(content, ensure_ascii=False)
        )
    )


def drawing(renderable: "RenderableType") -> None:
    """A table of what was asked for."""
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=_WIDTH).print(renderable)
    for line in text.getvalue().splitlines():
        data(one_line(line.rstrip()))


def painting(renderable: "RenderableType") -> None:
    """A picture of what was asked for: on a terminal as wide as that, and in its colours if any."""
    from rich.console import Console

    canvas = Console(highlight=False)
    with canvas.capture() as captured:
        canvas.print(renderable)
    for line in captured.get().removesuffix("\n").split("\n"):
        data(line.rstrip())


def note(text: str) -> None:
    """Something good to know; not said with --quiet, nor among JSON unless with -v."""
    if not mode.quiet and (mode.verbose or not mode.as_json):
        mode.put(one_line(text))


def warning(text: str) -> None:
    """Something that changes what the result means; said with --quiet, too."""
    mode.put(json.dumps({"warning": text}) if mode.as_json else one_line(f"warning: {text}"))


def error(problem: PgsumError) -> None:
    """What happened, where, and what to do: three lines, or one object among JSON."""
    if mode.debug:
        traceback.print_exception(problem)
    if mode.as_json:
        content = {
            "error": problem.message,
            "where": problem.where,
            "hint": problem.hint,
            "exit_code": problem.exit_code,
        }
        mode.put(json.dumps(content))
        return
    mode.put(one_line(f"error: {problem.message}"))
    if problem.where:
        mode.put("  --> " + one_line(problem.where))
    if problem.hint:
        mode.put(one_line(f"hint: {problem.hint}"))


def one_line(text: str) -> str:
    """`text` fit for a terminal: on one line, its control characters spelt out."""
    return _UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], _BREAKS.sub(" ", text))
