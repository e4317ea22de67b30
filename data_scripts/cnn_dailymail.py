"""CNN/Daily Mail, not anonymized: news articles and their highlights.

    python data_scripts/cnn_dailymail.py OUT [--from DIR]

Licence: the articles are copyright of CNN and the Daily Mail and were collected for research
(Hermann et al. 2015); the licences that pages of the data name are those of scripts. Use it
locally, do not pass it on.
Source: abisee/cnn_dailymail:3.0.0 on the hub; or DIR with its Parquet files; or DIR with what
See et al. 2017 go by (github.com/abisee/cnn-dailymail): cnn/stories/*.story,
dailymail/stories/*.story and url_lists/all_{train,val,test}.txt, whose checksums are verified.
Pairs: 287,113 train, 13,368 validation, 11,490 test. The list of train names 114 stories more,
which have no article.

An id is the SHA-1 of the article's URL. Each highlight is a line of the summary. Stories are read
as See et al. read them, but in their own case: a line that ends without a full stop gets one.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from conversion import (
    Split,
    Table,
    check_digest,
    folder_tables,
    hub_tables,
    identity,
    lines,
    one_line,
    read_whole,
    run,
    text,
)

from pgsum.data.rows import Row

HUB = "abisee/cnn_dailymail:3.0.0"
COUNTS = {"train": 287_113, "validation": 13_368, "test": 11_490}
LISTS = {"train": "all_train.txt", "validation": "all_val.txt", "test": "all_test.txt"}
DIGESTS = {
    "all_train.txt": "a5cee49f3a6c862c26ce29308236d2a99625ab6c86a43be22d5206b2790d8029",
    "all_val.txt": "81887e982b045083409c6ee838aede8ff4b97291605bcfb21bffc456a16991db",
    "all_test.txt": "c4f5efb5ec2126430a5c156efbd13d0e9c4cb490169e552c38b4a51981a009bd",
}
HIGHLIGHT = re.compile("^@highlight", re.MULTILINE)
SENTENCE_ENDS = (".", "!", "?", "'", "`", '"', "’", "”", ")")


def read(folder: Path | None) -> dict[str, Split]:
    """The splits, from the hub, from Parquet files or from stories."""
    if folder is None:
        return from_tables(hub_tables(HUB))
    if tables := folder_tables(HUB, folder):
        return from_tables(tables)
    splits = {}
    for name, listed in LISTS.items():
        urls = folder / "url_lists" / listed
        check_digest(urls, DIGESTS[listed])
        splits[name] = Split(from_stories(folder, urls), str(folder), COUNTS[name])
    return splits


def from_tables(tables: Mapping[str, Table]) -> dict[str, Split]:
    """The splits as the hub has them."""
    return {
        name: Split(map(from_row, table), table.where, COUNTS[name])
        for name, table in tables.items()
    }


def from_row(row: Row) -> dict[str, str]:
    """A pair of theirs."""
    return {
        "id": identity(row),
        "document": one_line(text(row, "article")),
        "summary": lines(text(row, "highlights")),
    }


def from_stories(folder: Path, urls: Path) -> Iterator[dict[str, str]]:
    """The pairs of the stories that a list names, without those that have no article."""
    for url in read_whole(urls).split():
        name = hashlib.sha1(url.encode()).hexdigest()
        path = folder / "cnn" / "stories" / f"{name}.story"
        if not path.exists():
            path = folder / "dailymail" / "stories" / f"{name}.story"
        article, *highlights = HIGHLIGHT.split(read_whole(path))
        document = " ".join(sentences(article))
        summary = "\n".join(line for part in highlights for line in sentences(part))
        if document and summary:
            yield {"id": name, "document": document, "summary": summary}


def sentences(part: str) -> list[str]:
    """The lines of a part of a story, each with an end: captions come without."""
    found = lines(part).splitlines()
    return [line if line.endswith(SENTENCE_ENDS) else f"{line} ." for line in found]


if __name__ == "__main__":
    run(read, __doc__)
