import json
import re

import pytest

from pgsum.systems import BASELINES

PAIRS = [
    {"id": "x", "document": "The cat sat. It slept.", "summary": "The cat sat."},
    {"id": "y", "document": "A dog ran home. It ate.", "summary": "A dog ate."},
]
PREDICTIONS = [
    {"id": "y", "prediction": "A dog ate."},
    {"id": "x", "prediction": "The cat sat."},
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in {"pairs.jsonl": PAIRS, "mine.jsonl": PREDICTIONS}.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return tmp_path


def test_a_report_has_every_row_and_explains_some_that_a_model_wrote(pgsum, tiny_model, here):
    options = ["pairs.jsonl", "--no-baselines", "--report", "report.html"]
    done = pgsum("evaluate", *options, "--model", tiny_model, "--threads", "1")
    assert done.code == 0
    assert "written: report.html\n" in done.err
    content = report_data(here / "report.html")
    assert [row[0] for row in content["rows"]] == ["x", "y"]
    assert content["metrics"] == ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    assert "p_gen, mean" in content["statistics"]
    explained = {each["id"]: each for each in content["explained"]}
    assert explained.keys() == {"x", "y"}
    for id_, prediction, _, scores, *_ in content["rows"]:
        assert "".join(explained[id_]["summary"]) == prediction
        assert list(explained[id_]["scores"].values()) == scores
    done = pgsum("evaluate", *options, "--model", tiny_model, "--examples", "1")
    assert len(report_data(here / "report.html")["explained"]) == 1


def test_a_report_says_how_summaries_were_searched_for_and_how_they_were_written(
    pgsum, tiny_model, here
):
    options = ["pairs.jsonl", "--no-baselines", "--report", "report.html", "--model", tiny_model]
    changes = ["--set", "decode.faithful=true", "--set", "decode.copy_bias=2"]
    done = pgsum("evaluate", *options, *changes, "--threads", "1")
    html = (here / "report.html").read_text(encoding="utf-8")
    (said,) = re.findall(r"Settings of the search.*?</p>", html, re.DOTALL)
    assert re.findall("<code>(.*?)</code>", said) == [
        "decode.beam_size=3",
        "decode.max_tokens=6",
        "decode.faithful=true",
        "decode.copy_bias=2.0",
    ]
    (words,) = [line.split() for line in done.out.splitlines() if line.startswith("words  ")]
    cells = "".join(f"<td>{cell}</td>" for cell in words[1:])
    assert f'<th scope="row" dir="auto">words</th>{cells}' in html
    pgsum("evaluate", "pairs.jsonl", "--predictions", "mine.jsonl", "--report", "report.html")
    assert "Settings of the search" not in (here / "report.html").read_text(encoding="utf-8")


def test_a_report_of_predictions_explains_none(pgsum, here):
    pgsum("evaluate", "pairs.jsonl", "--predictions", "mine.jsonl", "--report", "report.html")
    content = report_data(here / "report.html")
    assert [row[1] for row in content["rows"]] == ["The cat sat.", "A dog ate."]
    assert content["explained"] == []
    html = (here / "report.html").read_text(encoding="utf-8")
    assert all(f">{name}</th>" in html for name in BASELINES)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("report.pdf", "name a file that ends in .html\n"),
        ("no/report.html", "--report cannot be written: its folder is not there."),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_read(pgsum, target, message):
    done = pgsum("evaluate", "missing.jsonl", "--report", target)
    assert done.code == 2
    assert message in done.err


def report_data(path):
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*)</script>', path.read_text(encoding="utf-8")
    )
    return json.loads(data)
