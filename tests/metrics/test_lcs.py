from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pgsum.metrics.lcs import lcs_length, union_lcs_length

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=7)


def subsequences(tokens):
    return {c for n in range(len(tokens) + 1) for c in combinations(tokens, n)}


@given(SENTENCE, SENTENCE)
def test_length_is_the_longest_of_all_common_subsequences(reference, prediction):
    common = subsequences(reference) & subsequences(prediction)
    assert lcs_length(reference, prediction) == max(map(len, common))


@given(SENTENCE, SENTENCE)
def test_union_over_single_sentences_is_the_longest_common_subsequence(reference, prediction):
    assert union_lcs_length([reference], [prediction]) == lcs_length(reference, prediction)


def test_a_token_counts_no_more_often_than_the_prediction_has_it():
    assert union_lcs_length([["a", "b"], ["a", "c"]], [["a"]]) == 1


def test_long_texts_take_no_table():
    """4,000 tokens took rouge-score 8 s; 64 million cells would not end within the test's time."""
    reference = [f"w{i % 97}" for i in range(8000)]
    assert lcs_length(reference, reference[1:]) == 7999
