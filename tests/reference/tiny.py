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

POINTER_GENERATORS = [
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
        "layers": 2 if query == "cell" else 1,
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

WORDS: dict[str, dict[str, Any]] = {
    "lstm": {"cell": "lstm"},
    "gru": {"cell": "gru"},
    "rnn": {"cell": "rnn"},
    "forward": {"bidirectional": False},
    "both": {"bidirectional": True},
    "reversed": {"reverse_source": True},
    "1": {"layers": 1},
    "2": {"layers": 2},
    "3": {"layers": 3},
    "relu": {"bridge": "relu"},
    "tanh": {"bridge": "tanh"},
    "as_is": {"bridge": "none"},
    "start_only": {"attention": "none", "context": "initial"},
    "every_step": {"attention": "none", "context": "every_step"},
    "dot": {"attention": "dot"},
    "scaled_dot": {"attention": "scaled_dot"},
    "general": {"attention": "general"},
    "additive": {"attention": "additive", "attention_size": 7},
    "previous": {"query": "previous"},
    "with_cell": {"query_with_cell": True},
    "feeding": {"input_feeding": True},
    "pointer": {"pointer": True},
    "coverage": {"coverage": "from_start"},
}
"""What a line of `FAMILY` is written in."""

FAMILY = """
lstm forward reversed 2 as_is start_only
gru forward 1 tanh every_step
gru both 1 tanh additive previous
lstm forward 3 as_is dot feeding

lstm both 1 relu start_only
gru forward reversed 2 as_is start_only
gru forward 3 relu start_only
rnn both reversed 3 tanh start_only
lstm forward reversed 1 as_is every_step
gru both reversed 2 tanh every_step
rnn forward 2 relu every_step
rnn both 3 tanh every_step
lstm both 3 tanh dot with_cell feeding pointer
lstm both reversed 1 relu dot previous with_cell
gru forward 1 as_is dot previous pointer
rnn forward reversed 2 tanh dot previous coverage
lstm both reversed 2 relu scaled_dot previous with_cell pointer
lstm forward 2 as_is scaled_dot previous pointer coverage
gru forward reversed 3 relu scaled_dot feeding
rnn both 1 tanh scaled_dot feeding pointer
lstm forward 1 relu general with_cell coverage
lstm forward reversed 2 tanh general with_cell
gru both 3 as_is general previous
rnn both reversed 2 as_is general feeding pointer coverage
lstm both 2 tanh additive previous with_cell coverage
lstm both reversed 1 as_is additive with_cell pointer
gru forward 3 tanh additive feeding coverage
rnn forward reversed 1 relu additive previous pointer coverage
"""
"""The recurrent models of Sutskever et al. 2014, Cho et al. 2014, Bahdanau et al. 2015 and Luong et
al. 2015; then every two words that may stand together, in some line."""


def settings_of(line: str) -> dict[str, Any]:
    """What a line of `FAMILY` says, and sizes that fit."""
    words = line.split()
    settings: dict[str, Any] = {"pointer": False, "coverage": "none"}
    for word in words:
        settings |= WORDS[word]
    # Of no interest together with the others, so they go along with one each.
    settings |= {"tie_embeddings": "both" in words, "output_activation": "pointer" in words}
    settings |= {"output_size": None if "both" in words else 2}
    encoder_states = 2 * SIZES["hidden_size"] if "both" in words else SIZES["hidden_size"]
    if settings["attention"] in ("dot", "scaled_dot"):
        return settings | {"decoder_size": encoder_states // (2 if "with_cell" in words else 1)}
    return settings | {"decoder_size": encoder_states if "as_is" in words else 4}


COMBINATIONS = [*POINTER_GENERATORS, *map(settings_of, filter(None, FAMILY.splitlines()))]


def config_of(**settings: Any) -> ModelConfig:
    return ModelConfig(**SIZES | settings)


def name_of(settings: dict[str, Any]) -> str:
    """What a combination is called in a test's id: the words that are true of it."""
    config = config_of(**settings)
    return "-".join(
        word
        for word, values in WORDS.items()
        if all(getattr(config, key) == value for key, value in values.items())
    )


def tiny_model(*, seed: int = 0, vocab: int = VOCAB, **settings: Any) -> PointerGenerator:
    """In eval mode, with weights that are far from 0, so that everything has an effect."""
    torch.manual_seed(seed)
    model = build_model(config_of(**settings), vocab).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.9, 0.9)
        for maps in (model.decoder.bridge.hidden, model.decoder.bridge.cell or ()):
            for layer in maps:
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
