import re
import signal
from unittest.mock import Mock

import pytest
import pytorch_lightning as pl
import torch
from reference.small_corpus import TINY, write_corpus

from pgsum.bundle import load_bundle
from pgsum.config import TrainerConfig, load_config
from pgsum.data import datamodule
from pgsum.data.batch import Batch
from pgsum.data.datamodule import SummarizationData
from pgsum.errors import ConfigError, ModelError
from pgsum.training import plan
from pgsum.training.guards import LastBatch, SkipNonFinite
from pgsum.training.module import TrainingModule
from pgsum.training.run import train
from pgsum.training.validation import SearchValidation

NAN, INF = float("nan"), float("inf")


def a_guard(**settings: object) -> tuple[SkipNonFinite, list[str]]:
    said: list[str] = []
    usual = {"every": 5, "most": 1, "ids_of": lambda steps: [f"pair-{s}" for s in steps]}
    return SkipNonFinite(**{**usual, **settings}, say=said.append), said


def steps_of(guard: SkipNonFinite, norms: list[float]) -> None:
    for step, norm in enumerate(norms, 1):
        trainer = Mock(spec=pl.Trainer, global_step=step)
        module = Mock(spec=TrainingModule, gradient_norm=torch.tensor(norm))
        guard.on_train_batch_end(trainer, module, {}, Mock(spec=Batch), 0)


@pytest.mark.parametrize("norm", [NAN, INF])
def test_too_many_steps_without_a_number_name_pairs_and_a_remedy(norm):
    guard, said = a_guard(most=1)
    with pytest.raises(
        ModelError, match=r"no number at steps 7, 8, and 2 steps .*pair-7, pair-8"
    ) as e:
        steps_of(guard, [1.0] * 6 + [norm, norm, 1.0, 1.0])
    assert "lower optim.lr" in e.value.hint
    assert not said


def test_a_few_are_left_out_and_said():
    guard, said = a_guard(most=2)
    steps_of(guard, [1.0] * 6 + [NAN, 1.0, 1.0, INF])
    assert said == [
        "warning: steps 7, 10 left out: the loss or its gradient was no number. Pairs: pair-7, "
        "pair-10."
    ]
    assert guard.state_dict() == {"skipped": [7, 10], "step": 10}
    another, _ = a_guard(most=2)
    another.load_state_dict(guard.state_dict())
    with pytest.raises(ModelError, match="3 steps had to be left out"):
        steps_of(another, [1.0] * 10 + [NAN] + [1.0] * 4)


@pytest.mark.parametrize("hook", ["on_validation_start", "on_train_end"])
def test_no_weights_are_judged_or_kept_before_the_last_norms_were_looked_at(hook):
    guard, _ = a_guard(most=0)
    steps_of(guard, [1.0, NAN])
    with pytest.raises(ModelError, match="at step 2"):
        getattr(guard, hook)(Mock(spec=pl.Trainer, global_step=2), Mock(spec=pl.LightningModule))


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_step_with_a_loss_that_is_no_number_changes_nothing(tmp_path, monkeypatch, optimizer):
    """Nor does it what the optimizer remembers: the run is as if the step had not been."""
    corpus = write_corpus(tmp_path / "corpus")
    training_step = TrainingModule.training_step
    seen, snapshots = [], {}

    def failing(module: TrainingModule, batch: Batch, batch_idx: int) -> dict[str, torch.Tensor]:
        step = module.global_step + 1
        snapshots[step] = [p.detach().clone() for p in module.parameters()]
        outputs = training_step(module, batch, batch_idx)
        if step == 3:
            seen.append(len(batch))
            outputs["loss"] = outputs["loss"] * NAN
        return outputs

    monkeypatch.setattr(TrainingModule, "training_step", failing)
    said: list[str] = []
    settings = ["trainer.max_steps=5", f"optim.name={optimizer}", "trainer.log_every=1"]
    config = load_config([*TINY, f"data.root={corpus}", *settings])
    result = train(config, out=tmp_path / "run", say=said.append)
    (line,) = [line for line in said if "left out" in line]
    assert line.startswith("warning: step 3 left out: the loss or its gradient was no number.")
    assert len(re.findall(r"train-\d+", line)) == min(seen[0], 8)
    for before, after in zip(snapshots[3], snapshots[4], strict=True):
        assert torch.equal(before, after)
    assert not all(map(torch.equal, snapshots[4], snapshots[5]))
    assert load_bundle(result.model_dir)


def test_the_pairs_that_are_named_are_those_of_the_step(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "corpus")
    training_step = TrainingModule.training_step
    sources = []

    def failing(module: TrainingModule, batch: Batch, batch_idx: int) -> dict[str, torch.Tensor]:
        outputs = training_step(module, batch, batch_idx)
        if batch_idx in (2, 3):  # both make the second step
            sources.extend(batch.source.source_ids.tolist())
            outputs["loss"] = outputs["loss"] * NAN
        return outputs

    named: list[str] = []
    found = SummarizationData.ids_of_steps

    def remember(self: SummarizationData, steps: list[int]) -> list[str]:
        ids = found(self, steps)
        rows = {row["id"]: row["source_ids"] for row in self.prepared.train}
        named.extend(ids)
        padded = [[token for token in source if token] for source in sources]
        assert sorted(rows[i] for i in ids) == sorted(padded)
        return ids

    monkeypatch.setattr(TrainingModule, "training_step", failing)
    monkeypatch.setattr(SummarizationData, "ids_of_steps", remember)
    settings = ["trainer.max_steps=3", "trainer.accumulate=2", "trainer.batch_size=3"]
    config = load_config([*TINY, f"data.root={corpus}", *settings])
    train(config, out=tmp_path / "run", say=lambda line: None)
    assert len(named) == 6


def test_summaries_that_are_all_the_same_raise_an_alarm(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "corpus")
    monkeypatch.setattr(
        SearchValidation, "summaries", lambda self, trainer: ["So."] * len(self.pairs)
    )
    said: list[str] = []
    config = load_config([*TINY, f"data.root={corpus}", "trainer.max_steps=2"])
    train(config, out=tmp_path / "run", say=said.append)
    (line,) = [line for line in said if line.startswith("warning")]
    assert line.startswith("warning: all 4 summaries are the same: the model does not look")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"
        ),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        MemoryError(),
    ],
)
def test_memory_that_runs_out_names_the_batch_and_a_remedy(tmp_path, monkeypatch, error):
    corpus = write_corpus(tmp_path / "corpus")

    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(TrainingModule, "training_step", failing)
    config = load_config([*TINY, f"data.root={corpus}", "trainer.batch_tokens=200"])
    with pytest.raises(ConfigError, match=r"in a batch of \d pairs, 1\d tokens by \d") as caught:
        train(config, out=tmp_path / "run", say=lambda line: None)
    assert caught.value.where == "trainer.batch_tokens"
    assert caught.value.hint.startswith("set trainer.batch_tokens=100, or lower")


def test_an_error_of_another_kind_stays_what_it_is():
    with pytest.raises(RuntimeError, match="sizes"), LastBatch().explained(batch_tokens=2):
        raise RuntimeError("sizes differ")


@pytest.mark.parametrize(
    "said",
    [
        "[/__w/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:15786. This",
        "[/__w/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:1: Connection reset by peer.",
    ],
)
def test_that_another_process_died_is_no_fault_of_this_one(said):
    died = pytest.raises(ConfigError, match="Another process of this training has died")
    with died as caught, LastBatch().explained(batch_tokens=2):
        raise RuntimeError(said)
    assert "go on with --resume" in caught.value.hint


@pytest.mark.fault(48)
@pytest.mark.slow
def test_a_killed_process_that_makes_batches_is_named(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "corpus")
    collate = datamodule.collate_rows

    def killed(rows: list[dict[str, object]]) -> Batch:
        if torch.utils.data.get_worker_info() is not None:
            signal.raise_signal(signal.SIGKILL)
        return collate(rows)

    monkeypatch.setattr(datamodule, "collate_rows", killed)
    config = load_config([*TINY, f"data.root={corpus}", "trainer.loader_workers=1"])
    with pytest.raises(
        ConfigError, match=r"A process that makes batches has died \(pid \d+\)"
    ) as e:
        train(config, out=tmp_path / "run", say=lambda line: None)
    assert e.value.hint == "set trainer.loader_workers=0"


@pytest.mark.fault(48)
def test_processes_that_could_not_hand_over_a_batch_are_not_started(tmp_path, monkeypatch):
    # From a release to another Python takes a shorter folder by itself, so a long path is no test.
    monkeypatch.setattr(plan, "Listener", Mock(side_effect=OSError("AF_UNIX path too long")))
    settings = [*TINY, f"data.root={tmp_path}"]
    with pytest.raises(ConfigError, match=r"a socket in .*: AF_UNIX path too long") as e:
        train(load_config([*settings, "trainer.loader_workers=1"]), out=tmp_path / "run")
    assert e.value.hint.startswith("set TMPDIR to a folder with a shorter path")
    plan.check_installation(load_config([*settings, "trainer.loader_workers=0"]).trainer)


def test_where_processes_can_meet_nothing_is_said():
    plan.check_installation(TrainerConfig(loader_workers=1))
