"""Package descriptions of lists as apt keeps them, made up; apt itself is played by a script."""

import hashlib
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

from pgsum.errors import DataError

SPLITS = ("train", "validation", "test")
LONG = " ".join(f"word{n}" for n in range(25))
RELEASE = "mirror_debian_dists_bookworm_"
HEAD = "Origin: Debian\nLabel: Debian\nSuite: oldstable\nVersion: 12.1\n"
PACKAGES, TRANSLATION = "main/binary-amd64/Packages", "main/i18n/Translation-en"


def package(name: str, description: str, *, source: str = "") -> tuple[str, str]:
    """A package's entries in both lists."""
    synopsis, _, long = description.partition("\n")
    md5 = f"Description-md5: md5of{name}\n"
    lines = "".join(f"\n {line}" for line in long.split("\n"))
    source = f"Source: {source}\n" if source else ""
    return (
        f"Package: {name}\n{source}Version: 1-1\nTag: a::b,\n c::d\nDescription: {synopsis}\n{md5}",
        f"Package: {name}\n{md5}Description-en: {synopsis}{lines}\n",
    )


def lists_of(*packages: tuple[str, str], head: str = HEAD) -> dict[str, str]:
    """The files of a release by their names."""
    listed = {PACKAGES: "\n".join(p for p, _ in packages)}
    listed[TRANSLATION] = "\n".join(t for _, t in packages)
    digests = "".join(
        f" {hashlib.sha256(text.encode()).hexdigest()} {len(text)} {name}\n"
        for name, text in listed.items()
    )
    files = {RELEASE + name.replace("/", "_"): text for name, text in listed.items()}
    return {f"{RELEASE}InRelease": f"{head}MD5Sum:\n 0 0 a\nSHA256:\n{digests}", **files}


def write(root: Path, files: Mapping[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


def several(*others: tuple[str, str]) -> list[tuple[str, str]]:
    """Two packages to hold out, one that is learned from, and `others`."""
    return [package(f"p{n}", f"a tool {n}\np{n} {LONG}") for n in range(3)] + list(others)


@pytest.fixture
def kept(convert, tmp_path):
    """The pairs that remain of these packages and three ordinary ones, by their ids."""

    def of(*packages: tuple[str, str]) -> dict[str, dict[str, str]]:
        folder = write(tmp_path / "lists", lists_of(*several(*packages)))
        found = convert("debian", folder, HELD_OUT=1)
        pairs = {pair["id"]: pair for split in SPLITS for pair in found[split]}
        assert {"p0", "p1", "p2"} <= pairs.keys()
        return {name: pairs[name] for name in pairs.keys() - {"p0", "p1", "p2"}}

    return of


def test_a_paragraph_or_an_item_is_a_line(kept):
    description = (
        "Scores  texts\nIt counts\nwords.\n.\nThis\n * counts\n   again\n- and\ngoes on\n"
        f"1. {LONG}\n.\nThe end."
    )
    assert kept(package("rouge", description)) == {
        "rouge": {
            "id": "rouge",
            "document": "It counts words.\nThis\n* counts\nagain\n- and goes on\n"
            f"1. {LONG}\nThe end.",
            "summary": "Scores texts",
            "source": "rouge",
        }
    }


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("libx-dev", f"a library\n{LONG}"),
        ("x-doc", f"a library\n{LONG}"),
        ("x-data", f"a game\n{LONG}"),
        ("x", f"a game - transitional package\n{LONG}"),
        ("x", f"a game\n{LONG}\n.\nThis is a dummy package."),
        ("x", f"all games\nThis metapackage depends on them. {LONG}"),
        ("x", f"a game\n{LONG.removesuffix(' word24')}"),
        ("x", f"a game\n{LONG * 13}"),
        ("x", f"game\n{LONG}"),
        ("x", f"{'very ' * 15}good game\n{LONG}"),
    ],
)
def test_what_does_not_say_what_a_program_is_is_left_out(kept, name, description):
    assert kept(package(name, description)) == {}


def test_the_longest_and_shortest_that_are_kept(kept):
    longest = " ".join(f"w{n}" for n in range(300))
    found = kept(package("a", f"a b\n{LONG}"), package("b", f"{'c ' * 14}d\n{longest}"))
    assert found.keys() == {"a", "b"}


def test_of_a_source_package_one_is_taken_that_is_called_so_or_has_the_shortest_name(kept):
    found = kept(
        package("libfoo1", f"a library\nfoo1 {LONG}", source="foo (2-1)"),
        package("foo", f"a tool\nfoo2 {LONG}"),
        package("python3-bar", f"bindings\nbar1 {LONG}", source="bar"),
        package("libbar-2", f"a library\nbar2 {LONG}", source="bar"),
    )
    assert {name: pair["source"] for name, pair in found.items()} == {
        "foo": "foo",
        "libbar-2": "bar",
    }


def test_of_descriptions_that_begin_alike_one_is_kept(kept):
    found = kept(package("b", f"some tool\n{LONG} b"), package("a", f"the tool\n{LONG.upper()} a"))
    assert found.keys() == {"a"}


def test_a_package_stays_in_its_split_when_others_come_and_go(convert, tmp_path):
    def splits(numbers: range) -> dict[str, str]:
        packages = [package(f"p{n}", f"a tool\np{n} {LONG}") for n in numbers]
        folder = write(tmp_path / f"lists{len(numbers)}", lists_of(*packages))
        found = convert("debian", folder, HELD_OUT=30)
        (tmp_path / "out" / "debian").rename(tmp_path / f"of{len(numbers)}")
        return {pair["id"]: split for split in SPLITS for pair in found[split]}

    before, after = splits(range(200)), splits(range(210))
    moved = [name for name, split in before.items() if after[name] != split]
    assert len(moved) <= 2 * 10
    assert list(after.values()).count("validation") == list(after.values()).count("test") == 30


def test_too_few_packages_are_an_error(convert, tmp_path):
    folder = write(tmp_path / "lists", lists_of(*several()))
    with pytest.raises(DataError, match="Only 3 packages can be used, and 2,000 would be held out"):
        convert("debian", folder)


# --- the lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [PACKAGES, TRANSLATION])
def test_a_list_that_is_not_the_one_of_the_release_is_refused(convert, tmp_path, name):
    files = lists_of(*several())
    files[RELEASE + name.replace("/", "_")] += "\n"
    with pytest.raises(
        DataError, match=r"not the one of the release: its SHA-256 is .*; fetch it a"
    ):
        convert("debian", write(tmp_path / "lists", files), HELD_OUT=1)


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace("Origin: Debian", "Origin: Somebody"),
        HEAD.replace("Label: Debian", "Label: Debian-Security"),
        HEAD.replace("oldstable", "oldstable-updates"),
    ],
)
def test_lists_of_others_and_of_updates_are_not_read(convert, tmp_path, head):
    folder = write(tmp_path / "lists", lists_of(*several(), head=head))
    with pytest.raises(
        DataError, match=r"no lists of a release of Debian here; at .*/lists; fetch"
    ):
        convert("debian", folder, HELD_OUT=1)


def test_lists_without_the_translation_are_told(convert, tmp_path):
    files = lists_of(*several())
    del files[f"{RELEASE}main_i18n_Translation-en"]
    with pytest.raises(DataError, match=r"no main/i18n/Translation-en .*apt-get -o Acquire::Lang"):
        convert("debian", write(tmp_path / "lists", files), HELD_OUT=1)


def program(path: Path, *lines: str) -> str:
    path.write_text("\n".join([f"#!{sys.executable}", "import sys", *lines]), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_compressed_lists_are_read_by_apts_own_helper(convert, tmp_path):
    folder = write(tmp_path / "lists", lists_of(*several()))
    for path in folder.glob("*_main_*"):
        path.with_name(f"{path.name}.lz4").write_text(path.read_text()[::-1])
        path.unlink()
    reverse = 'assert sys.argv[1] == "cat-file"; print(open(sys.argv[2]).read()[::-1], end="")'
    helper = program(tmp_path / "apt-helper", reverse)
    assert len(convert("debian", folder, HELD_OUT=1, APT_HELPER=helper)["test"]) == 1


def test_without_that_helper_it_is_told(convert, tmp_path):
    files = {f"{name}.lz4" if "main" in name else name: text for name, text in lists_of().items()}
    with pytest.raises(
        DataError, match="There is no /nowhere on this machine; give --from DIR, wi"
    ):
        convert("debian", write(tmp_path / "lists", files), APT_HELPER="/nowhere")


# --- fetching -------------------------------------------------------------------------------------

FETCH = """
import re, shutil
settings = open(sys.argv[sys.argv.index("--config-file") + 1]).read()
assert sys.argv[-1] == "update"
lists = re.search('Dir::State::lists "(.*)"', settings)[1]
assert 'Acquire::Languages "en"' in settings
shutil.copytree({ready!r}, lists, dirs_exist_ok=True)
"""


def test_apt_fetches_into_a_folder_that_is_deleted(convert, tmp_path, monkeypatch):
    ready = write(tmp_path / "ready", lists_of(*several()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    program(tmp_path / "bin" / "apt-get", FETCH.format(ready=str(ready)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    assert convert("debian", HELD_OUT=1).keys() == {*SPLITS}
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ('print("W: Failed to fetch http://mirror/InRelease.\\nW: Some.", file=sys.stderr)',),
            "apt could not fetch its lists: Failed to fetch http://mirror/InRelease; .*offline: gi",
        ),
        (
            ('sys.exit("E: Conflicting values")',),
            "apt-get failed: E: Conflicting values; give --fr",
        ),
        ((), "apt could not fetch its lists: it does not say why; at apt-get update"),
    ],
)
def test_offline_apt_is_believed_and_nothing_is_left(tmp_path, monkeypatch, lines, message):
    program(tmp_path / "apt-get", *lines)
    monkeypatch.setenv("PATH", str(tmp_path))
    script = import_module("debian")
    with pytest.raises(DataError, match=message):
        import_module("conversion").convert(script.read, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_machine_without_apt_is_told(convert, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="There is no apt-get on this machine; give --from DIR"):
        convert("debian")
