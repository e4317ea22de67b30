"""Real connections: the slow, the endless, the many, and the end of the server."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pgsum.errors import ConfigError
from pgsum.serve import app
from pgsum.serve.batching import Batches
from pgsum.serve.server import DEFAULT_PORT, Listener

TEXT = "The cat sat on the mat near Oslo."
HEADERS = {"Content-Type": "application/json"}
HEAD = b"POST /api/summarize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connect(url):
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def ask(url, text=TEXT, **settings):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    body = json.dumps({"document": text, **settings})
    connection.request("POST", "/api/summarize", body, HEADERS)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer, told


def health(url):
    """How long it takes to be told that all is well."""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request("GET", "/api/health")
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())) == (200, {"status": "ok"})
    connection.close()
    return time.perf_counter() - begun


def received(client):
    """All that comes until the other side closes; how it does so is of no matter."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def resident():
    """Megabytes of this process, in which the server runs."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


@pytest.fixture
def entered(monkeypatch):
    """Released by each request that asks for room among those that wait."""
    asked = threading.Semaphore(0)
    original = Batches.summarize

    async def summarize(self, *arguments, **settings):
        asked.release()
        return await original(self, *arguments, **settings)

    monkeypatch.setattr(Batches, "summarize", summarize)
    return lambda: asked.acquire(timeout=30)


@pytest.fixture
def left(monkeypatch):
    """Set when the server has seen that somebody went away."""
    seen = threading.Event()
    original = app._disconnected

    async def disconnected(request):
        await original(request)
        seen.set()

    monkeypatch.setattr(app, "_disconnected", disconnected)
    return seen


@pytest.mark.fault(49)
def test_a_body_of_ten_megabytes_is_refused_before_it_is_read(served, summarizer):
    url = served({"tiny": summarizer})
    with connect(url) as client:
        client.sendall(HEAD + b"Content-Length: 10000000\r\n\r\n" + b'{"document": "')
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"error":' in answer
    health(url)


@pytest.mark.fault(49)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_an_endless_body_is_refused_at_the_limit_and_takes_no_memory(served, summarizer):
    url = served({"tiny": summarizer})
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    before = resident()
    sent = 0
    with connect(url) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            while sent < 200_000_000:
                client.sendall(chunk)
                sent += len(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 50_000_000  # the limit, and what lay on its way
    assert resident() - before < 60
    health(url)


@pytest.mark.fault(49)
@pytest.mark.parametrize(
    ("beginning", "answer"),
    [
        (b"", b""),
        (b"POST /api/summ", b""),
        (HEAD, b""),
        (HEAD + b"Content-Length: 50\r\n\r\n", b"HTTP/1.1 408 "),
        (HEAD + b'Content-Length: 50\r\n\r\n{"docu', b"HTTP/1.1 408 "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 408 "),
    ],
    ids=["nothing", "a line", "headers", "no body", "half a body", "no chunk"],
)
def test_a_slow_client_is_not_waited_for(served, summarizer, beginning, answer):
    url = served({"tiny": summarizer}, head_seconds=0.5, body_seconds=0.5)
    with connect(url) as client:
        client.sendall(beginning)
        begun = time.monotonic()
        assert received(client).startswith(answer)
        assert time.monotonic() - begun < 10
    health(url)


@pytest.mark.fault(49)
def test_a_client_that_sends_on_and_on_slowly_is_not_waited_for_either(served, summarizer):
    url = served({"tiny": summarizer}, head_seconds=0.5, body_seconds=0.5)
    for beginning in (b"GET / HTTP/1.1\r\nX: ", HEAD + b"Content-Length: 5000\r\n\r\n"):
        with connect(url) as client:
            client.sendall(beginning)
            begun = time.monotonic()
            try:
                while time.monotonic() - begun < 20:
                    client.sendall(b"x")
                    time.sleep(0.1)
            except (BrokenPipeError, ConnectionResetError):
                pass
            assert time.monotonic() - begun < 10


def test_a_connection_is_used_again_and_closed_when_the_next_request_is_slow(served, summarizer):
    url = served({"tiny": summarizer}, head_seconds=0.5)
    with connect(url) as client:
        for _ in range(2):
            client.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):
                answer += client.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ")
        client.sendall(b"GET /api/hea")
        assert received(client) == b""


def test_what_takes_too_long_is_given_up(served, held):
    url = served({"held": held}, seconds=0.5)
    answer, told = ask(url)
    assert (answer.status, told["error"]) == (504, "The summary took too long.")


@pytest.mark.fault(49)
def test_of_fifty_at_once_those_that_find_no_room_are_told_to_come_again(served, held, entered):
    url = served({"held": held}, waiting=20)
    with ThreadPoolExecutor(50) as clients:
        asked = [clients.submit(ask, url) for _ in range(50)]
        assert all(entered() for _ in range(50))
        assert max(health(url) for _ in range(5)) < 1
        held.go.set()
        ends = [each.result() for each in asked]
    statuses = [answer.status for answer, _ in ends]
    assert set(statuses) == {200, 503}
    assert 21 <= statuses.count(200) <= 20 + held.bundle.config.decode.batch_size
    for answer, told in ends:
        if answer.status == 503:
            assert int(answer.headers["retry-after"]) > 0
            assert "wait" in told["error"]
    health(url)


def test_who_goes_away_is_not_summarized_for(served, held, entered, left):
    url = served({"held": held})
    with ThreadPoolExecutor(2) as clients:
        first = clients.submit(ask, url, "first")
        assert held.begun.acquire(timeout=30)
        assert entered()
        with connect(url) as client:
            body = json.dumps({"document": "gone"}).encode()
            client.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert entered()
        assert left.wait(30)
        last = clients.submit(ask, url, "last")
        assert entered()
        held.go.set()
        assert [first.result()[0].status, last.result()[0].status] == [200, 200]
    assert held.asked == [["first"], ["last"]]


# --- The command ---------------------------------------------------------------------------------


@pytest.fixture
def command(tiny_model):
    """The command as a process, and the address that it prints."""
    arguments = ["serve", "--model", str(tiny_model), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pgsum", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process, process.stdout.readline().strip()
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGTERM, -15), (signal.SIGINT, 130)])
def test_what_runs_when_a_signal_comes_is_answered_still(command, signum, code):
    process, url = command
    ask(url)  # it has begun
    documents = [f"{TEXT} {number} {TEXT}" for number in range(32)]
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    body = json.dumps({"document": documents, "beam_size": 16, "max_tokens": 500})
    connection.request("POST", "/api/summarize", body, HEADERS)
    health(url)  # which came after it
    process.send_signal(signum)
    answer = connection.getresponse()
    assert (answer.status, len(json.loads(answer.read())["summaries"])) == (200, 32)
    connection.close()
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    with pytest.raises(ConnectionRefusedError):
        connect(url)


# --- Where it listens ----------------------------------------------------------------------------


def test_where_the_usual_port_is_taken_another_one_is_found():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", DEFAULT_PORT))
            other.listen()
        except OSError:
            pass  # something else has it, which is as good
        listener = Listener("127.0.0.1", None)
        listener.socket.close()
    port = urlsplit(listener.url).port
    assert port not in (DEFAULT_PORT, 0)


def test_a_port_that_was_asked_for_and_is_taken_is_no_other_port():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Port {port} of 127.0.0.1 cannot be had: it is tak"):
            Listener("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", "no such name", "256.1.1.1", "x" * 300])
def test_an_address_that_is_not_there_is_refused(host):
    with pytest.raises(ConfigError, match="this machine knows no such address") as caught:
        Listener(host, 0)
    assert caught.value.where == "--host"


@pytest.mark.parametrize(
    ("host", "local", "name"),
    [
        ("127.0.0.1", True, "127.0.0.1"),
        ("localhost", True, "localhost"),
        ("0.0.0.0", False, socket.gethostname()),
    ],
)
def test_an_address_says_whether_others_can_reach_it(host, local, name):
    listener = Listener(host, 0)
    listener.socket.close()
    assert listener.is_local is local
    assert name in listener.names
    assert urlsplit(listener.url).hostname == name.lower()
