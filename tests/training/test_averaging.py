from pathlib import Path

import pytest
import torch
from reference.small_corpus import TINY, write_corpus
from torch import Tensor

from pgsum.bundle import load_bundle
from pgsum.config import load_config
from pgsum.training import fit
from pgsum.training.averaging import follow
from pgsum.training.module import TrainingModule
from pgsum.training.run import train


def test_the_mean_follows_the_weights_and_soon_forgets_the_first():
    mean, weight = torch.tensor([8.0]), torch.tensor([10.0])
    follow([mean], [weight], 0, decay=0.5)
    assert mean.item() == pytest.approx(0.1 * 8 + 0.9 * 10)
    mean = torch.tensor([8.0])
    follow([mean], [weight], torch.tensor(1000), decay=0.5)
    assert mean.item() == pytest.approx(9)


def kept_and_last(tmp_path: Path, monkeypatch, *settings: str) -> tuple[dict[str, Tensor], ...]:
    """The weights of the bundle, and those after each step."""
    steps: list[dict[str, Tensor]] = []

    class Watched(TrainingModule):
        def on_train_batch_end(self, outputs: object, batch: object, batch_idx: int) -> None:
            steps.append({name: p.detach().clone() for name, p in self.model.named_parameters()})

    monkeypatch.setattr(fit, "TrainingModule", Watched)
    corpus = write_corpus(tmp_path / "corpus")
    steps_and_validations = ["trainer.max_steps=4", "trainer.validate_every=2"]
    config = load_config([*TINY, f"data.root={corpus}", *steps_and_validations, *settings])
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    # Of equal scores the first is kept: that of step 2, unless step 4 is better.
    return dict(load_bundle(result.model_dir).model.named_parameters()), *steps


def test_the_mean_is_what_is_kept_and_training_goes_on_with_the_weights(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    kept, *averaged = kept_and_last(tmp_path / "a", monkeypatch, "optim.ema_decay=0.6")
    _, *plain = kept_and_last(tmp_path / "b", monkeypatch)
    for with_mean, without in zip(averaged, plain, strict=True):
        assert all(torch.equal(with_mean[name], without[name]) for name in without)
    mean = {name: weight.clone() for name, weight in plain[0].items()}
    candidates = []
    for steps, weights in enumerate(plain):
        if steps:
            follow(list(mean.values()), list(weights.values()), steps, decay=0.6)
        candidates.append({name: weight.clone() for name, weight in mean.items()})
    differ = [
        max((kept[name] - found[name]).abs().max().item() for name in kept) for found in candidates
    ]
    assert min(differ[1], differ[3]) < 1e-6
    assert max((kept[n] - w).abs().max().item() for n, w in plain[3].items()) > 1e-4
