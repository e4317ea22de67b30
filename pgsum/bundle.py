"""A trained model on disk, complete and checkable.

A bundle is a folder: config.json (format, versions, settings), vocab.json, surface.json,
model.safetensors, README.md (the model card) and MANIFEST.json (sha256 of each). No pickles.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

import pgsum
from pgsum.build import build_model
from pgsum.config import Config, from_dict, to_dict
from pgsum.errors import ModelError
from pgsum.nn.model import PointerGenerator
from pgsum.text.surface import Surface
from pgsum.text.vocab import Vocab

FORMAT = 2
FILES = ("config.json", "vocab.json", "surface.json", "model.safetensors", "README.md")
HINT = "copy the bundle again from where it was made, or train anew with `pgsum train`"


@dataclass(frozen=True)
class Bundle:
    """All that summarising needs."""

    config: Config
    vocab: Vocab
    surface: Surface
    model: PointerGenerator


def save_bundle(bundle: Bundle, folder: Path, *, card: str) -> None:
    """Write a bundle to `folder`, replacing the one that stands there only when all is written.

    `card` is the text of README.md. Raises OSError where the disk says no; what stood there stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    aliases = _aliases(bundle.config)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as aside:
        new, old = Path(aside, "new"), Path(aside, "old")
        new.mkdir()
        settings = {"format": FORMAT, "pgsum": pgsum.__version__, **to_dict(bundle.config)}
        _write_json(new / "config.json", settings)
        bundle.vocab.save(new / "vocab.json")
        _write_json(new / "surface.json", bundle.surface.to_dict())
        weights = bundle.model.state_dict()
        stored = {name: weights[name].contiguous() for name in weights if name not in aliases}
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

    Raises ModelError where something is missing, altered or does not fit; nothing in a bundle is
    ever executed.
    """
    folder = find_model(path)
    _verify(folder)
    settings = _read_json(folder / "config.json")
    made_by = settings.pop("pgsum", None)
    if settings.pop("format", None) != FORMAT:
        raise ModelError(
            f"The bundle has another format than {FORMAT}, the one this version reads.",
            where=str(folder / "config.json"),
            hint=f"it was written by pgsum {made_by}; use that version or a newer one",
        )
    config = from_dict(settings)
    vocab = Vocab.load(folder / "vocab.json")
    surface = Surface.from_dict(_read_json(folder / "surface.json"))
    weights = folder / "model.safetensors"
    # On the meta device nothing is allocated or drawn: shapes are compared before a byte is read.
    with torch.device("meta"):
        model = build_model(config.model, len(vocab))
    _check_shapes(model, weights, _aliases(config))
    tensors = safetensors.torch.load_file(str(weights))
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise ModelError(
            "The weights hold values that are not finite.", where=str(weights), hint=HINT
        )
    for alias, name in _aliases(config).items():
        tensors[alias] = tensors[name]
    model.load_state_dict(tensors, assign=True)
    if config.model.tie_embeddings:
        model.projection.weight = model.embedding.weight
    return Bundle(config, vocab, surface, model.eval())


def find_model(path: str | Path | None, *, runs: Path = Path("runs")) -> Path:
    """Which model is meant: `path`, or else the newest finished run in `runs`.

    Raises ModelError with what to do where there is none.
    """
    if path is not None:
        for folder in (Path(path), Path(path, "model")):
            if (folder / "MANIFEST.json").is_file():
                return folder
        what = (
            "holds no model: it has no MANIFEST.json" if Path(path).exists() else "does not exist"
        )
        raise ModelError(
            f"{str(path)!r} {what}.",
            where=str(path),
            hint="a model is a run folder of `pgsum train`, or the model/ folder inside one",
        )
    manifests = sorted(
        runs.glob("*/model/MANIFEST.json"), key=lambda p: p.stat().st_mtime, reverse=True
    )
    finished = [p.parent for p in manifests if (p.parent.parent / "run.json").is_file()]
    if not finished:
        raise ModelError(
            "There is no model: no --model was given and runs/ holds no finished run.",
            hint="train one with `pgsum train`, or name one with --model",
        )
    return finished[0]


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify(folder: Path) -> None:
    """Each file of the bundle is there and is what was written."""
    manifest = _read_json(folder / "MANIFEST.json")
    for name in FILES:
        path = folder / name
        if path.exists() and not path.is_file():  # a pipe or a device might never end
            raise ModelError(f"{name} is no file.", where=str(path), hint=HINT)
        try:
            digest = sha256(folder / name)
        except OSError as error:
            raise ModelError(
                f"{name} cannot be read: {error.strerror}.", where=str(folder / name), hint=HINT
            ) from error
        if digest != manifest.get(name):
            raise ModelError(
                f"{name} is corrupt or was altered: it does not match MANIFEST.json.",
                where=str(folder / name),
                hint=HINT,
            )


def _aliases(config: Config) -> dict[str, str]:
    """Tensors that are another one's twin, and are stored once."""
    return {"projection.weight": "embedding.weight"} if config.model.tie_embeddings else {}


def _check_shapes(model: PointerGenerator, weights: Path, aliases: Mapping[str, str]) -> None:
    """The file's header holds just the tensors that the settings ask for."""
    wanted = {
        name: f"F32 {list(tensor.shape)}"
        for name, tensor in model.state_dict().items()
        if name not in aliases
    }
    try:
        with safetensors.safe_open(str(weights), framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            found = {name: f"{s.get_dtype()} {s.get_shape()}" for name, s in slices.items()}
    except safetensors.SafetensorError as error:
        raise ModelError(
            f"The weights are corrupt: {error}.", where=str(weights), hint=HINT
        ) from error
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise ModelError(
                f"The weights do not fit the settings: {name} is {found.get(name, 'missing')},"
                f" config.json and vocab.json ask for {wanted.get(name, 'nothing')}.",
                where=str(weights),
                hint=HINT,
            )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    """An object. Raises ModelError where the file cannot be read or holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path.name} is damaged: {error}.", where=str(path), hint=HINT) from error
    if not isinstance(content, dict):
        raise ModelError(
            f"{path.name} is damaged: it is not an object.", where=str(path), hint=HINT
        )
    return content
