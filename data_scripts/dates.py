"""Dates as people write them, and as ISO 8601 does -> {train,validation,test}.jsonl.

    python data_scripts/dates.py OUT

Nothing is downloaded: the dates are drawn from a seed, each one once, so that no date of one split
is in another. A document is "Tuesday, the 3rd of March 1987" or one of a dozen other ways to say
it, its summary "1987 - 03 - 03": with blanks, since "1987-03-03" would be a single word to pgsum,
and that word is not in the document to be copied.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

SPLITS = {"train": 12000, "validation": 500, "test": 1000}
# A hundred years, so that two digits tell which; those that POSIX takes them for.
FIRST, LAST = date(1969, 1, 1), date(2068, 12, 31)

# Not by `strftime`, which writes them in the language of the machine.
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June"]
MONTHS += ["July", "August", "September", "October", "November", "December"]
ONES = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
TEENS = ["tenth", "eleventh", "twelfth", *(f"{n}teenth" for n in ("thir", "four", "fif", "six"))]
TEENS += ["seventeenth", "eighteenth", "nineteenth"]
TWENTIES = ["twentieth", *(f"twenty-{one}" for one in ONES)]
ORDINALS = [*ONES, *TEENS, *TWENTIES, "thirtieth", "thirty-first"]
FORMS = (
    "{weekday}, the {nth} of {month} {year}",
    "{weekday}, {month} {day}, {year}",
    "the {nth} of {month}, {year}",
    "the {ordinal} of {month} {year}",
    "{month} the {ordinal}, {year}",
    "{month} {day}, {year}",
    "{month} {nth}, {year}",
    "{mon}. {day}, {year}",
    "{day} {month} {year}",
    "{day}-{mon}-{year}",
    "{year} {month} {day}",
    "{wkd} {day} {mon} {year}",
    "{day} {mon} {yy}",
    "{wkd}, {mon}. {nth}, '{yy}",
)


def nth(day: int) -> str:
    """1st, 2nd, 3rd, 4th, ..., 11th, ..., 21st."""
    ending = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def written(day: date, forms: Sequence[str], rng: random.Random) -> str:
    """The date in one of the forms, one in three in lower case."""
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    text = rng.choice(forms).format(
        weekday=weekday,
        wkd=weekday[:3],
        month=month,
        mon=month[:3],
        day=day.day,
        nth=nth(day.day),
        ordinal=ORDINALS[day.day - 1],
        year=day.year,
        yy=f"{day.year % 100:02}",
    )
    return text.lower() if rng.random() < 1 / 3 else text


def draw_pairs(
    seed: int, sizes: Mapping[str, int], *, forms: Sequence[str] = FORMS
) -> dict[str, list[dict[str, str]]]:
    """Of each split so many pairs; no date comes twice."""
    rng = random.Random(seed)
    days = rng.sample(range(FIRST.toordinal(), LAST.toordinal() + 1), sum(sizes.values()))
    dates = map(date.fromordinal, days)
    return {
        split: [
            {
                "id": f"{split}-{number}",
                "document": written(day, forms, rng),
                "summary": day.strftime("%Y - %m - %d"),
            }
            for number, day in zip(range(1, size + 1), dates, strict=False)
        ]
        for split, size in sizes.items()
    }


def main() -> None:
    """Draw the three splits and write them."""
    parser = argparse.ArgumentParser(description="Dates to JSONL, for `pgsum train OUT`.")
    parser.add_argument("out", type=Path, help="where the three .jsonl files go")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other dates")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for split, pairs in draw_pairs(arguments.seed, SPLITS).items():
        with (arguments.out / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(pair) + "\n" for pair in pairs)
        print(f"{split}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
