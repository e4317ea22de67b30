import json
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reference.hub_stand_in import hub
from reference.small_corpus import NAMES, THINGS, TINY, write_corpus

from pgsum.bundle import load_bundle
from pgsum.config import Config, ModelConfig, load_config
from pgsum.data import sources
from pgsum.data.batch import Batch
from pgsum.errors import ConfigError, ModelError
from pgsum.summarizer import Summarizer
from pgsum.training import callbacks
from pgsum.training import folder as run_folders
from pgsum.training import plan as planning
from pgsum.training.checkpoint import read_checkpoint
from pgsum.training.folder import new_run_folder, run_folder
from pgsum.training.module import TrainingModule, learning_rate_share
from pgsum.training.plan import plan
from pgsum.training.run import resume, train
from pgsum.training.start import same_architecture
from pgsum.training.validation import SearchValidation

__all__ = ["hub"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus")


def tiny(corpus: Path, *overrides: str) -> Config:
    return load_config([*TINY, f"data.root={corpus}", *overrides])


def metrics(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_leaves_settings_vocabulary_metrics_checkpoints_and_a_bundle(corpus, tmp_path):
    said: list[str] = []
    steps: list[int] = []
    config = tiny(corpus, "trainer.max_steps=6", "trainer.validate_every=3")
    result = train(
        config,
        out=tmp_path / "run",
        say=said.append,
        report=lambda stage, done, total, detail, seconds_left: steps.append(done),
    )
    assert result.stopped == "finished"
    assert steps[0] == 1
    assert steps[-1] == 6
    assert load_config(files=[result.run_dir / "config.yaml"]) == config
    record = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    assert (record["steps"], record["stopped"], record["seed"]) == (6, "finished", 1)
    assert record["scores"] == result.scores
    assert record["corpus"]["training_pairs"] == len(NAMES) * len(THINGS)
    validated = [line for line in metrics(result.run_dir) if "val_rouge1" in line]
    assert [line["step"] for line in validated] == [3, 6]
    assert max(line["val_rouge1"] for line in validated) == pytest.approx(
        result.scores["rouge1"], rel=1e-4
    )
    logged = {"train_loss", "train_p_gen", "grad_norm", "learning_rate", "tokens_per_second"}
    if Path("/proc/self/statm").exists():
        logged.add("memory_mb")
    assert any(logged <= set(line) for line in metrics(result.run_dir))
    assert sum("reference:" in line for line in said) == 4, "two samples at each validation"
    assert Summarizer.load(result.run_dir)("Grace sold a lamp.").text
    card = (result.model_dir / "README.md").read_text(encoding="utf-8")
    assert f"| rouge1 | {result.scores['rouge1']:.2f} |" in card
    assert "ROUGE|n:4|" in card


def test_a_run_knows_which_documents_are_like_its_own(corpus, tmp_path):
    steps = ["trainer.max_steps=1", "trainer.validate_every=1"]
    result = train(tiny(corpus, *steps), out=tmp_path / "run", say=lambda line: None)
    summarizer = Summarizer.load(result.run_dir)
    own = json.loads((corpus / "validation.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert not summarizer(own["document"]).unfamiliar
    assert summarizer("Quarterly earnings fell sharply amid weaker demand.").unfamiliar


def test_what_was_left_out_of_the_corpus_is_listed_beside_the_run(corpus, tmp_path):
    with (corpus / "train.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "bad", "document": "A cat.", "summary": null}\n')
    out = tmp_path / "run"
    steps = ["trainer.max_steps=1", "trainer.validate_every=1"]
    train(tiny(corpus, *steps, "data.on_bad=skip"), out=out, say=lambda line: None)
    (line,) = (out / "skipped.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["where"] == f"{corpus / 'train.jsonl'}:49"


def test_every_line_of_losses_has_the_rate_that_its_step_was_made_with(corpus, tmp_path):
    config = tiny(corpus, "trainer.max_steps=6", "trainer.log_every=1", "optim.warmup_steps=3")
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    rates = [line["learning_rate"] for line in metrics(result.run_dir) if "train_loss" in line]
    shares = [learning_rate_share(config.optim, step, max_steps=6) for step in range(6)]
    assert rates == pytest.approx([config.optim.lr * share for share in shares], rel=1e-5)


def curves(folder: Path) -> list[list[str]]:
    """What curves.html says of each point of each curve."""
    html = (folder / "curves.html").read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html)
    return [[text for *_, text in curve] for chart in json.loads(data[1]) for curve in chart]


def test_curves_are_drawn_anew_at_each_validation_and_at_the_end(corpus, tmp_path):
    """What the page knew when a validation was followed by a line on the screen."""
    known: list[int] = []

    def report(stage, done, total, detail="", seconds_left=None) -> None:
        if done in (3, 5, 7):
            known.append(len(curves(tmp_path / "run")[1]))

    settings = ("trainer.max_steps=7", "trainer.validate_every=2", "trainer.log_every=1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(callbacks, "_SECONDS_BETWEEN_REPORTS", 0.0)
        result = train(
            tiny(corpus, *settings), out=tmp_path / "run", say=lambda line: None, report=report
        )
    assert known == [1, 2, 3]
    logged = metrics(result.run_dir)
    losses, validated = curves(result.run_dir)[:2]
    for key, said in (("train_loss", losses), ("val_loss", validated)):
        lines = [line for line in logged if key in line]
        assert said == [f"{line[key]:,.6g} at step {line['step']}" for line in lines]
    assert len(losses) == 7
    assert len(validated) == 4


def test_curves_that_cannot_be_written_are_said_once_and_end_nothing(corpus, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise ConfigError("The file cannot be written: No space left on device.", where="there")

    monkeypatch.setattr(callbacks, "write_curves", full)
    said: list[str] = []
    config = tiny(corpus, "trainer.max_steps=4", "trainer.validate_every=2")
    result = train(config, out=tmp_path / "run", say=said.append)
    assert result.stopped == "finished"
    (note,) = [line for line in said if "curves" in line]
    assert note.startswith("note: no curves of this training: The file cannot be written: No space")


def test_tensorboard_is_told_what_metrics_jsonl_is_told(corpus, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = tiny(corpus, "trainer.max_steps=4", "trainer.tensorboard=true")
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    events = EventAccumulator(str(result.run_dir / "tensorboard"))
    events.Reload()
    for key in ("train_loss", "learning_rate", "val_rouge1"):
        told = [(event.step, event.value) for event in events.Scalars(key)]
        lines = [(line["step"], line[key]) for line in metrics(result.run_dir) if key in line]
        assert told == [(step, pytest.approx(value, rel=1e-5)) for step, value in lines], key
    assert "epoch" not in events.Tags()["scalars"]


def test_tensorboard_is_off_unless_asked_for(corpus, tmp_path):
    result = train(tiny(corpus, "trainer.max_steps=1"), out=tmp_path / "run", say=lambda line: None)
    assert not (result.run_dir / "tensorboard").exists()


@pytest.mark.parametrize("start", [plan, train])
def test_tensorboard_that_is_missing_is_said_before_a_corpus_is_read(tmp_path, monkeypatch, start):
    monkeypatch.setattr(planning, "find_spec", lambda name: None)
    config = load_config(
        [*TINY, f"data.train={tmp_path / 'missing.jsonl'}", "trainer.tensorboard=true"]
    )
    with pytest.raises(ConfigError, match="the package tensorboard is not installed") as caught:
        start(config, out=tmp_path / "run")
    assert caught.value.hint == "pip install tensorboard, or leave the setting out"
    assert not (tmp_path / "run").exists()


def test_best_and_last_checkpoints_are_kept_apart(corpus, tmp_path, monkeypatch):
    """Lightning's own `save_last` beside `save_top_k=1` keeps the best as the last."""
    scores = iter([30.0, 20.0, 10.0])
    weights = []

    def falling(self: SearchValidation, summaries: list[str]) -> dict[str, float]:
        names = ("rouge1", "rouge2", "rougeL", "rougeLsum", "rouge_mean")
        model = self.summarizer.bundle.model
        weights.append({name: value.clone() for name, value in model.state_dict().items()})
        return dict.fromkeys(names, next(scores))

    monkeypatch.setattr(SearchValidation, "scores", falling)
    config = tiny(corpus, "trainer.max_steps=6", "trainer.validate_every=2")
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    last = torch.load(result.run_dir / "ckpt" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 6
    assert result.scores["rouge1"] == 30.0
    kept = load_bundle(result.model_dir).model.state_dict()
    for name, tensor in kept.items():
        assert torch.equal(tensor, weights[0][name])
        assert torch.equal(last["state_dict"][f"model.{name}"], weights[2][name])


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not(corpus, tmp_path):
    def weights(name: str, *overrides: str) -> torch.Tensor:
        config = tiny(corpus, "trainer.max_steps=3", "trainer.validate_every=3", *overrides)
        result = train(config, out=tmp_path / name, say=lambda line: None)
        return load_bundle(result.model_dir).model.embedding.weight

    first = weights("a")
    assert torch.equal(first, weights("b"))
    assert not torch.equal(first, weights("c", "trainer.seed=2"))


def test_training_stops_early_when_nothing_gets_better(corpus, tmp_path, monkeypatch):
    names = ("rouge1", "rouge2", "rougeL", "rougeLsum", "rouge_mean")
    monkeypatch.setattr(SearchValidation, "scores", lambda *_: dict.fromkeys(names, 5.0))
    config = tiny(corpus, "trainer.max_steps=20", "trainer.validate_every=1", "trainer.patience=2")
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    assert result.stopped == "early"
    assert metrics(result.run_dir)[-1]["step"] == 3


def test_training_goes_on_from_a_bundle(corpus, tmp_path):
    config = tiny(corpus, "trainer.max_steps=2", "trainer.validate_every=2")
    first = train(config, out=tmp_path / "first", say=lambda line: None)
    still = replace(config, optim=replace(config.optim, lr=1e-9))
    second = train(still, out=tmp_path / "second", init=first.run_dir, say=lambda line: None)
    for before, after in zip(
        load_bundle(first.model_dir).model.parameters(),
        load_bundle(second.model_dir).model.parameters(),
        strict=True,
    ):
        torch.testing.assert_close(before, after, atol=1e-6, rtol=0)


def test_training_begins_from_a_model_of_the_hub_and_its_record_says_of_which_commit(
    corpus, tmp_path, hub
):
    config = tiny(corpus, "trainer.max_steps=1")
    first = train(config, out=tmp_path / "first", say=lambda line: None)
    commit = hub.push("owner/first", first.model_dir)
    still = replace(config, optim=replace(config.optim, lr=1e-9))
    second = train(still, out=tmp_path / "second", init="owner/first", say=lambda line: None)
    begun = json.loads((second.run_dir / "history.jsonl").read_text(encoding="utf-8"))
    assert begun["init"] == f"owner/first@{commit}"
    hub.push("owner/first", tmp_path / "second" / "model")
    shutil.rmtree(second.run_dir / "ckpt")  # as if it had been killed before its first step
    (second.run_dir / "run.json").unlink()
    again = resume(second.run_dir, say=lambda line: None)
    for before, after in zip(
        load_bundle(first.model_dir).model.parameters(),
        load_bundle(again.model_dir).model.parameters(),
        strict=True,
    ):
        torch.testing.assert_close(before, after, atol=1e-6, rtol=0)


def test_a_model_is_in_training_mode_at_each_step(corpus, tmp_path, monkeypatch):
    """Also after a validation, and also one that comes trained."""
    modes = []
    training_step = TrainingModule.training_step

    def noting(module: TrainingModule, batch: Batch, batch_idx: int) -> dict[str, torch.Tensor]:
        modes.append({part.training for part in module.modules()})
        return training_step(module, batch, batch_idx)

    monkeypatch.setattr(TrainingModule, "training_step", noting)
    config = tiny(corpus, "trainer.max_steps=6", "trainer.validate_every=2")
    first = train(config, out=tmp_path / "first", say=lambda line: None)
    train(config, out=tmp_path / "second", init=first.run_dir, say=lambda line: None)
    assert modes == [{True}] * 12


def first_loss(corpus: Path, out: Path, dropout: float, **started: Path) -> float:
    settings = ["trainer.max_steps=1", "trainer.validate_every=1", "trainer.log_every=1"]
    config = tiny(corpus, *settings, f"model.dropout={dropout}")
    run = train(config, out=out, say=lambda line: None, **started)
    return metrics(run.run_dir)[0]["train_loss"]


def test_what_is_to_be_dropped_is_dropped(corpus, tmp_path):
    none, half = (first_loss(corpus, tmp_path / f"{share}", share) for share in (0.0, 0.5))
    again = first_loss(corpus, tmp_path / "again", 0.5, init=tmp_path / "0.0")
    assert load_bundle(tmp_path / "again").config.model.dropout == 0.5
    assert load_bundle(tmp_path / "again").model.decoder.dropout == 0.5
    without = first_loss(corpus, tmp_path / "without", 0.0, init=tmp_path / "0.0")
    assert none != half
    assert again != without


def test_a_bundle_in_half_is_gone_on_with_and_begun_from(corpus, tmp_path):
    """Its own run goes on with the weights as they were; another begins with the rounded ones."""
    settings = ["trainer.max_steps=2", "trainer.validate_every=2"]
    whole = train(tiny(corpus, *settings), out=tmp_path / "whole", say=lambda line: None)
    config = tiny(corpus, *settings, "trainer.weights=float16")
    half = train(config, out=tmp_path / "half", say=lambda line: None)
    single, rounded = (load_bundle(run.model_dir).model.state_dict() for run in (whole, half))
    assert all(torch.equal(rounded[name], single[name].half().float()) for name in single)
    assert any(not torch.equal(rounded[name], single[name]) for name in single)
    assert "stored as float16" in (half.model_dir / "README.md").read_text(encoding="utf-8")
    assert "float16" not in (whole.model_dir / "README.md").read_text("utf-8").split("## ")[0]
    begun = tiny(corpus, "trainer.max_steps=1", "optim.lr=1e-30")
    third = train(begun, out=tmp_path / "third", init=half.run_dir, say=lambda line: None)
    found = load_bundle(third.model_dir)
    assert found.config.trainer.weights == "float32"
    assert all(torch.equal(found.model.state_dict()[name], rounded[name]) for name in rounded)
    last = []
    for run in (whole, half):
        more = ["trainer.max_steps=4", "trainer.weights=float32"]
        resume(run.run_dir, more, say=lambda line: None)
        last.append(read_checkpoint(run.run_dir / "ckpt" / "last.ckpt")["state_dict"])
    assert all(torch.equal(last[0][name], last[1][name]) for name in last[0])


def test_a_loss_that_is_not_finite_ends_the_training(corpus, tmp_path):
    config = tiny(corpus, "trainer.max_steps=50", "optim.lr=1e30", "optim.clip_norm=0")
    with pytest.raises(ModelError, match=r"Training diverged: the loss or its gradient is no numb"):
        train(config, out=tmp_path / "run", say=lambda line: None)


@pytest.fixture
def own_sigint():
    """Ctrl-C as in a terminal, also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("sent", "stopped"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated")]
)
def test_a_signal_leaves_a_usable_model(corpus, tmp_path, own_sigint, monkeypatch, sent, stopped):
    monkeypatch.setattr(callbacks, "_SECONDS_BETWEEN_REPORTS", 0.0)

    def report(stage, done, total, detail="", seconds_left=None) -> None:
        if (stage, done) == ("training", 2):
            signal.raise_signal(signal.Signals[sent])

    config = tiny(corpus, "trainer.max_steps=50", "trainer.log_every=1")
    result = train(config, out=tmp_path / "run", say=lambda line: None, report=report)
    assert result.stopped == stopped
    record = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    assert (record["stopped"], record["steps"]) == (stopped, 2)
    lines = metrics(result.run_dir)
    assert len(curves(result.run_dir)[0]) == len(lines) > 0, "drawn, though nothing was validated"
    assert Summarizer.load(result.run_dir)("Grace sold a lamp.").text
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_signal_leaves_no_weights_that_had_diverged(
    corpus, tmp_path, own_sigint, monkeypatch, sent
):
    monkeypatch.setattr(callbacks, "_SECONDS_BETWEEN_REPORTS", 0.0)

    def report(stage, done, total, detail="", seconds_left=None) -> None:
        if (stage, done) == ("training", 5):
            signal.raise_signal(signal.Signals[sent])

    config = tiny(corpus, "optim.lr=1e30", "optim.clip_norm=0", "trainer.max_skipped=0")
    with pytest.raises(ModelError, match=r"Training diverged: .* is no number at steps? [2-5]"):
        train(config, out=tmp_path / "run", say=lambda line: None, report=report)
    assert not (tmp_path / "run" / "model").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_folder_that_holds_something_is_not_overwritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="The output folder is not empty"):
        run_folder(Config(), tmp_path, overwrite=False)
    with pytest.raises(ConfigError, match="--overwrite replaces runs only, and this is none"):
        run_folder(Config(), tmp_path, overwrite=True)
    (tmp_path / "config.yaml").write_text("", encoding="utf-8")
    with new_run_folder(Config(), tmp_path, overwrite=True, write=str) as folder:
        assert {path.name for path in folder.iterdir()} == {"config.yaml", ".lock"}


def test_a_file_is_no_folder_for_a_run(tmp_path):
    (tmp_path / "x").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="The output folder is a file") as caught:
        run_folder(Config(), tmp_path / "x", overwrite=True)
    assert caught.value.hint == "choose another with --out"


def test_runs_are_numbered_after_the_highest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_folder(Config(), None, overwrite=False) == Path("runs/docstrings-001")
    for name in ("mine-002", "mine-010", "mine-x", "other-099"):
        (Path("runs") / name).mkdir(parents=True)
    assert run_folder(Config(name="mine"), None, overwrite=False) == Path("runs/mine-011")


def test_a_name_that_no_folder_can_have_is_refused(tmp_path):
    with pytest.raises(
        ConfigError, match="The output folder cannot be made: File name too long"
    ) as e:
        run_folder(Config(), tmp_path / ("x" * 300), overwrite=False)
    assert e.value.hint == "choose another with --out"


def test_a_link_to_nowhere_is_no_folder_for_a_run(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with (
        pytest.raises(ConfigError, match="The output folder cannot be made: File exists"),
        new_run_folder(Config(), tmp_path / "link", overwrite=False, write=str),
    ):
        pass


def test_of_two_runs_that_want_one_folder_the_later_gets_another_or_none(tmp_path, monkeypatch):
    """Both chose it while there was nothing in it."""
    monkeypatch.chdir(tmp_path)
    choices = iter([Path("runs/x-001"), Path("runs/x-001"), Path("runs/x-001"), Path("runs/x-002")])
    with monkeypatch.context() as patch:
        patch.setattr(run_folders, "run_folder", lambda *_, **__: next(choices))
        with new_run_folder(Config(), None, overwrite=False, write=str) as first:
            assert first == Path("runs/x-001")
        with new_run_folder(Config(), None, overwrite=False, write=str) as second:
            assert second == Path("runs/x-002"), "and not the one that was made meanwhile, twice"
    with (
        pytest.raises(ConfigError, match="The output folder is not empty"),
        new_run_folder(Config(), first, overwrite=False, write=str),
    ):
        pass


def test_a_folder_in_which_somebody_trains_is_left_alone(tmp_path):
    with new_run_folder(Config(), tmp_path / "run", overwrite=False, write=str) as folder:
        (folder / "metrics.jsonl").write_text("{}", encoding="utf-8")
        with (
            pytest.raises(ConfigError, match="Another process is training in this folder"),
            new_run_folder(Config(), folder, overwrite=True, write=str),
        ):
            pass
        assert (folder / "metrics.jsonl").is_file()


def test_a_gpu_that_is_not_there_is_said_before_anything_is_read(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    config = tiny(corpus, "trainer.accelerator=gpu")
    for begin in (train, plan):
        with pytest.raises(ConfigError, match=r"accelerator is gpu, but torch sees none here"):
            begin(config, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_nothing_is_left_behind_when_the_corpus_is_bad(tmp_path):
    config = load_config([*TINY, f"data.train={tmp_path / 'missing.jsonl'}"])
    with pytest.raises(Exception, match=r"missing\.jsonl"):
        train(config, out=tmp_path / "run", say=lambda line: None)
    assert not (tmp_path / "run").exists()


def test_a_bundle_to_start_from_keeps_its_architecture(corpus, tmp_path):
    config = tiny(corpus, "trainer.max_steps=1", "trainer.validate_every=1")
    start = load_bundle(train(config, out=tmp_path / "run", say=lambda line: None).model_dir)
    kept = same_architecture(ModelConfig(dropout=0.1), start)
    assert (kept.hidden_size, kept.dropout) == (12, 0.1)
    with pytest.raises(ConfigError, match=r"model.hidden_size is 99, but .*--init has 12"):
        same_architecture(ModelConfig(hidden_size=99), start)


def test_a_plan_names_figures_and_trains_nothing(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planned = plan(tiny(corpus, "trainer.max_steps=12"))
    assert planned["corpus"] == "files, 48 training pairs, 12 for validation"
    assert planned["steps"] == "12, about 2.0 passes"
    assert planned["output"] == "runs/files-001"
    assert plan(tiny(corpus), out=Path("there"))["output"] == "there"
    assert not Path("runs").exists()
    assert not Path("there").exists()


def test_reading_a_corpus_of_many_files_is_a_stage_of_its_own(corpus, tmp_path, monkeypatch):
    def open_corpus(config, *, progress):
        progress(1, 2)
        progress(2, 2)
        return sources.open_corpus(config)

    monkeypatch.setattr(planning, "open_corpus", open_corpus)
    stages: list[tuple[str, int, int]] = []

    def report(stage, done, total, detail="", seconds_left=None) -> None:
        stages.append((stage, done, total))

    reading = [("reading the corpus", 1, 2), ("reading the corpus", 2, 2)]
    config = tiny(corpus, "trainer.max_steps=1")
    plan(config, report=report)
    assert stages == reading
    train(config, out=tmp_path / "run", say=lambda line: None, report=report)
    assert stages == [*reading, *reading, ("training", 1, 1)]


def test_a_plan_refuses_a_folder_before_it_reads_the_corpus(tmp_path):
    config = load_config([*TINY, f"data.train={tmp_path / 'missing.jsonl'}"])
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ConfigError, match="The output folder is not empty"):
        plan(config, out=tmp_path)


def test_the_last_weights_are_scored_and_saved_too(corpus, tmp_path):
    config = tiny(corpus, "trainer.max_steps=5", "trainer.validate_every=3")
    result = train(config, out=tmp_path / "run", say=lambda line: None)
    assert [line["step"] for line in metrics(result.run_dir) if "val_rouge1" in line] == [3, 5]
    last = torch.load(result.run_dir / "ckpt" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 5
    assert result.stopped == "finished"
