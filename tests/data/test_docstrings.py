import random
import sys
from pathlib import Path

import pytest

from pgsum.data import docstrings
from pgsum.data.docstrings import SourceFile, find_source_files, fingerprint, harvest
from pgsum.data.records import Pair
from pgsum.errors import DataError

WORDS = [a + b for a in ("ab", "ec", "id", "or", "un") for b in ("alpha", "beta", "gamma", "delta")]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that takes the place of the standard library and of all installed packages."""
    monkeypatch.setattr(docstrings.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(docstrings, "MIN_PAIRS", 1)
    return tmp_path


def write(site: Path, name: str, *definitions: str) -> None:
    path = site / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(definitions), encoding="utf-8")


def function(name: str, first_line: str, body: str) -> str:
    return f'def {name}():\n    """{first_line}\n\n    {body}\n    """'


def drawn_function(rng: random.Random) -> str:
    """A function like no other, whose first line can be told from its body."""
    words = rng.sample(WORDS, 12)
    return function("_".join(words[:2]), " ".join(words[:5]), " ".join(rng.sample(words, 12)))


def pairs_of(site: Path) -> list[Pair]:
    splits = harvest(find_source_files(), workers=1)
    return [pair for split in ("train", "validation", "test") for pair in splits[split]]


BODY = "It goes through all of the numbers given and adds them one by one."


# --- which files ----------------------------------------------------------------------------------


def test_files_are_those_of_packages_without_tests_copies_and_ourselves(site):
    for name in (
        "b/__init__.py",
        "b/inner/c.py",
        "a.py",
        "a.txt",
        "b/tests/test_c.py",
        "b/test_d.py",
        "b/conftest.py",
        "b/_vendor/e.py",
        "pgsum/f.py",
        "site-packages/g.py",
    ):
        write(site, name)
    assert [file.module for file in find_source_files()] == ["a", "b", "b.inner.c"]


def test_fingerprint_tells_content_and_not_dates_or_places(tmp_path):
    def print_of(folder: str, text: str) -> str:
        write(tmp_path, f"{folder}/a.py", text)
        return fingerprint([SourceFile(tmp_path / folder / "a.py", "a")])

    assert print_of("here", "x = 1") == print_of("there", "x = 1")
    assert print_of("here", "x = 1") != print_of("here", "x = 2")


# --- what is made of them -------------------------------------------------------------------------


def test_document_is_the_dotted_name_and_the_body_and_the_first_line_is_its_summary(site):
    write(site, "package/numbers.py", function("add_all", "Add all numbers.", BODY))
    assert pairs_of(site) == [
        Pair(
            "package.numbers:numbers.add_all",
            f"{BODY}\n\nnumbers.add_all\nnumbers add all",
            ("Add all numbers.",),
        )
    ]


def test_modules_classes_and_methods_are_called_by_their_dotted_names(site):
    write(
        site,
        "package/__init__.py",
        f'"""Numbers of a package.\n\n{BODY} One.\n"""',
        "class Adder:",
        f'    """Adder of numbers.\n\n    {BODY} Two.\n    """',
        "    if True:",
        "        async def add(self):",
        f'            """Add the numbers.\n\n            {BODY} Three.\n            """',
    )
    assert {pair.document.split("\n")[-2] for pair in pairs_of(site)} == {
        "package",
        "package.Adder",
        "Adder.add",
    }


@pytest.mark.parametrize(
    ("first_line", "body"),
    [
        pytest.param("Add.", BODY, id="first line too short"),
        pytest.param("Add numbers " * 16, BODY, id="first line too long"),
        pytest.param("Add all numbers.", "Adds the numbers.", id="body too short"),
        pytest.param("Add all numbers.", BODY * 40, id="body too long"),
        pytest.param("Add all of these numbers:", BODY, id="announcement"),
        pytest.param("add(numbers) -> the sum", BODY, id="signature"),
        pytest.param("Größte der numbers.", BODY, id="not English"),
        pytest.param("Frobnicate every widget.", BODY, id="nothing in common"),
        pytest.param(f"{BODY} Really.", BODY, id="nothing to add"),
    ],
)
def test_docstring_unfit_to_learn_from_is_left_out(site, first_line, body):
    write(site, "a.py", function("f", first_line, body))
    write(site, "b.py", function("add_all", "Sum of the numbers.", f"{BODY} Kept."))
    assert [pair.references for pair in pairs_of(site)] == [("Sum of the numbers.",)]


def test_repeated_first_line_and_repeated_body_are_kept_once(site):
    write(site, "a.py", function("one", "Add all numbers.", BODY))
    write(site, "b.py", function("two", "Add all NUMBERS", f"{BODY} Again."))
    write(site, "c.py", function("three", "Sum the numbers.", BODY))
    assert [pair.id for pair in pairs_of(site)] == ["a:a.one"]


def test_source_that_is_no_python_is_passed_over(site):
    write(site, "a.py", '"""Unfinished', "def :")
    (site / "b.py").write_bytes(b'"""\xff"""')
    (site / "c.py").write_bytes(b'"""\0"""')
    (site / "dangling.py").symlink_to("nowhere")
    write(site, "d.py", f'"""{"(" * 300}"""\nx = ' + "(" * 300 + ")" * 300)
    write(site, "e.py", r'"""An invalid \escape warns."""', function("f", "Add numbers up.", BODY))
    assert [pair.id for pair in pairs_of(site)] == ["e:e.f"]


def test_nothing_is_imported_or_executed(site):
    write(site, "danger.py", "raise SystemExit", function("f", "Add numbers up.", BODY))
    assert len(pairs_of(site)) == 1
    assert "danger" not in sys.modules


def test_environment_too_poor_names_packages_that_would_help(site, monkeypatch):
    monkeypatch.setattr(docstrings, "MIN_PAIRS", 2_000)
    write(site, "a.py", function("f", "Add numbers up.", BODY))
    with pytest.raises(
        DataError,
        match=r"hold 1 documented .* 2,000 are needed; .*pip install scipy scikit-learn sympy",
    ):
        pairs_of(site)


# --- splits ---------------------------------------------------------------------------------------


def test_no_module_is_in_two_splits(site):
    rng = random.Random(1)
    for number in range(60):
        write(site, f"m{number}.py", *(drawn_function(rng) for _ in range(3)))
    splits = harvest(find_source_files(), workers=1)
    modules = {split: {pair.id.split(":")[0] for pair in pairs} for split, pairs in splits.items()}
    assert sum(map(len, modules.values())) == len(set().union(*modules.values())) == 60
    assert all(modules.values())
    assert len(modules["train"]) > len(modules["validation"]) + len(modules["test"])


def test_near_copy_of_a_document_in_another_split_is_left_out(site):
    rng = random.Random(1)
    for number in range(60):
        body = f"The beginning is told in the very same words everywhere. {WORDS[number % 20]}"
        write(
            site,
            f"m{number}.py",
            drawn_function(rng),
            function(f"f{number}", f"The beginning of words {number}.", f"{body} {number}."),
        )
    splits = harvest(find_source_files(), workers=1)
    with_copies = [
        split for split, pairs in splits.items() if any("same words" in p.document for p in pairs)
    ]
    assert with_copies == ["test"]
    assert all(splits.values())


def test_pairs_do_not_depend_on_the_number_of_processes(site):
    rng = random.Random(1)
    for number in range(110):
        write(site, f"m{number}.py", drawn_function(rng))
    files = find_source_files()
    seen: list[tuple[int, int]] = []
    parallel = harvest(files, workers=2, progress=lambda done, total: seen.append((done, total)))
    assert parallel == harvest(files, workers=1)
    assert seen == [(done, 110) for done in range(1, 111)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TextIOBase.read_line", ["text", "io", "base", "read", "line"]),
        ("get_default_encoding", ["get", "default", "encoding"]),
        ("numpy", ["numpy"]),
    ],
)
def test_a_name_is_spelt_in_its_words(name, words):
    assert docstrings.spelt(name) == words


def test_a_first_line_is_left_out_when_most_of_its_words_are_not_in_the_document(site):
    write(site, "a.py", function("told", "Add the numbers quickly.", BODY))
    write(
        site,
        "b.py",
        function("untold", "Compute polynomial remainders of numbers.", f"{BODY} Too."),
    )
    assert [pair.references[0] for pair in pairs_of(site)] == ["Add the numbers quickly."]


def test_held_out_first_lines_can_be_told_from_their_documents(site, monkeypatch):
    monkeypatch.setattr(docstrings, "_HELD_OUT_SHARE", 0.5)  # every module is held out
    told = function("told", "Add the numbers given.", BODY)
    half_told = function("half_told", "Compute polynomial numbers given.", f"{BODY} Too.")
    write(site, "a.py", told, half_told)
    assert [pair.references[0] for pair in pairs_of(site)] == ["Add the numbers given."]
    monkeypatch.setattr(docstrings, "_HELD_OUT_SHARE", 0.0)
    assert len(pairs_of(site)) == 2


@pytest.mark.slow
def test_packages_installed_here_are_enough_to_train_on():
    splits = harvest(find_source_files())
    assert len(splits["train"]) > docstrings.MIN_PAIRS
    assert len(splits["validation"]) > 100
    assert len(splits["test"]) > 100
    for pairs in splits.values():
        for pair in pairs:
            body, name = pair.document.rsplit("\n\n", 1)
            assert pair.id.endswith(name.split("\n")[0])
            assert body.strip()
            assert pair.references[0].strip()
