"""Debian's package descriptions: what a package is, in paragraphs and in one line.

    python data_scripts/debian.py OUT [--from DIR]

Licence: each description is under the licence of its package, and all packages of section main are
free software. They may be passed on: name Debian, and the package.
Source: the sources that apt on this machine has, whose lists are fetched into a folder of their own
and deleted afterwards; those of the system stay as they are. Or DIR with lists that
`apt-get -o Acquire::Languages=en update` has fetched. The checksums that Debian's InRelease file
gives are verified.
Pairs: 1,000 validation, 1,000 test and the rest train: 22,972 of Debian 12.15 on amd64.

There is no official split: a hash of the source package's name says which it is, so that one
release of Debian splits nearly as the next, and one package is taken of each source package. Left
out are transitional and meta packages; those with headers, debugging symbols, documentation or data
of others; descriptions of less than 25 or more than 300 words; summaries of less than 2 or more
than 15. Of descriptions that begin with the same 20 words one is kept.
An id is the package's name. A paragraph, or an item of a list, is a line of the document.
"""

import hashlib
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from conversion import Split, one_line, read_whole, run

from pgsum.cli import console
from pgsum.data.files import list_folder, visible
from pgsum.errors import DataError

HELD_OUT = 1_000  # in validation, and as many in test
APT_HELPER = "/usr/lib/apt/apt-helper"
APT_SETTINGS = """\
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "en";
Acquire::GzipIndexes "false";
Acquire::Retries "1";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""  # What is cleared would tell the system of new lists.

FIELD = re.compile(r"^(?P<name>[\w-]+):[ ]?(?P<value>.*(?:\n[ \t].*)*)", re.MULTILINE)
OF_OTHERS = re.compile(r"-(?:dev|dbg|dbgsym|doc|data|common|examples|l10n)$")
NO_CONTENT = re.compile(
    r"\b(?:transitional|dummy) (?:dummy )?package|\bmeta-?package\b", re.IGNORECASE
)
ITEM = re.compile(r"[-*+•o] |\d+[.)] ")
DESCRIPTION_WORDS = range(25, 301)
SYNOPSIS_WORDS = range(2, 16)


@dataclass(frozen=True)
class Package:
    """A package with its description."""

    name: str
    source: str
    document: str
    summary: str

    @property
    def is_worth_learning(self) -> bool:
        return (
            not OF_OTHERS.search(self.name)
            and not NO_CONTENT.search(f"{self.summary}\n{self.document}")
            and len(self.document.split()) in DESCRIPTION_WORDS
            and len(self.summary.split()) in SYNOPSIS_WORDS
        )


def read(folder: Path | None) -> dict[str, Split]:
    """The splits of the packages that apt's sources or the lists in the folder have."""
    if folder is None:
        with TemporaryDirectory(prefix="apt-lists-") as fetched:
            packages = packages_of(fetch_lists(Path(fetched)))
    else:
        packages = packages_of(folder)
    chosen = one_of_each_source(packages)
    if len(chosen) <= 2 * HELD_OUT:
        raise DataError(
            f"Only {len(chosen):,} packages can be used, and {2 * HELD_OUT:,} would be held out.",
            where=str(folder or "apt"),
            hint="have section main among apt's sources",
        )
    by_hash = sorted(chosen, key=lambda package: hashlib.sha256(package.source.encode()).digest())
    splits = {
        "test": by_hash[:HELD_OUT],
        "validation": by_hash[HELD_OUT : 2 * HELD_OUT],
        "train": by_hash[2 * HELD_OUT :],
    }
    return {
        name: Split(
            [
                {"id": p.name, "document": p.document, "summary": p.summary, "source": p.source}
                for p in split
            ],
            str(folder or "apt"),
        )
        for name, split in splits.items()
    }


def one_of_each_source(packages: list[Package]) -> list[Package]:
    """The package that is called as its source, or else the one with the shortest name.

    Without those that begin as one before does.
    """
    by_source: dict[str, list[Package]] = {}
    for package in packages:
        if package.is_worth_learning:
            by_source.setdefault(package.source, []).append(package)
    by_beginning: dict[tuple[str, ...], Package] = {}
    for source, candidates in sorted(by_source.items()):
        package = min(candidates, key=lambda p: (p.name != source, len(p.name), p.name))
        beginning = tuple(package.document.lower().split()[:20])
        by_beginning.setdefault(beginning, package)
    return list(by_beginning.values())


# --- apt's lists ----------------------------------------------------------------------------------


def fetch_lists(folder: Path) -> Path:
    """Fetch the lists of apt's sources into `folder`; where they are then."""
    folder.chmod(0o755)  # apt fetches as a user of its own
    lists = folder / "lists"
    for path in (lists / "partial", folder / "cache" / "archives" / "partial"):
        path.mkdir(parents=True)
    settings = folder / "apt.conf"
    settings.write_text(APT_SETTINGS.format(folder=folder), encoding="utf-8")
    done = run_apt("apt-get", "--config-file", str(settings), "update")
    if not any(lists.glob("*Release")):  # apt-get calls it a success all the same
        raise DataError(
            f"apt could not fetch its lists: {first_line(done.stderr)}.",
            where="apt-get update",
            hint="offline: give --from DIR, with lists that were fetched before",
        )
    return lists


def run_apt(program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a program of apt; DataError where it is not here, or fails."""
    hint = "give --from DIR, with lists that are not compressed"
    try:
        return subprocess.run([program, *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise DataError(f"There is no {program} on this machine.", hint=hint) from None
    except subprocess.CalledProcessError as error:
        raise DataError(f"{program} failed: {first_line(error.stderr)}.", hint=hint) from None


def first_line(said: bytes) -> str:
    """The first line of what a program said, without its full stop: those below say less."""
    line = said.decode(errors="replace").strip().partition("\n")[0].removeprefix("W: ")
    return visible(line or "it does not say why", limit=200).rstrip(".")


def packages_of(lists: Path) -> list[Package]:
    """The packages of main, each once, of the releases of Debian that there are lists of."""
    releases = [path for path in list_folder(lists) if path.name.endswith("Release")]
    found: dict[str, Package] = {}
    for path in releases:
        for package in packages_of_release(path):
            found.setdefault(package.name, package)
    if not found:
        raise DataError(
            "There are no lists of a release of Debian here.",
            where=str(lists),
            hint="fetch them: apt-get -o Acquire::Languages=en update",
        )
    return list(found.values())


def packages_of_release(path: Path) -> Iterator[Package]:
    """The packages of main, if this is Debian itself: not its updates, not anybody else's."""
    release = fields(read_whole(path))
    if (release.get("Origin"), release.get("Label")) != ("Debian", "Debian"):
        return
    if "updates" in release.get("Suite", ""):
        return
    console.note(f"Debian {release.get('Version', release.get('Suite'))}")
    digests = {}
    for line in release.get("SHA256", "").strip().splitlines():
        digest, _, name = line.split()
        digests[name] = digest
    descriptions = {
        (entry["Package"], entry["Description-md5"]): entry["Description-en"]
        for entry in read_list(path, "main/i18n/Translation-en", digests)
    }
    for name in sorted(digests):
        if re.fullmatch("main/binary-[^/]+/Packages", name) and find_list(path, name):
            for entry in read_list(path, name, digests):
                key = (entry["Package"], entry.get("Description-md5"))
                if key in descriptions:
                    yield to_package(entry, descriptions[key])


def find_list(release: Path, name: str) -> Path | None:
    """The file that apt keeps a list of a release in, compressed or not."""
    prefix = re.sub("(In)?Release$", "", release.name)
    return next(iter(sorted(release.parent.glob(f"{prefix}{name.replace('/', '_')}*"))), None)


def read_list(release: Path, name: str, digests: Mapping[str, str]) -> list[dict[str, str]]:
    """The entries of a list, when it is as the release says."""
    path = find_list(release, name)
    if path is None:
        raise DataError(
            f"There is no {name} of this release.",
            where=str(release),
            hint="fetch it: apt-get -o Acquire::Languages=en update",
        )
    if path.suffix:
        content = run_apt(APT_HELPER, "cat-file", str(path)).stdout
    else:
        content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digests.get(name):
        raise DataError(
            f"The list is not the one of the release: its SHA-256 is {found}, and should be "
            f"{digests.get(name)}.",
            where=str(path),
            hint="fetch it again",
        )
    return [fields(entry) for entry in content.decode().split("\n\n") if entry.strip()]


def fields(entry: str) -> dict[str, str]:
    """The fields of a paragraph of a control file; lines of one that go on keep their blanks."""
    return {match["name"]: match["value"] for match in FIELD.finditer(entry)}


def to_package(entry: Mapping[str, str], description: str) -> Package:
    """A package of the entries in both lists."""
    name = entry["Package"]
    synopsis, _, long = description.partition("\n")
    return Package(
        name=name,
        source=entry.get("Source", name).partition(" ")[0],  # "name (version)"
        document=paragraphs(long),
        summary=one_line(synopsis),
    )


def paragraphs(long: str) -> str:
    """A long description with a paragraph, an item or a line that is to be kept as it is a line.

    Each line begins with a blank; those to be kept with two, and one of a dot parts paragraphs.
    """
    found: list[str] = []
    goes_on = False
    for line in long.split("\n"):
        words = one_line(line)
        if words in ("", "."):
            goes_on = False
        elif goes_on and not line.startswith("  ") and not ITEM.match(words):
            found[-1] += f" {words}"
        else:
            found.append(words)
            goes_on = not line.startswith("  ")
    return "\n".join(found)


if __name__ == "__main__":
    run(read, __doc__)
