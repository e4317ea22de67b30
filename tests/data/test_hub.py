"""The hub's part is played by a folder of Parquet files: no test asks the hub itself."""

import socket
import time
from pathlib import Path

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import errors

from pgsum.config import DataConfig
from pgsum.data import cache, hub
from pgsum.data.hub import find_hub_splits
from pgsum.data.sources import open_corpus, open_split, open_unsorted, split_digests
from pgsum.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSUM_CACHE", str(tmp_path / "cache"))
    cache._cache_folder.cache_clear()
    hub.list_files.cache_clear()
    yield
    hub.list_files.cache_clear()
    cache._cache_folder.cache_clear()


class FakeHub:
    """Files of one data set below `root`, and which of them were fetched."""

    commit = "c0ffee" * 6 + "cafe"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.fetched: list[str] = []

    def add(self, file: str, *numbers: int, **columns: list[object]) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        pairs = {
            "article": [f"document {n}" for n in numbers],
            "highlights": [f"summary {n}" for n in numbers],
        }
        pq.write_table(pa.table(columns or pairs), path)

    def list_files(self, repository: str) -> tuple[str, tuple[str, ...]]:
        assert repository == "owner/news"
        paths = [path for path in self.root.rglob("*") if path.is_file()]
        return self.commit, tuple(str(path.relative_to(self.root)) for path in paths)

    def fetch_file(self, repository: str, commit: str, file: str) -> Path:
        assert (repository, commit) == ("owner/news", self.commit)
        self.fetched.append(file)
        return self.root / file


@pytest.fixture
def fake(tmp_path, monkeypatch):
    fake = FakeHub(tmp_path / "hub")
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / ".gitattributes").touch()
    monkeypatch.setattr(hub, "list_files", fake.list_files)
    monkeypatch.setattr(hub, "fetch_file", fake.fetch_file)
    fake.list_files.__func__.cache_clear = lambda: None
    return fake


def config(**settings) -> DataConfig:
    return DataConfig(name="hub", hub=settings.pop("hub", "owner/news"), **settings)


def test_a_data_set_is_read_as_a_folder_of_files_would_be(fake):
    fake.add("default/train/0000.parquet", 1, 2)
    fake.add("default/train/0001.parquet", 3)
    fake.add("default/validation/0000.parquet", 4)
    fake.add("default/test/0000.parquet", 5)
    corpus = open_corpus(config())
    assert corpus.train["document"][:] == ["document 1", "document 2", "document 3"]
    assert corpus.train["id"][:] == ["1", "2", "3"]
    assert corpus.validation["references"][:] == [["summary 4"]]
    assert len(corpus.test) == 1


def test_the_commit_is_told_and_belongs_to_the_fingerprint(fake, monkeypatch):
    fake.add("default/train/0000.parquet", 1, 2, 3)
    before = open_corpus(config())
    assert before.notes == (
        f"owner/news:default@train: commit {fake.commit} of refs/convert/parquet.",
    )
    monkeypatch.setattr(FakeHub, "commit", "0" * 40)
    assert open_corpus(config()).fingerprint != before.fingerprint


def test_only_what_is_wanted_is_fetched(fake):
    for split in ("train", "validation", "test"):
        fake.add(f"default/{split}/0000.parquet", 1)
    split = open_split(config(), "test")
    assert {*fake.fetched} == {"default/test/0000.parquet"}
    assert len(split.pairs) == 1
    assert list(split_digests(config(), "test")) == [str(fake.root / "default/test/0000.parquet")]


def test_a_split_may_be_named_and_is_then_nothing_else(fake):
    fake.add("default/validation/0000.parquet", *range(40))
    corpus = open_corpus(config(train="validation"))
    assert len(corpus.train) + len(corpus.validation) == 40  # held out: not the same pairs twice
    assert {*corpus.train["document"]}.isdisjoint(corpus.validation["document"])


@pytest.mark.parametrize("name", ["valid", "val", "dev"])
def test_validation_has_the_names_it_has_in_a_folder(fake, name):
    fake.add("default/train/0000.parquet", 1)
    fake.add(f"default/{name}/0000.parquet", 2)
    assert open_corpus(config()).validation["document"][:] == ["document 2"]


def test_two_splits_that_could_be_one_are_refused(fake):
    fake.add("default/dev/0000.parquet", 1)
    fake.add("default/val/0000.parquet", 2)
    with pytest.raises(DataError, match=r"could be in val or in dev; .*data\.validation=val"):
        open_split(config(), "validation")


def test_a_config_is_chosen_by_name(fake):
    fake.add("1.0.0/train/0000.parquet", 1, 2)
    fake.add("2.0.0/train/0000.parquet", 1, 2)
    assert (
        open_split(config(hub="owner/news:2.0.0"), "train").notes[0].startswith("owner/news:2.0.0@")
    )
    with pytest.raises(
        DataError, match=r"several configs: 1\.0\.0, 2\.0\.0; at owner/news; name one: owner/news:1"
    ):
        open_split(config(), "train")
    with pytest.raises(DataError, match=r"no config '3'; it has: 1\.0\.0, 2\.0\.0"):
        open_split(config(hub="owner/news:3"), "train")
    fake.add("default/train/0000.parquet", 1, 2)
    assert "owner/news:default@train" in open_split(config(), "train").notes[0]


def test_a_split_that_is_not_there_is_told_with_those_that_are(fake):
    fake.add("default/partial-train/0000.parquet", 1)
    with pytest.raises(
        ConfigError,
        match=r"no split that is called train; it has: partial-train; .*data\.train=SPLIT",
    ):
        open_corpus(config())
    with pytest.raises(
        DataError, match=r"no split 'tain'; it has: partial-train; .*data\.train=partial-train"
    ):
        open_corpus(config(train="tain"))


def test_columns_are_recognised_and_bad_rows_found_as_in_local_files(fake):
    fake.add("default/train/0000.parquet", body=["d"], headline=["s"])
    with pytest.raises(DataError, match="not known by name: body, headline"):
        open_corpus(config())
    fake.add("default/train/0000.parquet", article=["d", "e", "f"], highlights=["s", None, "t"])
    with pytest.raises(DataError, match=r"The highlights is null.*0000\.parquet, row 2"):
        open_corpus(config())
    assert "1 bad row skipped" in open_corpus(config(on_bad="skip")).notes[1]


def test_a_check_of_the_rows_sees_each_split(fake):
    fake.add("default/train/0000.parquet", 1, 2)
    fake.add("default/test/0000.parquet", 3)
    found = {unsorted.split: len(list(unsorted.records)) for unsorted in open_unsorted(config())}
    assert found == {"train": 2, "test": 1}


def test_a_data_set_that_has_no_parquet_is_refused(fake):
    with pytest.raises(DataError, match="keeps no Parquet files of this data set"):
        find_hub_splits("owner/news")


@pytest.mark.parametrize("name", ["", "a/b/c", "a b", "../x", "owner/news@train", "a:b:c"])
def test_what_is_no_name_is_refused_before_anyone_is_asked(name, monkeypatch):
    def never(repository):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(hub, "list_files", never)
    never.cache_clear = lambda: None
    with pytest.raises(
        ConfigError, match=r"is no name of a data set; at data\.hub; write OWNER/NAME"
    ):
        find_hub_splits(name)


def test_a_hub_without_a_name_is_refused():
    with pytest.raises(
        ConfigError, match=r"No data set of the hub is named; .*data\.hub=OWNER/NAME"
    ):
        open_corpus(DataConfig(name="hub"))


# --- when the hub says no, or nothing -------------------------------------------------------------


def answer(kind: type[Exception]) -> Exception:
    import httpx2

    request = httpx2.Request("GET", "https://example.org")
    return kind("no", response=httpx2.Response(404, request=request))


@pytest.mark.fault(43)
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (lambda: answer(errors.RepositoryNotFoundError), "no such data set, or it is private"),
        (
            lambda: answer(errors.GatedRepoError),
            "accepted its terms; at owner/news; .*hf auth login",
        ),
        (lambda: answer(errors.RevisionNotFoundError), "keeps no Parquet files"),
        (
            lambda: errors.OfflineModeIsEnabled("x"),
            "HF_HUB_OFFLINE is set.*offline: give a local path",
        ),
        (lambda: OSError("No route\nto host."), r"cannot be reached \(OSError: No route\); "),
    ],
)
def test_what_the_hub_answers_becomes_a_sentence(monkeypatch, error, message):
    def refuse(self, repository, *, revision, timeout):
        raise error()

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", refuse)
    with pytest.raises(DataError, match=message):
        open_corpus(config())


def test_the_commit_that_was_listed_is_the_one_that_is_fetched(monkeypatch, tmp_path):
    asked = []

    class Info:
        sha = "abc"
        siblings = (type("File", (), {"rfilename": "default/train/0000.parquet"}),)

    def dataset_info(self, repository, *, revision, timeout):
        asked.append((repository, revision))
        return Info

    def download(repository, file, *, repo_type, revision):
        asked.append((repository, file, repo_type, revision))
        return str(tmp_path / "a.parquet")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    for _ in range(2):
        assert find_hub_splits("owner/news")["train"].fetch() == [tmp_path / "a.parquet"]
    file = ("owner/news", "default/train/0000.parquet", "dataset", "abc")
    assert asked == [("owner/news", "refs/convert/parquet"), file, file]


@pytest.fixture
def connections(monkeypatch):
    """The network is down; where somebody wanted to go."""
    wanted: list[object] = []

    def refuse(*arguments, **_):
        wanted.append(arguments)
        raise OSError("The network is unreachable.")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    huggingface_hub.close_session()
    yield wanted
    huggingface_hub.close_session()


@pytest.mark.fault(43)
def test_without_a_network_it_is_said_at_once_after_one_try(connections):
    begun = time.monotonic()
    with pytest.raises(
        DataError, match=r"hub cannot be reached \(.*owner/news; offline: give a local path"
    ):
        open_corpus(config())
    assert len(connections) <= 2  # huggingface_hub may look something up for itself, once
    assert time.monotonic() - begun < 10  # its five tries wait longer than that


@pytest.mark.fault(43)
def test_offline_mode_is_believed(connections, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    with pytest.raises(DataError, match=r"HF_HUB_OFFLINE is set.*offline: give a local path"):
        open_corpus(config())
    assert connections == []


def test_local_files_are_read_without_asking_anyone(connections, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b", "c"], "title": ["s", "t", "u"]}), path)
    assert len(open_corpus(DataConfig(name="files", train=str(path))).train) > 0
    assert connections == []
