import os

import pytest

from pgsum.errors import PgsumError
from pgsum.parallel import map_in_processes


def doubled(items):
    return [2 * item for item in items]


def dying(items):
    os._exit(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_with_their_progress(workers):
    steps = []
    found = map_in_processes(
        doubled,
        list(range(7)),
        chunk=3,
        at_most=2,
        workers=workers,
        progress=lambda *step: steps.append(step),
    )
    assert found == [0, 2, 4, 6, 8, 10, 12]
    assert steps == [(3, 7), (6, 7), (7, 7)]


def test_what_does_not_pay_stays_in_this_process():
    here = []
    map_in_processes(lambda items: here.append(os.getpid()) or items, [1], chunk=1, at_most=0)
    assert here == [os.getpid()]


def test_a_process_that_dies_is_an_error_with_what_was_done():
    with pytest.raises(PgsumError, match=r"died after 0 of 4 were done"):
        map_in_processes(dying, list(range(4)), chunk=2, at_most=2, workers=2)
