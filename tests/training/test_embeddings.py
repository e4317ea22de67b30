"""A training that begins with word vectors."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from pgsum.bundle import load_bundle
from pgsum.config import Config, load_config
from pgsum.data.vectors import WordVectors
from pgsum.errors import ConfigError, DataError
from pgsum.training.plan import plan
from pgsum.training.run import begin_with, train

WORDS = ["ada", "bought", "tea", "."]
VECTORS = torch.tensor([[3.0, 0, 4, 0], [0, 5, 0, 12], [8, 15, 0, 0], [1, 2, 2, 4]])


@pytest.fixture
def config(tmp_path: Path) -> Config:
    pairs = [
        {"document": f"{who} went to town and bought {what}.", "summary": f"{who} bought {what}."}
        for who in ("Ada", "Grace", "Alan")
        for what in ("tea", "bread")
    ]
    for split in ("train", "validation"):
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (tmp_path / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    rows = zip(WORDS, VECTORS.tolist(), strict=True)
    lines = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows)
    (tmp_path / "vectors.txt").write_text(lines, encoding="utf-8")
    return load_config(
        [
            "data=files",
            f"data.root={tmp_path}",
            "data.workers=1",
            "text.min_count=1",
            "model.embedding_size=4",
            f"model.embeddings={tmp_path / 'vectors.txt'}",
            "model.hidden_size=6",
            "optim.lr=1e-9",
            "trainer.max_steps=1",
            "trainer.validation_pairs=2",
            "trainer.threads=1",
        ]
    )


def without(config: Config) -> Config:
    return replace(config, model=replace(config.model, embeddings=None))


@pytest.mark.parametrize("size", [4, 7], ids=["as long", "longer"])
def test_rows_begin_with_the_vectors_found_as_they_come_and_the_rest_stays(size):
    embedding = nn.Embedding(6, size)
    before = embedding.weight.detach().clone()
    found = torch.tensor([False, True, True, False, True, True])
    vectors = torch.zeros(6, 4)
    vectors[found] = VECTORS
    begin_with(WordVectors(vectors.numpy(), found.numpy(), "v.txt", ""), embedding)
    assert torch.equal(embedding.weight[found, :4], VECTORS)
    assert torch.equal(embedding.weight[found, 4:], before[found, 4:])
    assert torch.equal(embedding.weight[~found], before[~found])


def test_a_run_begins_with_them_says_so_and_keeps_their_name_and_checksum(config, tmp_path):
    said: list[str] = []
    result = train(config, out=tmp_path / "run", say=said.append)
    assert "word vectors: 4 of 11 words found in vectors.txt" in said
    record = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    assert record["word_vectors"] == {
        "file": "vectors.txt",
        "sha256": hashlib.sha256((tmp_path / "vectors.txt").read_bytes()).hexdigest(),
        "found": 4,
    }
    (tmp_path / "vectors.txt").unlink()
    bundle = load_bundle(result.model_dir)
    ids = [bundle.vocab.id_of(word) for word in WORDS]
    torch.testing.assert_close(bundle.model.embedding.weight[ids], VECTORS)


def test_a_run_without_them_says_nothing_of_them(config, tmp_path):
    said: list[str] = []
    result = train(without(config), out=tmp_path / "run", say=said.append)
    assert not any("word vectors" in line for line in said)
    record = json.loads((result.run_dir / "run.json").read_text(encoding="utf-8"))
    assert record["word_vectors"] is None


def test_a_model_to_start_from_and_word_vectors_are_refused_together(config, tmp_path):
    first = train(config, out=tmp_path / "first", say=lambda line: None)
    with pytest.raises(
        ConfigError, match=r"^model\.embeddings names word vectors .* --init .*; leave one of the"
    ):
        train(config, out=tmp_path / "second", init=first.run_dir, say=lambda line: None)
    (tmp_path / "vectors.txt").unlink()
    second = train(
        without(config), out=tmp_path / "second", init=first.run_dir, say=lambda line: None
    )
    assert load_bundle(second.model_dir).config.model.embeddings is None
    torch.testing.assert_close(
        load_bundle(second.model_dir).model.embedding.weight,
        load_bundle(first.model_dir).model.embedding.weight,
    )


def test_a_plan_reads_them_too(config):
    assert plan(config)["word vectors"] == "4 of 11 words found in vectors.txt"
    assert plan(without(config))["word vectors"] == "none"
    smaller = replace(config, model=replace(config.model, embedding_size=3))
    with pytest.raises(ConfigError, match=r"size 4, more than model\.embedding_size"):
        plan(smaller)


@pytest.mark.parametrize("do", [plan, train])
def test_a_missing_file_is_refused_before_the_corpus_is_read(config, do, tmp_path):
    (tmp_path / "vectors.txt").unlink()
    (tmp_path / "train.jsonl").unlink()
    with pytest.raises(DataError, match=r"no such file; at .*vectors\.txt"):
        do(config, out=tmp_path / "run")
