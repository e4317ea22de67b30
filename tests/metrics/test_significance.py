from itertools import product

import numpy as np
import pytest

from pgsum.metrics import bootstrap
from pgsum.metrics.significance import approximate_randomization, holm, paired_bootstrap


def generator(seed=5):
    return np.random.default_rng(seed)


def differs_by_interval(a, b, **settings):
    low, high = paired_bootstrap(a, b, **settings)
    return not low <= 0 <= high


def differs_by_randomization(a, b, **settings):
    return approximate_randomization(a, b, **settings) <= 0.05


TESTS = pytest.mark.parametrize("differs", [differs_by_interval, differs_by_randomization])


def test_a_system_does_not_differ_from_itself():
    scores = generator(1).random(40)
    assert paired_bootstrap(scores, scores, trials=200, rng=generator()) == (0, 0)
    assert approximate_randomization(scores, scores, trials=200, rng=generator()) == 1


@TESTS
def test_where_nothing_differs_about_one_test_in_twenty_says_it_does(differs):
    """Of 400 tests at 5%, 9 to 32 are what a binomial gives in 998 of 1,000 cases."""
    rng = generator()
    alarms = 0
    for _ in range(400):
        hardness, noise = rng.normal(size=(50, 1)), rng.normal(size=(50, 2))
        a, b = (hardness + noise).T
        alarms += differs(a, b, trials=199, rng=rng)
    assert 9 <= alarms <= 32


@TESTS
def test_a_small_effect_that_most_examples_show_is_found(differs):
    rng = generator()
    b = rng.normal(size=200)  # ten times the effect, but the same for both systems
    a = b + 0.1 + rng.normal(scale=0.3, size=200)
    assert differs(a, b, trials=2000, rng=rng)


def test_the_interval_is_of_a_less_b_and_holds_the_effect():
    b = generator(1).random(300)
    a = b + 0.1 + generator(2).normal(scale=0.2, size=300)
    low, high = paired_bootstrap(a, b, trials=500, rng=generator())
    assert 0.05 < low < 0.1 < high < 0.15
    other_low, other_high = paired_bootstrap(b, a, trials=500, rng=generator())
    assert (other_low, other_high) == pytest.approx((-high, -low))


def test_which_system_comes_first_does_not_matter():
    a, b = generator(1).random((2, 30))
    there = approximate_randomization(a, b, trials=300, rng=generator())
    assert there == approximate_randomization(b, a, trials=300, rng=generator())


def test_the_smallest_p_is_one_of_all_trials():
    ones, zeros = np.ones(50), np.zeros(50)
    assert approximate_randomization(ones, zeros, trials=99, rng=generator()) == 0.01


def test_one_example_tells_no_systems_apart():
    assert approximate_randomization(np.ones(1), np.zeros(1), trials=99, rng=generator()) == 1


def test_randomization_comes_near_to_all_exchanges_there_are():
    differences = np.array([0.3, -0.1, 0.25, 0.2, 0.05, -0.15, 0.4, 0.1])
    signs = np.array(list(product([1, -1], repeat=len(differences))))
    exact = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12)
    zeros = np.zeros(len(differences))
    found = approximate_randomization(differences, zeros, trials=20_000, rng=generator())
    assert found == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_blocks_do_not_change_what_is_found(test, monkeypatch):
    a, b = generator(1).random((2, 8))
    whole = test(a, b, trials=64, rng=generator())
    monkeypatch.setattr(bootstrap, "_BLOCK", 64)
    assert test(a, b, trials=64, rng=generator()) == whole


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # 3 x 0.01, then 2 x 0.03, then at least that
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.9, 0.6], [1.0, 1.0]),
    ],
)
def test_holm_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)
