import socket
from importlib.util import find_spec

import pytest

from pgsum.cli import serve as serve_module


@pytest.fixture
def begun(monkeypatch):
    """The servers that were begun, none of which answers."""
    from pgsum.serve import server

    made = []

    class Server:
        def __init__(self, app, listener):
            made.append(listener)

        def run(self, sockets):
            sockets[0].close()

    monkeypatch.setattr(server, "make_server", Server)
    return made


def test_the_address_is_all_that_goes_to_stdout(pgsum, begun, tiny_model):
    done = pgsum("serve", "--model", tiny_model, "--port", "0")
    assert (done.code, done.out) == (0, f"{begun[0].url}\n")
    assert done.out.startswith("http://127.0.0.1:")
    assert done.err == f"model: {tiny_model}\n"


def test_an_address_that_others_can_reach_is_warned_of(pgsum, begun, tiny_model):
    done = pgsum("serve", "--model", tiny_model, "--port", "0", "--host", "0.0.0.0", "--quiet")
    assert done.code == 0
    assert done.err.startswith("warning: 0.0.0.0 can be reached from other machines")


def test_models_of_one_name_are_told_apart(pgsum, monkeypatch, begun, tiny_model):
    from pgsum.serve import app

    made = []
    monkeypatch.setattr(app, "create_app", lambda models, names: made.extend(models))
    done = pgsum("serve", "--model", tiny_model, "--model", tiny_model, "--port", "0")
    assert done.code == 0
    name = tiny_model.parent.name
    assert made == [name, f"{name} (2)"]


@pytest.mark.fault(47)
def test_without_the_extra_the_command_says_how_to_install_it(pgsum, monkeypatch, tiny_model):
    monkeypatch.setattr(
        serve_module, "find_spec", lambda name: None if name == "uvicorn" else find_spec(name)
    )
    done = pgsum("serve", "--model", tiny_model)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: The server needs uvicorn, which is not installed.\nhint: pip install 'pgsum[web]'\n"
    )


def test_a_model_that_is_not_there_is_said_as_by_summarize(pgsum, tmp_path):
    done = pgsum("serve", "--model", tmp_path / "nosuch")
    assert (done.code, done.out) == (4, "")
    file = tmp_path / "a.txt"
    file.write_text("text", encoding="utf-8")
    assert done.err == pgsum("summarize", file, "--model", tmp_path / "nosuch").err


def test_a_port_that_is_taken_is_said_before_a_model_is_loaded(pgsum, monkeypatch, tiny_model):
    monkeypatch.setattr(serve_module, "load_summarizer", None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = pgsum("serve", "--model", tiny_model, "--port", str(port))
    assert done.code == 2
    assert f"error: Port {port} of 127.0.0.1 cannot be had: it is taken." in done.err
    assert "--> --port" in done.err
