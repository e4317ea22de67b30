import json

import pytest

PAIRS = [
    {"id": f"{i}", "document": f"A cat sat on mat {i}. It slept.", "summary": f"A cat on mat {i}."}
    for i in range(12)
]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch, pgsum):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, PAIRS)) + "\n")
    for name in ("lead-1", "lead-2"):
        options = ["--system", name, "--out", name, "--no-baselines", "--quiet"]
        assert pgsum("evaluate", "pairs.jsonl", *options).code == 0


def test_a_table_says_how_systems_differ(pgsum):
    done = pgsum("compare", "lead-1", "lead-2")
    assert (done.code, done.err) == (0, "")
    assert "lead-2 against lead-1: lower by R-1, R-2, R-L, R-Lsum." in done.out
    assert "ROUGE counts words shared with references" in done.out
    assert done.out.splitlines()[-1].startswith("lead-2 against lead-1: R-1 -")
    assert "ROUGE|n:12|" in done.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("text", "system"),
        ("md", "| system | metric |"),
        ("latex", r"\begin{tabular}"),
        ("json", "{"),
    ],
)
def test_each_format_is_the_same_each_time(pgsum, form, beginning):
    once, twice = (pgsum("compare", "lead-1", "lead-2", "--format", form) for _ in range(2))
    assert once.out == twice.out
    assert once.out.startswith(beginning)
    assert "ROUGE|n:12|" in once.out
    assert once.out.count("ROUGE counts words shared with references") == 1


def test_a_run_against_itself_has_no_difference(pgsum):
    content = json.loads(pgsum("compare", "lead-1", "lead-1", "--format", "json").out)
    assert list(content["systems"]) == ["lead-1", "lead-1 (2)"]
    assert {(c["difference"], c["p"]) for c in content["comparisons"]} == {(0, 1)}


def test_what_cannot_be_compared_is_refused(pgsum):
    assert pgsum("compare", "lead-1").code == 2
    done = pgsum("compare", "lead-1", "nosuch")
    assert (done.code, done.out) == (3, "")
    assert "hint: a run is a folder that `pgsum evaluate --out` wrote" in done.err
