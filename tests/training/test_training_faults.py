"""A fault of earlier implementations that lives in training, by the test that it would fail."""

import json
from typing import Any

import pytest
import torch
from torch import Tensor

from pgsum.config import load_config
from pgsum.training import fit, run
from pgsum.training.module import TrainingModule


def test_fault_15_all_gradients_are_clipped_together_and_a_shared_table_once(tmp_path, monkeypatch):
    """By one factor, so that their norm, each tensor counted once, is just what is allowed."""
    lines = [
        json.dumps({"document": f"one two {n} three", "summary": f"two {n}"}) for n in range(6)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    before: dict[str, Tensor] = {}
    after: dict[str, Tensor] = {}

    def gradients(module: TrainingModule) -> dict[str, Tensor]:
        return {name: p.grad.clone() for name, p in module.model.named_parameters()}

    class Watched(TrainingModule):
        def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
            before.update(gradients(self))
            super().on_before_optimizer_step(optimizer)

        def optimizer_step(self, *arguments: Any, **named: Any) -> None:
            super().optimizer_step(*arguments, **named)
            after.update(gradients(self))

    monkeypatch.setattr(fit, "TrainingModule", Watched)
    limit = 1e-3
    config = load_config(
        [
            "data=files",
            f"data.root={tmp_path}",
            "data.holdout=0.2",
            "model.embedding_size=3",
            "model.hidden_size=5",
            "trainer.max_steps=1",
            "trainer.threads=1",
            f"optim.clip_norm={limit}",
        ]
    )
    run.train(config, out=tmp_path / "run", say=lambda line: None)
    assert "projection.weight" not in after, "it is the embedding, and named once"
    norms = [
        torch.stack([gradient.norm() for gradient in found.values()]).norm().item()
        for found in (before, after)
    ]
    assert norms[0] > 10 * limit
    assert norms[1] == pytest.approx(limit, rel=1e-3)
    for name, gradient in before.items():
        torch.testing.assert_close(after[name], gradient * (limit / norms[0]), rtol=1e-3, atol=1e-9)
