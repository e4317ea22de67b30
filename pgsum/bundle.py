"""A trained model on disk, complete and checkable.

A bundle is a folder: config.json (format, version, settings, what is usual), vocab.json,
surface.json, model.safetensors, README.md (the model card) and MANIFEST.json (sha256 of each). No
pickles.
Weights are stored as float32 or, all of them, as float16; which of the two, they say themselves.
"""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

import pgsum
from pgsum.build import build_empty_model
from pgsum.bundle_files import FILES
from pgsum.config import Config, from_dict, to_dict
from pgsum.errors import ModelError
from pgsum.nn.model import PointerGenerator
from pgsum.settings import shown
from pgsum.text.surface import Surface
from pgsum.text.vocab import Vocab

FORMAT = 2
HINT = "copy the bundle again from where it was made, use another run's, or train anew"
PRETRAINED = Path(__file__).resolve().parent / "pretrained"
"""The bundle that comes with pgsum; a checkout may be without it."""

_USUAL = "usual_surprise"
_MOST_BYTES = 2**30
"""Of a file that is not the weights: ten million words take a third of it."""


@dataclass(frozen=True)
class Bundle:
    """All that summarising needs."""

    config: Config
    vocab: Vocab
    surface: Surface
    model: PointerGenerator
    usual_surprise: float | None = None
    """Documents that surprise more are unlike those of its training: `pgsum.data.familiarity`. Not
    known of bundles that are older than that."""


def save_bundle(bundle: Bundle, folder: Path, *, card: str) -> None:
    """Write a bundle to `folder`, replacing the one that stands there only when all is written.

    `card` is the text of README.md. Raises OSError where the disk says no, and ModelError where
    `trainer.weights` is float16 and a weight too large for it; what stood there stays.
    """
    stored = _stored(bundle)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as aside:
        new, old = Path(aside, "new"), Path(aside, "old")
        new.mkdir()
        about: dict[str, Any] = {"format": FORMAT, "pgsum": pgsum.__version__}
        if bundle.usual_surprise is not None:
            about[_USUAL] = bundle.usual_surprise
        _write_json(new / "config.json", about | to_dict(bundle.config))
        bundle.vocab.save(new / "vocab.json")
        _write_json(new / "surface.json", bundle.surface.to_dict())
        # Where safetensors writes the file itself, a full disk is no OSError, and nobody else may
        # read it.
        (new / "model.safetensors").write_bytes(safetensors.torch.save(stored))
        (new / "README.md").write_text(card, encoding="utf-8")
        _write_json(new / "MANIFEST.json", {name: sha256(new / name) for name in FILES})
        try:
            if folder.exists():
                os.replace(folder, old)
            os.replace(new, folder)
        except BaseException:  # Ctrl-C, too, must not leave a run without a model
            if old.exists() and not folder.exists():
                os.replace(old, folder)
            raise


def load_bundle(path: Path) -> Bundle:
    """The bundle at `path`, or in its `model/` where it is a run folder.

    Its weights are float32, whatever they are stored as. Raises ModelError where something is
    missing, altered or does not fit; nothing in a bundle is ever executed. Each file is read once:
    what was checked is what is used, even where the bundle is replaced meanwhile.
    """
    files = _Files(find_model(path))
    settings = files.read_object("config.json")
    made_by = settings.pop("pgsum", None)
    if settings.pop("format", None) != FORMAT:
        raise ModelError(
            f"The bundle has another format than {FORMAT}, the one this version reads.",
            where=str(files.folder / "config.json"),
            hint=f"it was written by pgsum {made_by}; use that version or a newer one",
        )
    with files.named("config.json"):
        usual_surprise = _usual_surprise(settings.pop(_USUAL, None))
        config = from_dict(settings)
    with files.named("vocab.json"):
        vocab = Vocab.from_dict(files.read_object("vocab.json"))
    with files.named("surface.json"):
        surface = Surface.from_dict(files.read_object("surface.json"))
    files.read("README.md")
    model = build_empty_model(config.model, len(vocab))  # shapes first, before memory is taken
    aliases = _aliases(config)
    wanted = {name: t for name, t in model.state_dict().items() if name not in aliases}
    with files.named("model.safetensors"):
        # Weights of other settings are best told by their shapes; what is many times too large is
        # none, and not read.
        most_bytes = 4 * sum(tensor.nbytes for tensor in wanted.values()) + 2**26
        tensors = _tensors(files.read("model.safetensors", most_bytes=most_bytes), wanted)
    for alias, name in aliases.items():
        tensors[alias] = tensors[name]
    model.load_state_dict(tensors, assign=True)
    if config.model.tie_embeddings:
        model.projection.weight = model.embedding.weight
    return Bundle(config, vocab, surface, model.eval(), usual_surprise)


def find_model(path: str | Path | None, *, runs: Path = Path("runs")) -> Path:
    """Which model is meant: `path`, or else the newest finished run in `runs`, or else pgsum's own.

    Raises ModelError with what to do where there is none.
    """
    if path is not None:
        for folder in (Path(path), Path(path, "model")):
            if os.path.isfile(folder / "MANIFEST.json"):  # false where it cannot be looked at
                return folder
        raise ModelError(
            f"{str(path)!r} {_why_no_model(Path(path))}.",
            where=str(path),
            hint="a model is a run folder of `pgsum train`, the model/ folder inside one, or "
            "OWNER/NAME@REVISION of the Hugging Face hub",
        )
    manifests = sorted(  # the name decides between equals
        runs.glob("*/model/MANIFEST.json"), key=lambda p: (p.stat().st_mtime_ns, p), reverse=True
    )
    finished = [p.parent for p in manifests if (p.parent.parent / "run.json").is_file()]
    if finished:
        return finished[0]
    if has_own_model():
        return PRETRAINED
    raise ModelError(
        "There is no model: no --model was given, runs/ holds no finished run, and this "
        "installation has none of its own.",
        hint="train one with `pgsum train`, or name one with --model",
    )


def own_model() -> Path:
    """The bundle that comes with pgsum. Raises ModelError where this installation has none."""
    if has_own_model():
        return PRETRAINED
    raise ModelError(
        "This installation of pgsum has no model of its own.",
        where=str(PRETRAINED),
        hint="train one with `pgsum train`, and name its folder",
    )


def has_own_model() -> bool:
    """Whether a bundle came with pgsum."""
    return (PRETRAINED / "MANIFEST.json").is_file()


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _why_no_model(path: Path) -> str:
    try:
        path.stat()
    except FileNotFoundError:
        return "does not exist"
    except (OSError, ValueError) as error:  # a loop of links, a name too long
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return "holds no model: it has no MANIFEST.json"


class _Files:
    """The files of a bundle, each of them what MANIFEST.json says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        manifest = folder / "MANIFEST.json"
        self._digests = _object(_read(manifest, most_bytes=_MOST_BYTES), manifest)
        if others := sorted(self._digests.keys() - set(FILES)):
            raise ModelError(
                f"MANIFEST.json lists {shown(others[0])}, which no bundle has.",
                where=str(manifest),
                hint=HINT,
            )

    def read(self, name: str, *, most_bytes: int = _MOST_BYTES) -> bytes:
        """Raises ModelError where the file is missing, altered or larger than it can be."""
        path = self.folder / name
        content = _read(path, most_bytes=most_bytes)
        if hashlib.sha256(content).hexdigest() != self._digests.get(name):
            raise ModelError(
                f"{name} is corrupt or was altered: it does not match MANIFEST.json.",
                where=str(path),
                hint=HINT,
            )
        return content

    def read_object(self, name: str) -> dict[str, Any]:
        return _object(self.read(name), self.folder / name)

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Errors of what is made of a file name the file, and say what to do."""
        try:
            yield
        except ModelError as error:
            path = str(self.folder / name)
            error.where = path if error.where in (None, path) else f"{path}: {error.where}"
            error.hint = error.hint or HINT
            raise


def _usual_surprise(found: object) -> float | None:
    """Raises ModelError where it is no number."""
    if found is None or (isinstance(found, float) and isfinite(found)):
        return found
    raise ModelError(
        f"The model's settings are damaged: {_USUAL} is {shown(str(found))}: it must be a number."
    )


def _aliases(config: Config) -> dict[str, str]:
    """Tensors that are another one's twin, and are stored once."""
    return {"projection.weight": "embedding.weight"} if config.model.tie_embeddings else {}


def _stored(bundle: Bundle) -> dict[str, torch.Tensor]:
    """The tensors of model.safetensors, as `trainer.weights` has them stored."""
    aliases, weights = _aliases(bundle.config), bundle.model.state_dict()
    stored = {name: weights[name].contiguous() for name in weights if name not in aliases}
    if bundle.config.trainer.weights == "float32":
        return stored
    most = torch.finfo(torch.float16).max
    for name, tensor in stored.items():
        if bool((tensor.abs() > most).any()):
            raise ModelError(
                f"The weights cannot be stored as float16: {name} has values above {most:,.0f}.",
                where="trainer.weights",
                hint="set trainer.weights=float32",
            )
    return {name: tensor.half() for name, tensor in stored.items()}


def _tensors(content: bytes, wanted: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Just the tensors that the settings ask for, all finite, as float32.

    Raises ModelError for others.
    """
    try:
        entries = dict(safetensors.deserialize(content))  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        reason = str(error).removeprefix("Error while deserializing: ")
        raise ModelError(f"The weights are corrupt: {reason}.") from error
    found = {name: f"{entry['dtype']} {entry['shape']}" for name, entry in entries.items()}
    dtype = "F16" if {entry["dtype"] for entry in entries.values()} == {"F16"} else "F32"
    asked = {name: f"{dtype} {list(tensor.shape)}" for name, tensor in wanted.items()}
    for name in sorted(asked.keys() | found.keys()):
        if asked.get(name) != found.get(name):
            raise ModelError(
                f"The weights do not fit the settings: {name} is {found.get(name, 'missing')},"
                f" config.json and vocab.json ask for {asked.get(name, 'nothing')}."
            )
    tensors = safetensors.torch.load(content)
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise ModelError("The weights hold values that are not finite.")
    return {name: tensor.float() for name, tensor in tensors.items()}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read(path: Path, *, most_bytes: int) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device might never end
            raise ModelError(f"{path.name} is no file.", where=str(path), hint=HINT)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= most_bytes:
                return file.read()
    except OSError as error:
        raise ModelError(
            f"{path.name} cannot be read: {error.strerror}.", where=str(path), hint=HINT
        ) from error
    raise ModelError(
        f"{path.name} is damaged: it has {size:,} bytes, many times what belongs there.",
        where=str(path),
        hint=HINT,
    )


def _object(content: bytes, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path.name} is damaged: {error}.", where=str(path), hint=HINT) from error
    if not isinstance(found, dict):
        raise ModelError(
            f"{path.name} is damaged: it is not an object.", where=str(path), hint=HINT
        )
    return found
