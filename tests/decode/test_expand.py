import torch
from hypothesis import given
from hypothesis import strategies as st

from pgsum.decode.constraints import Bans
from pgsum.decode.expand import expand
from pgsum.decode.step import StepOutput

QUARTERS = st.integers(-8, 0).map(lambda number: number / 4) | st.just(-torch.inf)


def no_bans(rows: int) -> Bans:
    return Bans(torch.zeros(rows, 0, dtype=torch.long), torch.zeros(rows, 0, dtype=torch.bool))


@given(
    st.data(),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 8),
)
def test_the_candidates_are_the_best_of_the_table(data, documents, beam, ids, count):
    def drawn(rows, columns):
        values = st.lists(QUARTERS, min_size=rows * columns, max_size=rows * columns)
        return torch.tensor(data.draw(values), dtype=torch.float32).view(rows, columns)

    rows = documents * beam
    table = drawn(rows, ids)
    output = StepOutput(table.clone(), torch.ones(rows, 1), torch.ones(rows, 1))
    log_probs = drawn(documents, beam)
    found = expand(output, log_probs, no_bans(rows), count, eos_id=0)
    assert found.ids.shape == (documents, count)

    for document in range(documents):
        expected = sorted(
            (-(log_probs[document, i] + table[row, candidate]).item(), row, candidate)
            for i, row in enumerate(range(document * beam, (document + 1) * beam))
            for candidate in range(ids)
            if log_probs[document, i] + table[row, candidate] > -torch.inf
        )[:count]
        if not expected:  # stuck: see below
            assert (found.ids[document, : min(beam, count)] == 0).all()
            continue
        here = slice(0, len(expected))
        assert (
            list(
                zip(
                    (-found.log_probs[document, here]).tolist(),
                    found.rows[document, here].tolist(),
                    found.ids[document, here].tolist(),
                    strict=True,
                )
            )
            == expected
        )
        assert torch.equal(
            found.token_log_probs[document, here],
            table[found.rows[document, here], found.ids[document, here]],
        )
        assert (found.log_probs[document, len(expected) :] == -torch.inf).all()
        assert set(found.rows[document].tolist()) <= set(
            range(document * beam, (document + 1) * beam)
        )
        assert set(found.ids[document].tolist()) <= set(range(ids))


def test_what_is_forbidden_is_no_candidate():
    output = StepOutput(torch.zeros(2, 4), torch.ones(2, 1), torch.ones(2, 1))
    banned = Bans(torch.tensor([[0, 3], [0, 3]]), torch.ones(2, 2, dtype=torch.bool))
    found = expand(output, torch.zeros(1, 2), banned, 9, eos_id=0)
    assert set(found.ids[found.log_probs > -torch.inf].tolist()) == {1, 2}


def test_where_nothing_is_allowed_all_end_at_what_the_step_gave_eos():
    table = torch.tensor([[-1.0, -2.0], [-4.0, -3.0]])
    output = StepOutput(table, torch.ones(2, 1), torch.ones(2, 1))
    banned = Bans(torch.tensor([[0, 1], [0, 1]]), torch.ones(2, 2, dtype=torch.bool))
    found = expand(output, torch.tensor([[-0.5, 0.0]]), banned, 2, eos_id=1)
    assert found.log_probs.tolist() == [[-2.5, -3.0]]
    assert found.token_log_probs.tolist() == [[-2.0, -3.0]]
    assert found.rows.tolist() == [[0, 1]]
    assert found.ids.tolist() == [[1, 1]]
