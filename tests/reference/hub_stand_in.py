"""A hub on loopback, which answers the few questions that fetching files asks, and counts them."""

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit

import huggingface_hub
import pytest
from huggingface_hub import constants

PROXIES = ("http_proxy", "https_proxy", "all_proxy")


class Hub(ThreadingHTTPServer):
    """Repositories in memory. `asked` lists what was requested, such as `GET /api/models/a/b`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files: dict[tuple[str, str], dict[str, bytes]] = {}
        """Of each repository, by commit or another revision."""
        self.commits: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []
        self.fetched: list[str] = []
        """The paths of files whose content was given away, in their repositories."""
        self.refusal: tuple[int, dict[str, str]] | None = None
        """The answer to whatever is asked, where there is one."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def push(self, repository: str, folder: Path, *, revision: str = "main") -> str:
        """All files below `folder` become what the revision is; gives the commit."""
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        commit = hashlib.sha1(repr(files).encode()).hexdigest()
        for name in (commit, revision):
            self.files[repository, name] = files
            self.commits[repository, name] = commit
        return commit


class _Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append(f"{self.command} {path}")
        parts = path.removeprefix("/api/models").strip("/").split("/")
        owner, name, *rest = map(unquote, parts)  # a revision may have slashes of its own
        repository = f"{owner}/{name}"
        if self.server.refusal is not None:
            status, headers = self.server.refusal
            self._send(status, b"", headers)
        elif repository not in {repository for repository, _ in self.server.files}:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api/models/"):
            self._describe(repository, rest[1])
        else:
            self._give(repository, rest[1], "/".join(rest[2:]), elsewhere=rest[0] == "elsewhere")

    def _describe(self, repository: str, revision: str) -> None:
        if (repository, revision) not in self.server.files:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        files = self.server.files[repository, revision]
        about = {
            "id": repository,
            "sha": self.server.commits[repository, revision],
            "siblings": [{"rfilename": name, "size": len(files[name])} for name in files],
        }
        self._send(200, json.dumps(about).encode(), {"Content-Type": "application/json"})

    def _give(self, repository: str, revision: str, path: str, *, elsewhere: bool) -> None:
        """Weights lie elsewhere, as large files of a hub do."""
        content = self.server.files[repository, revision][path]
        headers = {"X-Repo-Commit": self.server.commits[repository, revision]}
        etag = hashlib.sha1(content).hexdigest()
        if path.endswith(".safetensors") and not elsewhere:
            place = (
                f"{self.server.address}/{repository}/elsewhere/{quote(revision, safe='')}/{path}"
            )
            headers |= {"Location": place, "X-Linked-Size": str(len(content))}
            self._send(302, b"", headers | {"X-Linked-Etag": f'"{etag}"'})
        else:
            if self.command == "GET":
                self.server.fetched.append(path)
            self._send(200, content, headers | {"ETag": f'"{etag}"'})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


def use(monkeypatch: pytest.MonkeyPatch, address: str, cache: Path) -> None:
    """From now on huggingface_hub of this process asks there, and keeps what it gets in `cache`."""
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    huggingface_hub.close_session()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty hub, and an empty cache."""
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        use(monkeypatch, hub.address, tmp_path / "hub-cache")
        yield hub
        huggingface_hub.close_session()
        hub.shutdown()
        thread.join()
