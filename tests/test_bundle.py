import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from reference.tiny import tiny_source
from torch import Tensor

from pgsum import bundle as bundle_module
from pgsum.build import build_model
from pgsum.bundle import (
    FILES,
    Bundle,
    find_model,
    load_bundle,
    own_model,
    save_bundle,
    sha256,
)
from pgsum.config import Config, DecodeConfig, ModelConfig, TextConfig, TrainerConfig
from pgsum.data.batch import collate_sources
from pgsum.errors import ModelError
from pgsum.generate import generate
from pgsum.text.surface import Surface, SurfaceCounts
from pgsum.text.vocab import Vocab

VOCAB = Vocab(["the", "cat", "café", "貓"], [9, 5, 2, 1])


def learned_surface() -> Surface:
    counts = SurfaceCounts(lowercase=True)
    for _ in range(3):
        counts.add("The cat saw a Café; the cat left.", ["The cat left a Café."])
    return counts.learned(VOCAB)


def make(**settings: object) -> Bundle:
    config = Config(
        text=TextConfig(vocab_size=8),
        model=ModelConfig(**{"embedding_size": 3, "hidden_size": 5} | settings),
        decode=DecodeConfig(beam_size=2, max_tokens=5),
    )
    torch.manual_seed(0)
    return Bundle(config, VOCAB, learned_surface(), build_model(config.model, len(VOCAB)).eval())


def said(bundle: Bundle) -> list[tuple[tuple[int, ...], float]]:
    source = collate_sources(
        [tiny_source(seed=1, tokens=4, oovs=1, vocab=len(VOCAB))],
    )
    [found] = generate(bundle.model, source, bundle.config.decode)
    return [(hypothesis.ids, hypothesis.score) for hypothesis in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_bundle(make(), tmp_path / "model", card="# A model\n")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tie_embeddings": False, "output_size": 7, "attention": "additive"},
        {"coverage": "from_start", "query_with_cell": True, "input_feeding": True, "layers": 2},
        {"pointer": False, "initialisation": "see2017"},
    ],
    ids=str,
)
def test_a_bundle_comes_back_as_it_was_saved(tmp_path, settings):
    saved = make(**settings)
    save_bundle(saved, tmp_path / "model", card="")
    loaded = load_bundle(tmp_path / "model")
    assert loaded.config == saved.config
    assert (loaded.vocab.forms, loaded.vocab.counts) == (VOCAB.forms, VOCAB.counts)
    assert loaded.surface.to_dict() == saved.surface.to_dict()
    weights, expected = loaded.model.state_dict(), saved.model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert said(loaded) == said(saved)
    assert not loaded.model.training


def test_a_bundle_is_complete_and_readable(folder):
    assert {path.name for path in folder.iterdir()} == {*FILES, "MANIFEST.json"}
    assert (folder / "README.md").read_text(encoding="utf-8") == "# A model\n"
    manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest == {name: sha256(folder / name) for name in FILES}
    assert list(folder.parent.iterdir()) == [folder], "nothing unfinished is left"


def test_whoever_may_read_other_files_may_read_a_bundle(folder):
    usual = folder.parent / "usual"
    usual.mkdir()
    (usual / "file").write_text("", encoding="utf-8")
    assert folder.stat().st_mode == usual.stat().st_mode
    assert {path.stat().st_mode for path in folder.iterdir()} == {(usual / "file").stat().st_mode}


def test_tied_weights_are_stored_once_and_stay_tied(folder):
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    assert "projection.weight" not in stored
    model = load_bundle(folder).model
    assert model.projection.weight is model.embedding.weight
    weights = [*model.parameters()]
    assert len({id(weight) for weight in weights}) == len(weights)
    assert all(weight.requires_grad for weight in weights)


def test_untied_weights_stay_apart(tmp_path):
    save_bundle(make(tie_embeddings=False), tmp_path / "model", card="")
    model = load_bundle(tmp_path / "model").model
    assert model.projection.weight is not model.embedding.weight


def test_fault_22_no_model_is_a_pickle(folder):
    """No file of a bundle is one, and a pickle in the place of one is not run."""
    for path in folder.iterdir():
        with pytest.raises((pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError)):
            pickle.loads(path.read_bytes())
    marker = folder.parent / "executed"
    payload = pickle.dumps(Bomb(marker))
    for name in ["config.json", "vocab.json", "surface.json", "model.safetensors"]:
        other = folder.parent / name
        shutil.copytree(folder, other)
        (other / name).write_bytes(payload)
        sign(other)
        with pytest.raises(ModelError):
            load_bundle(other)
    assert not marker.exists()
    pickle.loads(payload)
    assert marker.exists()


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.marker,)


def sign(folder: Path) -> None:
    """A manifest that is true of what lies there, so that only deeper checks can object."""
    digests = {name: sha256(folder / name) for name in FILES}
    (folder / "MANIFEST.json").write_text(json.dumps(digests), encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"{name} cannot be read: No such file or directory"):
        load_bundle(folder)


@pytest.mark.parametrize("name", ["MANIFEST.json", "config.json", "surface.json"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Expecting value"),
        (b"[1]", "it is not an object"),
        (b"\xff\xfe", "can't decode byte"),
        (b"[" * 100_000, "recursion"),
    ],
    ids=["empty", "list", "bytes", "deep"],
)
def test_a_file_that_holds_no_json_object_is_damaged(folder, name, content, words):
    (folder / name).write_bytes(content)
    if name != "MANIFEST.json":
        sign(folder)
    with pytest.raises(ModelError, match=rf"{name} is damaged: .*{words}"):
        load_bundle(folder)


def change_settings(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    change(settings)
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    sign(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: s.update(format=3, pgsum="9.1"),
            r"another format than 2, .*it was written by pgsum 9\.1",
        ),
        (lambda s: s.pop("format"), "another format than 2"),
        (lambda s: s["model"].update(beads=8), r"keys this version does not know: model\.beads"),
        (lambda s: s.update(router={"size": 3}), r"does not know: router\.size"),
        (lambda s: s["model"].update(hidden_size=-5), r"are damaged: model\.hidden_size is -5"),
        (lambda s: s["model"].update(hidden_size="many"), r"damaged: model\.hidden_size is 'many'"),
        (lambda s: s.update(model=7), r"model"),
        (lambda s: s.update(usual_surprise="7"), r"damaged: usual_surprise is '7': it must be a"),
        (lambda s: s.update(usual_surprise=float("nan")), r"damaged: usual_surprise is 'nan'"),
        (lambda s: s.update(usual_surprise=True), r"damaged: usual_surprise is 'True'"),
    ],
    ids=[
        "newer",
        "no_format",
        "unknown_key",
        "unknown_section",
        "negative",
        "text",
        "no_section",
        "surprise_text",
        "surprise_nan",
        "surprise_flag",
    ],
)
def test_settings_that_do_not_fit_are_refused_by_name(folder, change, words):
    change_settings(folder, change)
    with pytest.raises(ModelError, match=words):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: s["model"].update(hidden_size=6),
            r"attention\.relevance\.key\.weight is F32 \[5, 10\], .* \[6, 12\]",
        ),
        (
            lambda s: s["model"].update(pointer=False),
            r"decoder\.gate\.bias is F32 \[1\], .*nothing",
        ),
        (lambda s: s["model"].update(layers=2), r"bridge\.cell\.1\.bias is missing, .* F32 \["),
        (
            lambda s: s["model"].update(hidden_size=65_000),
            r"F32 \[5, 10\], .*F32 \[65000, 130000\]",
        ),
    ],
    ids=["size", "too_many", "too_few", "enormous"],
)
def test_settings_that_ask_for_other_weights_are_refused(folder, change, words):
    """Also where their size alone would not fit into memory."""
    change_settings(folder, change)
    with pytest.raises(ModelError, match=rf"weights do not fit the settings: .*{words}"):
        load_bundle(folder)


def test_a_vocabulary_of_another_size_is_refused(folder):
    Vocab(["the"], [1]).save(folder / "vocab.json")
    sign(folder)
    words = r"embedding\.weight is F32 \[8, 3\], config.json and vocab.json ask for F32 \[5, 3\]"
    with pytest.raises(ModelError, match=words):
        load_bundle(folder)


def change_weights(folder: Path, change: Callable[[Tensor], Tensor]) -> None:
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    weights["embedding.weight"] = change(weights["embedding.weight"].clone())
    safetensors.torch.save_file(weights, folder / "model.safetensors")
    sign(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(folder, value):
    change_weights(folder, lambda weight: weight.index_fill(0, torch.tensor([2]), value))
    with pytest.raises(ModelError, match="The weights hold values that are not finite"):
        load_bundle(folder)


@pytest.mark.parametrize(
    ("convert", "words"),
    [
        (Tensor.half, r"embedding\.weight is F16 \[8, 3\], .*F32 \[8, 3\]"),
        (Tensor.double, r"embedding\.weight is F64 \[8, 3\], .*F32 \[8, 3\]"),
    ],
)
def test_weights_of_another_precision_than_the_others_are_refused(folder, convert, words):
    change_weights(folder, convert)
    with pytest.raises(ModelError, match=words):
        load_bundle(folder)


def half(**settings: object) -> Bundle:
    bundle = make(**settings)
    trainer = TrainerConfig(weights="float16")
    return replace(bundle, config=replace(bundle.config, trainer=trainer))


@pytest.mark.parametrize("tied", [True, False])
def test_weights_in_half_come_back_as_float32_rounded_once(tmp_path, tied):
    bundle = half(tie_embeddings=tied)
    save_bundle(bundle, tmp_path / "model", card="")
    loaded = load_bundle(tmp_path / "model").model
    for name, weight in bundle.model.state_dict().items():
        found = loaded.state_dict()[name]
        assert found.dtype == torch.float32
        assert torch.equal(found, weight.half().float()), name
    assert (loaded.projection.weight is loaded.embedding.weight) == tied
    save_bundle(replace(bundle, model=loaded), tmp_path / "again", card="")
    contents = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "again")]
    assert contents[0] == contents[1]


def test_weights_in_half_take_half_the_room(tmp_path):
    def size(bundle: Bundle) -> int:
        """Of the numbers: names take as much in either."""
        save_bundle(bundle, tmp_path / "model", card="")
        stored = safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")
        return sum(tensor.nbytes for tensor in stored.values())

    assert size(make()) == 2 * size(half())


@pytest.mark.parametrize("value", [-65_600.0, 1e30, float("inf")])
def test_weights_too_large_for_half_are_refused_and_the_old_bundle_stays(folder, value):
    bundle = half(hidden_size=4)
    with torch.no_grad():
        bundle.model.embedding.weight[3, 2] = value
    words = (
        r"stored as float16: embedding\.weight has values above 65,504.*trainer\.weights=float32"
    )
    with pytest.raises(ModelError, match=words):
        save_bundle(bundle, folder, card="")
    assert load_bundle(folder).config.model.hidden_size == 5
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_in_half_that_are_not_finite_are_refused(folder, value):
    save_bundle(half(), folder, card="")
    change_weights(folder, lambda weight: weight.index_fill(0, torch.tensor([2]), value))
    with pytest.raises(ModelError, match="The weights hold values that are not finite"):
        load_bundle(folder)


def test_what_surprise_is_usual_comes_back_and_older_bundles_do_not_know(tmp_path, folder):
    assert "usual_surprise" not in (folder / "config.json").read_text(encoding="utf-8")
    assert load_bundle(folder).usual_surprise is None
    save_bundle(replace(make(), usual_surprise=7.25), tmp_path / "model", card="")
    assert load_bundle(tmp_path / "model").usual_surprise == 7.25


def test_saving_replaces_the_bundle_that_stands_there(folder):
    (folder / "stray.txt").write_text("", encoding="utf-8")
    save_bundle(make(hidden_size=4), folder, card="# Another\n")
    assert load_bundle(folder).config.model.hidden_size == 4
    assert not (folder / "stray.txt").exists()
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("call", range(2))
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_the_old_bundle_stays_when_it_cannot_be_replaced(folder, monkeypatch, call, error):
    rename, calls = os.replace, iter(range(9))

    def failing(*paths: Path) -> None:
        if next(calls) == call:
            raise error
        rename(*paths)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(type(error)):
        save_bundle(make(hidden_size=4), folder, card="")
    assert load_bundle(folder).config.model.hidden_size == 5
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("fresh", [True, False])
def test_the_old_bundle_stays_when_the_disk_is_full(folder, fresh):
    resource = pytest.importorskip("resource")
    target = folder.parent / "new" if fresh else folder
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = (folder / "model.safetensors").stat().st_size // 2
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, usual[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save_bundle(make(hidden_size=4), target, card="")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert load_bundle(folder).config.model.hidden_size == 5
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.fault(34)
@pytest.mark.parametrize("moment", range(len(FILES) + 1))
@pytest.mark.parametrize("in_place", [False, True])
def test_a_bundle_replaced_while_it_is_read_is_loaded_whole_or_not_at_all(
    folder, monkeypatch, moment, in_place
):
    other, reads = folder.parent / "other", iter(range(9))
    save_bundle(make(hidden_size=4), other, card="# Another\n")
    read = bundle_module._read

    def read_and_replace(path: Path, *, most_bytes: int) -> bytes:
        content = read(path, most_bytes=most_bytes)
        if next(reads) == moment:
            if not in_place:
                shutil.rmtree(folder)
            shutil.copytree(other, folder, dirs_exist_ok=True)
        return content

    monkeypatch.setattr(bundle_module, "_read", read_and_replace)
    if moment < len(FILES):
        with pytest.raises(ModelError, match="corrupt or was altered"):
            load_bundle(folder)
    else:
        assert said(load_bundle(folder)) == said(make())
    monkeypatch.undo()
    assert load_bundle(folder).config.model.hidden_size == 4


def finish(run: Path, folder: Path, *, at: int) -> Path:
    """A finished run that holds a copy of the bundle in `folder`, made at that second."""
    shutil.copytree(folder, run / "model")
    (run / "run.json").write_text("{}", encoding="utf-8")
    os.utime(run / "model" / "MANIFEST.json", (at, at))
    return run / "model"


def test_a_model_is_a_bundle_or_the_run_that_holds_one(tmp_path, folder):
    inside = finish(tmp_path / "runs" / "a-001", folder, at=1)
    assert find_model(folder) == folder
    assert find_model(str(inside)) == inside
    assert find_model(inside.parent) == inside
    assert load_bundle(inside.parent).vocab.forms == VOCAB.forms


@pytest.mark.fault(46)
def test_without_a_name_the_newest_finished_run_is_meant(tmp_path, folder):
    runs = tmp_path / "runs"
    finish(runs / "b-001", folder, at=200)
    finish(runs / "a-001", folder, at=300)
    newest = finish(runs / "a-002", folder, at=300)  # in the same second: the later name
    unfinished = finish(runs / "c-001", folder, at=400)
    (unfinished.parent / "run.json").unlink()
    assert find_model(None, runs=runs) == newest


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", r"nowhere' does not exist.*a model is a run folder"),
        ("empty", r"empty' holds no model: it has no MANIFEST\.json"),
        ("model.bin", r"model\.bin' holds no model"),
    ],
)
def test_what_holds_no_model_is_named(tmp_path, name, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "model.bin").write_bytes(pickle.dumps({}))
    for look in (find_model, load_bundle):
        with pytest.raises(ModelError, match=words):
            look(tmp_path / name)


def test_without_any_finished_run_the_model_that_comes_with_pgsum_is_meant(
    tmp_path, folder, monkeypatch
):
    monkeypatch.setattr(bundle_module, "PRETRAINED", folder)
    assert find_model(None, runs=tmp_path / "runs") == own_model() == folder
    run = finish(tmp_path / "runs" / "a-001", folder, at=1)
    assert find_model(None, runs=tmp_path / "runs") == run
    assert own_model() == folder


def test_without_any_model_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle_module, "PRETRAINED", tmp_path / "pretrained")
    with pytest.raises(ModelError, match=r"no model: .*train one with `pgsum train`, or name one"):
        find_model(None, runs=tmp_path / "runs")
    with pytest.raises(ModelError, match=r"has no model of its own.*train one with `pgsum train`"):
        own_model()
