"""Each corpus in the shapes that its publisher gives it, made small: what becomes of it."""

import hashlib
import json
from importlib import import_module
from pathlib import Path

import pytest

from pgsum.config import DataConfig
from pgsum.data.sources import open_corpus
from pgsum.errors import DataError

SPLITS = ("train", "validation", "test")
ONE = dict.fromkeys(SPLITS, 1)


def write(root: Path, files: dict[str, str], *, encoding: str = "utf-8") -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode(encoding))
    return root


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


# --- cnn_dailymail --------------------------------------------------------------------------------


def story(article: str, *highlights: str) -> str:
    return "\n\n".join([article, *(f"@highlight\n\n{one}" for one in highlights)])


@pytest.fixture
def stories(tmp_path):
    """Four stories of train, one of them without an article, and one of each other split."""
    lists = {"all_train.txt": "http://a\nhttp://b\nhttp://c\n", "all_val.txt": "http://d"}
    lists["all_test.txt"] = "http://e\n"
    texts = {
        "cnn/http://a": story("(CNN) It  rained.\n\nA caption", "It rained", "Twice ."),
        "dailymail/http://b": story("He said: ‘No’", "No"),
        "cnn/http://c": story("", "A video"),
        "dailymail/http://d": story("d.", "D"),
        "cnn/http://e": story("e?", "E!"),
    }
    files = {f"url_lists/{name}": urls for name, urls in lists.items()}
    for name, text in texts.items():
        paper, _, url = name.partition("/")
        files[f"{paper}/stories/{hashlib.sha1(url.encode()).hexdigest()}.story"] = text
    digests = {name: digest(urls) for name, urls in lists.items()}
    return write(tmp_path / "from", files), {"DIGESTS": digests, "COUNTS": {**ONE, "train": 2}}


def test_stories_become_articles_and_highlights_as_see_et_al_read_them(convert, stories):
    folder, facts = stories
    found = convert("cnn_dailymail", folder, **facts)
    assert found["train"] == [
        {
            "id": hashlib.sha1(b"http://a").hexdigest(),
            "document": "(CNN) It rained. A caption .",
            "summary": "It rained .\nTwice .",
        },
        {
            "id": hashlib.sha1(b"http://b").hexdigest(),
            "document": "He said: ‘No’",
            "summary": "No .",
        },
    ]
    assert [found[split][0]["summary"] for split in SPLITS[1:]] == ["D .", "E!"]


def test_a_list_of_other_stories_is_refused(convert, stories):
    folder, facts = stories
    urls = folder / "url_lists" / "all_val.txt"
    urls.write_text("http://x", encoding="utf-8")
    with pytest.raises(
        DataError,
        match=rf"SHA-256 is {digest('http://x')}, and should be {digest('http://d')}; at {urls}",
    ):
        convert("cnn_dailymail", folder, **facts)


def test_a_story_that_is_missing_is_told(convert, stories):
    folder, facts = stories
    missing = hashlib.sha1(b"http://e").hexdigest()
    (folder / "cnn" / "stories" / f"{missing}.story").unlink()
    with pytest.raises(DataError, match=rf"There is no such file; at .*/{missing}\.story"):
        convert("cnn_dailymail", folder, **facts)


def test_the_hubs_cnn_dailymail_keeps_ids_and_a_highlight_a_line(convert, on_hub):
    row = {"article": ["(CNN) It rained."], "highlights": ["It rained .\nTwice ."], "id": ["4f"]}
    asked = on_hub({f"3.0.0/{split}/0000.parquet": row for split in SPLITS})
    found = convert("cnn_dailymail", COUNTS=ONE)
    assert {*asked} == {"abisee/cnn_dailymail"}
    pair = {"id": "4f", "document": "(CNN) It rained.", "summary": "It rained .\nTwice ."}
    assert found == {split: [pair] for split in SPLITS}


# --- xsum -----------------------------------------------------------------------------------------

SUMMARY_FILE = """[SN]URL[SN]
http://somewhere

[SN]TITLE[SN]
A title

[SN]FIRST-SENTENCE[SN]
It {}.

[SN]RESTBODY[SN]
Share this with
Facebook
One  line.

"Another" line.
"""


@pytest.fixture
def summary_files(tmp_path):
    ids = json.dumps({"train": ["11"], "validation": ["22"], "test": ["33"]})
    files = {f"bbc-summary-data/{n}.summary": SUMMARY_FILE.format(n) for n in ("11", "22", "33")}
    files["XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"] = ids
    return write(tmp_path / "from", files), {"DIGEST": digest(ids), "COUNTS": ONE}


def test_summary_files_become_the_rest_of_an_article_and_its_first_sentence(convert, summary_files):
    folder, facts = summary_files
    found = convert("xsum", folder, **facts)
    pair = {"document": 'One line.\n"Another" line.', "summary": "It 22."}
    assert found["validation"] == [{"id": "22", **pair}]
    assert [found[split][0]["id"] for split in SPLITS] == ["11", "22", "33"]


def test_another_way_to_split_xsum_is_refused(convert, summary_files):
    folder, facts = summary_files
    with pytest.raises(DataError, match=r"not the published one: its SHA-256 is .*-90-5-5\.json"):
        convert("xsum", folder, COUNTS=facts["COUNTS"])


def test_a_summary_file_without_its_headings_is_told(convert, summary_files):
    folder, facts = summary_files
    write(folder, {"bbc-summary-data/33.summary": "An article."})
    with pytest.raises(DataError, match=r"no \[SN\]FIRST-SENTENCE\[SN\] with .*33\.summary"):
        convert("xsum", folder, **facts)


def test_the_hubs_xsum_is_counted_with_the_articles_that_are_empty(convert, on_hub, capsys):
    rows = {"document": ["A  b.\nC.", ""], "summary": ["S.", "T."], "id": ["1", "2"]}
    asked = on_hub({f"default/{split}/0000.parquet": rows for split in SPLITS})
    found = convert("xsum", COUNTS=dict.fromkeys(SPLITS, 2))
    assert {*asked} == {"EdinburghNLP/xsum"}
    assert found["test"] == [{"id": "1", "document": "A b.\nC.", "summary": "S."}]
    assert "test: 1 pair; 1 without a document or a summary left out" in capsys.readouterr().err


# --- samsum ---------------------------------------------------------------------------------------


def chats(*dialogues: str) -> str:
    return json.dumps(
        [{"id": f"13{n}", "summary": f"Sum  {n}.", "dialogue": d} for n, d in enumerate(dialogues)]
    )


def test_chats_of_the_archive_keep_a_turn_a_line_and_the_empty_one_goes(convert, tmp_path):
    one = chats("Amanda: Hi  you\r\nJerry: Sure!")
    files = {"train.json": chats("A: a", "", "B: b"), "val.json": one, "test.json": one}
    found = convert("samsum", write(tmp_path / "from", files), COUNTS={**ONE, "train": 2})
    pair = {"id": "130", "document": "Amanda: Hi you\nJerry: Sure!", "summary": "Sum 0."}
    assert found["validation"] == found["test"] == [pair]
    assert [pair["id"] for pair in found["train"]] == ["130", "132"]


@pytest.mark.parametrize(
    ("content", "message"),
    [("[{", r"not JSON: .*train\.json"), ("[1]", "no array of obj"), ('{"a": 1}', "no array of")],
)
def test_chats_that_are_no_json_are_told(convert, tmp_path, content, message):
    folder = write(tmp_path / "from", dict.fromkeys(["train.json", "val.json"], content))
    with pytest.raises(DataError, match=message):
        convert("samsum", folder, COUNTS=ONE)


# --- aeslc ----------------------------------------------------------------------------------------

MAIL = "Hi  Phillip,\x07 it is cafe\u0301 time.\nThanks\n\n@subject\nRe:  Cafe\u0301"
ANNOTATED = MAIL + "\n\n@ann0\ncoffee\n\n@ann1\ncoffee time\n\n@ann2\nmeet for coffee"


@pytest.fixture
def mails(tmp_path):
    files = {"train/allen-p_inbox_20.subject": MAIL, "dev/a_1.subject": ANNOTATED}
    files |= {"test/b_sent_2.subject": ANNOTATED, "train/README": "no mail"}
    folder = write(tmp_path / "from", {f"enron_subject_line/{k}": v for k, v in files.items()})
    ids = dict(zip(SPLITS, ("allen-p_inbox_20", "a_1", "b_sent_2"), strict=True))
    digests = {split: import_module("conversion").ids_digest([ids[split]]) for split in SPLITS}
    return folder, {"COUNTS": ONE, "IDS": digests}


def test_mails_have_the_subject_that_was_written_and_three_references_more(convert, mails):
    folder, facts = mails
    found = convert("aeslc", folder, **facts)
    pair = {"document": "Hi Phillip, it is café time.\nThanks", "summary": "Re: Café"}
    assert found["train"] == [{"id": "allen-p_inbox_20", **pair}]
    references = ["Re: Café", "coffee", "coffee time", "meet for coffee"]
    assert found["validation"] == [{"id": "a_1", **pair, "references": references}]


def test_pgsum_scores_mails_against_all_their_references(convert, mails, tmp_path):
    folder, facts = mails
    convert("aeslc", folder, **facts)
    corpus = open_corpus(DataConfig(name="files", root=str(tmp_path / "out" / "aeslc")))
    assert corpus.train["references"][:] == [["Re: Café"]]
    assert len(corpus.test["references"][0]) == 4


def test_other_mails_than_those_of_the_split_are_refused(convert, mails):
    folder, facts = mails
    part = folder / "enron_subject_line" / "dev"
    (part / "a_1.subject").rename(part / "a_9.subject")
    with pytest.raises(DataError, match=r"The validation pairs are not those .*_subject_line/dev"):
        convert("aeslc", folder, **facts)


def test_a_mail_without_a_subject_is_told(convert, mails):
    folder, facts = mails
    write(folder, {"enron_subject_line/dev/a_1.subject": "Hi\n\n@ann0\nhi"})
    with pytest.raises(DataError, match=r"has no @subject below it; at .*a_1\.subject"):
        convert("aeslc", folder, **facts)


def test_the_hubs_mails_are_numbered(convert, on_hub):
    rows = {"email_body": ["Hi  you\nThanks\n"] * 2, "subject_line": ["Hi\n"] * 2}
    asked = on_hub({f"default/{split}/0000.parquet": rows for split in SPLITS})
    found = convert("aeslc", COUNTS=dict.fromkeys(SPLITS, 2))
    assert {*asked} == {"Yale-LILY/aeslc"}
    assert [pair["id"] for pair in found["validation"]] == ["validation-1", "validation-2"]
    assert found["test"][0] == {"id": "test-1", "document": "Hi you\nThanks", "summary": "Hi"}


# --- scitldr --------------------------------------------------------------------------------------

PAPER = {
    "source": ["We show  a thing.", "It\nworks."],
    "source_labels": [0, 1],
    "rouge_scores": [0.1, 0.2],
    "paper_id": "SysEexbRb",
    "target": ["A thing that works", "This paper shows a thing"],
    "title": "A Thing",
}
IN_PROJECT = "SciTLDR-Data/SciTLDR-A/"


@pytest.fixture
def papers(tmp_path):
    line = json.dumps(PAPER) + "\n"
    files = dict.fromkeys(["train.jsonl", "dev.jsonl", "test.jsonl"], line)
    folder = write(tmp_path / "from", {IN_PROJECT + name: text for name, text in files.items()})
    ids = import_module("conversion").ids_digest(["SysEexbRb"])
    facts = {"DIGESTS": dict.fromkeys(files, digest(line)), "COUNTS": ONE}
    return folder, {**facts, "IDS": {"train": ids, "validation": ids}}


def test_abstracts_have_the_authors_line_and_in_validation_and_test_all(convert, papers):
    folder, facts = papers
    found = convert("scitldr", folder, **facts)
    pair = {"id": "SysEexbRb", "document": "We show a thing. It works."}
    pair["summary"] = "A thing that works"
    assert found["train"] == [pair]
    assert found["validation"] == found["test"] == [{**pair, "references": PAPER["target"]}]


def test_a_project_file_that_was_changed_is_refused(convert, papers):
    folder, facts = papers
    with (folder / IN_PROJECT / "test.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(DataError, match=r"not the published one: .*SciTLDR-A/test\.jsonl; downl"):
        convert("scitldr", folder, **facts)


def test_the_hubs_abstracts_are_the_same(convert, on_hub, papers):
    folder, facts = papers
    from_project = convert("scitldr", folder, **facts)
    (folder.parent / "out" / "scitldr").rename(folder.parent / "first")
    columns = {key: [value] for key, value in PAPER.items() if key != "title"}
    asked = on_hub({f"Abstract/{split}/0000.parquet": columns for split in SPLITS})
    assert convert("scitldr", **facts) == from_project
    assert {*asked} == {"allenai/scitldr"}


@pytest.mark.parametrize("target", [[], [None], "text"])
def test_a_paper_without_a_list_of_lines_is_told(convert, papers, on_hub, target):
    columns = {"paper_id": ["a"], "source": [["s"]], "target": [target]}
    on_hub({f"Abstract/{split}/0000.parquet": columns for split in SPLITS})
    with pytest.raises(DataError, match=r"The target is not a list of texts; at .*, row 1"):
        convert("scitldr", **papers[1])


# --- csl ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["", "benchmark/ts/"])
def test_abstracts_and_titles_are_parted_by_tabs_and_quotes_are_text(convert, tmp_path, place):
    line = 'to title\t 提出"一种方法,\u3000研究.\t方法"研究\n'
    files = {"train.tsv": line * 2, "dev.tsv": line, "test.tsv": line.removesuffix("\n")}
    folder = write(tmp_path / "from", {place + name: text for name, text in files.items()})
    found = convert("csl", folder, COUNTS={**ONE, "train": 2})
    pair = {"document": '提出"一种方法, 研究.', "summary": '方法"研究'}
    assert found["train"] == [{"id": f"csl-train-000{n}", **pair} for n in (0, 1)]
    assert found["validation"] == [{"id": "csl-dev-0000", **pair}]


def test_a_line_of_other_fields_is_told_with_its_number(convert, tmp_path):
    folder = write(tmp_path / "from", {"train.tsv": "to title\ta\tb\nto title\ta b\n"})
    with pytest.raises(DataError, match=r"has 2 fields, and should have 3; at .*train\.tsv:2"):
        convert("csl", folder)


# --- reuters21578 ---------------------------------------------------------------------------------

TWENTY = " ".join(f"w{n}" if n % 4 == 0 else "word" for n in range(20))  # 5 of 20 with digits


def wire(number: int, split: str, body: str, *, title: str = "OIL &lt;OIL> UP", **more: str) -> str:
    kind = f' TYPE="{more["kind"]}"' if "kind" in more else ""
    return (
        f'<REUTERS TOPICS="{more.get("topics", "NO")}" LEWISSPLIT="{split}" '
        f'CGISPLIT="TRAINING-SET" OLDID="1" NEWID="{number}">\n<TEXT{kind}>&#2;\n'
        f"<TITLE>{title}</TITLE>\n<DATELINE>    ROME, Feb 26 - </DATELINE><BODY>{body}\n&#3;"
        "</BODY></TEXT>\n</REUTERS>\n"
    )


@pytest.fixture
def newswire(tmp_path):
    """Writes stories as the first of the files, the others being empty; what the README says."""

    def of(*stories: str, train: int, test: int) -> tuple[Path, dict[str, object]]:
        files = dict.fromkeys(import_module("reuters21578").FILES, "")
        files["reut2-000.sgm"] = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n' + "".join(stories)
        facts = {"STORIES": len(stories), "MODLEWIS": {"TRAIN": train, "TEST": test}}
        folder = write(tmp_path / "from", files, encoding="latin-1")
        return folder, {**facts, "VALIDATION": 1}

    return of


def test_stories_have_a_paragraph_a_line_and_end_before_reuter(convert, newswire):
    body = f"{TWENTY}\nof S&amp;P &lt;SPX>\xfc.\n    New\n one.\n\n  Third.\n       \n REUTER"
    stories = [wire(n, "TRAIN", f"n{n} {body}") for n in (2, 1)] + [wire(3, "TEST", f"a {body}")]
    folder, facts = newswire(*stories, train=2, test=1)
    found = convert("reuters21578", folder, **facts)
    text = f"{TWENTY} of S&P <SPX>ü.\nNew one.\nThird."
    train = {"id": "reuters-00001", "document": f"n1 {text}", "summary": "OIL <OIL> UP"}
    assert found["train"] == [train]
    assert [pair["id"] for pair in found["validation"]] == ["reuters-00002"]
    assert [pair["id"] for pair in found["test"]] == ["reuters-00003"]


def test_what_is_no_story_with_a_headline_is_left_out(convert, newswire):
    folder, facts = newswire(
        wire(1, "TRAIN", f"one {TWENTY}"),
        wire(2, "TRAIN", f"two {TWENTY}", kind="BRIEF"),
        wire(3, "TRAIN", f"three {TWENTY}", kind="NORM"),
        wire(4, "TRAIN", TWENTY.removesuffix(" word")),  # 19 words
        wire(5, "TRAIN", f"five {TWENTY} 1 2 3"),  # 8 of 24 have digits
        wire(6, "TRAIN", f"six {TWENTY}", title="OIL"),
        wire(7, "TRAIN", f"seven {TWENTY}").replace("<BODY>", "").replace("</BODY>", ""),
        wire(8, "NOT-USED", f"eight {TWENTY}"),
        wire(9, "TRAIN", f"nine {TWENTY}", topics="BYPASS"),
        wire(10, "TEST", f"ten {TWENTY}"),
        train=7,
        test=1,
    )
    found = convert("reuters21578", folder, **facts)
    kept = [pair["id"] for split in SPLITS for pair in found[split]]
    assert kept == ["reuters-00001", "reuters-00003", "reuters-00009", "reuters-00010"]


def test_of_stories_that_begin_alike_one_is_kept_of_test_first(convert, newswire):
    same = " ".join(["same"] * 25)
    folder, facts = newswire(
        wire(1, "TRAIN", f"{same} one"),
        wire(2, "TRAIN", f"{TWENTY} a b c d e two"),
        wire(3, "TRAIN", f"other {TWENTY}"),
        wire(4, "TRAIN", f"{TWENTY} a b c d e four"),
        wire(5, "TEST", f"{same} five"),
        train=4,
        test=1,
    )
    found = convert("reuters21578", folder, **facts)
    numbers = {split: [int(pair["id"][-5:]) for pair in found[split]] for split in SPLITS}
    assert numbers == {"train": [3], "validation": [4], "test": [5]}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"STORIES": 21_578}, "There are 2 stories, and the collection has 21,578; at"),
        ({"MODLEWIS": {"TRAIN": 13}}, "There are 1 stories of TRAIN, and the collection has 13;"),
    ],
)
def test_other_numbers_of_stories_than_the_readme_gives_are_an_error(
    convert, newswire, said, message
):
    folder, facts = newswire(wire(1, "TRAIN", TWENTY), wire(2, "TEST", TWENTY), train=1, test=1)
    with pytest.raises(DataError, match=message):
        convert("reuters21578", folder, **{**facts, **said})


def test_a_file_of_the_newswire_that_is_missing_is_told(convert, newswire):
    folder, facts = newswire(wire(1, "TRAIN", TWENTY), train=1, test=0)
    (folder / "reut2-021.sgm").unlink()
    with pytest.raises(DataError, match=r"There is no such file; at .*reut2-021\.sgm"):
        convert("reuters21578", folder, **facts)


def test_a_story_without_a_number_is_told(convert, newswire):
    folder, facts = newswire(wire(1, "TRAIN", TWENTY).replace("NEWID", "ID"), train=1, test=0)
    with pytest.raises(DataError, match=r"A story has no NEWID, LEWISSPLIT or TOPICS; at .*000\.s"):
        convert("reuters21578", folder, **facts)


def test_the_newswire_is_not_looked_for_on_the_hub(convert):
    with pytest.raises(DataError, match=r"read from a folder; unpack .* and add --from DIR"):
        convert("reuters21578")
