from pathlib import Path

import pytest
import yaml

from pgsum.config import Config, load_config, to_dict
from pgsum.training import plan as planning
from pgsum.training import run as training
from pgsum.training.run import TrainResult


@pytest.fixture
def asked(monkeypatch):
    """What the command asked of `train`, which here only says that it was done."""
    calls = []

    def train(config, *, out, overwrite, init, say, report):
        calls.append({"config": config, "out": out, "overwrite": overwrite, "init": init})
        say("at work")
        report("training", 1, 2, "loss 3")
        run = Path("runs/x-001")
        return TrainResult(run, run / "model", {"rouge1": 40.0}, stopped=calls[0]["config"].name)

    monkeypatch.setattr(training, "train", train)
    return calls


def test_settings_and_options_reach_the_training(pgsum, asked, tmp_path):
    pairs = tmp_path / "a b, c=é.jsonl"
    pairs.touch()
    settings = tmp_path / "mine.yaml"
    settings.write_text("trainer: {max_steps: 7, threads: 3}\n", encoding="utf-8")
    options = ["--out", "there", "--overwrite", "--init", "old", "--config", str(settings)]
    machine = ["--device", "cuda", "--threads", "2"]
    done = pgsum("train", str(pairs), "name=finished", "optim.lr=0.5", *options, *machine)
    assert (done.code, done.out) == (0, "runs/x-001\n")
    assert done.err == "at work\n"
    call = asked[0]
    assert (call["out"], call["overwrite"], call["init"]) == (Path("there"), True, "old")
    config = call["config"]
    assert (config.data.name, config.data.train) == ("files", str(pairs))
    assert config.optim.lr == 0.5
    assert config.trainer.max_steps == 7
    assert (config.trainer.threads, config.trainer.accelerator) == (2, "gpu")


def test_quiet_says_nothing_but_the_folder(pgsum, asked):
    done = pgsum("train", "name=finished", "--quiet")
    assert (done.out, done.err) == ("runs/x-001\n", "")


@pytest.mark.parametrize(("stopped", "code"), [("interrupted", 130), ("terminated", 143)])
def test_a_training_cut_short_names_its_folder_and_the_signal(pgsum, asked, stopped, code):
    done = pgsum("train", f"name={stopped}")
    assert (done.code, done.out) == (code, "runs/x-001\n")


def test_an_unknown_device_is_refused_before_training(pgsum, asked):
    done = pgsum("train", "--device", "abacus")
    assert done.code == 2
    assert "trainer.accelerator is 'abacus': it must be one of auto, cpu, gpu" in done.err
    assert asked == []


def test_the_printed_config_is_complete_and_gives_the_same_run(pgsum, asked, tmp_path):
    done = pgsum("train", "model=see2017", "name=a, b", "--print-config")
    config = load_config(["model=see2017", "name=a, b"])
    assert yaml.safe_load(done.out) == to_dict(config)
    assert asked == []
    file = tmp_path / "config.yaml"
    file.write_text(done.out, encoding="utf-8")
    pgsum("train", "--config", str(file))
    assert asked[0]["config"] == config


def test_a_dry_run_prints_the_plan_and_trains_nothing(pgsum, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def plan(config, *, out, overwrite, report):
        report("reading the corpus", 1, 2)
        return {"parameters": f"{config.name} many", "output": f"{out}, {overwrite}"}

    monkeypatch.setattr(planning, "plan", plan)
    done = pgsum("train", "name=very", "--dry-run", "--out", "there", "--overwrite")
    assert (done.code, done.out) == (0, "parameters: very many\noutput: there, True\n")
    assert asked == []
    assert list(tmp_path.iterdir()) == []


def test_without_arguments_the_built_in_corpus_is_learned(pgsum, asked):
    pgsum("train")
    assert asked[0]["config"] == Config()
    assert asked[0]["out"] is None


def test_settings_given_to_a_run_that_goes_on_are_judged_by_the_run_s_own(pgsum, monkeypatch):
    """Those of a run that begins may not name a folder of another corpus than files."""
    calls = []

    def resume(run_dir, overrides, *, say, report):
        calls.append((run_dir, overrides))
        return TrainResult(run_dir, run_dir / "model", {}, stopped="finished")

    monkeypatch.setattr(training, "resume", resume)
    done = pgsum("train", "--resume", "runs/mine", "data.root=moved", "decode.min_tokens=110")
    assert (done.code, done.out) == (0, "runs/mine\n")
    assert calls == [(Path("runs/mine"), ["data.root=moved", "decode.min_tokens=110"])]
