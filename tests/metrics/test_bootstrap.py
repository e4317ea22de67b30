import numpy as np
import pytest

from pgsum.metrics import bootstrap
from pgsum.metrics.bootstrap import bootstrap_intervals, figures
from pgsum.metrics.rouge import METRICS, Score


def generator(seed=5):
    return np.random.default_rng(seed)


def textbook_interval(column, *, trials, rng):
    means = [column[rng.integers(len(column), size=len(column))].mean() for _ in range(trials)]
    return np.quantile(means, [0.025, 0.975])


def test_interval_is_that_of_the_textbook_loop():
    scores = generator(1).random((11, 3))
    found = bootstrap_intervals(scores, trials=200, rng=generator())
    for column, interval in zip(scores.T, found, strict=True):
        expected = textbook_interval(column, trials=200, rng=generator())
        assert interval == pytest.approx(expected, abs=1e-12)


def test_blocks_do_not_change_the_interval(monkeypatch):
    scores = generator(1).random((11, 3))
    whole = bootstrap_intervals(scores, trials=50, rng=generator())
    monkeypatch.setattr(bootstrap, "_BLOCK", 40)
    assert np.array_equal(bootstrap_intervals(scores, trials=50, rng=generator()), whole)


def test_interval_covers_the_true_mean_about_95_times_in_100():
    rng = generator()
    hits = 0
    for _ in range(200):
        low, high = bootstrap_intervals(rng.normal(size=(60, 1)), trials=200, rng=rng)[0]
        hits += low <= 0 <= high
    assert 180 <= hits <= 198


def test_columns_share_their_resamples():
    scores = generator(1).random((20, 1))
    both = bootstrap_intervals(np.hstack([scores, 2 * scores]), trials=100, rng=generator())
    assert both[1] == pytest.approx(2 * both[0])


def test_the_figure_is_the_plain_mean_with_the_interval_of_each_part():
    values = [Score(0.5, 0.1, 0.2), Score(0.25, 0.3, 0.6), Score(1.0, 0.2, 0.1)]
    scores = [dict.fromkeys(METRICS, value) for value in values]
    by_metric = figures(scores, trials=100, rng=generator())
    assert list(by_metric) == list(METRICS)
    figure = by_metric["rouge2"]
    assert (figure.p, figure.r, figure.f) == pytest.approx((1.75 / 3, 0.2, 0.3))
    for part, interval in (
        ("p", (figure.p_low, figure.p_high)),
        ("r", (figure.r_low, figure.r_high)),
        ("f", (figure.low, figure.high)),
    ):
        column = np.array([getattr(value, part) for value in values])
        expected = textbook_interval(column, trials=100, rng=generator())
        assert interval == pytest.approx(expected.tolist())


def test_each_metric_has_its_own_figures():
    score = {metric: Score(i / 10, i / 20, i / 30) for i, metric in enumerate(METRICS)}
    for metric, figure in figures([score], trials=10, rng=generator()).items():
        p, r, f = score[metric]
        assert figure == (p, r, f, f, f, p, p, r, r)


def test_a_single_example_has_an_interval_of_one_point():
    scores = [dict.fromkeys(METRICS, Score(0.5, 0.5, 0.5))]
    assert set(figures(scores, trials=10, rng=generator())["rougeL"]) == {0.5}
