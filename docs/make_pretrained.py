"""Put a trained model into the package: pgsum/pretrained/, with a card of what it was measured at.

    python docs/make_pretrained.py RUN SCORES [SCORES ...]

RUN is a folder of `pgsum train experiment=pretrained`, each SCORES one that `pgsum evaluate --out`
wrote for it with the settings of search that conf/experiment/pretrained.yaml has now. What is
explained stands in docs/pretrained.template.md. `make pretrained` does all of it.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

from blocks import table
from result_records import METRICS, RUN, Scores

from pgsum.bundle import PRETRAINED, load_bundle, save_bundle, sha256
from pgsum.config import load_config
from pgsum.errors import DataError, ModelError, PgsumError
from pgsum.metrics.report import HEADINGS

HERE = Path(__file__).parent
MOST_BYTES = 12_000_000
"""Of the bundle: everybody who installs pgsum downloads it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the bundle, or says on stderr why not and leaves with the error's exit code."""
    parser = argparse.ArgumentParser(description="Make the model that comes with pgsum.")
    parser.add_argument("run", type=Path, help="a folder of pgsum train")
    parser.add_argument("scores", type=Path, nargs="+", help="folders of pgsum evaluate")
    parser.add_argument(
        "--out", type=Path, default=PRETRAINED, help="pgsum/pretrained if not given"
    )
    options = parser.parse_args(arguments)
    try:
        ship(options.run, options.scores, options.out)
    except PgsumError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def ship(run: Path, scores: Sequence[Path], out: Path) -> None:
    """The run's model as the bundle `out`, its card with these scores.

    Raises DataError where scores are of another model or search, ModelError where the bundle is
    too large; what stood there stays.
    """
    bundle = load_bundle(run)
    decode = load_config(["experiment=pretrained"]).decode
    bundle = replace(bundle, config=replace(bundle.config, decode=decode))
    read = [_read_scores(folder) for folder in scores]
    weights = sha256(run / "model" / "model.safetensors")
    for each in read:
        if each.model != weights:
            raise DataError("The scores are of another model.", where=each.name)
        if each.record["config"]["decode"] != asdict(decode):
            raise DataError(
                "The scores are of other settings of search than conf/experiment/pretrained.yaml "
                "has.",
                where=each.name,
                hint="evaluate again, with these as --set decode.KEY=VALUE",
            )
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    template = Template((HERE / "pretrained.template.md").read_text(encoding="utf-8"))
    card = template.substitute(
        pairs=f"{record['corpus']['training_pairs']:,}",
        fingerprint=record["corpus"]["fingerprint"],
        vectors=_vectors(record["word_vectors"]),
        parameters=f"{record['parameters']:,}",
        minutes=f"{record['steps_cpu_seconds'] / 60:.0f}",
        seed=record["seed"],
        versions=", ".join(f"{name} {version}" for name, version in record["versions"].items()),
        scores=_table(read),
        signature=read[0].metrics["signature"],
    )
    with TemporaryDirectory() as beside:
        trial = Path(beside, "model")
        save_bundle(bundle, trial, card=card)
        size = sum(path.stat().st_size for path in trial.iterdir())
    if size > MOST_BYTES:
        raise ModelError(f"The bundle would have {size:,} bytes, more than {MOST_BYTES:,}.")
    save_bundle(bundle, out, card=card)
    print(f"{out}: {size:,} bytes")


def _vectors(begun_with: Mapping[str, Any] | None) -> str:
    """What the card says of the word vectors that the training began with, if any."""
    if begun_with is None:
        return ""
    return (
        f"\n- **Word vectors** of {begun_with['found']:,} words to begin with, from "
        f"`{Path(begun_with['file']).name}`. GloVe's\n  (Pennington et al. 2014) are in the public "
        "domain (PDDL 1.0)."
    )


def _read_scores(folder: Path) -> Scores:
    record, metrics = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in (RUN, METRICS)
    )
    return Scores(str(folder), record, metrics)


def _table(read: Sequence[Scores]) -> str:
    """The model beside lead-1, on each corpus."""
    rows = []
    for each in read:
        for name, system in (("this model", each.system), ("lead-1", "lead-1")):
            figures = each.metrics["systems"][system]
            cells = [f"{figures[m]['f']:.2f}" for m in HEADINGS]
            corpus = f"{Path(each.name).name}, {each.split}"
            rows.append([corpus, f"{each.metrics['n']:,}", name, *cells])
    return table(["corpus, split", "pairs", "", *HEADINGS.values()], rows)


if __name__ == "__main__":
    main()
