"""Models that are damaged, foreign or hostile: refused in one sentence, and nothing is run."""

import json
import os
import pickle
import random
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from reference.memory import little_memory
from torch import Tensor

from pgsum.bundle import FILES, sha256

ROOM = 256 * 2**20
"""Bytes that a command may take to find out that a model is none."""


@pytest.fixture
def model(tmp_path, tiny_model, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The cat sat on the mat.", encoding="utf-8")
    shutil.copytree(tiny_model, "model")
    return Path("model")


@pytest.fixture
def refuse(pgsum) -> Callable[..., None]:
    """`refuse(path, words)` asks for a summary by the model at `path`, which must say `words`."""

    def refuse(path: Path | str, words: str) -> None:
        with little_memory(ROOM):
            done = pgsum("summarize", "--threads", "1", "--quiet", "--model", path, "a.txt")
        assert (done.code, done.out) == (4, ""), done.err
        sentence, place, hint = done.err.splitlines()
        assert sentence.startswith("error: ")
        assert sentence.endswith(".")
        assert words in sentence
        assert place.startswith(f"  --> {path}")
        assert hint.startswith("hint: ")

    return refuse


def sign(folder: Path) -> None:
    """A manifest that is true of what lies there, so that only deeper checks can object."""
    digests = {name: sha256(folder / name) for name in FILES}
    (folder / "MANIFEST.json").write_text(json.dumps(digests), encoding="utf-8")


def change(path: Path, changed: Callable[[bytes], bytes]) -> None:
    path.write_bytes(changed(path.read_bytes()))


def change_json(path: Path, changed: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    changed(content)
    path.write_text(json.dumps(content), encoding="utf-8")


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (Path("executed"),)


@pytest.mark.fault(34)
@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_a_file_cut_short_at_any_tenth_is_refused(model, refuse, name, signed):
    if signed and name in ("README.md", "MANIFEST.json"):
        pytest.skip("any text is a model card, and a manifest has no checksum of its own")
    whole = (model / name).read_bytes()
    for tenth in range(10):
        (model / name).write_bytes(whole[: len(whole) * tenth // 10])
        if signed:
            sign(model)
        refuse(model, f"{name} is damaged" if name == "MANIFEST.json" else "")


JUNK = {
    "nothing": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "random": lambda content: random.Random(0).randbytes(len(content)),
    "more": lambda content: content + b"\0" * 8,
    "pickle": lambda content: pickle.dumps({"weights": [1.0]}),
}


@pytest.mark.fault(34)
@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("name", ["config.json", "vocab.json", "surface.json", "model.safetensors"])
def test_junk_is_corrupt_even_with_a_true_checksum(model, refuse, name, junk):
    change(model / name, JUNK[junk])
    refuse(model, f"{name} is corrupt or was altered: it does not match MANIFEST.json.")
    sign(model)
    refuse(model, "The weights are corrupt: " if name.startswith("model") else f"{name} is damaged")


@pytest.mark.fault(35)
@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_found(model, refuse, name):
    whole = (model / name).read_bytes()
    for place in random.Random(0).sample(range(8 * len(whole)), 12):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        (model / name).write_bytes(content)
        refuse(model, f"{name} is corrupt or was altered")


@pytest.mark.fault(36)
@pytest.mark.parametrize("name", ["model.safetensors", "model.ckpt", "pytorch_model.bin", "a.pt"])
def test_a_pickle_named_as_a_model_is_not_run(model, refuse, name):
    Path(name).write_bytes(pickle.dumps(Bomb()))
    refuse(name, f"'{name}' holds no model")
    Path("folder").mkdir()
    Path(name).rename(Path("folder", name))
    refuse("folder", "'folder' holds no model")
    assert not Path("executed").exists()


@pytest.mark.fault(36)
@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
def test_a_pickle_inside_a_bundle_is_not_run(model, refuse, pgsum, name):
    (model / name).write_bytes(pickle.dumps(Bomb()))
    refuse(model, f"{name} is ")
    if name not in ("README.md", "MANIFEST.json"):
        sign(model)
        refuse(model, "")
    assert not Path("executed").exists()
    pickle.loads(pickle.dumps(Bomb()))
    assert Path("executed").exists()


@dataclass(frozen=True)
class Case:
    """What is done to the file of a sound bundle, and what is said of it."""

    file: str
    change: Callable[[dict[str, Any]], object]
    words: str


CASES = {
    "vocabulary of 10**12": Case(
        "config.json", lambda c: c["text"].update(vocab_size=10**12), "text.vocab_size is 1000000"
    ),
    "states of 10**12": Case(
        "config.json", lambda c: c["model"].update(hidden_size=10**12), "model.hidden_size is 10000"
    ),
    "all as large as allowed": Case(
        "config.json",
        lambda c: c["model"].update(hidden_size=65_536, embedding_size=65_536, layers=64),
        "config.json and vocab.json ask for F32 [65536, 131072]",
    ),
    "negative": Case("config.json", lambda c: c["model"].update(layers=-1), "model.layers is -1"),
    "zero": Case("config.json", lambda c: c["model"].update(layers=0), "model.layers is 0"),
    "fraction": Case(
        "config.json", lambda c: c["model"].update(hidden_size=5.5), "model.hidden_size is 5.5"
    ),
    "list": Case(
        "config.json", lambda c: c["model"].update(hidden_size=[5]), "model.hidden_size is [5]"
    ),
    "not finite": Case(
        "config.json",
        lambda c: c["decode"].update(length_alpha=float("nan")),
        "decode.length_alpha",
    ),
    "another architecture": Case(
        "config.json",
        lambda c: c["model"].update(pointer=False),
        "decoder.gate.bias is F32 [1], config.json and vocab.json ask for nothing",
    ),
    "unknown key": Case(
        "config.json",
        lambda c: c["model"].update(beads=8),
        "keys this version does not know: model.beads",
    ),
    "unknown section": Case(
        "config.json", lambda c: c.update(router={"size": 3}), "does not know: router.size"
    ),
    "no section": Case("config.json", lambda c: c.update(model=None), "does not know: model"),
    "newer format": Case(
        "config.json", lambda c: c.update(format=99, pgsum="9.1"), "another format than 2"
    ),
    "no format": Case("config.json", lambda c: c.pop("format"), "another format than 2"),
    "fewer words": Case(
        "vocab.json",
        lambda c: c.update(words=c["words"][:3], counts=c["counts"][:3]),
        "embedding.weight is F32 [17, 6], config.json and vocab.json ask for F32 [7, 6]",
    ),
    "no words": Case("vocab.json", lambda c: c.pop("words"), '"words" is not a list of strings'),
    "a word twice": Case(
        "vocab.json", lambda c: c["words"].__setitem__(0, c["words"][1]), "lists a form twice"
    ),
    "an empty word": Case(
        "vocab.json", lambda c: c["words"].__setitem__(0, ""), "damaged: '' is no word"
    ),
    "a control token": Case(
        "vocab.json", lambda c: c["words"].__setitem__(0, "[EOS]"), "damaged: '[EOS]' is no word"
    ),
    "counts below 0": Case(
        "vocab.json", lambda c: c["counts"].__setitem__(0, -1), '"counts" is not a list of whole'
    ),
    "forms that cannot be written": Case(
        "surface.json", lambda c: c.update(usual={"the": 5}), '"usual" is not a dict of str'
    ),
    "forms that cannot be looked up": Case(
        "surface.json", lambda c: c.update(lower=[["the"]]), '"lower" is not a list of str'
    ),
}


@pytest.mark.fault(37)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_fit_is_refused_by_name(model, refuse, case):
    change_json(model / case.file, case.change)
    sign(model)
    refuse(model, case.words)


@pytest.mark.fault(37)
def test_a_manifest_of_other_files_is_refused(model, refuse):
    for name in ("evil.py", "../a.txt", "/etc/passwd"):
        sign(model)
        change_json(model / "MANIFEST.json", lambda m, name=name: m.update({name: "0" * 64}))
        refuse(model, f"MANIFEST.json lists '{name}', which no bundle has")
    change_json(model / "MANIFEST.json", lambda m: m.clear())
    refuse(model, "does not match MANIFEST.json")


def header(**tensors: Any) -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


HEADERS = {
    "a header of 100 GB": lambda content: struct.pack("<Q", 10**11) + content[8:],
    "a header of less than nothing": lambda content: struct.pack("<q", -1) + content[8:],
    "a tensor of 24 TB": lambda content: header(
        **{
            "embedding.weight": {
                "dtype": "F32",
                "shape": [10**12, 6],
                "data_offsets": [0, 24 * 10**12],
            }
        }
    ),
    "more elements than can be counted": lambda content: header(
        x={"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 0]}
    ),
    "negative": lambda content: header(x={"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}),
    "no such type": lambda content: header(x={"dtype": "F3", "shape": [1], "data_offsets": [0, 4]}),
}


@pytest.mark.fault(37)
@pytest.mark.parametrize("kind", HEADERS)
def test_weights_that_claim_what_they_have_not_take_no_memory(model, refuse, kind):
    change(model / "model.safetensors", HEADERS[kind])
    sign(model)
    refuse(model, "The weights are corrupt: ")


@pytest.mark.fault(37)
@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
def test_a_file_of_a_hundred_gigabytes_is_not_read(model, refuse, name):
    os.truncate(model / name, 10**11)  # takes no room on the disk
    refuse(model, f"{name} is damaged: it has 100,000,000,000 bytes")


@pytest.mark.fault(38)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
@pytest.mark.parametrize("name", ["embedding.weight", "projection.bias"])
def test_one_weight_that_is_not_finite_is_found(model, refuse, name, value):
    def spoil(weights: dict[str, Tensor]) -> None:
        weights[name].view(-1)[-1] = value

    change_weights(model, spoil)
    refuse(model, "The weights hold values that are not finite")


@pytest.mark.fault(38)
def test_weights_of_half_precision_are_refused_finite_or_not(model, refuse):
    def halve(weights: dict[str, Tensor]) -> None:
        weights["embedding.weight"] = torch.full([17, 6], float("nan"), dtype=torch.float16)

    change_weights(model, halve)
    refuse(model, "embedding.weight is F16 [17, 6], config.json and vocab.json ask for F32")


def change_weights(model: Path, changed: Callable[[dict[str, Tensor]], None]) -> None:
    weights = safetensors.torch.load_file(model / "model.safetensors")
    changed(weights)
    (model / "model.safetensors").write_bytes(safetensors.torch.save(weights))
    sign(model)


@pytest.mark.fault(34)
@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json"])
def test_what_is_no_file_is_not_waited_for(model, refuse, name):
    path = model / name
    words = "holds no model" if name == "MANIFEST.json" else f"{name} is no file"
    path.unlink()
    os.mkfifo(path)
    refuse(model, words)
    path.unlink()
    path.symlink_to("/dev/zero")
    refuse(model, words)
    path.unlink()
    path.symlink_to(name)
    refuse(model, words.replace("is no file", "cannot be read: Too many levels of symbolic links"))


@pytest.mark.fault(34)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere", "'nowhere' does not exist"),
        ("a.txt/model", "'a.txt/model' cannot be read: Not a directory"),
        ("loop", "'loop' cannot be read: Too many levels of symbolic links"),
        ("fifo", "'fifo' holds no model"),
        ("/dev/zero", "'/dev/zero' holds no model"),
        ("n" * 300, "cannot be read: File name too long"),
        ("\x1b[31m", r"'\x1b[31m' does not exist"),
    ],
)
def test_what_is_no_model_is_refused_where_it_is_named(model, refuse, pgsum, path, words):
    Path("loop").symlink_to("loop")
    os.mkfifo("fifo")
    if path.isprintable():
        refuse(path, words)
    else:
        done = pgsum("summarize", "--model", path, "a.txt")
        assert done.code == 4
        assert words in done.err
        assert path not in done.err


@pytest.mark.fault(43)
@pytest.mark.parametrize("verb", ["summarize", "evaluate", "train"])
def test_offline_a_model_of_the_hub_is_refused_in_three_lines(pgsum, monkeypatch, tmp_path, verb):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    Path("a.txt").write_text("A cat.", encoding="utf-8")
    options = {
        "summarize": ["a.txt", "--model"],
        "evaluate": ["--model"],
        "train": ["--init"],
    }
    done = pgsum(verb, *options[verb], "owner/name@v1")
    assert (done.code, done.out) == (4, "")
    assert done.err.splitlines() == [
        "error: HF_HUB_OFFLINE is set, and the hub is not asked.",
        "  --> owner/name@v1",
        "hint: pull it once where there is a network; offline only what was pulled is found, or a "
        "local path",
    ]


@pytest.mark.fault(53)
def test_a_run_that_is_not_there_is_not_asked_for_elsewhere(model, refuse, monkeypatch):
    def never(self, *arguments, **options):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", never)
    refuse("runs/mine-001", "'runs/mine-001' does not exist")
