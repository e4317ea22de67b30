import json
from pathlib import Path

import pytest
import torch
from reference.small_corpus import TINY, write_corpus

from pgsum.build import build_model
from pgsum.bundle import load_bundle
from pgsum.config import ModelConfig, load_config
from pgsum.data.batch import Batch
from pgsum.nn.model import coverage_parameter
from pgsum.training.checkpoint import read_checkpoint
from pgsum.training.module import TrainingModule
from pgsum.training.run import TrainResult, train
from pgsum.training.validation import SearchValidation

NAMES = ("rouge1", "rouge2", "rougeL", "rougeLsum", "rouge_mean")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("patience") / "corpus")


def trained(
    corpus: Path, out: Path, monkeypatch, scores: list[float], *overrides: str, **started: object
) -> tuple[TrainResult, list[str], list[bool]]:
    """With given scores, one a validation; what was said, and which steps had coverage."""
    given, said, with_coverage = iter(scores), [], []
    training_step = TrainingModule.training_step

    def noting(module: TrainingModule, batch: Batch, batch_idx: int) -> dict[str, torch.Tensor]:
        with_coverage.append(module.model.decoder.coverage)
        return training_step(module, batch, batch_idx)

    monkeypatch.setattr(SearchValidation, "scores", lambda *_: dict.fromkeys(NAMES, next(given)))
    monkeypatch.setattr(TrainingModule, "training_step", noting)
    settings = ["model.coverage=auto", "trainer.validate_every=2", "trainer.max_steps=10"]
    config = load_config([*TINY, f"data.root={corpus}", *settings, *overrides])
    result = train(config, out=out, say=said.append, **started)
    return result, said, with_coverage


def kept_coverage(result: TrainResult) -> str:
    bundle = load_bundle(result.model_dir)
    assert (coverage_parameter(bundle.model) is None) == (bundle.config.model.coverage == "none")
    return bundle.config.model.coverage


def coverage_from(result: TrainResult) -> int | None:
    record = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    step: int | None = record["coverage_from"]
    return step


def test_coverage_comes_when_validation_no_longer_gets_better(corpus, tmp_path, monkeypatch):
    """Then all the patience is there anew, and when it is gone, too, training ends."""
    scores = [5.0, 6.0, 5.0, 4.0]  # steps 2, 4, 6, 8
    result, said, steps = trained(
        corpus, tmp_path / "run", monkeypatch, scores, "trainer.patience=1", "trainer.max_steps=30"
    )
    assert steps == [False] * 6 + [True] * 2
    assert "step 6: coverage is on from here: no better score in 1 validations" in said
    assert (result.stopped, coverage_from(result)) == ("early", 6)
    assert result.scores["rouge1"] == 6.0
    assert kept_coverage(result) == "none", "it scored lower"


@pytest.mark.parametrize(
    ("last", "kept"), [(5.9, "none"), (6.0, "from_start"), (6.1, "from_start")]
)
def test_the_last_steps_have_coverage_and_it_stays_if_it_scores_no_lower(
    corpus, tmp_path, monkeypatch, last, kept
):
    scores = [3.0, 6.0, 5.0, 5.5, last]
    result, said, steps = trained(
        corpus, tmp_path / "run", monkeypatch, scores, "trainer.coverage_steps=3"
    )
    assert steps == [False] * 7 + [True] * 3
    assert "step 7: coverage is on from here: the last steps have it" in said
    assert coverage_from(result) == 7
    assert kept_coverage(result) == kept
    assert result.scores["rouge1"] == max(6.0, last)


def test_nothing_jumps_when_coverage_comes_and_the_optimizer_remembers(
    corpus, tmp_path, monkeypatch
):
    """What it adds begins at zero and learns; all other weights have been learned at each step."""
    scores = [1.0, 2.0, 3.0, 4.0, 5.0]
    result, _, _ = trained(
        corpus, tmp_path / "run", monkeypatch, scores, "trainer.coverage_steps=4"
    )
    last = read_checkpoint(result.run_dir / "ckpt" / "last.ckpt")
    steps = sorted(s["step"].item() for s in last["optimizer_states"][0]["state"].values())
    assert steps == [4, *[10] * (len(steps) - 1)]
    (name,) = [name for name in last["state_dict"] if ".coverage" in name]
    assert last["state_dict"][name].any()
    before = read_checkpoint(result.run_dir / "ckpt" / "previous.ckpt")
    assert before["state_dict"][name].any()


def test_a_model_whose_coverage_waits_says_what_one_without_says():
    torch.manual_seed(3)
    waiting = build_model(ModelConfig(coverage="auto", hidden_size=8, embedding_size=6), 20).eval()
    plain = build_model(ModelConfig(hidden_size=8, embedding_size=6), 20).eval()
    name = coverage_parameter(waiting)
    assert name is not None
    weights = waiting.state_dict()
    plain.load_state_dict({key: value for key, value in weights.items() if key != name})
    source = torch.tensor([[5, 6, 7, 8]])
    target = torch.tensor([[2, 5, 6]])

    def features(model: torch.nn.Module) -> torch.Tensor:
        state = model.encode(source, source, source > 0, 0)
        return model.teacher_forced(state, target).features

    expected = features(plain)
    torch.testing.assert_close(features(waiting), expected)
    waiting.decoder.coverage = True
    torch.testing.assert_close(features(waiting), expected)
    waiting.get_parameter(name).data.fill_(0.7)
    assert not torch.allclose(features(waiting), expected)


def test_coverage_can_be_new_in_a_model_that_training_starts_from(corpus, tmp_path, monkeypatch):
    first, _, _ = trained(corpus, tmp_path / "first", monkeypatch, [1.0] * 9, "model.coverage=none")
    assert kept_coverage(first) == "none"
    for asked in ("from_start", "auto"):
        second, _, steps = trained(
            corpus,
            tmp_path / asked,
            monkeypatch,
            [float(n) for n in range(9)],
            f"model.coverage={asked}",
            init=first.run_dir,
        )
        assert steps == [asked == "from_start"] * 9 + [True]
        assert kept_coverage(second) == "from_start"
