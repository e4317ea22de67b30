"""The records in docs/results/: what the page needs of a training and of its evaluations.

Knows folders of `pgsum train` and of `pgsum evaluate --out`, what is kept of them, and how to read
that again. Knows nothing of the page.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

from commands import shown_command
from result_corpora import CORPORA
from result_examples import draw_examples

from pgsum.bundle import sha256
from pgsum.config import Config, load_config, to_yaml
from pgsum.errors import ConfigError, DataError, ModelError
from pgsum.systems import Baseline

NAME = re.compile(r"(?P<corpus>[a-z]+)(-[a-z0-9]+)*")
TRAIN, CONFIG, EXAMPLES = "train.json", "config.yaml", "examples.json"
RUN, METRICS = "run.json", "metrics.json"  # of an evaluation
_FOLDERS = re.compile(r"(?<![\w.])/\S*/")


@dataclass(frozen=True)
class Scores:
    """One evaluation: `record` says how it came about, `metrics` what came out."""

    name: str
    record: Mapping[str, Any]
    metrics: Mapping[str, Any]

    @property
    def model(self) -> str | None:
        """The SHA-256 of the weights that were scored; None of a baseline."""
        digest: str | None = self.record["inputs"].get("model_sha256")
        return digest

    @property
    def system(self) -> str:
        """The one that was asked for."""
        return str(self.record["systems"][0])

    @property
    def split(self) -> str:
        return str(self.record["inputs"]["split"])

    @property
    def pairs(self) -> tuple[str, str, str]:
        """What figures must have in common to stand in one table."""
        return self.split, self.record["inputs"]["fingerprint"], self.metrics["signature"]


@dataclass(frozen=True)
class Record:
    """One training with its evaluations, as it is kept."""

    name: str
    train: Mapping[str, Any]
    config: Config
    scores: tuple[Scores, ...]
    examples: Mapping[str, Any] | None

    @property
    def corpus(self) -> str:
        return corpus_of(self.name)

    @property
    def of_model(self) -> Iterator[Scores]:
        return (scores for scores in self.scores if scores.model)

    def systems_beside(self, scores: Scores) -> dict[str, Mapping[str, Any]]:
        """Figures by system: those of the evaluation, and what baselines have on the same pairs."""
        found = dict(scores.metrics["systems"])
        for other in self.scores:
            if other.pairs == scores.pairs and not other.model:
                found = {**other.metrics["systems"], **found}
        return found


def corpus_of(name: str) -> str:
    """The corpus that a record is of; ConfigError where its name does not begin with one."""
    matched = NAME.fullmatch(name)
    if matched is None or matched["corpus"] not in CORPORA:
        raise ConfigError(
            f"{name!r} names no record.",
            hint=f"call it as its corpus, or CORPUS-WORD; the corpora are {', '.join(CORPORA)}",
        )
    return matched["corpus"]


def read_records(folder: Path) -> list[Record]:
    """All records, by name; none where there is no folder."""
    if not folder.is_dir():
        return []
    return [
        Record(
            path.name,
            _content(path / TRAIN),
            load_config(files=[path / CONFIG]),
            tuple(read_scores(found.parent) for found in sorted(path.glob(f"*/{METRICS}"))),
            _content(path / EXAMPLES) if (path / EXAMPLES).exists() else None,
        )
        for path in sorted(folder.iterdir())
        if corpus_of(path.name)
    ]


def read_scores(folder: Path) -> Scores:
    """A folder that `pgsum evaluate --out` wrote, or what is kept of it."""
    return Scores(folder.name, _content(folder / RUN), _content(folder / METRICS))


def keep(
    run: Path, folders: Sequence[Path], *, name: str, into: Path, examples: int | None = None
) -> Path:
    """Copy what the page needs of a run and its evaluations to the folder `name` of `into`.

    What stood there is replaced. `examples` is how many good, middling and bad ones to keep, each.
    Raises ConfigError where the name or `examples` cannot be, ModelError where the training has
    not ended, DataError where the folders do not belong together or name a place of one machine.
    """
    corpus = corpus_of(name)
    if examples and not CORPORA[corpus].quoted:
        quoted = ", ".join(each for each, about in CORPORA.items() if about.quoted)
        raise ConfigError(
            f"Texts of {corpus} are not shown ({CORPORA[corpus].licence}); only those of {quoted}.",
            where=name,
            hint="leave --examples out",
        )
    record = _content(run / "run.json")
    config = load_config(files=[run / CONFIG])
    if record["stopped"] not in ("finished", "early"):
        raise ModelError(
            f"The training was {record['stopped']} after {record['steps']:,} steps.",
            where=str(run),
            hint="go on with it: pgsum train --resume",
        )
    model = sha256(run / "model" / "model.safetensors")
    scores = [read_scores(folder) for folder in folders]
    history = _commands(run)
    _check_corpus(corpus, history, config, quoted=bool(examples))
    _check_together(scores, model, folders)
    kept = {
        TRAIN: _as_json(_of_training(record, history, config, model)),
        CONFIG: to_yaml(_without_folders(config), commented=False),
    }
    for each, folder in zip(scores, folders, strict=True):
        kept[f"{each.name}/{METRICS}"] = (folder / METRICS).read_text(encoding="utf-8")
        kept[f"{each.name}/{RUN}"] = _as_json(_of_evaluation(each.record))
    if examples:
        first = next(folder for each, folder in zip(scores, folders, strict=True) if each.model)
        drawn = draw_examples(first / "predictions.jsonl", examples)
        kept[EXAMPLES] = _as_json({"scores": first.name, **drawn})
    return _write(kept, into / name)


def _check_corpus(
    corpus: str, history: Sequence[Sequence[str]], config: Config, *, quoted: bool
) -> None:
    """Whether the name can be true, and where texts are to be `quoted`, whether it surely is."""
    said = [word.partition("=")[2] for word in history[0] if word.startswith("experiment=")]
    said += re.findall("^[a-z]+", Path(config.data.root or "").name)
    known = next((each for each in said if each in CORPORA), None)
    found = "docstrings" if config.data.name == "docstrings" else known
    if found != corpus and (found or quoted or corpus == "docstrings"):
        raise DataError(
            f"The run is of {found or 'a corpus of files'}, and not of {corpus}.",
            hint="begin the record's name with the corpus; a run says which it is of by "
            "experiment=CORPUS, or by the name of data.root",
        )


def _check_together(scores: Sequence[Scores], model: str, folders: Sequence[Path]) -> None:
    """Whether all were made with this model, or with a baseline on the same pairs."""
    own = {each.pairs for each in scores if each.model == model}
    for each, folder in zip(scores, folders, strict=True):
        if each.model not in (None, model):
            raise DataError(
                "The evaluation is of another model than the run's.",
                where=str(folder),
                hint="evaluate the run again: pgsum evaluate --model RUN --out",
            )
        if each.model is None and not _is_of_baseline(each):
            raise DataError(
                f"The evaluation is of predictions, {each.system}, and not of the run's model.",
                where=str(folder),
                hint="evaluate the run itself: pgsum evaluate --model RUN --out",
            )
        if each.pairs not in own:
            raise DataError(
                f"{each.system} was scored on other pairs than the run's model, or in another way.",
                where=str(folder),
                hint="evaluate both on the same split, with the same options of ROUGE",
            )
    if len({each.name for each in scores}) < len(scores):
        raise ConfigError("Two folders of scores have one name.", hint="rename one of them")


def _is_of_baseline(scores: Scores) -> bool:
    try:
        Baseline(scores.system)
    except ConfigError:
        return False
    return "predictions" not in scores.record["inputs"]


def _commands(run: Path) -> list[list[str]]:
    """The one that it began with, and those that it went on with."""
    lines = (run / "history.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [json.loads(line)["command"] for line in lines]


def _of_training(
    record: Mapping[str, Any], history: Sequence[Sequence[str]], config: Config, model: str
) -> dict[str, Any]:
    places = {str(config.data.root): "DIR"}
    commands = [shown_command(command, out="RUN", places=places) for command in history]
    corpus = record["corpus"]
    vectors = record["word_vectors"]
    return {
        **{key: value for key, value in record.items() if key not in ("command", "platform")},
        "commands": list(dict.fromkeys(commands)),
        "times_begun": len(history),
        "corpus": {**corpus, "notes": [_FOLDERS.sub("", note) for note in corpus["notes"]]},
        "word_vectors": vectors and {**vectors, "file": Path(vectors["file"]).name},
        "hardware": _hardware(record.get("hardware", {})),
        "model_sha256": model,
    }


def _of_evaluation(record: Mapping[str, Any]) -> dict[str, Any]:
    inputs = record["inputs"]
    places = {} if inputs["data"] == record["config"]["data"]["name"] else {inputs["data"]: "DIR"}
    files = {Path(file).name: digest for file, digest in inputs["files"].items()}
    return {
        **{key: value for key, value in record.items() if key != "config"},
        "command": shown_command(record["command"], out="SCORES", places=places),
        "inputs": {
            key: value for key, value in inputs.items() if key not in ("model", "data", "files")
        }
        | {"files": files},
        "hardware": _hardware(record["hardware"]),
    }


def _hardware(hardware: Mapping[str, str]) -> dict[str, str]:
    """Without the name of one machine's system."""
    return {key: value for key, value in hardware.items() if key != "platform"}


def _without_folders(config: Config) -> Config:
    data, model = config.data, config.model
    files: dict[str, Any] = {
        split: Path(file).name
        for split in ("train", "validation", "test")
        if (file := getattr(data, split))
    }
    return replace(
        config,
        data=replace(data, root=data.root and "DIR", **files),
        model=replace(model, embeddings=model.embeddings and "VECTORS"),
    )


def _content(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"The file cannot be read: {error}.",
            where=str(path),
            hint="name a folder of pgsum train, then folders of pgsum evaluate --out",
        ) from error
    return content


def _as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _write(files: Mapping[str, str], folder: Path) -> Path:
    """All of them, in place of what stood there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as aside:
        new = Path(aside) / folder.name
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_text(text, encoding="utf-8", newline="\n")
        if folder.exists():
            rmtree(folder)
        new.rename(folder)
    return folder
