"""The hub's part is played by a server on loopback: `reference.hub_stand_in`."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants
from reference.command_line import save_tiny_model, tiny_model
from reference.hub_stand_in import hub, use

from pgsum.bundle import FILES, sha256
from pgsum.by_name import Model, find, is_name
from pgsum.errors import ModelError
from pgsum.summarizer import Summarizer

__all__ = ["hub", "tiny_model"]

TEXT = "The cat sat on the mat near Oslo."
NAME = "owner/tiny"
ALL = sorted([*FILES, "MANIFEST.json"])


@pytest.fixture
def model(tiny_model, tmp_path) -> Path:
    """A copy, to be pushed and spoilt."""
    return shutil.copytree(tiny_model, tmp_path / "to-push")


@pytest.fixture
def down(monkeypatch, tmp_path):
    """Call it, and nobody answers at the hub's address any more; the cache stays."""

    def pull_the_plug() -> None:
        use(monkeypatch, "http://127.0.0.1:9", tmp_path / "hub-cache")

    return pull_the_plug


def sign(model: Path) -> None:
    manifest = {name: sha256(model / name) for name in FILES}
    (model / "MANIFEST.json").write_text(json.dumps(manifest), encoding="utf-8")


# --- a name or a path -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["owner/name", "a/b", "o-1/n_2.3", "owner/name@main", "owner/name@v1.0+x", "o/n@refs/pr/1"],
)
def test_a_name_is_owner_and_name_and_perhaps_a_revision(text):
    assert is_name(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "name", "name@main", "a/b/c", "/a/b", "./b", "../b", "~/b", "a/", "a\\b", "a b/c"),
        *("https://a/b", "a/b@", "a/b@../../c", "a/b@x y", "a/b@/c", "a--b/c", "a/b..c", "-a/b"),
        *("a/b.", "a/b.git", "ö/b", "a/b\n", f"a/{'b' * 99}"),
    ],
)
def test_what_can_only_be_a_path_is_no_name(text):
    assert not is_name(text)


def test_what_exists_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("owner/name", "owner/name@main"):
        assert is_name(path)
        (tmp_path / path).mkdir(parents=True)
        assert not is_name(path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").symlink_to("nowhere")
    assert not is_name("a/b")


def test_a_mistyped_path_is_not_looked_up_unless_with_a_revision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_name("runs/quickstart-001")
    assert is_name("models/mine")
    (tmp_path / "models").mkdir()
    assert not is_name("models/mine")
    assert is_name("models/mine@main")


def test_a_path_object_is_never_looked_up(hub, model, tmp_path):
    hub.push(NAME, model)
    with pytest.raises(ModelError, match=r"'owner/tiny' does not exist.*or OWNER/NAME@REVISION"):
        find(Path(NAME))
    assert find(model) == Model(model)
    assert find(str(model)).name == str(model)
    assert hub.asked == []


# --- pulling --------------------------------------------------------------------------------------


def test_a_bundle_pulled_by_name_is_the_one_that_was_pushed(hub, model):
    hub.push(NAME, model)
    assert Summarizer.load(NAME)(TEXT).text == Summarizer.load(model)(TEXT).text


def test_the_commit_belongs_to_its_name_which_finds_it_again(hub, model):
    first = hub.push(NAME, model)
    found = find(NAME)
    assert (found.name, found.commit) == (f"{NAME}@{first}", first)
    second = hub.push(NAME, save_tiny_model(model, usual_surprise=7.0))
    assert first != second == find(NAME).commit
    assert find(found.name) == found
    assert find(found.name).load().usual_surprise is None
    assert find(NAME).load().usual_surprise == 7.0


def test_a_revision_may_be_a_tag_or_a_branch_with_a_slash(hub, model):
    commit = hub.push(NAME, model, revision="v1.0")
    hub.push(NAME, save_tiny_model(model, usual_surprise=7.0), revision="refs/pr/1")
    assert find(f"{NAME}@v1.0").commit == commit
    assert find(f"{NAME}@refs/pr/1").load().usual_surprise == 7.0


def test_of_a_repository_only_the_files_of_a_bundle_are_fetched(hub, model):
    for name in ("evil.py", "pytorch_model.bin", ".gitattributes", "ckpt/last.ckpt", "a.json"):
        (model / name).parent.mkdir(exist_ok=True)
        (model / name).write_bytes(b"no")
    hub.push(NAME, model)
    found = find(NAME)
    assert sorted(hub.fetched) == ALL
    assert sorted(path.name for path in found.folder.iterdir()) == ALL


def test_the_folder_of_a_run_may_be_the_repository(hub, model, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(model, run / "model")
    for name in ("vocab.json", "config.yaml", "ckpt"):
        (run / name).write_text("{}", encoding="utf-8")
    commit = hub.push(NAME, run)
    for _ in range(2):  # pulled, and as it was pulled
        found = find(f"{NAME}@{commit}")
        assert (found.folder.name, found.commit) == ("model", commit)
        assert found.load().config.name == "tiny"
    assert sorted(path.name for path in found.folder.parent.iterdir()) == ["model"]


def test_what_is_pulled_is_said_with_its_size_before_and_once(hub, model):
    commit = hub.push(NAME, model)
    said: list[str] = []

    def say(line: str) -> None:
        assert hub.fetched == []
        said.append(line)

    megabytes = sum(path.stat().st_size for path in model.iterdir()) / 1e6
    for _ in range(2):
        find(NAME, say=say)
    assert said == [f"pulling {NAME}@{commit} from the hub: {megabytes:.1f} MB"]


def test_nothing_is_fetched_twice_and_of_a_commit_nobody_is_asked(hub, model):
    commit = hub.push(NAME, model)
    find(NAME)
    find(NAME)
    assert sorted(hub.fetched) == ALL
    hub.asked.clear()
    find(f"{NAME}@{commit}")
    assert hub.asked == []


def test_what_the_page_has_done_before_pushing_leaves_a_bundle_with_another_card(
    hub, model, tmp_path, monkeypatch
):
    page = (Path(__file__).parent.parent / "docs" / "share.md").read_text(encoding="utf-8")
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "save_" in block
    ]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "runs/mine/model")
    exec(code, {})
    hub.push(NAME, Path("mine"))
    assert Summarizer.load(NAME)(TEXT).text == Summarizer.load(model)(TEXT).text
    card = (find(NAME).folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: ")
    assert card.endswith("\n# tiny\n")


# --- what is not as it should be ------------------------------------------------------------------


@pytest.mark.fault(53)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_altered_on_the_hub_is_refused(hub, model, name):
    content = bytearray((model / name).read_bytes())
    content[-2] ^= 1
    (model / name).write_bytes(content)
    commit = hub.push(NAME, model)
    with pytest.raises(
        ModelError,
        match=rf"{name} is corrupt or was altered.*remove .*models--owner--tiny to pull"
        rf" it anew; .* {NAME}@{commit} is damaged on the hub",
    ):
        Summarizer.load(NAME)


@pytest.mark.fault(53)
def test_a_file_that_was_altered_in_the_cache_is_refused_and_removing_it_helps(hub, model):
    hub.push(NAME, model)
    found = find(NAME)
    (found.folder / "vocab.json").resolve().write_bytes(b"{}")
    with pytest.raises(ModelError, match=r"vocab\.json is corrupt or was altered") as refused:
        Summarizer.load(NAME)
    cache = refused.value.hint.split()[1]
    shutil.rmtree(cache)
    assert Summarizer.load(NAME)(TEXT).text


@pytest.mark.fault(53)
def test_a_manifest_of_other_files_is_refused_and_they_are_not_fetched(hub, model):
    (model / "evil.py").write_text("1 / 0", encoding="utf-8")
    manifest = json.loads((model / "MANIFEST.json").read_text(encoding="utf-8"))
    manifest["evil.py"] = sha256(model / "evil.py")
    (model / "MANIFEST.json").write_text(json.dumps(manifest), encoding="utf-8")
    hub.push(NAME, model)
    with pytest.raises(ModelError, match=r"MANIFEST\.json lists 'evil\.py', which no bundle has"):
        Summarizer.load(NAME)
    assert "evil.py" not in hub.fetched


@pytest.mark.fault(53)
@pytest.mark.parametrize("name", FILES)
def test_an_incomplete_bundle_is_refused_before_anything_is_fetched(hub, model, name):
    (model / name).unlink()
    hub.push(NAME, model)
    with pytest.raises(ModelError, match=rf"incomplete: it has no {name}; at owner/tiny; name an"):
        find(NAME)
    assert hub.fetched == []


@pytest.mark.fault(53)
def test_a_repository_of_something_else_is_refused_before_anything_is_fetched(hub, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pytorch_model.bin").write_bytes(b"no")
    hub.push(NAME, tmp_path / "other")
    with pytest.raises(ModelError, match=r"no model of pgsum's: it has no MANIFEST\.json; at"):
        find(NAME)
    assert hub.fetched == []


def test_a_bundle_of_another_format_says_what_it_says_elsewhere(hub, model):
    settings = json.loads((model / "config.json").read_text(encoding="utf-8"))
    (model / "config.json").write_text(json.dumps(settings | {"format": 99}), encoding="utf-8")
    sign(model)
    hub.push(NAME, model)
    with pytest.raises(ModelError, match=r"another format than 2.*use that version or a newer one"):
        Summarizer.load(NAME)


@pytest.mark.fault(53)
def test_what_the_hub_does_not_have_is_said(hub, model):
    hub.push(NAME, model)
    with pytest.raises(ModelError, match=r"no such model, or it is private; at owner/other; .*a"):
        find("owner/other")
    for revision in ("v9", "0" * 40):
        with pytest.raises(
            ModelError,
            match=rf"owner/tiny has no revision '{revision}'; .*a branch, a tag or a",
        ):
            find(f"{NAME}@{revision}")


@pytest.mark.fault(53)
@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (401, {}, r"The hub refuses this model \(HTTP 401\); at owner/tiny; log in"),
        (403, {}, r"The hub refuses this model \(HTTP 403\); at owner/tiny; log in"),
        (403, {"X-Error-Code": "GatedRepo"}, "only to those who have accepted its terms"),
        (404, {"X-Error-Code": "RepoNotFound"}, "no such model, or it is private"),
        (429, {}, r"could not give this model \(HTTP 429\); .*try again later"),
        (503, {}, r"could not give this model \(HTTP 503\); .*try again later"),
    ],
)
def test_a_refusal_of_the_hub_is_a_sentence_without_the_token(
    hub, monkeypatch, status, headers, words
):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.refusal = status, headers
    with pytest.raises(ModelError, match=words) as refused:
        find(NAME)
    assert "hf_secret" not in str(refused.value)


def test_a_refusal_is_not_answered_from_the_cache_but_an_outage_is(hub, model):
    hub.push(NAME, model)
    found = find(NAME)
    hub.refusal = 404, {"X-Error-Code": "RepoNotFound"}
    with pytest.raises(ModelError, match="or it is private"):
        find(NAME)
    hub.refusal = 503, {}
    said: list[str] = []
    assert find(NAME, say=said.append) == found
    assert said == [
        f"The hub could not give this model (HTTP 503): {NAME} is as it was when last pulled"
    ]


def test_a_cache_that_cannot_be_written_is_said_to_be_that(hub, model, monkeypatch):
    hub.push(NAME, model)

    def full(*arguments: object, **options: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(ModelError, match=r"kept here: No space left on device; .*HF_HOME"):
        find(NAME)


# --- offline --------------------------------------------------------------------------------------


@pytest.mark.fault(43)
def test_without_a_network_it_is_said_at_once_and_what_to_do(hub, down):
    down()
    begun = time.monotonic()
    with pytest.raises(ModelError, match=r"hub cannot be reached \(.*owner/tiny; pull it once"):
        find(NAME)
    assert time.monotonic() - begun < 5  # a second, on a machine that does nothing else


@pytest.mark.fault(43)
def test_offline_nobody_is_asked(hub, model, monkeypatch):
    hub.push(NAME, model)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"HF_HUB_OFFLINE is set, and the hub is not asked; .*pul"):
        find(NAME)
    assert hub.asked == []


@pytest.mark.parametrize("revision", ["", "@main", "@v1.0"])
def test_what_was_pulled_is_there_offline_too(hub, model, down, monkeypatch, revision):
    hub.push(NAME, model, revision=revision[1:] or "main")
    found = find(NAME + revision)

    def offline() -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    for go_offline in (down, offline):
        go_offline()
        said: list[str] = []
        assert find(NAME + revision, say=said.append) == found
        assert f": {NAME}{revision} is as it was when last pulled" in said[0]
        said.clear()
        assert find(found.name, say=said.append) == found
        assert said == []


def test_offline_another_revision_is_not_taken_for_the_one_that_was_pulled(hub, model, down):
    hub.push(NAME, model, revision="v1.0")
    find(f"{NAME}@v1.0")
    down()
    for other in (NAME, f"{NAME}@v2.0", f"{NAME}@{'0' * 40}"):
        with pytest.raises(ModelError, match="cannot be reached"):
            find(other)


def test_offline_a_revision_is_the_commit_that_it_last_was(hub, model, down):
    first = hub.push(NAME, model)
    find(NAME)
    second = hub.push(NAME, save_tiny_model(model, usual_surprise=7.0))
    find(f"{NAME}@{second}")  # tells nothing of main
    down()
    assert find(NAME).commit == first


def test_a_pull_that_was_cut_short_is_no_model_offline_and_is_completed_later(
    hub, model, down, monkeypatch, tmp_path
):
    commit = hub.push(NAME, model)
    found = find(NAME)
    (found.folder / "model.safetensors").unlink()
    down()
    with pytest.raises(ModelError, match="cannot be reached"):
        find(f"{NAME}@{commit}")
    use(monkeypatch, hub.address, tmp_path / "hub-cache")
    assert find(f"{NAME}@{commit}").load().config.name == "tiny"


def test_a_cache_laid_out_by_hand_is_read(model, monkeypatch, tmp_path):
    commit = "c0ffee" * 6 + "cafe"
    kept = tmp_path / "cache" / "models--owner--tiny"
    shutil.copytree(model, kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit, encoding="utf-8")
    use(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")
    assert find(NAME).name == f"{NAME}@{commit}"
    assert Summarizer.load(NAME)(TEXT).text == Summarizer.load(model)(TEXT).text


# --- what it costs those who name a path ----------------------------------------------------------


def test_a_model_with_a_path_does_not_import_huggingface_hub(tiny_model):
    code = (
        "import sys; from pgsum.summarizer import Summarizer\n"
        "Summarizer.load(sys.argv[1]); print('huggingface_hub' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tiny_model], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
