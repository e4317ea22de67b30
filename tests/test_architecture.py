"""ARCHITECTURE.md and docs/model.md say what is there: files, layers, names."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from pgsum.config import all_settings

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PAGES = ("ARCHITECTURE.md", "docs/model.md")
FILE_SUFFIXES = (".json", ".jsonl", ".md", ".py", ".toml", ".yaml")


def block(name: str) -> list[str]:
    return re.search(rf"^```{name}\n(.*?)^```$", ARCHITECTURE, re.DOTALL | re.MULTILINE)[1].split(
        "\n"
    )[:-1]


def listed_files() -> list[str]:
    """Paths of a tree that is drawn by indentation."""
    folders: list[str] = []
    files = []
    for line in filter(str.strip, block("files")):
        name = line.split()[0]
        del folders[(len(line) - len(line.lstrip())) // 2 :]
        if name.endswith("/"):
            folders.append(name)
        else:
            files.append("".join([*folders, name]))
    return files


def dotted_names() -> list[tuple[str, str]]:
    """What is written as code, has a dot and is neither a setting nor a file."""
    return [
        (page, name)
        for page in PAGES
        for name in dict.fromkeys(
            re.findall(
                r"(?<!`)`([a-z_]\w*(?:\.\w+)+)`(?!`)", (ROOT / page).read_text(encoding="utf-8")
            )
        )
        if name not in all_settings() and not name.endswith(FILE_SUFFIXES)
    ]


def resolve(name: str) -> object:
    """What `name` means, looked up from the package downwards."""
    found: object = import_module("pgsum")
    path = "pgsum"
    for part in name.split("."):
        path = f"{path}.{part}"
        if not hasattr(found, part):
            import_module(path)
        found = getattr(found, part)
    return found


def test_every_file_of_the_package_has_its_line():
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pgsum").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and path.parent.name != "conf"
    }
    # The line of a folder speaks for its __init__.py.
    in_tree -= {path for path in in_tree if path.endswith("/__init__.py") and path.count("/") > 1}
    assert sorted(listed_files()) == sorted(in_tree)


def test_the_layers_are_those_of_the_import_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (staircase,) = [c for c in contracts["tool"]["importlinter"]["contracts"] if "layers" in c]
    assert block("layers") == [layer.replace("pgsum.", "") for layer in staircase["layers"]]


@pytest.mark.parametrize(("page", "name"), dotted_names())
def test_a_name_that_a_page_gives_exists(page, name):
    assert resolve(name) is not None


def test_both_pages_name_functions():
    assert {page for page, _ in dotted_names()} == set(PAGES)
