"""What README and its companions show can be typed, imported and followed."""

import ast
import re
import shlex
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command

from pgsum.cli.corpus import split_arguments
from pgsum.cli.main import app
from pgsum.cli.options import SKIPPED
from pgsum.cli.train import STOPPED
from pgsum.config import (
    GROUPS,
    Config,
    all_settings,
    change_config,
    group_options,
    load_config,
)
from pgsum.data.markdown import prose
from pgsum.errors import ConfigError, DataError, ModelError, PgsumError
from pgsum.summarizer import Summarizer

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
GUIDES = [page for page in PAGES if page.name not in ("ARCHITECTURE.md", "model.md")]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
RESULT = re.compile(
    r"^\| [^|]+ \| `experiment=(\w+)` " + r"\| ([\d.]+) " * 4 + r"\|$", re.MULTILINE
)
PUNCTUATION = set("();<>|&")


class Shown(NamedTuple):
    """Something that a page shows."""

    page: str
    text: str


def blocks(page: Path, *languages: str) -> list[str]:
    found = FENCED.findall(page.read_text(encoding="utf-8"))
    return [body for language, body in found if language in languages]


def spans(page: Path) -> list[str]:
    found = SPAN.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return [" ".join(span.split()) for span in found]


def shell_lines(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [*lines, *(span for span in spans(page) if span.startswith(("pgsum ", "make ")))]


def words_of(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def commands(program: str) -> list[Shown]:
    """What is said to `program` in the pages, without what the shell does around it."""
    found = []
    for page in PAGES:
        for line in shell_lines(page):
            words = words_of(line)
            for i, word in enumerate(words):
                if Path(word).name == program:
                    said = takewhile(lambda word: not set(word) <= PUNCTUATION, words[i + 1 :])
                    found.append(Shown(page.name, shlex.join(said)))
    return list(dict.fromkeys(found))


def settings() -> list[Shown]:
    """`key` and `key=value`, where a page is not about modules of the same names."""
    sections = {key.partition(".")[0] for key in all_settings() if "." in key}
    found = [
        Shown(page.name, word)
        for page in GUIDES
        for span in spans(page)
        for word in span.split()
        if word.partition(".")[0] in sections and re.fullmatch(r"\w+\.\w+(=\S*)?", word)
        if word != "model.safetensors"
    ]
    return list(dict.fromkeys(found))


def python_blocks() -> list[Shown]:
    return [Shown(page.name, block) for page in PAGES for block in blocks(page, "python")]


@pytest.mark.parametrize("shown", commands("pgsum"), ids=str)
def test_a_command_that_is_shown_can_be_given(shown):
    verb, *arguments = shlex.split(shown.text)
    group = get_command(app)
    if verb.startswith("-"):
        assert verb in {option for parameter in group.params for option in parameter.opts}
        return
    given = group.commands[verb].make_context(verb, arguments).params
    if verb == "train":
        data, overrides = given["data"], given["settings"] or []
        data, overrides = split_arguments([*([data] if data else []), *overrides])
        load_config([*(["data=files", f"data.root={data}"] if data else []), *overrides])
    elif verb in ("summarize", "evaluate"):
        change_config(Config(), given["settings"] or [], sections=["data", "decode", "trainer"])


@pytest.mark.parametrize("shown", commands("make"), ids=str)
def test_a_target_of_make_exists(shown):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in shown.text.split():
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("shown", settings(), ids=str)
def test_a_setting_that_is_named_exists(shown):
    key, _, value = shown.text.partition("=")
    assert key in all_settings()
    if value:
        all_settings()[key].read(value, where=key)


def test_the_options_of_each_group_are_those_there_are():
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?:, )?)+) \|$",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    listed = {
        group: SPAN.findall(options) for groups, options in rows for group in SPAN.findall(groups)
    }
    assert listed == {group: group_options(group) for group in GROUPS}


@pytest.mark.parametrize("shown", python_blocks(), ids=lambda shown: shown.page)
def test_python_that_is_shown_compiles_and_its_imports_are_there(shown):
    for node in ast.walk(ast.parse(shown.text)):
        if isinstance(node, ast.ImportFrom):
            module = import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                import_module(alias.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page):
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    inside = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [target for target in inside if not (page.parent / target).exists()] == []


def test_the_results_are_those_of_the_records(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    make_results = import_module("make_results")
    records = {each.name: each for each in make_results.read_records(ROOT / "docs" / "results")}
    rows = RESULT.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(rows) >= 6
    for name, *figures, bar in rows:
        record = records[name]
        scores = next(record.of_model)
        own = scores.metrics["systems"][scores.system]
        assert figures == [f"{own[m]['f']:.2f}" for m in ("rouge1", "rouge2", "rougeL")]
        assert bar == f"{make_results.against_bar(record, scores)[1]:.2f}"


def test_the_model_that_comes_along_says_what_pgsum_is():
    said = Summarizer.load()(prose((ROOT / "README.md").read_text(encoding="utf-8"))).text
    assert "summarizer" in said


def test_the_exit_codes_are_those_of_the_program():
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    errors = (PgsumError, ConfigError, DataError, ModelError)
    assert list(map(int, rows)) == [
        0,
        *(error.exit_code for error in errors),
        SKIPPED,
        *STOPPED.values(),
    ]


def test_the_pages_show_commands_and_python():
    assert {shown.text.split()[0] for shown in commands("pgsum")} >= set(get_command(app).commands)
    assert blocks(ROOT / "README.md", "python")
