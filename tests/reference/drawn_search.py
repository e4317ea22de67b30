"""Both searches over a drawn model, with the settings that a test does not care about filled in."""

from typing import Any

from reference.drawn_model import BOS, EOS, SPECIALS, DrawnModel

from pgsum.decode.beam import beam_search
from pgsum.decode.constraints import Rules
from pgsum.decode.greedy import greedy_search
from pgsum.decode.hypothesis import Hypothesis


def search(
    model: DrawnModel,
    *,
    beam_size: int = 4,
    n_best: int = 1,
    length_alpha: float = 0.0,
    **settings: Any,
) -> list[list[Hypothesis]]:
    return beam_search(
        model,
        model.start(),
        _rules(model, **settings),
        beam_size=beam_size,
        n_best=n_best,
        length_alpha=length_alpha,
        bos_id=BOS,
    )


def search_greedily(model: DrawnModel, **settings: Any) -> list[list[Hypothesis]]:
    return greedy_search(model, model.start(), _rules(model, **settings), bos_id=BOS)


def _rules(
    model: DrawnModel,
    *,
    min_tokens: int | list[int] = 0,
    max_tokens: int | list[int] = 8,
    **settings: Any,
) -> Rules:
    documents = len(model.tables)
    usual = {
        "min_tokens": min_tokens if isinstance(min_tokens, list) else [min_tokens] * documents,
        "max_tokens": max_tokens if isinstance(max_tokens, list) else [max_tokens] * documents,
        "eos_id": EOS,
        "banned_ids": SPECIALS,
        "no_repeat_ngram": 0,
    }
    return Rules.checked(**(usual | settings))
