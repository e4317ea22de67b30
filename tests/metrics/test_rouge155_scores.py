import json

import pytest
from golden.make_rouge155_scores import PAIRS, SCORES

from pgsum.metrics.rouge import METRICS, Rouge


def test_the_stemmer_of_rouge155_scores_frozen_pairs_as_it_did():
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="ascii").splitlines()]
    frozen = [json.loads(line) for line in SCORES.read_text(encoding="ascii").splitlines()]
    assert len(frozen) == 30
    rouge = Rouge(stemmer="rouge155")
    for row in frozen:
        pair = pairs[row["pair"]]
        found = rouge.score(pair["prediction"], [pair["reference"]])
        values = [value for metric in METRICS for value in found[metric]]
        assert values == pytest.approx(row["scores"], rel=0, abs=1e-12), pair
