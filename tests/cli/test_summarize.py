import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reference.command_line import save_tiny_model
from rich.text import Text

from pgsum.cli import console
from pgsum.summarizer import Summarizer

TEXTS = ["The cat sat on the mat near Oslo.", "A dog ran home, and the cat followed."]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXTS[0], encoding="utf-8")
    (tmp_path / "b.txt").write_text(TEXTS[1], encoding="utf-8")
    return tmp_path


@pytest.fixture
def summarize(pgsum, tiny_model):
    return lambda *arguments: pgsum(
        "summarize", "--model", tiny_model, "--threads", "1", *arguments
    )


def test_a_file_becomes_a_line_and_the_model_is_named_on_stderr(summarize, tiny_model):
    done = summarize("a.txt")
    assert done.code == 0
    assert done.out == Summarizer.load(tiny_model)(TEXTS[0]).text + "\n"
    assert f"model: {tiny_model}\n" in done.err


def test_several_files_are_named_in_their_order(summarize):
    one = {name: summarize(name).out for name in ("a.txt", "b.txt")}
    expected = f"b.txt\t{one['b.txt']}a.txt\t{one['a.txt']}b.txt\t{one['b.txt']}"
    assert summarize("b.txt", "*.txt").out == expected


def test_jsonl_has_an_object_for_each_document(summarize, here):
    rows = [{"id": f"x{n}", "text": TEXTS[n % 2]} for n in range(5)]
    (here / "many.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = summarize("many.jsonl", "a.txt", "--jsonl", "--batch-size", "2", "--quiet")
    objects = [json.loads(line) for line in done.out.split("\n")[:-1]]
    assert done.err == ""
    assert [o["id"] for o in objects] == [*(row["id"] for row in rows), "a.txt"]
    assert objects[0] | {"id": "a.txt"} == objects[-1]
    first = objects[0]
    keys = ["id", "summary", "tokens", "copied", "source_tokens", "truncated", "score", "stop"]
    assert list(first) == keys
    assert len(first["tokens"]) == len(first["copied"])
    assert first["source_tokens"][:3] == ["The", "cat", "sat"]
    assert first["summary"] + "\n" == summarize("a.txt").out


def test_options_reach_the_search(summarize):
    def tokens(*options: str) -> list[list[str]]:
        done = summarize("a.txt", "--jsonl", *options)
        assert done.code == 0
        (line,) = done.out.splitlines()
        best = json.loads(line)
        return [summary["tokens"] for summary in [best, *best.get("others", [])]]

    assert len(tokens()) == 1
    assert len(tokens("--n-best", "3")) == 3
    assert [len(t) for t in tokens("--min-tokens", "2", "--max-tokens", "2")] == [2]
    assert [len(t) for t in tokens("--set", "decode.max_tokens=1")] == [1]
    assert tokens("--max-tokens", "2", "--set", "decode.max_tokens=1") == tokens("--max-tokens=2")


def test_faithful_says_no_name_that_the_document_lacks(summarize, monkeypatch):
    """Were every word a name, nothing else could be said than what the document has."""

    def words(*options: str) -> set[str]:
        return {word.lower() for word in json.loads(summarize("a.txt", *options).out)["tokens"]}

    def every_id(vocab, casing):
        return list(range(4, len(vocab)))

    monkeypatch.setattr("pgsum.summarizer.ids_needing_support", every_id)
    options = ["--jsonl", "--set", "decode.copy_bias=-9", "--min-tokens=6"]
    of_document = set(TEXTS[0].lower().replace(".", " .").split())
    assert not words(*options) <= of_document
    for faithful in (["--faithful"], ["--set", "decode.faithful=true"]):
        assert words(*options, *faithful) <= of_document


def test_a_bias_towards_copying_shows_in_what_is_copied(summarize):
    def copied(bias: int) -> list[bool]:
        done = summarize("a.txt", "--jsonl", "--set", f"decode.copy_bias={bias}")
        return json.loads(done.out)["copied"]

    assert all(copied(9))
    assert not any(copied(-9))


def test_the_n_best_are_numbered_lines_without_jsonl(summarize):
    done = summarize("a.txt", "b.txt", "--n-best", "3")
    labels = [line.split("\t")[:-1] for line in done.out.splitlines()]
    assert labels == [[name, rank] for name in ("a.txt", "b.txt") for rank in "123"]
    best = summarize("a.txt", "--n-best", "3").out.splitlines()[0]
    assert best == "1\t" + summarize("a.txt").out.rstrip("\n")


@pytest.mark.fault(52)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam-size", "0"], "decode.beam_size is 0: it must be a whole number at least 1"),
        (["--n-best", "9"], "decode.n_best (9) must not exceed decode.beam_size (3)"),
        (["--min-tokens", "7"], "decode.min_tokens (7) must not exceed decode.max_tokens (6)"),
        (["--set", "decode.beam=2"], "did you mean decode.beam_size?"),
        (["--set", "model.layers=2"], "model.layers cannot be set here"),
        (["--set", "model=see2017"], "model cannot be set here"),
        (["--threads", "9999999"], "Invalid value for '--threads'"),
        (["--device", "abacus"], "--device is 'abacus': it must be cpu, cuda, cuda:N or auto"),
        (["--device", "cuda:99"], "--device is 'cuda:99', but torch sees"),
    ],
)
def test_an_option_that_cannot_be_is_refused(summarize, options, message):
    done = summarize("a.txt", *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_without_a_model_it_is_said_how_to_get_one(pgsum, here, monkeypatch):
    monkeypatch.setattr("pgsum.bundle.PRETRAINED", here / "nothing")
    done = pgsum("summarize", "a.txt")
    assert done.code == 4
    assert "pgsum train" in done.err


def test_the_model_that_comes_with_pgsum_is_used_where_there_is_no_run(
    pgsum, tiny_model, monkeypatch
):
    monkeypatch.setattr("pgsum.bundle.PRETRAINED", tiny_model)
    done = pgsum("summarize", "a.txt")
    assert (done.code, done.out) == (0, Summarizer.load()(TEXTS[0]).text + "\n")
    assert f"model: {tiny_model} (the model that comes with pgsum)\n" in done.err
    assert f"model:             {tiny_model}\n" in pgsum("info").out


def test_the_newest_run_is_used_where_no_model_is_named(pgsum, tiny_model, here):
    run = here / "runs" / "tiny-001"
    run.mkdir(parents=True)
    (run / "model").symlink_to(tiny_model)
    (run / "run.json").write_text("{}", encoding="utf-8")
    done = pgsum("summarize", "a.txt")
    assert done.code == 0
    assert "model: runs/tiny-001/model\n" in done.err


def test_a_document_that_is_cut_is_counted(summarize, here):
    (here / "long.txt").write_text(TEXTS[0] * 9, encoding="utf-8")
    done = summarize("long.txt", "a.txt")
    assert "warning: 1 of 2 documents cut to the 20 tokens the model reads.\n" in done.err
    assert "cut" not in summarize("a.txt").err


def test_documents_unlike_those_of_the_training_are_counted(pgsum, here):
    """Each word of a tiny vocabulary is seen once or twice; of "Xyzzy" and "貓" none is."""
    model = save_tiny_model(here / "model", usual_surprise=2.5)
    (here / "far.txt").write_text("貓坐在墊子上", encoding="utf-8")
    (here / "strange.txt").write_text("Xyzzy plugh frotz blorb", encoding="utf-8")
    command = ["summarize", "--model", model, "--threads", "1"]
    warning = (
        "1 of 2 documents is unlike those the model was trained on (their words are rare there): "
        "expect little of the summary, or train a model on text of your own: pgsum train DATA"
    )
    assert f"\nwarning: {warning}\n" in pgsum(*command, "a.txt", "far.txt").err
    done = pgsum(*command, "--jsonl", "a.txt", "far.txt")
    assert json.loads(done.err) == {"warning": warning}
    assert (
        "warning: 2 of 3 documents are unlike"
        in pgsum(*command, "far.txt", "a.txt", "strange.txt").err
    )
    assert "warning" not in pgsum(*command, "a.txt", "a.txt").err


def test_a_bundle_that_does_not_know_what_is_usual_calls_nothing_unlike(summarize, here):
    (here / "far.txt").write_text("貓坐在墊子上", encoding="utf-8")
    assert "warning" not in summarize("far.txt").err


@pytest.mark.fault(1)
@pytest.mark.parametrize("text", ["", " \n\t\n", "\u200b\ufeff\u200d"])
def test_an_empty_document_is_refused_or_skipped(summarize, here, text):
    (here / "empty.txt").write_text(text, encoding="utf-8")
    done = summarize("empty.txt")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: Document 1 is empty.\n  --> empty.txt\n")
    done = summarize("a.txt", "empty.txt", "b.txt", "--on-bad", "skip", "--jsonl")
    assert done.code == 5
    objects = [json.loads(line) for line in done.out.splitlines()]
    assert objects[1] == {"id": "1", "error": "empty"}
    assert "error" not in objects[0] | objects[2]
    assert json.loads(done.err)["warning"].startswith("1 of 3 documents skipped")
    done = summarize("empty.txt", "--on-bad", "skip")
    assert (done.code, done.out) == (5, "\n")


def test_a_row_that_is_not_empty_but_bad_says_why(summarize, here):
    (here / "rows.jsonl").write_text('{"text": ""}\n{"text": null}\n', encoding="utf-8")
    done = summarize("rows.jsonl", "--on-bad", "skip", "--jsonl")
    assert [json.loads(line)["error"] for line in done.out.splitlines()] == [
        "empty",
        "The text is null; a text is needed.",
    ]


@pytest.mark.fault(7)
def test_other_encodings_are_guessed_and_read_when_named(summarize, here):
    (here / "latin.txt").write_bytes("Der Bär aß Käse für zwölf Münzen.".encode("latin-1"))
    done = summarize("latin.txt")
    assert done.code == 3
    assert "not UTF-8: byte 0xe4 at offset 5" in done.err
    assert "--encoding latin-1" in done.err
    assert summarize("latin.txt", "--encoding", "latin-1").code == 0
    (here / "utf16.txt").write_bytes("The cat sat on the mat near Oslo.".encode("utf-16"))
    assert summarize("utf16.txt").out == summarize("a.txt").out


@pytest.mark.fault(30)
@pytest.mark.parametrize("name", [".", "/dev/zero", "loop", "binary", "missing.txt"])
def test_what_is_no_file_to_read_is_refused(summarize, here, name):
    (here / "loop").symlink_to("loop")
    (here / "binary").write_bytes(bytes(range(256)) * 9)
    done = summarize(name)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "text",
    ["今天天气很好。我们去公园。", "👩‍👧 went 🇳🇴 home 🎉", "Hi", "A \x1b[31mred\x1b[0m word."],
)
def test_any_text_is_summarized_in_a_printable_line(summarize, here, text):
    (here / "x.txt").write_text(text, encoding="utf-8")
    done = summarize("x.txt")
    assert done.code == 0
    assert len(done.out.splitlines()) == 1
    assert not any(ord(c) < 32 for c in done.out[:-1])


def test_nothing_is_imported_that_a_summary_does_not_need(tiny_model, here):
    """Each of these takes half a second or more."""
    code = (
        "import sys; from pgsum.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pytorch_lightning', 'datasets', 'pyarrow', 'hydra', 'nltk', 'torch._dynamo',"
        " 'huggingface_hub'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "summarize", "a.txt", "--quiet", "--model", tiny_model]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == "[]\n"


def test_a_model_of_the_hub_is_named_with_its_commit_and_its_size_is_said(
    pgsum, tiny_model, here, hub
):
    commit = hub.push("owner/tiny", tiny_model)
    done = pgsum("summarize", "--model", "owner/tiny@main", "--threads", "1", "a.txt")
    assert (done.code, done.out) == (0, Summarizer.load(tiny_model)(TEXTS[0]).text + "\n")
    assert done.err.splitlines() == [
        f"pulling owner/tiny@{commit} from the hub: 0.0 MB",
        f"model: owner/tiny@{commit}",
    ]
    explained = pgsum(
        *("summarize", "--model", "owner/tiny", "--threads", "1", "a.txt"),
        *("--explain", "out.html"),
    )
    assert "pulling" not in explained.err
    assert f"owner/tiny@{commit[:12]}" in (here / "out.html").read_text(encoding="utf-8")


def test_offline_it_is_said_before_torch_is_imported(here):
    code = (
        "import sys; from pgsum.cli.main import main\n"
        "try: main()\n"
        "finally: print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "summarize", "a.txt", "--model", "owner/tiny"]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(here / "home")}
    done = subprocess.run(command, env=offline, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "False\n")
    assert done.stderr.startswith("error: HF_HUB_OFFLINE is set, and the hub is not asked.\n")


@pytest.mark.slow
def test_the_real_command_pulls_a_model_and_says_nothing_but_its_summary(tiny_model, here, hub):
    hub.push("owner/tiny", tiny_model)
    command = [sys.executable, "-m", "pgsum", "summarize", "a.txt", "--model", "owner/tiny"]
    own = {"HF_ENDPOINT": hub.address, "HF_HOME": str(here / "home")}
    usual = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    for where in (own, own | {"HF_HUB_OFFLINE": "1"}):
        done = subprocess.run([*command, "--quiet"], env=usual | where, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode() == Summarizer.load(tiny_model)(TEXTS[0]).text + "\n"


@pytest.mark.slow
def test_standard_input_is_summarized_by_the_real_command(tiny_model, here):
    command = [sys.executable, "-m", "pgsum", "summarize", "--model", tiny_model]
    text = Path("a.txt").read_bytes()
    piped = subprocess.run([*command, "-"], input=text, capture_output=True)
    named = subprocess.run([*command, "a.txt"], capture_output=True)
    assert (piped.returncode, piped.stdout) == (0, named.stdout)
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True)
    assert closed.returncode == 2
    assert b"error: Nothing comes from standard input.\n" in closed.stderr


@pytest.mark.parametrize("suffix", ["html", "svg", "json"])
def test_an_explanation_is_a_file_beside_the_summaries(summarize, here, suffix):
    done = summarize("a.txt", "--explain", f"out.{suffix}")
    assert done.out == summarize("a.txt").out
    assert f"written: out.{suffix}\n" in done.err
    content = (here / f"out.{suffix}").read_text(encoding="utf-8")
    match suffix:
        case "html":
            assert content.startswith("<!doctype html>")
        case "svg":
            assert ">Oslo</text>" in content
        case "json":
            explained = json.loads(content)
            assert explained["article_lst"][:3] == ["The", "cat", "sat"]
            assert explained["summary"] + "\n" == done.out
            assert explained["id"] == "a.txt"


def test_several_documents_are_explained_in_one_file(summarize, here):
    rows = [{"id": f"x{n}", "text": TEXTS[n], "gold": "The cat sat."} for n in range(2)]
    (here / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    summarize("rows.jsonl", "a.txt", "--explain", "out.json")
    explained = json.loads((here / "out.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in explained] == ["rows.jsonl: x0", "rows.jsonl: x1", "a.txt"]
    assert not any(each["references"] for each in explained)
    summarize("rows.jsonl", "--reference-column", "gold", "--explain", "out.json")
    explained = json.loads((here / "out.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in explained] == ["x0", "x1"]
    assert [each["references"] for each in explained] == [["The cat sat."]] * 2
    assert explained[0]["scores"].keys() == {"rouge1", "rouge2", "rougeL", "rougeLsum"}


def test_an_explanation_on_the_terminal_is_the_output(summarize):
    done = summarize("a.txt", "b.txt", "--explain", "-")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert [line.split()[0] for line in done.out.splitlines() if "───" in line] == [
        "a.txt",
        "b.txt",
    ]
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("environment", "colours"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["colours", "NO_COLOR", "dumb"],
)
def test_colours_are_for_terminals_that_want_them(monkeypatch, capsys, environment, colours):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm-256color"} | environment).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console.painting(Text("word", style="cyan"))
    assert ("\x1b[36m" in capsys.readouterr().out) == colours


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["a.txt", "--explain", "out.pdf"],
            2,
            "name a file that ends in .html, .svg or .json, or -",
        ),
        (
            ["a.txt", "--explain", "no/out.html"],
            2,
            "--explain cannot be written: its folder is not",
        ),
        (["a.txt", "--explain", "folder.html"], 2, "--explain cannot be written: it is a folder."),
        (["a.json", "--explain", "a.json"], 2, "--explain cannot be written: it is to be read."),
        (["a.txt", "--jsonl", "--explain", "-"], 2, "--jsonl and --explain - exclude each other."),
        (["a.txt", "b.txt", "--explain", "out.svg"], 2, "A picture shows one document"),
    ],
)
def test_an_explanation_that_cannot_be_is_refused(summarize, here, arguments, code, message):
    (here / "folder.html").mkdir()
    (here / "a.json").write_text('{"text": "A cat."}', encoding="utf-8")
    done = summarize(*arguments)
    assert done.code == code
    assert message in done.err
    assert not (here / "out.svg").exists()


def test_a_picture_of_several_documents_is_refused_before_the_model_is_read(summarize, here):
    rows = [{"text": text} for text in TEXTS]
    (here / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = summarize("rows.jsonl", "--explain", "out.svg")
    assert (done.code, done.out) == (2, "")
    assert "hint: name one, or a file that ends in .html for them all\n" in done.err
    assert "model:" not in done.err


def test_a_bad_row_is_no_second_document_of_a_picture(summarize, here):
    rows = [{"text": ""}, {"text": TEXTS[0]}]
    (here / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    summarize("rows.jsonl", "--on-bad", "skip", "--explain", "out.svg")
    assert ">Oslo</text>" in (here / "out.svg").read_text(encoding="utf-8")


@pytest.mark.fault(47)
def test_a_picture_without_matplotlib_is_refused_before_the_model_is_read(summarize, monkeypatch):
    monkeypatch.setattr("pgsum.cli.explanations.find_spec", lambda name: None)
    done = summarize("a.txt", "--explain", "out.svg")
    assert done.code == 2
    assert "needs matplotlib" in done.err
    assert "pgsum[plot]" in done.err
    assert "model:" not in done.err
