import json
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import pytorch_lightning as pl
import torch

from pgsum.config import load_config
from pgsum.data.batch import collate
from pgsum.data.example import Example, Source
from pgsum.errors import ModelError
from pgsum.training import callbacks
from pgsum.training.callbacks import MetricsFile, StopOnNonFinite, TrainingProgress
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


def test_progress_counts_real_tokens_and_leaves_validation_out_of_the_pace(monkeypatch):
    clock = iter([0.0, 2.0, 100.0, 102.0])
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    told: list[tuple[str, int, int, str]] = []
    progress = TrainingProgress(lambda *args: told.append(args), max_steps=9)
    module = Mock(spec=pl.LightningModule)
    for step in (1, 2):
        trainer = Mock(spec=pl.Trainer, global_step=step)
        progress.on_train_batch_start(trainer, module, a_batch(), 0)
        progress.on_train_batch_end(trainer, module, {"nll": torch.tensor(2.5)}, a_batch(), 0)
    # 3 + 1 source tokens and 2 + 1 target tokens a batch, in 2 seconds.
    assert told == [("training", step, 9, "loss 2.500, 4 tokens/s") for step in (1, 2)]
    module.log.assert_called_with("tokens_per_second", 3.5)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_names_the_step_and_a_remedy(loss):
    with pytest.raises(ModelError, match=rf"the loss became {loss} at step 7.*lower optim.lr"):
        StopOnNonFinite().on_train_batch_end(
            Mock(spec=pl.Trainer, global_step=7),
            Mock(spec=pl.LightningModule),
            {"loss": torch.tensor(loss)},
            a_batch(),
            0,
        )


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


def test_a_card_names_data_settings_and_scores():
    text = card()
    for part in ("1,234 training pairs", "`abc`", "7,890", "| rouge1 | 12.35 |", "ROUGE|n:56"):
        assert part in text
    assert "dropout: 0.125" in text


def test_a_card_without_scores_says_so():
    text = card(scores=None, signature=None)
    assert "It has not been scored" in text
    assert "None" not in text
