import tracemalloc
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.bucketing import BucketedBatches

PAIRS = 97


def lengths(seed: int, longest: int, pairs: int = PAIRS) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, longest, pairs)


def make(**changed: object) -> BucketedBatches:
    usual = {
        "source_lengths": lengths(0, 40),
        "target_lengths": lengths(1, 12),
        "batch_size": 5,
        "batch_tokens": 10_000,
        "seed": 3,
        "pool": 4,
    }
    return BucketedBatches(**(usual | changed))


def first(batches: BucketedBatches, count: int) -> list[list[int]]:
    return list(islice(batches, count))


@given(
    pairs=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=40),
    batch_size=st.integers(1, 6),
    batch_tokens=st.integers(1, 120),
    pool=st.integers(1, 3),
)
def test_every_pair_comes_once_a_pass_and_no_batch_is_over_a_limit(
    pairs, batch_size, batch_tokens, pool
):
    """Padding counts: a batch costs its longest source and its longest target, times its pairs.
    Only a single pair may be longer than the limit."""
    source_lengths, target_lengths = np.array(pairs).T
    batches = make(
        source_lengths=source_lengths,
        target_lengths=target_lengths,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
        pool=pool,
    ).batches_of_pass(0)
    assert sorted(np.concatenate(batches)) == list(range(len(pairs)))
    for batch in batches:
        assert 1 <= len(batch) <= batch_size
        padded = source_lengths[batch].max() + target_lengths[batch].max()
        assert len(batch) == 1 or padded * len(batch) <= batch_tokens


@pytest.mark.parametrize("start", [0, 1, 19, 20, 21, 50])
def test_a_later_start_sees_the_same_batches_as_if_it_had_begun_at_the_first(start):
    assert first(make(start=start), 30) == first(make(), start + 30)[start:]


def test_batches_depend_on_the_seed_alone():
    np.random.seed(0)
    one = first(make(), 60)
    np.random.seed(1)
    assert first(make(), 60) == one
    assert first(make(seed=4), 60) != one


def test_asking_twice_begins_anew():
    batches = make()
    assert first(batches, 30) == first(batches, 30)


def test_each_pass_has_another_order_and_other_company():
    batches = make()
    one, other = ([b.tolist() for b in batches.batches_of_pass(number)] for number in (0, 1))
    assert one != other
    assert {frozenset(batch) for batch in one} != {frozenset(batch) for batch in other}
    assert first(batches, len(one) + len(other)) == [*one, *other]


def test_long_and_short_batches_are_mixed():
    """The batches of a pass are shuffled: training does not go from short targets to long ones."""
    batches = make(pool=100).batches_of_pass(0)
    longest = [make().target_lengths[batch].max() for batch in batches]
    assert longest != sorted(longest)


def test_pairs_of_like_length_share_a_batch():
    """On both sides far less padding than pairs thrown together at random have."""
    source_lengths, target_lengths = lengths(0, 400, 2000), lengths(1, 100, 2000)
    batches = make(
        source_lengths=source_lengths, target_lengths=target_lengths, batch_size=16, pool=100
    ).batches_of_pass(0)
    shuffled = np.random.default_rng(0).permutation(2000).reshape(-1, 16)

    def padding(lengths: np.ndarray, batches: list[np.ndarray] | np.ndarray) -> float:
        padded = sum(lengths[batch].max() * len(batch) for batch in batches)
        return 1 - lengths.sum() / padded

    assert padding(target_lengths, batches) < 0.05 < 0.4 < padding(target_lengths, shuffled)
    assert padding(source_lengths, batches) < 0.25 < 0.4 < padding(source_lengths, shuffled)


def test_fault_17_the_last_partial_batch_is_kept():
    """97 pairs in pools of 20: 4 full pools of 4 batches, and 17 pairs in 3 batches and a 4th."""
    sizes = sorted(len(batch) for batch in make().batches_of_pass(0))
    assert sizes == [2, *[5] * 19]


def test_a_pass_takes_a_few_bytes_of_each_pair():
    """A list of numbers would take 40 of each, of which there may be millions."""
    pairs = 10_000
    batches = make(
        source_lengths=lengths(0, 40, pairs), target_lengths=lengths(1, 12, pairs), batch_size=16
    )
    tracemalloc.start()
    try:
        held = batches.batches_of_pass(0)
        assert tracemalloc.get_traced_memory()[0] < 24 * pairs
    finally:
        tracemalloc.stop()
    assert len(held) >= pairs / 16


def test_one_pair_is_enough():
    one = np.array([3])
    batches = make(source_lengths=one, target_lengths=one)
    assert first(batches, 3) == [[0], [0], [0]]


@pytest.mark.parametrize(
    ("sources", "targets", "words"),
    [
        (3, 2, r"as many source lengths \(3\) as target lengths \(2\)"),
        (0, 0, "and at least one"),
    ],
)
def test_lengths_that_do_not_match_are_refused(sources, targets, words):
    with pytest.raises(ValueError, match=words):
        make(source_lengths=np.ones(sources, int), target_lengths=np.ones(targets, int))
