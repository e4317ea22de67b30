import pickle

import pytest

from pgsum.data.records import Pair
from pgsum.errors import ConfigError
from pgsum.systems import BASELINES, Baseline, Written, recorded

PAIR = Pair(
    "a",
    "The cat sat down. It slept. Nobody came. It rained. Prices rose sharply.",
    ("Prices rose.",),
)


@pytest.mark.parametrize("name", [*BASELINES, "lead-5", "first-4", "random-2"])
def test_a_baseline_takes_sentences_and_can_be_sent_to_another_process(name):
    baseline = pickle.loads(pickle.dumps(Baseline(name)))
    summary = baseline(PAIR, seed=3)
    assert summary == Baseline(name)(PAIR, seed=3)
    assert all(line in PAIR.document for line in summary.split("\n"))


def test_lead_takes_as_many_as_its_name_says():
    assert Baseline("lead-2")(PAIR, seed=1) == "The cat sat down.\nIt slept."
    assert Baseline("first-2")(PAIR, seed=1) == "The cat"
    assert Baseline("document")(PAIR, seed=1) == PAIR.document


@pytest.mark.parametrize(
    "name", ["lead", "lead-0", "lead-x", "first-0", "random", "textrang", "textrank-3", "lead-3 "]
)
def test_unknown_systems_are_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"no system '{name}'.*lead-3"):
        Baseline(name)


def test_what_was_recorded_comes_back_whatever_the_documents():
    assert recorded(["x", Written("y")])([]) == [Written("x"), Written("y")]
