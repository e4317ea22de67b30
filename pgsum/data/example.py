"""Example: one pair as ids, cut to length; the last place where words and ids are both at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsum.text.extended import ExtendedVocab
from pgsum.text.vocab import BOS_ID, EOS_ID, Vocab

Lengths = np.ndarray[tuple[int], np.dtype[np.signedinteger]]
"""Tokens of each of many examples, on one side."""


@dataclass(frozen=True)
class Source:
    """One document as ids; `source_oovs` are numbered after the cut, so none is out of sight."""

    source_ids: list[int]
    source_extended_ids: list[int]
    source_oovs: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.source_ids:
            raise ValueError("A source needs at least one token: leave empty documents out before.")


@dataclass(frozen=True)
class Example:
    """One pair as ids: the target's input begins with BOS, its gold ends with EOS."""

    source: Source
    target_input_ids: list[int]
    target_extended_ids: list[int]


def encode_source(vocab: Vocab, source_forms: Sequence[str]) -> Source:
    """The ids of a source's lookup forms, already cut to the length that the model reads."""
    extended = ExtendedVocab.from_source(vocab, source_forms)
    return Source(
        source_ids=[vocab.id_of(form) for form in source_forms],
        source_extended_ids=[extended.id_of(form) for form in source_forms],
        source_oovs=extended.source_oovs,
    )


def encode_example(
    vocab: Vocab, source_forms: Sequence[str], target_forms: Sequence[str], *, target_cut: bool
) -> Example:
    """One pair as ids. A summary that was cut has no EOS: its end is not known."""
    source = encode_source(vocab, source_forms)
    extended = ExtendedVocab(vocab, source.source_oovs)
    gold = [extended.id_of(form) for form in target_forms]
    if not target_cut:
        gold.append(EOS_ID)
    inputs = [BOS_ID, *(vocab.id_of(form) for form in target_forms)]
    return Example(source, inputs[: len(gold)], gold)
