"""Technical prose and one line about it: what the model that comes with pgsum is trained on.

    python data_scripts/technical_prose.py OUT [--from DIR]

Licence: each text is under that of its package or paper, and all may be passed on; name them.
Source: Debian's package descriptions and SciTLDR, as debian.py and scitldr.py fetch them, or DIR
with debian/ and scitldr/ as those scripts write them; and the docstrings of the packages installed
here, as `data=docstrings` reads them.
Pairs: what these three have; the docstrings differ with what is installed.

Splits are those of the three corpora. An id is that of its corpus, after the corpus's name.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import debian
import scitldr
from conversion import Split, Table, identity, run, text

from pgsum.data import docstrings
from pgsum.data.files import check_file
from pgsum.data.splits import SPLITS

SCRIPTS = {"debian": debian, "scitldr": scitldr}


def read(folder: Path | None) -> dict[str, Split]:
    """The splits of all three corpora, one corpus after the other."""
    corpora: dict[str, Mapping[str, Iterable[Mapping[str, object]]]] = {
        name: {split: found.pairs for split, found in script.read(None).items()}
        if folder is None
        else written(folder / name)
        for name, script in SCRIPTS.items()
    }
    harvested = docstrings.harvest(docstrings.find_source_files())
    corpora["docstrings"] = {
        split: [
            {"id": pair.id, "document": pair.document, "summary": pair.references[0]}
            for pair in pairs
        ]
        for split, pairs in harvested.items()
    }
    where = str(folder or "debian, scitldr")
    return {split: Split(list(named(corpora, split)), where) for split in SPLITS}


def written(folder: Path) -> dict[str, Iterator[dict[str, object]]]:
    """The pairs of a corpus that another script has written, or DataError where it has not."""
    found = {}
    for split in SPLITS:
        path = folder / f"{split}.jsonl"
        check_file(path)
        found[split] = pairs(Table(str(path), [path]))
    return found


def pairs(table: Table) -> Iterator[dict[str, object]]:
    """The pairs of one file, with the summary alone where there are more references."""
    for row in table:
        yield {
            "id": identity(row),
            "document": text(row, "document"),
            "summary": text(row, "summary"),
        }


def named(
    corpora: Mapping[str, Mapping[str, Iterable[Mapping[str, object]]]], split: str
) -> Iterator[dict[str, object]]:
    """The pairs of one split of all corpora, their ids with the corpus's name."""
    for name, splits in corpora.items():
        for pair in splits[split]:
            yield {
                "id": f"{name}:{pair['id']}",
                "document": pair["document"],
                "summary": pair["summary"],
            }


if __name__ == "__main__":
    run(read, __doc__)
