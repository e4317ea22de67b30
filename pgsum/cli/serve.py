"""`pgsum serve`."""

from importlib.util import find_spec
from typing import Annotated

import typer

from pgsum.cli import console
from pgsum.cli.model import choose_model, load_summarizer, run_name
from pgsum.cli.options import Debug, Device, Quiet, Threads, Verbose
from pgsum.errors import ConfigError

_NEEDED = ("fastapi", "uvicorn")


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="As for summarize; given twice, side by side."),
    ] = None,
    host: Annotated[str, typer.Option(metavar="H", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=65535, help="Else 8765, or one that is free."),
    ] = None,
    device: Device = None,
    threads: Threads = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Open a web page and an API to summarize with, until Ctrl-C."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    _check_web()
    chosen = [choose_model(asked) for asked in model or (None,)]
    from pgsum.serve.app import create_app
    from pgsum.serve.server import Listener, make_server

    listener = Listener(host, port)
    if not listener.is_local:
        console.warning(
            f"{host} can be reached from other machines: whoever can connect may summarize here, "
            "and nothing that is sent is encrypted."
        )
    names = _told_apart([run_name(each) for each in chosen])
    models = {
        name: load_summarizer(each, device=device, threads=threads)
        for name, each in zip(names, chosen, strict=True)
    }
    app = create_app(models, names=listener.names)
    console.data(listener.url)
    make_server(app, listener).run([listener.socket])


def _check_web() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"The server needs {' and '.join(missing)}, which {_is(missing)} not installed.",
            hint="pip install 'pgsum[web]'",
        )


def _is(several: list[str]) -> str:
    return "is" if len(several) == 1 else "are"


def _told_apart(names: list[str]) -> list[str]:
    """The names, with a number after one that has come before."""
    times = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [
        name if time == 1 else f"{name} ({time})" for name, time in zip(names, times, strict=True)
    ]
