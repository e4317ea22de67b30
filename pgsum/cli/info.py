"""`pgsum info`."""

from pgsum.cli import console
from pgsum.cli.options import Debug, Quiet, Verbose
from pgsum.environment import hardware, versions


def info(quiet: Quiet = False, verbose: Verbose = False, debug: Debug = False) -> None:
    """Print versions and hardware, to paste into a report."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    for name, value in environment().items():
        console.data(f"{name + ':':<19}{value}")


def environment() -> dict[str, str]:
    """Versions and hardware, by name."""
    return versions() | hardware()
