"""The command `pgsum`: its verbs, and what becomes of their errors."""

import errno
import os
import sys
from typing import Annotated

import typer

import pgsum
from pgsum.cli import console
from pgsum.cli.check import check
from pgsum.cli.compare import compare
from pgsum.cli.evaluate import evaluate
from pgsum.cli.info import info
from pgsum.cli.serve import serve
from pgsum.cli.summarize import summarize
from pgsum.cli.train import train
from pgsum.errors import ConfigError, PgsumError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
_JSON_OPTIONS = {"--json", "--jsonl"}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _examples(*lines: str) -> str:
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app.command(
    epilog=_examples(
        "pgsum train experiment=quickstart",
        "pgsum train pairs.jsonl trainer.max_steps=500 --out runs/mine",
    )
)(train)
app.command(
    epilog=_examples(
        "pgsum summarize report.txt",
        "cat articles.jsonl | pgsum summarize - --column article --jsonl",
    )
)(summarize)
app.command(
    epilog=_examples(
        "pgsum evaluate --model runs/mine",
        "pgsum evaluate --predictions mine.jsonl --reference-column summary",
    )
)(evaluate)
app.command(
    epilog=_examples(
        "pgsum compare scores/mine scores/theirs",
        "pgsum compare scores/lead-3 scores/mine scores/theirs --format latex",
    )
)(compare)
app.command(
    epilog=_examples(
        "pgsum check pairs.csv", "pgsum check corpus/ text.vocab_size=30000 --no-timing --json"
    )
)(check)
app.command(
    epilog=_examples(
        "pgsum serve --model runs/mine", "pgsum serve --model runs/mine --model runs/theirs"
    )
)(serve)
app.command(epilog=_examples("pgsum info", "pgsum info > environment.txt"))(info)


def _print_version(asked: bool) -> bool:
    if asked:
        console.data(f"pgsum {pgsum.__version__}")
        raise typer.Exit
    return asked


@app.callback()
def pgsum_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Train a pointer-generator on your own text, summarize with it, and measure how well."""


TORCH = {
    # Threads that spin for long while they wait for each other take the core that the one they wait
    # for could use: beside any other program a step takes several times as long. Threads that do
    # not spin at all take half as long again on a machine of one's own; after so few turns they
    # wake as fast as ever.
    "GOMP_SPINCOUNT": "5000",
    # Kernels that oneDNN keeps, one for each shape of a product in bfloat16, and batches have many
    # shapes: with the 1,024 of its own default a training takes twice the memory. Making kernels
    # anew costs three percent.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32",
}
"""Variables of the environment that torch reads when it is imported; what is set already stays."""


def main() -> None:
    """Run the command line and leave with the exit code that its outcome asks for.

    0 done; 1 a fault of pgsum's; 2 usage, settings, output; 3 data; 4 model; 5 done, but for
    skipped items; 130 interrupted; 143 terminated.
    """
    console.prepare_streams()
    for name, value in TORCH.items():
        os.environ.setdefault(name, value)
    try:
        sys.exit(app(standalone_mode=False))
    except PgsumError as error:
        console.error(error)
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        # No command has begun that could have said how errors are to look.
        console.mode.as_json = not _JSON_OPTIONS.isdisjoint(sys.argv)
        if len(sys.argv) == 1:
            typer.echo(error.format_message(), err=True)  # the help
        else:
            console.error(_refused(error))
        sys.exit(ConfigError.exit_code)
    except Exception as error:
        fault = _explained(error)
        fault.__cause__ = error
        console.error(fault)
        sys.exit(fault.exit_code)


def _refused(error: typer.TyperException) -> ConfigError:
    """What to tell of a command line that cannot be parsed."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    return ConfigError(
        message if message.endswith((".", "?")) else f"{message}.",
        hint=f"`{context.command_path if context else 'pgsum'} --help` lists what there is",
    )


def _explained(error: Exception) -> PgsumError:
    """What to tell of an error that nobody foresaw where it happened."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return ConfigError(
            f"What was to be written could not be: {error.strerror}.",
            where=error.filename and str(error.filename),
            hint="make room there, or write elsewhere",
        )
    return PgsumError(
        f"{type(error).__name__}: {error}",
        hint="this is a fault of pgsum's: run it again with --debug, and report what it says "
        "together with the output of `pgsum info`",
    )
