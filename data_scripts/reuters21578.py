"""Reuters-21578, Distribution 1.0: stories of the newswire of 1987 and their headlines.

    python data_scripts/reuters21578.py OUT --from DIR

Licence: free for research only (Reuters Ltd. and Carnegie Group); where results are published, it
is to be called "Reuters-21578, Distribution 1.0".
Source: DIR with reut2-000.sgm to reut2-021.sgm of D. Lewis's reuters21578.tar.gz (SHA-256
3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30), which the UCI KDD archive has.
Pairs: of 21,578 stories about 10,741 train, 669 validation and 4,796 test remain. What is verified
are the numbers of stories that the collection's README gives.

LEWISSPLIT says what is test; the last 700 pairs of its training part are validation. Left out are
stories that are not used there, not of type NORM, or without a title or body; bodies of less than
20 words, and those with digits in more than 30 % of them, which are tables; titles of one word.
Of stories that begin with the same 25 words one is kept: of test, else of validation.
An id is reuters- and the NEWID. A paragraph is a line of the document; the closing "Reuter" is
cut. Headlines are in capitals: score them in lower case.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conversion import AGAIN, Split, one_line, read_whole, run

from pgsum.data.files import list_folder
from pgsum.errors import DataError

FILES = tuple(f"reut2-{number:03}.sgm" for number in range(22))
STORIES = 21_578
MODLEWIS = {"TRAIN": 13_625, "TEST": 6_188}  # of those whose TOPICS are YES or NO
VALIDATION = 700

STORY = re.compile(r"<REUTERS(?P<attributes>[^>]*)>(?P<content>.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TEXT_TYPE = re.compile(r'<TEXT TYPE="(?!NORM")')
TITLE = re.compile("<TITLE>(.*?)</TITLE>", re.DOTALL)
BODY = re.compile("<BODY>(.*?)</BODY>", re.DOTALL)
ENTITY = re.compile(r"&(?:#\d+|lt|gt|amp|quot);")
NEW_PARAGRAPH = re.compile(r"\n(?: {4}|\s*\n)")
CLOSING = re.compile(r"\s*\breuter$", re.IGNORECASE)


@dataclass(frozen=True)
class Story:
    """A story as it is in its file; `split` and `topics` are LEWISSPLIT and TOPICS."""

    number: int
    split: str
    topics: str
    content: str


def read(folder: Path | None) -> dict[str, Split]:
    """The splits of the stories in the folder."""
    if folder is None:
        raise DataError(
            "This corpus is read from a folder.",
            hint="unpack reuters21578.tar.gz and add --from DIR",
        )
    list_folder(folder)
    stories = [story for file in FILES for story in stories_of(folder / file)]
    verify(stories, str(folder))
    pairs: dict[str, list[dict[str, str]]] = {"TRAIN": [], "TEST": []}
    for story in sorted(stories, key=lambda story: story.number):
        if story.split in pairs and (pair := pair_of(story)):
            pairs[story.split].append(pair)
    train, test = pairs["TRAIN"], pairs["TEST"]
    taken: set[tuple[str, ...]] = set()
    kept = {
        "test": once(test, taken),
        "validation": once(train[-VALIDATION:], taken),
        "train": once(train[:-VALIDATION], taken),
    }
    return {name: Split(pairs, str(folder)) for name, pairs in kept.items()}


def stories_of(path: Path) -> Iterator[Story]:
    """The stories of a file."""
    for match in STORY.finditer(read_whole(path, encoding="latin-1")):
        attributes = dict(ATTRIBUTE.findall(match["attributes"]))
        try:
            yield Story(
                int(attributes["NEWID"]),
                attributes["LEWISSPLIT"],
                attributes["TOPICS"],
                match["content"],
            )
        except (KeyError, ValueError):
            raise DataError(
                "A story has no NEWID, LEWISSPLIT or TOPICS.", where=str(path), hint=AGAIN
            ) from None


def verify(stories: list[Story], where: str) -> None:
    """Raises DataError where there are not as many stories as the README says."""
    found = Counter(story.split for story in stories if story.topics != "BYPASS")
    for count, expected, what in (
        (len({story.number for story in stories}), STORIES, "stories"),
        *((found[split], count, f"stories of {split}") for split, count in MODLEWIS.items()),
    ):
        if count != expected:
            raise DataError(
                f"There are {count:,} {what}, and the collection has {expected:,}.",
                where=where,
                hint=AGAIN,
            )


def pair_of(story: Story) -> dict[str, str] | None:
    """The story's headline and body, if they are worth learning from."""
    title, body = TITLE.search(story.content), BODY.search(story.content)
    if TEXT_TYPE.search(story.content) or not title or not body:
        return None
    document = paragraphs(body[1])
    words = document.split()
    numbers = sum(any(map(str.isdigit, word)) for word in words)
    summary = one_line(decoded(title[1]))
    if len(words) < 20 or numbers > 0.3 * len(words) or len(summary.split()) < 2:
        return None
    return {"id": f"reuters-{story.number:05}", "document": document, "summary": summary}


def paragraphs(body: str) -> str:
    """A body, a paragraph a line: each begins with four blanks, or after an empty line."""
    joined = (one_line(part) for part in NEW_PARAGRAPH.split(decoded(body)))
    return CLOSING.sub("", "\n".join(filter(None, joined)))


def decoded(part: str) -> str:
    """Entities as the characters they are; those that control a teletype are nothing."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), part)


def once(pairs: list[dict[str, str]], taken: set[tuple[str, ...]]) -> list[dict[str, str]]:
    """The pairs whose document begins with 25 words that are not taken, which then are."""
    kept = []
    for pair in pairs:
        beginning = tuple(pair["document"].split()[:25])
        if beginning not in taken:
            taken.add(beginning)
            kept.append(pair)
    return kept


if __name__ == "__main__":
    run(read, __doc__)
