import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.textbook_search import Settings

from pgsum.decode.constraints import Bans, end_before, forbid_, repeated_ngrams


def banned(bans: Bans, row: int = 0) -> set[int]:
    return set(bans.ids[row][bans.active[row]].tolist())


def ids(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.long)


@given(
    prefix=st.lists(st.integers(0, 3), max_size=12),
    size=st.integers(0, 4),
    exempt=st.sets(st.integers(0, 3)),
)
def test_an_ngram_is_banned_exactly_where_it_would_repeat(prefix, size, exempt):
    settings = Settings(0, 99, eos_id=-1, no_repeat_ngram=size, exempt_ids=exempt)
    expected = {candidate for candidate in range(4) if not settings.allows(prefix, candidate)}
    prefixes = torch.tensor([prefix], dtype=torch.long)
    assert banned(repeated_ngrams(prefixes, size, ids(*exempt))) == expected


def test_an_exempt_id_may_repeat_but_does_not_let_its_neighbours():
    """9 is a comma: after "a , b , a ," b is banned, though a comma stands in the n-gram."""
    prefixes = ids(1, 9, 2, 9, 1, 9)[None]
    assert banned(repeated_ngrams(prefixes, 3, ids(9))) == {2}
    assert banned(repeated_ngrams(prefixes[:, :-1], 2, ids())) == {9}
    assert banned(repeated_ngrams(prefixes[:, :-1], 2, ids(9))) == set()


def test_each_row_has_its_own_repeats():
    bans = repeated_ngrams(torch.stack([ids(1, 2, 1), ids(1, 2, 3)]), 2, ids())
    assert banned(bans, 0) == {2}
    assert banned(bans, 1) == set()


def test_the_end_is_banned_before_min_tokens_and_at_it_no_more():
    bans = end_before(ids(2, 3, 4), 3, 7)
    assert [banned(bans, row) for row in range(3)] == [set(), set(), {7}]


def test_forbid_writes_where_a_ban_is_active_only():
    bans = Bans(ids(1, 3, 3, 2)[None], torch.tensor([[True, True, False, False]]))
    assert forbid_(torch.zeros(1, 4), bans).tolist() == [[0.0, -torch.inf, 0.0, -torch.inf]]


def test_what_is_banned_twice_is_banned():
    bans = Bans(ids(1, 1)[None], torch.tensor([[True, True]]))
    assert forbid_(torch.zeros(1, 2), bans).tolist() == [[0.0, -torch.inf]]
