"""What a model begins with that is not left to chance: another model's weights, word vectors."""

from dataclasses import fields, replace

import torch
from torch import nn

from pgsum.bundle import Bundle
from pgsum.config import ModelConfig
from pgsum.data.vectors import WordVectors
from pgsum.errors import ConfigError
from pgsum.nn.model import PointerGenerator, begin_without_coverage, coverage_parameter

# Of a model that training starts from, these may change without touching a weight.
_FREE = ("name", "dropout", "coverage_weight")


def same_architecture(asked: ModelConfig, start: Bundle) -> ModelConfig:
    """The settings of the model to start from; what may change is as `asked`, where that is not
    the default.

    Raises ConfigError where a setting was asked for that those weights cannot have.
    """
    if asked.embeddings is not None:
        raise ConfigError(
            "model.embeddings names word vectors to begin with, but a model given by --init begins "
            "with its own.",
            where="model.embeddings",
            hint="leave one of the two out",
        )
    has, usual = start.config.model, ModelConfig()
    for setting in fields(ModelConfig):
        name = setting.name
        wanted = getattr(asked, name)
        if name in _FREE or wanted in (getattr(has, name), getattr(usual, name)):
            continue
        if name == "coverage" and has.coverage == "none":  # what it adds is all that is new
            continue
        raise ConfigError(
            f"model.{name} is {wanted}, but the model given by --init has {getattr(has, name)}.",
            where=f"model.{name}",
            hint="leave the setting out, or train without --init",
        )
    changed = {name: getattr(asked, name) for name in (*_FREE, "coverage")}
    changed = {name: value for name, value in changed.items() if value != getattr(usual, name)}
    return replace(has, embeddings=None, **changed)


def begin_as(start: PointerGenerator, model: PointerGenerator) -> None:
    """The weights of `start`; where coverage is new, it changes nothing at first but the loss."""
    name = coverage_parameter(model)
    if name is not None and coverage_parameter(start) is None:
        has_it = model.decoder.coverage
        begin_without_coverage(model)
        model.decoder.coverage = has_it
        missing, _ = model.load_state_dict(start.state_dict(), strict=False)
        assert missing == [name], missing
    else:
        model.load_state_dict(start.state_dict())


def begin_with(vectors: WordVectors, embedding: nn.Embedding) -> None:
    """The vectors found become rows of the table, as they come; where the table's rows are longer,
    the rest of each is left as it was drawn.

    GloVe's have norms around 5, other rows near 1, and tied output weights are rows, too. To bring
    the former to the latter by one factor was worse: after 200 steps on the quickstart's corpus
    (sources cut to 100 tokens, size 50) the validation loss was 3.87 as they come, 4.15 scaled,
    4.18 without vectors; after 500 3.58 as they come, 3.68 scaled; with output weights apart,
    after 200, 4.07 and 4.28. Nothing was dropped in these trainings.
    """
    found = torch.from_numpy(vectors.found)
    with torch.no_grad():
        known = torch.from_numpy(vectors.vectors)[found]
        embedding.weight[found, : known.shape[1]] = known
