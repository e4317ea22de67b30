"""`pgsum info`."""

from pgsum.cli import console
from pgsum.cli.options import Debug, Quiet, Verbose
from pgsum.environment import hardware, versions


def info(quiet: Quiet = False, verbose: Verbose = False, debug: Debug = False) -> None:
    """Print versions, hardware and pgsum's own model, to paste into a report."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    for name, value in environment().items():
        console.data(f"{name + ':':<19}{value}")


def environment() -> dict[str, str]:
    """Versions, hardware and the model that comes with pgsum, by name."""
    from pgsum.bundle import PRETRAINED, has_own_model

    own = str(PRETRAINED) if has_own_model() else "none of its own"
    return versions() | hardware() | {"model": own}
