"""Models for servers: a tiny one, and one whose searches wait until they are let go."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pytest
from reference.command_line import pgsum, tiny_model

from pgsum.serve.app import create_app
from pgsum.serve.limits import Limits
from pgsum.serve.server import Listener, make_server
from pgsum.summarizer import Summarizer

__all__ = ["held", "pgsum", "served", "summarizer", "tiny_model"]


class Held(Summarizer):
    """Each search says that it has begun, and waits until `go` is set; what was asked is kept."""

    def __init__(self, bundle) -> None:
        super().__init__(bundle)
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()
        self.asked: list[list[str]] = []

    def summarize(self, documents, **settings):
        self.asked.append(list(documents))
        self.begun.release()
        assert self.go.wait(30)
        return super().summarize(documents, **settings)


@pytest.fixture
def summarizer(tiny_model) -> Summarizer:
    return Summarizer.load(tiny_model)


@pytest.fixture
def held(summarizer) -> Iterator[Held]:
    model = Held(summarizer.bundle)
    yield model
    model.go.set()


@contextmanager
def serving(models: Mapping[str, Summarizer], limits: Limits) -> Iterator[str]:
    listener = Listener("127.0.0.1", 0)
    server = make_server(create_app(models, limits=limits), listener, limits=limits)
    thread = threading.Thread(target=server.run, args=([listener.socket],))
    thread.start()
    try:
        yield listener.url
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """`served({"tiny": summarizer})` is the address of a server of these models."""
    with ExitStack() as running:
        yield lambda models, **limits: running.enter_context(serving(models, Limits(**limits)))
