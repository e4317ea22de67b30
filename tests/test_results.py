import json

import numpy as np
import pytest

import pgsum
from pgsum.data.records import Pair
from pgsum.errors import ConfigError
from pgsum.evaluation import evaluate
from pgsum.metrics.copying import Ratio
from pgsum.metrics.rouge import METRICS
from pgsum.predictions import read_predictions
from pgsum.results import make_output_folder, write_evaluation
from pgsum.systems import BASELINES, Trace, Written, recorded

PAIRS = [
    Pair("a", "The cat sat down. It slept.", ("The cat slept.", "A cat\nslept.")),
    Pair("b", "Prices rose.", ("今天", "Prices rose again.")),
    Pair("c", "Nothing was said. Nobody spoke.", ("Nobody spoke.", "Silence.")),
]
TRACE = Trace(
    score=-0.1,
    stop="eos",
    truncated=True,
    unread_tokens=3,
    read_chars=9,
    words=3,
    copied=1,
    oovs=0,
    p_gen=1 / 3,
    copy_mass=0.5,
    coverage_loss=0.125,
    reference_oovs=Ratio(0, 0),
)
TEXTS = [Written("A cat.", TRACE), Written("Prices\nrose.", TRACE), Written("", TRACE)]
RUN = {"command": ["pgsum", "evaluate"], "config": {"seed": 1}, "inputs": {}, "seconds": 1.5}


def written(folder, texts=TEXTS, **kwargs):
    write_evaluation(folder, evaluate(PAIRS, {"sut": recorded(texts)}, **kwargs), **RUN)
    return folder


def rows(folder):
    lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").split("\n")
    assert lines[-1] == ""
    return list(map(json.loads, lines[:-1]))


def test_an_evaluation_is_written_as_three_files(tmp_path):
    folder = written(tmp_path / "new" / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "metrics.json",
        "predictions.jsonl",
        "run.json",
    ]
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["n"] == 3
    assert metrics["signature"].startswith("ROUGE|n:3|nrefs:2|")
    assert list(metrics["systems"]) == ["sut", *BASELINES]
    assert list(metrics["systems"]["sut"]) == list(METRICS)
    assert metrics["measures"]["summaries"]["p_gen"] == {"micro": 0.3333, "macro": 0.3333}
    assert metrics["measures"]["summaries"]["truncated"] == {"micro": 100.0, "macro": 100.0}

    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert run["command"] == ["pgsum", "evaluate"]
    assert run["versions"]["pgsum"] == pgsum.__version__
    assert {"cpu", "cores", "gpu"} <= run["hardware"].keys()
    assert (run["seed"], run["seconds"]) == (12345, 1.5)
    assert "git_commit" in run


def test_a_line_holds_all_that_is_known_of_an_example(tmp_path):
    first = rows(written(tmp_path / "out"))[0]
    assert first["references"] == list(PAIRS[0].references)
    assert first["rouge1"] == {"p": 100.0, "r": 100 * (2 / 3), "f": 80.0}
    assert [each["rouge1"]["r"] for each in first["by_reference"]] == [100 * (1 / 3), 100 * (2 / 3)]
    assert first["measured"]["summary"]["words"] == [2, 1]
    assert first["measured"]["summary"]["p_gen"] == [1.0, 3]
    assert first["model"]["p_gen"] == 1 / 3
    assert first["model"]["stop"] == "eos"
    assert list(first["baselines"]) == list(BASELINES)
    assert len(first["source_sha256"]) == 64


def test_the_means_of_the_lines_are_the_figures(tmp_path):
    folder = written(tmp_path / "out")
    figures = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["systems"]["sut"]
    for metric in METRICS:
        for part in "prf":
            mean = np.mean([row[metric][part] for row in rows(folder)])
            assert round(float(mean), 4) == figures[metric][part]


def test_the_same_input_gives_the_same_bytes_whatever_the_number_of_processes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pgsum.evaluation._CHARS_PER_WORKER", 1)
    monkeypatch.setattr("pgsum.evaluation._CHUNK", 1)
    once, twice = (written(tmp_path / str(workers), workers=workers) for workers in (1, 2))
    for name in ("metrics.json", "predictions.jsonl"):
        assert (once / name).read_bytes() == (twice / name).read_bytes()


@pytest.mark.parametrize("multi", ["max", "mean", "jackknife"])
def test_scoring_the_predictions_again_gives_the_same_metrics(tmp_path, multi):
    once = written(tmp_path / "once", multi=multi)
    read = read_predictions(once / "predictions.jsonl", references=True)
    systems = {read.name: recorded(read.written)}
    systems |= {name: recorded(texts) for name, texts in read.baselines.items()}
    again = evaluate(read.pairs, systems, measured=read.measured, multi=multi)
    write_evaluation(tmp_path / "again", again, **RUN)
    metrics = [(tmp_path / name / "metrics.json").read_bytes() for name in ("once", "again")]
    assert metrics[0] == metrics[1]


def test_half_a_surrogate_pair_is_written_as_json_escapes_it(tmp_path):
    folder = written(tmp_path, ["\ud83d", "x", "y"])
    assert rows(folder)[0]["prediction"] == "\ud83d"
    assert read_predictions(folder / "predictions.jsonl", references=True).measured[0]


def test_results_are_never_written_over(tmp_path):
    make_output_folder(tmp_path)
    make_output_folder(tmp_path / "new" / "one")
    make_output_folder(tmp_path / "new" / "one")
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ConfigError, match=r"holds files already.*--out"):
        written(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "file" / "below")


def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch):
    def replace(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", replace)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        written(tmp_path)
    assert list(tmp_path.iterdir()) == []
