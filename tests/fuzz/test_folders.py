"""Folders that pgsum wrote, of which a file was damaged: used as they are, or a PgsumError."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.command_line import save_tiny_model
from reference.damage import damaged, edited
from reference.effort import FEW
from reference.small_corpus import TINY, write_corpus

from pgsum.bundle import FILES, load_bundle, sha256
from pgsum.compare import compare_runs
from pgsum.config import load_config
from pgsum.data.records import Pair
from pgsum.errors import PgsumError
from pgsum.evaluation import evaluate
from pgsum.results import write_evaluation
from pgsum.summarizer import Summarizer
from pgsum.systems import recorded
from pgsum.training.fit import Run, TrainResult
from pgsum.training.run import resume, train


@st.composite
def spoilt(draw: st.DrawFn, path: Path) -> bytes:
    """What the file at `path` may become; where it is JSON, also JSON of another shape."""
    content = path.read_bytes()
    if path.suffix == ".json" and draw(st.booleans()):
        return json.dumps(draw(edited(json.loads(content)))).encode()
    if path.suffix == ".jsonl" and draw(st.booleans()):
        lines = [json.dumps(draw(edited(json.loads(line)))) for line in content.splitlines()]
        return "".join(line + "\n" for line in lines).encode()
    return draw(damaged(content))


@st.composite
def with_a_spoilt_file(draw: st.DrawFn, folder: Path) -> tuple[str, bytes]:
    """The name of a file of `folder`, and what became of it."""
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    name = draw(st.sampled_from([name for name in names if not name.endswith(".lock")]))
    return name, draw(spoilt(folder / name))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("bundles") / "model")


@given(st.data())
def test_a_bundle_with_a_spoilt_file_summarizes_or_is_refused(model, data):
    """Also where its sums are those of the spoilt file: who altered it may have counted them."""
    folder = shutil.copytree(model, model.with_name("spoilt"), dirs_exist_ok=True)
    name, content = data.draw(with_a_spoilt_file(folder))
    (folder / name).write_bytes(content)
    if name != "MANIFEST.json" and data.draw(st.booleans()):
        sums = {each: sha256(folder / each) for each in FILES}
        (folder / "MANIFEST.json").write_text(json.dumps(sums), encoding="utf-8")
    with suppress(PgsumError):
        ((summary, *_),) = Summarizer(load_bundle(folder)).summarize(["The cat sat near Oslo."])
        summary.text.encode()


@pytest.fixture(scope="module")
def scored(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("scored") / "whole"
    pairs = [Pair(f"id{i}", f"Document {i}.", (f"the cat sat on mat {i}",)) for i in range(3)]
    texts = [pair.references[0] for pair in pairs[::-1]]
    evaluation = evaluate(pairs, {"sut": recorded(texts)}, baselines=False)
    write_evaluation(folder, evaluation, command=[], config={}, inputs={}, seconds=0.0)
    return folder


@given(st.data())
def test_an_evaluation_with_a_spoilt_file_is_compared_or_refused(scored, data):
    folder = shutil.copytree(scored, scored.with_name("spoilt"), dirs_exist_ok=True)
    name, content = data.draw(with_a_spoilt_file(folder))
    (folder / name).write_bytes(content)
    with suppress(PgsumError):
        compare_runs([scored, folder])


def quiet(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of two steps, which may go on to a third."""
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_corpus(folder / "corpus")
    settings = [*TINY, f"data.root={corpus}", "data.workers=1", "trainer.max_steps=2"]
    return train(load_config(settings), out=folder / "whole", say=quiet).run_dir


def gone_on(run: Path, name: str, content: bytes) -> None:
    folder = run.with_name("spoilt")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run, folder)
    (folder / name).write_bytes(content)
    with suppress(PgsumError):
        resume(folder, ["trainer.max_steps=3"], say=quiet)


@FEW
@given(st.data())
def test_a_run_with_a_spoilt_file_begins_to_go_on_or_is_refused(run, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "fit", lambda self: TrainResult(run, run / "model", {}, "finished"))
        gone_on(run, *data.draw(with_a_spoilt_file(run)))


@FEW
@given(st.data())
def test_a_run_with_a_spoilt_file_goes_on_to_its_end_or_is_refused(run, data):
    gone_on(run, *data.draw(with_a_spoilt_file(run)))
