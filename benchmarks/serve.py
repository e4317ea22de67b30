"""`pgsum serve` under load: 50 clients at once against one, over the loopback.

What is gained is gained by batches: documents that wait together are searched together.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import ROOT
from benchmarks.decode import train_for_a_while
from benchmarks.equality import NotEqualError
from benchmarks.measure import Timing
from benchmarks.pairs import docstrings
from benchmarks.report import Figures, Result
from pgsum.bundle import Bundle, save_bundle

ALONE = "one client"
TOGETHER = "50 clients"
CLIENTS = 50
HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Load:
    """What clients got in some seconds, and what it took."""

    seconds: float
    cpu: float
    statuses: Counter[int]
    longest_health: float
    memory: int | None
    """Bytes by which the server grew."""

    def figures(self) -> Figures:
        done = self.statuses[200]
        return Figures(Timing(self.cpu / done, self.seconds / done), memory=self.memory)


def measure(*, repeats: int, quick: bool) -> Result:
    """Time of a summary, once a first load has warmed the server up.

    Raises NotEqualError for an answer that is neither a summary nor 503.
    """
    corpus = docstrings()
    documents = [pair.document for pair in corpus.prepared.validation]
    model = train_for_a_while(corpus, steps=5 if quick else 200)
    bundle = Bundle(corpus.config, corpus.prepared.vocab, corpus.prepared.surface, model)
    seconds = {ALONE: 0.5 if quick else 3.0 * repeats, TOGETHER: 0.5 if quick else 12.0 * repeats}
    clients = {ALONE: 1, TOGETHER: CLIENTS}
    with tempfile.TemporaryDirectory() as folder:
        save_bundle(bundle, Path(folder) / "model", card="# measured\n")
        with server(Path(folder) / "model") as (url, process):
            ask_for(url, process, documents, clients=CLIENTS, seconds=seconds[ALONE])
            loads = {
                side: ask_for(url, process, documents, clients=clients[side], seconds=seconds[side])
                for side in (ALONE, TOGETHER)
            }
    together = loads[TOGETHER]
    return Result(
        name="serve",
        unit="summary",
        details={
            "health_longest_ms": 1e3 * together.longest_health,
            "summaries": together.statuses[200],
            "told_to_come_again": together.statuses[503],
        },
        sides={side: load.figures() for side, load in loads.items()},
        baseline=ALONE,
    )


@contextmanager
def server(model: Path) -> Iterator[tuple[str, int]]:
    """Its address and its process."""
    command = [sys.executable, "-m", "pgsum", "serve", "--quiet", "--port", "0", "--model"]
    with subprocess.Popen(
        [*command, model], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
        process.terminate()


def ask_for(
    url: str, process: int, documents: Sequence[str], *, clients: int, seconds: float
) -> Load:
    """Each client asks for one summary after the other."""
    begun = time.perf_counter()
    end = begun + seconds
    cpu, memory = _cpu_seconds(process), _resident(process)

    def client(number: int) -> Counter[int]:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        statuses = Counter[int]()
        for document in cycle([*documents[number:], *documents[:number]]):
            connection.request(
                "POST", "/api/summarize", json.dumps({"document": document}), HEADERS
            )
            answer = connection.getresponse()
            content = answer.read()
            statuses[answer.status] += 1
            if answer.status not in (200, 503):
                raise NotEqualError(f"the server answers {answer.status}: {content!r}")
            if time.perf_counter() > end:
                break
        connection.close()
        return statuses

    with ThreadPoolExecutor(clients) as pool:
        asked = [pool.submit(client, number % len(documents)) for number in range(clients)]
        longest = 0.0
        while time.perf_counter() < end:
            longest = max(longest, _health(url))
            time.sleep(0.1)
        statuses = sum((each.result() for each in asked), Counter[int]())
    took = time.perf_counter() - begun
    grown = _resident(process) - memory if memory else None
    return Load(took, _cpu_seconds(process) - cpu, statuses, longest, grown)


def _health(url: str) -> float:
    begun = time.perf_counter()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("GET", "/api/health")
    connection.getresponse().read()
    connection.close()
    return time.perf_counter() - begun


def _cpu_seconds(process: int) -> float:
    """Of a process that runs still; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except FileNotFoundError:
        return 0.0
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> int:
    """In bytes; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]
    except FileNotFoundError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
