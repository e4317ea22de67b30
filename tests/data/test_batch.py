from dataclasses import FrozenInstanceError, fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from pgsum.data.batch import Batch, SourceBatch, collate, collate_sources
from pgsum.data.example import Example, Source

LONG = Example(Source([1, 5, 6], [9, 5, 6], ("zoe",)), [2, 5], [5, 3])
SHORT = Example(Source([7], [7], ()), [2, 1, 4], [9, 4, 3])


def test_examples_are_padded_to_the_longest_on_each_side():
    batch = collate([LONG, SHORT])
    assert len(batch) == 2
    assert batch.source.source_ids.tolist() == [[1, 5, 6], [7, 0, 0]]
    assert batch.source.source_extended_ids.tolist() == [[9, 5, 6], [7, 0, 0]]
    assert batch.source.source_mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.target_input_ids.tolist() == [[2, 5, 0], [2, 1, 4]]
    assert batch.target_extended_ids.tolist() == [[5, 3, 0], [9, 4, 3]]
    assert batch.target_mask.tolist() == [[True, True, False], [True, True, True]]
    assert (batch.source_tokens, batch.target_tokens) == (4, 5)


def test_gold_words_are_those_that_can_be_said_in_the_order_of_the_rows():
    unreachable = Example(Source([7], [7], ()), [2, 1], [1, 3])
    batch = collate([LONG, unreachable, SHORT])
    assert batch.gold_positions.tolist() == [0, 1, 4, 6, 7, 8]
    assert batch.target_extended_ids.flatten()[batch.gold_positions].tolist() == [5, 3, 3, 9, 4, 3]
    assert batch.target_tokens == 7


def test_the_most_oovs_of_a_batch_are_counted():
    assert collate([LONG, SHORT]).source.max_source_oovs == 1
    assert collate_sources([SHORT.source]).max_source_oovs == 0


ids = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@given(st.lists(ids, min_size=1, max_size=4))
def test_every_source_comes_back_from_under_its_mask(sources):
    batch = collate_sources([Source(source, source, ()) for source in sources])
    rows = zip(batch.source_ids, batch.source_mask, strict=True)
    assert [row[mask].tolist() for row, mask in rows] == sources
    assert (batch.source_ids[~batch.source_mask] == 0).all()


def test_a_batch_moves_whole():
    """To the only other device that every machine has: one without memory."""
    batch = collate([LONG, SHORT])
    moved = batch.to("meta")
    for part, sides in ((moved, (batch, moved)), (moved.source, (batch.source, moved.source))):
        for field in fields(part):
            before, after = (getattr(side, field.name) for side in sides)
            if isinstance(after, torch.Tensor):
                assert after.device.type == "meta"
                assert (after.shape, after.dtype) == (before.shape, before.dtype)
    assert moved.source.max_source_oovs == 1
    assert torch.equal(batch.to("cpu").target_mask, batch.target_mask)


def test_a_batch_does_not_change():
    batch = collate([LONG, SHORT])
    with pytest.raises(FrozenInstanceError):
        batch.target_mask = batch.target_mask  # type: ignore[misc]


def test_sides_of_different_size_are_no_batch():
    """Only where shapes are checked, as in these tests."""
    source = collate_sources([LONG.source])
    with pytest.raises(TypeCheckError):
        SourceBatch(source.source_ids, source.source_ids, source.source_mask[:, :-1], 1)
    batch = collate([LONG, SHORT])
    with pytest.raises(TypeCheckError):
        Batch(
            batch.source,
            batch.target_input_ids,
            batch.target_extended_ids[:1],
            batch.target_mask,
            batch.gold_positions,
            4,
            5,
        )
