"""SAMSum: the corpus as its authors publish it -> {train,validation,test}.jsonl.

    python data_scripts/samsum.py FOLDER OUT

FOLDER holds train.json, val.json and test.json of the archive that goes with Gliwa et al. 2019
(arXiv 1911.12237; licence CC BY-NC-ND 4.0: use it locally, do not pass it on). A dialogue keeps one
turn a line. A pair without a dialogue or a summary (there is one in train) is left out and named.
"""

import argparse
import json
from pathlib import Path

SPLITS = {"train": "train.json", "validation": "val.json", "test": "test.json"}


def main() -> None:
    """Convert the three splits and say what was left out."""
    parser = argparse.ArgumentParser(description="SAMSum to JSONL, for `pgsum train OUT`.")
    parser.add_argument("folder", type=Path, help="holds train.json, val.json and test.json")
    parser.add_argument("out", type=Path, help="where the three .jsonl files go")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for split, name in SPLITS.items():
        pairs = json.loads((arguments.folder / name).read_text(encoding="utf-8"))
        written = 0
        with (arguments.out / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for pair in pairs:
                document = "\n".join(
                    " ".join(turn.split()) for turn in pair["dialogue"].splitlines()
                )
                summary = " ".join(pair["summary"].split())
                if not document.strip() or not summary:
                    print(f"{split}: {pair['id']} has no dialogue or no summary and is left out")
                    continue
                row = {"id": pair["id"], "document": document, "summary": summary}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                written += 1
        print(f"{split}: {written:,} pairs")


if __name__ == "__main__":
    main()
