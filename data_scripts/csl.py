"""CSL, Chinese Scientific Literature: abstracts and titles of papers (Li et al. 2022).

    python data_scripts/csl.py OUT --from DIR

Licence: Apache-2.0.
Source: DIR with {train,dev,test}.tsv of benchmark/ts in github.com/ydli-ai/CSL, or a checkout of
that. The benchmark is not on the hub.
Pairs: 8,000 train, 1,000 validation (dev), 1,000 test.

An id is csl-, the split of the benchmark and the line, counted from 0: csl-dev-0049. Words are not
parted by blanks: learn and score characters.
"""

from collections.abc import Iterator
from pathlib import Path

from conversion import AGAIN, Split, one_line, read_whole, run

from pgsum.data.files import list_folder
from pgsum.errors import DataError

COUNTS = {"train": 8_000, "validation": 1_000, "test": 1_000}
FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}


def read(folder: Path | None) -> dict[str, Split]:
    """The splits of the folder."""
    if folder is None:
        raise DataError(
            "This corpus is read from a folder.",
            hint="download github.com/ydli-ai/CSL and add --from DIR, with DIR its benchmark/ts",
        )
    list_folder(folder)
    in_checkout = folder / "benchmark" / "ts"
    root = in_checkout if in_checkout.is_dir() else folder
    return {
        name: Split(pairs(root / file), str(root / file), COUNTS[name])
        for name, file in FILES.items()
    }


def pairs(path: Path) -> Iterator[dict[str, str]]:
    """The pairs of a file: "to title", abstract and title, parted by tabs; quotes are text."""
    for number, line in enumerate(read_whole(path).removesuffix("\n").split("\n")):
        fields = line.split("\t")
        if len(fields) != 3:
            raise DataError(
                f"The line has {len(fields)} fields, and should have 3.",
                where=f"{path}:{number + 1}",
                hint=AGAIN,
            )
        yield {
            "id": f"csl-{path.stem}-{number:04}",
            "document": one_line(fields[1]),
            "summary": one_line(fields[2]),
        }


if __name__ == "__main__":
    run(read, __doc__)
