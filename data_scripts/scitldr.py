"""SciTLDR, abstracts only: papers of OpenReview in one sentence (Cachola et al. 2020).

    python data_scripts/scitldr.py OUT [--from DIR]

Licence: Apache-2.0.
Source: allenai/scitldr:Abstract on the hub; or DIR with its Parquet files; or DIR with
SciTLDR-Data/SciTLDR-A/{train,dev,test}.jsonl of github.com/allenai/scitldr, whose checksums are
verified.
Pairs: 1,992 train, 619 validation (dev), 618 test.

An id is the paper's on OpenReview. The summary is the first TLDR, which is the author's; in
validation and test, references are that and those made of reviews, and the authors of the corpus
score against the best of them. Two abstracts of test and one of validation are in train as well.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from conversion import (
    Split,
    Table,
    check_digest,
    folder_tables,
    hub_tables,
    identity,
    one_line,
    run,
    texts,
)

from pgsum.data.rows import Row

HUB = "allenai/scitldr:Abstract"
COUNTS = {"train": 1_992, "validation": 619, "test": 618}
FILES = {"train": "train.jsonl", "validation": "dev.jsonl", "test": "test.jsonl"}
DIGESTS = {
    "train.jsonl": "b222771d387be585cfdf5ae957b36757138415a352e0a3e3b23f73f87c3b1119",
    "dev.jsonl": "3191fa98ccc09521332b7a1cd63b1930be4e8df125a235ccd31e40329709525e",
    "test.jsonl": "fb42dd6cd4f4a1928ae8a01a189456fbfe994a07e938bd49f68653933f6503c9",
}
IDS = {
    "train": "c756bcf90f2d5333a309b07c5b4174c87dedd1e0701e542c22c7e6f412fad82d",
    "validation": "b62c5234aef474d102f2948589e399033d965066f8003f9b54ef6dbd84e8ac18",
}


def read(folder: Path | None) -> dict[str, Split]:
    """The splits, from the hub, from Parquet files or from the project's JSON Lines."""
    tables = hub_tables(HUB) if folder is None else folder_tables(HUB, folder) or files(folder)
    return {
        name: Split(pairs(name, table), table.where, COUNTS[name], IDS.get(name))
        for name, table in tables.items()
    }


def files(folder: Path) -> dict[str, Table]:
    """The project's JSON Lines, which have the names of the hub's columns."""
    root = folder / "SciTLDR-Data" / "SciTLDR-A"
    for file in FILES.values():
        check_digest(root / file, DIGESTS[file])
    return {name: Table(str(root / file), [root / file]) for name, file in FILES.items()}


def pairs(split: str, rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """The pairs, those of train with one reference."""
    for row in rows:
        references = [one_line(target) for target in texts(row, "target")]
        pair: dict[str, object] = {
            "id": identity(row, "paper_id"),
            "document": one_line(" ".join(texts(row, "source"))),
            "summary": references[0],
        }
        yield pair if split == "train" else {**pair, "references": references}


if __name__ == "__main__":
    run(read, __doc__)
