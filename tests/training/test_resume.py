import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from reference.effort import some
from reference.killed import run_until, what_it_left
from reference.small_corpus import TINY, write_corpus

from pgsum.bundle import load_bundle
from pgsum.config import load_config
from pgsum.errors import ConfigError, DataError, ModelError
from pgsum.training import callbacks
from pgsum.training.checkpoint import read_checkpoint
from pgsum.training.folder import locked
from pgsum.training.run import TrainResult, resume, train

KINDS = {
    "alone": [],
    "accumulated": ["trainer.accumulate=2"],
    "bfloat16": ["trainer.precision=bfloat16"],
    "float32": ["trainer.precision=float32", "optim.name=adagrad"],
    "see": ["model.coverage=from_start", "model.input_feeding=true", "model.attention=additive"],
    "coverage-auto": ["model.coverage=auto", "trainer.coverage_steps=4"],
    "stopped-early": [
        "trainer.patience=2",
        "trainer.validate_every=2",
        "optim.lr=1e-9",
        "model.dropout=0",
    ],
    "averaged": ["optim.ema_decay=0.5", "optim.label_smoothing=0.1", "trainer.accumulate=2"],
    "helped": ["trainer.loader_workers=2"],
    "logged-rarely": ["trainer.log_every=7"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("resume") / "corpus")


def settings(corpus: Path, *overrides: str) -> list[str]:
    steps = ["trainer.max_steps=12", "trainer.validate_every=5", "trainer.checkpoint_every=3"]
    return [*TINY, f"data.root={corpus}", "data.workers=1", *steps, *overrides]


def quiet(line: str) -> None:
    pass


def stop_at(step: int, monkeypatch: pytest.MonkeyPatch, sent: int = signal.SIGTERM):
    """A report that sends the process a signal while it is at that step."""
    monkeypatch.setattr(callbacks, "_SECONDS_BETWEEN_REPORTS", 0.0)

    def report(stage, done, total, detail="", seconds_left=None) -> None:
        if (stage, done) == ("training", step):
            signal.raise_signal(sent)

    return report


def stopped_at(step: int, corpus: Path, out: Path, monkeypatch, *overrides: str) -> TrainResult:
    config = load_config(settings(corpus, *overrides))
    report = stop_at(step, monkeypatch)
    return train(config, out=out, say=quiet, report=report)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_goes_on_ends_as_if_it_had_never_stopped(corpus, tmp_path, monkeypatch, kind):
    whole = train(load_config(settings(corpus, *KINDS[kind])), out=tmp_path / "whole", say=quiet)
    expected = what_it_left(whole.run_dir)
    assert expected["checkpoints"] == ["last.ckpt", "previous.ckpt"]
    for step in (1, 4, 5, 8, 11):
        if step >= expected["step"]:
            continue
        out = tmp_path / f"at-{step}"
        result = stopped_at(step, corpus, out, monkeypatch, *KINDS[kind])
        assert result.stopped == "terminated"
        # Where a validation would follow the step, it is the checkpoint before the step.
        assert step - read_checkpoint(out / "ckpt" / "last.ckpt")["global_step"] in (0, 1)
        assert resume(out, say=quiet).stopped == whole.stopped
        assert what_it_left(out) == expected, step


def test_stopped_again_and_again_it_ends_the_same(corpus, tmp_path, monkeypatch):
    whole = train(load_config(settings(corpus)), out=tmp_path / "whole", say=quiet)
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    for step in (3, 7, 11):
        report = stop_at(step, monkeypatch)
        assert resume(tmp_path / "run", say=quiet, report=report).stopped == "terminated"
    resume(tmp_path / "run", say=quiet)
    assert what_it_left(tmp_path / "run") == what_it_left(whole.run_dir)
    lines = (tmp_path / "run" / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 2, 3, 7, 11]


@pytest.mark.fault(40)
def test_killed_at_any_moment_it_goes_on_to_the_same_end(corpus, tmp_path):
    """Also while it saves, validates, or has just begun."""
    wanted = settings(corpus, "model.coverage=auto", "trainer.coverage_steps=4")
    run_until(None, wanted, tmp_path / "first")  # so that the corpus is in the cache for all others
    events = run_until(None, wanted, tmp_path / "whole")
    expected = what_it_left(tmp_path / "whole")
    for moment in some(range(1, events + 1), 12, by_fuzz=20):
        out = tmp_path / f"at-{moment}"
        run_until(moment, wanted, out)
        assert not (out / "run.json").exists() or moment == events
        if (out / "run.json").exists():
            continue
        run_until(None, wanted, out, resume=True)
        assert what_it_left(out) == expected, moment


@pytest.mark.fault(41)
@pytest.mark.parametrize(
    ("sent", "stopped"),
    [("SIGTERM", "terminated"), ("SIGINT", "interrupted"), ("SIGHUP", "interrupted")],
)
def test_a_signal_within_a_validation_ends_it_at_once(corpus, tmp_path, monkeypatch, sent, stopped):
    from pgsum.training.validation import SearchValidation

    summaries = SearchValidation.summaries
    whole = train(load_config(settings(corpus)), out=tmp_path / "whole", say=quiet)

    def interrupted(self: SearchValidation, trainer: object) -> list[str]:
        signal.raise_signal(signal.Signals[sent])
        raise AssertionError("it went on")

    said: list[str] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(SearchValidation, "summaries", interrupted)
            result = train(load_config(settings(corpus)), out=tmp_path / "run", say=said.append)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.stopped == stopped
    assert said[-1] == f"to go on: pgsum train --resume {tmp_path / 'run'}"
    assert read_checkpoint(tmp_path / "run/ckpt/last.ckpt")["global_step"] == 4
    assert SearchValidation.summaries is summaries
    resume(tmp_path / "run", say=quiet)
    assert what_it_left(tmp_path / "run") == what_it_left(whole.run_dir)


def test_a_second_signal_ends_the_process_at_once():
    program = """
import signal
from pgsum.training.stopping import Signals
Signals().listen()
signal.raise_signal(signal.SIGTERM)
print("it goes on to the end of its step", flush=True)
signal.raise_signal(signal.SIGTERM)
print("and on")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM
    assert done.stdout == "it goes on to the end of its step\n"


def test_what_may_change_changes_and_is_written_down(corpus, tmp_path):
    first = train(load_config(settings(corpus)), out=tmp_path / "run", say=quiet)
    with pytest.raises(ConfigError, match="The training is finished: 12 of 12 steps") as caught:
        resume(first.run_dir, say=quiet)
    assert caught.value.hint == "add trainer.max_steps=24 to train longer"
    changes = ["trainer.max_steps=14", "optim.lr=1e-12", "optim.final_lr=1"]
    before = read_checkpoint(first.run_dir / "ckpt/last.ckpt")["state_dict"]
    assert resume(first.run_dir, changes, say=quiet).stopped == "finished"
    after = read_checkpoint(first.run_dir / "ckpt/last.ckpt")
    assert after["global_step"] == 14
    for name, tensor in before.items():
        torch.testing.assert_close(tensor, after["state_dict"][name], atol=1e-9, rtol=0)
    assert load_config(files=[first.run_dir / "config.yaml"]).optim.lr == 1e-12
    line = (first.run_dir / "history.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(line)["changed"] == {
        "optim.lr": [2e-3, 1e-12],
        "optim.final_lr": [0.05, 1.0],
        "trainer.max_steps": [12, 14],
    }
    metrics = (first.run_dir / "metrics.jsonl").read_text(encoding="utf-8")
    rates = [
        line["learning_rate"]
        for line in map(json.loads, metrics.splitlines())
        if "learning_rate" in line
    ]
    assert rates[-1] == pytest.approx(1e-12)


@pytest.mark.parametrize(
    "change",
    ["text.vocab_size=99", "model.hidden_size=13", "trainer.batch_size=9", "trainer.seed=7"],
)
def test_what_may_not_change_is_refused(corpus, tmp_path, monkeypatch, change):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match="cannot be"):
        resume(tmp_path / "run", [change], say=quiet)
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("  hidden_size: 12\n", "  hidden_size: 13\n", "model.hidden_size is 12 in this run"),
        ("  batch_size: 8\n", "  batch_size: 9\n", "trainer.batch_size is 8 in this run"),
        ("  name: adam\n", "  name: adagrad\n", "optim.name is adam in this run"),
        ("text:", None, r"text\.min_count is 1 in this run"),  # it ends there
    ],
)
def test_what_may_not_change_is_refused_in_the_file_of_settings_too(
    corpus, tmp_path, monkeypatch, before, after, refused
):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    path = tmp_path / "run" / "config.yaml"
    content = path.read_text(encoding="utf-8")
    first, found, rest = content.partition(before)
    assert found
    path.write_text(first if after is None else first + after + rest, encoding="utf-8")
    with pytest.raises(ConfigError, match=refused):
        resume(tmp_path / "run", say=quiet)


def test_another_corpus_or_vocabulary_is_refused(corpus, tmp_path, monkeypatch):
    own = shutil.copytree(corpus, tmp_path / "own")
    stopped_at(2, own, tmp_path / "run", monkeypatch)
    vocab = tmp_path / "run" / "vocab.json"
    content = vocab.read_text(encoding="utf-8")
    vocab.write_text(content.replace('"tea"', '"coffee"'), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"The vocabulary is not that of the run: it was .*, and is"
    ):
        resume(tmp_path / "run", say=quiet)
    vocab.write_text(content, encoding="utf-8")
    moved = own.rename(tmp_path / "moved")
    with (moved / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "new", "document": "Ada came.", "summary": "Ada."}\n')
    with pytest.raises(DataError, match="The corpus is not that of the run"):
        resume(tmp_path / "run", [f"data.root={moved}"], say=quiet)
    shutil.copy(corpus / "train.jsonl", moved / "train.jsonl")
    assert resume(tmp_path / "run", [f"data.root={moved}"], say=quiet).stopped == "finished"


def test_a_folder_that_is_no_run_cannot_go_on(tmp_path):
    with pytest.raises(ConfigError, match=r"holds no run: it has no config\.yaml"):
        resume(tmp_path, say=quiet)
    with pytest.raises(ConfigError, match="holds no run"):
        resume(tmp_path / "nowhere", say=quiet)


@pytest.mark.fault(33)
def test_a_run_that_is_being_trained_cannot_go_on_beside_that(corpus, tmp_path, monkeypatch):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    with (
        locked(tmp_path / "run"),
        pytest.raises(ConfigError, match="Another process is training in this folder"),
    ):
        resume(tmp_path / "run", say=quiet)


@pytest.mark.fault(34)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_checkpoint_that_is_cut_off_is_named_with_the_one_before(
    corpus, tmp_path, monkeypatch, share
):
    stopped_at(8, corpus, tmp_path / "run", monkeypatch)
    path = tmp_path / "run" / "ckpt" / "last.ckpt"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelError, match="The checkpoint is damaged") as caught:
        resume(tmp_path / "run", say=quiet)
    assert caught.value.hint.startswith("the one before it stands beside it: remove last.ckpt")
    path.unlink()
    whole = train(load_config(settings(corpus)), out=tmp_path / "whole", say=quiet)
    resume(tmp_path / "run", say=quiet)
    assert what_it_left(tmp_path / "run") == what_it_left(whole.run_dir)


@pytest.mark.fault(36)
def test_a_checkpoint_is_read_without_running_what_is_in_it(corpus, tmp_path, monkeypatch):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    mark = tmp_path / "mark"

    class Hostile:
        def __reduce__(self):
            return (mark.touch, ())

    torch.save({"state_dict": Hostile()}, tmp_path / "run" / "ckpt" / "last.ckpt")
    with pytest.raises(ModelError, match="The checkpoint is damaged"):
        resume(tmp_path / "run", say=quiet)
    assert not mark.exists()


def test_a_flipped_bit_in_a_checkpoint_is_found(corpus, tmp_path, monkeypatch):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    path = tmp_path / "run" / "ckpt" / "last.ckpt"
    name = "model.embedding.weight"
    tensor = read_checkpoint(path)["state_dict"][name].numpy().tobytes()
    content = bytearray(path.read_bytes())
    content[content.index(tensor) + 5] ^= 4
    path.write_bytes(content)
    with pytest.raises(ModelError, match="The checkpoint is damaged"):
        resume(tmp_path / "run", say=quiet)


@pytest.mark.fault(32)
@pytest.mark.parametrize("moment", ["fsync", "open"])
def test_a_full_disk_leaves_the_checkpoint_that_was_there(corpus, tmp_path, monkeypatch, moment):
    stopped_at(2, corpus, tmp_path / "run", monkeypatch)
    path = tmp_path / "run" / "ckpt" / "last.ckpt"
    before = path.read_bytes()
    from pgsum.training import checkpoint

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if moment == "fsync":
            patch.setattr(checkpoint.os, "fsync", full)
        else:
            real = Path.open
            patch.setattr(
                Path,
                "open",
                lambda self, mode="r", *a, **k: (
                    full() if ".ckpt" in self.name and mode == "wb" else real(self, mode, *a, **k)
                ),
            )
        with pytest.raises(
            ConfigError, match="The checkpoint cannot be written: No space"
        ) as caught:
            resume(tmp_path / "run", say=quiet)
    assert f"pgsum train --resume {tmp_path / 'run'}" in caught.value.hint
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["last.ckpt", "previous.ckpt"]
    assert resume(tmp_path / "run", say=quiet).stopped == "finished"


def test_a_run_whose_model_was_moved_away_ends_with_one(corpus, tmp_path, monkeypatch):
    """Though none is better than the best was."""
    stopped_at(8, corpus, tmp_path / "run", monkeypatch)
    (tmp_path / "run" / "model").rename(tmp_path / "elsewhere")
    said: list[str] = []
    resume(tmp_path / "run", ["optim.lr=1e-9", "decode.max_tokens=1"], say=said.append)
    assert load_bundle(tmp_path / "run").config.decode.max_tokens == 1
    assert sum("no longer there" in line for line in said) == 1


@pytest.mark.parametrize("kind", ["alone", "averaged"])
def test_coverage_can_be_turned_on_when_a_run_goes_on(corpus, tmp_path, monkeypatch, kind):
    """What the optimizer has learned of the other weights stays."""
    stopped_at(8, corpus, tmp_path / "run", monkeypatch, *KINDS[kind])
    before = read_checkpoint(tmp_path / "run" / "ckpt" / "last.ckpt")
    assert len(before["optimizer_states"][0]["state"]) == len(before["state_dict"]) - 1  # tied
    report = stop_at(9, monkeypatch)
    resume(tmp_path / "run", ["model.coverage=from_start"], say=quiet, report=report)
    after = read_checkpoint(tmp_path / "run" / "ckpt" / "last.ckpt")
    (new,) = set(after["state_dict"]) - set(before["state_dict"])
    assert "coverage" in new
    assert after["state_dict"][new].any(), "and it learns"
    steps = [state["step"].item() for state in after["optimizer_states"][0]["state"].values()]
    assert sorted(steps) == [1, *[9] * (len(steps) - 1)]
    resume(tmp_path / "run", say=quiet)
    kept = load_bundle(tmp_path / "run").config.model.coverage
    assert kept in ("none", "from_start")
