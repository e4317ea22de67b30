from unittest.mock import patch

import torch
from hypothesis import given
from hypothesis import strategies as st

from pgsum.decode import ranking
from pgsum.decode.ranking import best_first

QUARTERS = st.integers(-8, 0).map(lambda number: number / 4) | st.just(-torch.inf)


@given(
    row=st.lists(QUARTERS, min_size=1, max_size=40),
    other=st.lists(QUARTERS, min_size=40, max_size=40),
    count=st.integers(1, 9),
)
def test_of_equal_values_the_leftmost_comes_first_whatever_is_in_the_batch(row, other, count):
    values = torch.tensor([row, other[: len(row)]])
    expected = sorted(range(len(row)), key=lambda index: (-row[index], index))[:count]
    present = [index for index in expected if row[index] > -torch.inf]
    for batch in (values, values[:1]):
        assert best_first(batch, count)[0].tolist()[: len(present)] == present


@given(st.integers(0, 2**31), st.integers(1, 500), st.integers(1, 9), st.integers(1, 60))
def test_the_best_of_many_are_those_of_a_stable_sort(seed, entries, count, different):
    """Long rows of few `different` values, so that equals stand on both sides of the cut."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(-different, 0, (3, entries), generator=generator).float()
    expected = values.argsort(dim=1, descending=True, stable=True)[:, :count]
    for many in (0, 2**17):
        with patch.object(ranking, "_MANY", many):
            assert torch.equal(best_first(values, count), expected)
