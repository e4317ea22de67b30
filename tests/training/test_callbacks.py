import json
from unittest.mock import Mock

import pytest
import pytorch_lightning as pl
import torch
from reference.failing_writes import BROKEN, disk

from pgsum.config import load_config
from pgsum.data.batch import collate
from pgsum.data.example import Example, Source
from pgsum.training import callbacks
from pgsum.training.callbacks import MetricsFile, TrainingProgress
from pgsum.training.card import model_card


def a_batch():
    return collate(
        [
            Example(Source([5, 6, 7], [5, 6, 7], ()), [2, 5], [5, 3]),
            Example(Source([5], [5], ()), [2], [3]),
        ]
    )


def test_metrics_are_appended_a_line_each_and_count_steps_from_one(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n', encoding="utf-8")
    log = MetricsFile(path)
    log.log_metrics({"train_loss": 1.23456789, "epoch": 0.0}, step=1)
    log.log_metrics({"epoch": 0.0}, step=2)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"step": 1}, {"step": 2, "train_loss": 1.23457}]


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return 1.5 * self.now


class Told(list[tuple[int, str, float | None]]):
    """What a report was told: steps done, detail, seconds left."""

    def __call__(self, stage, done, total, detail="", seconds_left=None) -> None:
        assert (stage, total) == ("training", 160)
        self.append((done, detail, seconds_left))


def test_progress_counts_real_tokens_and_tells_steps_from_validations(monkeypatch):
    """160 steps of 2 seconds, a validation of 30 seconds and 5 for checkpoints after each 60."""
    clock, told = Clock(), Told()
    monkeypatch.setattr(callbacks, "time", clock)
    progress = TrainingProgress(told, max_steps=160, validate_every=60)
    module = Mock(spec=pl.LightningModule)
    progress.on_train_start(Mock(spec=pl.Trainer), module)
    for step in range(1, 161):
        trainer = Mock(spec=pl.Trainer, global_step=step)
        clock.now += 2
        if step % 60 == 1 and step > 1:
            clock.now -= 2
            clock.now += 5  # in which checkpoints are written
        progress.on_train_batch_start(trainer, module, a_batch(), 0)
        if step % 60 == 1 and step > 1:
            clock.now += 2
        progress.on_train_batch_end(trainer, module, {"nll": torch.tensor(2.5)}, a_batch(), 0)
        if step % 60 == 0:
            progress.on_validation_start(trainer, module)
            clock.now += 30
            progress.on_validation_end(trainer, module)
    # 3 + 1 source tokens and 2 + 1 target tokens a batch, in 2 seconds.
    module.log.assert_called_with("tokens_per_second", 3.5)
    assert told[48] == (49, "plus 3 validations, loss 2.500, 4 tokens/s", None)
    assert told[49] == (50, "plus 3 validations, loss 2.500, 4 tokens/s", 110 * 2)
    assert told[59] == (60, "plus 3 validations, loss 2.500, 4 tokens/s", 100 * 2)
    assert told[60] == (61, "loss 2.500, 4 tokens/s", 99 * 2 + 2 * 35)
    assert told[129] == (130, "loss 2.500, 4 tokens/s", 30 * 2 + 35)
    assert told[159] == (160, "loss 2.500, 4 tokens/s", None)
    assert (progress.cpu_seconds, progress.target_tokens) == (160 * 2 * 1.5, 160 * 3)


def test_progress_is_not_told_of_more_often_than_one_can_read(monkeypatch):
    clock, told = Clock(), Told()
    monkeypatch.setattr(callbacks, "time", clock)
    progress = TrainingProgress(told, max_steps=160, validate_every=60)
    for step in range(1, 161):
        trainer = Mock(spec=pl.Trainer, global_step=step)
        clock.now += 0.1
        outputs = {"nll": torch.tensor(2.5)}
        progress.on_train_batch_end(trainer, Mock(spec=pl.LightningModule), outputs, a_batch(), 0)
    assert [done for done, _, _ in told][:3] == [1, 4, 7]
    assert told[-1][0] == 160


def test_metrics_of_steps_that_are_done_again_are_forgotten(tmp_path):
    log = MetricsFile(tmp_path / "metrics.jsonl")
    log.forget_after(3)
    assert not log.path.exists()
    for step in (1, 3, 4):
        log.log_metrics({"train_loss": float(step)}, step=step)
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"step": 2, "train_')  # killed while it wrote
    log.forget_after(4)
    lines = log.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2, 4]


def card(**changes: object) -> str:
    values = {
        "corpus": "files",
        "fingerprint": "abc",
        "training_pairs": 1234,
        "validation_pairs": 56,
        "parameters": 7890,
        "step": 40,
        "scores": {"rouge1": 12.345},
        "signature": "ROUGE|n:56",
        "versions": {"torch": "2"},
    }
    return model_card(load_config(["model.dropout=0.125"]), **{**values, **changes})


def test_a_line_that_could_be_written_in_part_only_is_taken_back(tmp_path, monkeypatch):
    log = MetricsFile(tmp_path / "metrics.jsonl")
    log.log_metrics({"loss": 1.0}, 0)
    before = log.path.read_bytes()
    with disk(tmp_path, 2, error=BROKEN), pytest.raises(OSError, match="Input/output error"):
        log.log_metrics({"loss": 2.0}, 1)
    assert log.path.read_bytes() == before
    log.log_metrics({"loss": 3.0}, 2)
    log.forget_after(3)
    assert [json.loads(line)["step"] for line in log.path.read_text().splitlines()] == [1, 3]


def test_a_card_names_data_settings_and_scores():
    text = card()
    for part in ("1,234 training pairs", "`abc`", "7,890", "| rouge1 | 12.35 |", "ROUGE|n:56"):
        assert part in text
    assert "dropout: 0.125" in text


def test_a_card_without_scores_says_so():
    text = card(scores=None, signature=None)
    assert "It has not been scored" in text
    assert "None" not in text
