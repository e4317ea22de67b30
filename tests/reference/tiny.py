"""Models and batches small enough to think about; all sizes differ, so no axis can hide as another.

Everything is float64 and a pure function of its arguments.
"""

from collections.abc import Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import torch
from torch import Tensor

from pgsum.build import build_model
from pgsum.config import ModelConfig
from pgsum.data.batch import Batch, SourceBatch, collate
from pgsum.data.example import Example, Source
from pgsum.nn.decoder import DecoderState
from pgsum.nn.loss import Loss
from pgsum.nn.model import PointerGenerator
from pgsum.text.vocab import BOS_ID, EOS_ID, SPECIAL_TOKENS, UNK_ID

VOCAB = 11
SIZES = {"embedding_size": 3, "hidden_size": 5, "dropout": 0.0}

COMBINATIONS = [
    {
        "attention": attention,
        "attention_size": 7 if attention == "additive" else 512,
        "query_with_cell": query == "cell",
        "input_feeding": input_feeding,
        "coverage": coverage,
        "pointer": pointer,
        # Of no interest together with the others, so they go along with one each.
        "tie_embeddings": not input_feeding,
        "output_size": 2 if input_feeding else None,
        "output_activation": pointer,
        "layers": 1,
    }
    for attention, query, input_feeding, coverage, pointer in product(
        ["general", "additive"],
        ["hidden", "cell"],
        [False, True],
        ["none", "from_start"],
        [True, False],
    )
]
FULL = {
    "attention": "additive",
    "attention_size": 7,
    "query_with_cell": True,
    "input_feeding": True,
    "coverage": "from_start",
    "pointer": True,
}
"""All that makes a step depend on the step before it."""


def name_of(settings: dict[str, Any]) -> str:
    """What a combination is called in a test's id."""
    return "-".join(
        [
            settings["attention"],
            "cell" if settings["query_with_cell"] else "hidden",
            *(name for name in ("input_feeding", "pointer") if settings[name]),
            *(["coverage"] if settings["coverage"] != "none" else []),
        ]
    )


def tiny_model(*, seed: int = 0, vocab: int = VOCAB, **settings: Any) -> PointerGenerator:
    """In eval mode, with weights that are far from 0, so that everything has an effect."""
    torch.manual_seed(seed)
    model = build_model(ModelConfig(**SIZES | settings), vocab).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.9, 0.9)
        for layer in (*model.decoder.bridge.hidden, *model.decoder.bridge.cell):
            layer.bias.abs_()  # so that the ReLU lets something through
    return model


def tiny_source(*, seed: int, tokens: int, oovs: int, vocab: int = VOCAB) -> Source:
    """Random words; the OOVs come first, as their numbers do."""
    torch.manual_seed(seed)
    known = torch.randint(len(SPECIAL_TOKENS), vocab, (tokens - oovs,)).tolist()
    extended = [*range(vocab, vocab + oovs), *known]
    return Source(
        source_ids=[i if i < vocab else UNK_ID for i in extended],
        source_extended_ids=extended,
        source_oovs=tuple(f"oov{i}" for i in range(oovs)),
    )


def example_of(source: Source, gold: Sequence[int], *, vocab: int = VOCAB) -> Example:
    """A pair whose target is `gold` (extended ids) and EOS."""
    return Example(
        source=source,
        target_input_ids=[BOS_ID, *(i if i < vocab else UNK_ID for i in gold)],
        target_extended_ids=[*gold, EOS_ID],
    )


def tiny_examples(*, unreachable: bool = True) -> list[Example]:
    """Sources of 6, 1 and 4 tokens with 2, 0 and 1 OOVs; targets of 3, 5 and 2 tokens.

    A word that is only copied, one that is copied or generated, one that is only generated and,
    unless excluded, one that is neither.
    """
    sources = [
        tiny_source(seed=1, tokens=6, oovs=2),
        tiny_source(seed=2, tokens=1, oovs=0),
        tiny_source(seed=3, tokens=4, oovs=1),
    ]
    elsewhere = next(i for i in range(4, VOCAB) if i not in sources[0].source_extended_ids)
    golds = [
        [VOCAB + 1, sources[0].source_ids[-1], elsewhere],
        [UNK_ID if unreachable else 4, 5, 6, 7, sources[1].source_ids[0]],
        [VOCAB, 9],
    ]
    return [example_of(source, gold) for source, gold in zip(sources, golds, strict=True)]


def tiny_batch(*, unreachable: bool = True) -> Batch:
    return collate(tiny_examples(unreachable=unreachable))


def encode(model: PointerGenerator, source: SourceBatch) -> DecoderState:
    return model.encode(**{f.name: getattr(source, f.name) for f in fields(source)})


def loss_of(model: PointerGenerator, batch: Batch) -> Loss:
    return model.loss(
        encode(model, batch.source),
        batch.target_input_ids,
        batch.target_extended_ids,
        batch.gold_positions,
    )


def gradients(value: Tensor, model: torch.nn.Module) -> dict[str, Tensor]:
    """Of `value`, by parameter; 0 where a parameter had no part in it."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(value, parameters, materialize_grads=True)
    return dict(zip(names, found, strict=True))
