from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.tiny import FULL, VOCAB, encode, example_of, loss_of, tiny_model, tiny_source

from pgsum.config import DecodeConfig
from pgsum.data.batch import collate, collate_sources
from pgsum.data.example import Source
from pgsum.decode.beam import beam_search
from pgsum.decode.constraints import Rules
from pgsum.decode.hypothesis import Hypothesis
from pgsum.generate import NEVER_PRODUCED, ModelStep, generate, length_limits
from pgsum.nn.model import PointerGenerator
from pgsum.text.vocab import BOS_ID, EOS_ID

SEVERAL_MODELS = pytest.mark.parametrize(
    "settings",
    [{}, FULL, {"coverage": "from_start"}, {"pointer": False, "input_feeding": True}],
    ids=str,
)
SOURCES = [
    tiny_source(seed=i, tokens=tokens, oovs=oovs)
    for i, (tokens, oovs) in enumerate([(6, 2), (1, 0), (4, 1), (1, 1), (9, 3)])
]
DECODE = DecodeConfig(beam_size=3, min_tokens=2, max_tokens=7, no_repeat_ngram=0)


def model_of(*, end: float = 1.0, **settings: object) -> PointerGenerator:
    """`end` is added to the logit of EOS."""
    model = tiny_model(**settings)
    with torch.no_grad():
        model.projection.bias[EOS_ID] += end
    return model


def search(
    model: PointerGenerator, sources: list[Source], config: DecodeConfig = DECODE
) -> list[list[Hypothesis]]:
    return generate(model, collate_sources(sources), config)


def said(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in found]


def scores(found: list[list[Hypothesis]]) -> list[list[float]]:
    return [[hypothesis.score for hypothesis in hypotheses] for hypotheses in found]


@SEVERAL_MODELS
@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(("end", "stop"), [(4.0, "eos"), (-4.0, "max_tokens")])
def test_a_hypothesis_fed_back_as_the_target_has_the_log_probability_that_search_reported(
    settings, beam_size, end, stop
):
    """BOS, EOS, UNK for copied words and coverage, all at once."""
    model = model_of(end=end, **settings)
    config = replace(DECODE, beam_size=beam_size, n_best=beam_size)
    found = search(model, SOURCES, config)
    assert stop in {one.stop for hypotheses in found for one in hypotheses}
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            example = example_of(source, hypothesis.ids)
            if hypothesis.stop == "max_tokens":
                example = replace(
                    example,
                    target_input_ids=example.target_input_ids[:-1],
                    target_extended_ids=example.target_extended_ids[:-1],
                )
            loss = loss_of(model, collate([example]))
            assert loss.tokens == len(hypothesis.token_log_probs)
            assert hypothesis.log_prob == pytest.approx(-loss.nll.item() * loss.tokens)


@SEVERAL_MODELS
def test_a_batch_of_many_equals_many_batches_of_one_in_any_order(settings):
    model = model_of(**settings)
    config = replace(DECODE, n_best=3)
    together = search(model, SOURCES, config)
    backwards = search(model, SOURCES[::-1], config)[::-1]
    alone = [search(model, [source], config)[0] for source in SOURCES]
    assert said(together) == said(backwards) == said(alone)
    for one, two, three in zip(scores(together), scores(backwards), scores(alone), strict=True):
        assert one == pytest.approx(two)
        assert one == pytest.approx(three)


@SEVERAL_MODELS
def test_a_beam_of_one_equals_greedy_search(settings):
    model = model_of(**settings)
    greedy = search(model, SOURCES, replace(DECODE, beam_size=1))
    batch = collate_sources(SOURCES)
    limits = [length_limits(DECODE, len(source.source_ids)) for source in SOURCES]
    rules = Rules.checked(
        min_tokens=[low for low, _ in limits],
        max_tokens=[high for _, high in limits],
        eos_id=EOS_ID,
        banned_ids=NEVER_PRODUCED,
        no_repeat_ngram=0,
    )
    beam = beam_search(
        ModelStep(model),
        encode(model, batch),
        rules,
        beam_size=1,
        length_alpha=0.0,
        n_best=1,
        bos_id=BOS_ID,
    )
    assert said(greedy) == said(beam)
    assert scores(greedy) == [pytest.approx(score) for score in scores(beam)]


@pytest.mark.parametrize("pointer", [True, False])
def test_only_words_of_the_vocabulary_and_of_the_own_source_are_said(pointer):
    found = search(model_of(pointer=pointer), SOURCES, replace(DECODE, n_best=3))
    words = [set(range(EOS_ID + 1, VOCAB + pointer * len(s.source_oovs))) for s in SOURCES]
    for hypotheses, allowed in zip(found, words, strict=True):
        assert {word for h in hypotheses for word in h.ids} <= allowed
    assert pointer == any(i >= VOCAB for h in found for one in h for i in one.ids)


def test_each_word_comes_with_where_it_was_looked_for_and_how_likely_it_was_generated():
    model = model_of()
    for hypotheses, source in zip(search(model, SOURCES), SOURCES, strict=True):
        for hypothesis in hypotheses:
            attention = hypothesis.attention[:, : len(source.source_ids)]
            torch.testing.assert_close(attention.sum(1), torch.ones(len(attention)).double())
            assert len(hypothesis.p_gen) == len(attention) == len(hypothesis.ids)
            assert ((hypothesis.p_gen > 0) & (hypothesis.p_gen < 1)).all()


def test_lengths_keep_within_each_documents_limits():
    found = search(model_of(), SOURCES, replace(DECODE, min_tokens=3, max_tokens=5, n_best=3))
    for hypotheses, source in zip(found, SOURCES, strict=True):
        for hypothesis in hypotheses:
            assert min(3, len(source.source_ids)) <= len(hypothesis.ids) <= 5


def test_exempt_words_may_be_repeated():
    """A model that says one word for ever is stopped by the ban on repeating it, or is not."""
    model = model_of(pointer=False, output_activation=False)
    with torch.no_grad():
        model.projection.bias[5] = 99.0
    config = replace(DECODE, no_repeat_ngram=1, max_tokens=4)
    batch = collate_sources(SOURCES[:1])
    assert generate(model, batch, config, exempt_ids=[5])[0][0].ids == (5, 5, 5, 5)
    assert generate(model, batch, config)[0][0].ids != (5, 5, 5, 5)


@pytest.mark.parametrize(
    ("least", "most", "source", "limits"),
    [
        (3, 50, 100, (3, 50)),
        (3, 50, 1, (1, 4)),
        (20, 50, 7, (7, 16)),
        (35, 120, 40, (35, 82)),
        (0, 50, 100, (0, 50)),
        (5, 5, 2, (2, 5)),
    ],
)
def test_length_limits_shrink_with_a_short_source(least, most, source, limits):
    config = DecodeConfig(min_tokens=least, max_tokens=most)
    assert length_limits(config, source) == limits


@given(least=st.integers(0, 60), more=st.integers(0, 60), source=st.integers(1, 400))
def test_length_limits_never_cross(least, more, source):
    config = DecodeConfig(min_tokens=least, max_tokens=max(1, least + more))
    low, high = length_limits(config, source)
    assert 0 <= low <= high
    assert 1 <= high <= config.max_tokens
    assert low <= least


# Each against DECODE, on a model for which it makes a difference.
OTHER = {
    "beam_size": 1,
    "min_tokens": 7,
    "max_tokens": 3,
    "length_alpha": 0.0,
    "no_repeat_ngram": 1,
    "n_best": 3,
}


def test_fault_08_no_option_of_search_is_left_out_below():
    """How many documents share a batch, and which words may repeat, is the summarizer's to say."""
    own = {"batch_size", "may_repeat"}
    assert {field.name for field in fields(DecodeConfig)} == {*own, *OTHER}


@pytest.mark.parametrize("option", OTHER)
def test_fault_08_every_option_of_search_changes_the_result(option):
    model = model_of()
    usual = search(model, SOURCES)
    found = search(model, SOURCES, replace(DECODE, **{option: OTHER[option]}))
    assert (said(found), scores(found)) != (said(usual), scores(usual))
