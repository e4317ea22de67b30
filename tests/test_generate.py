from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import textbook_model
from reference.textbook_search import Settings, textbook_beam_search
from reference.tiny import (
    FULL,
    VOCAB,
    config_of,
    encode,
    example_of,
    loss_of,
    tiny_model,
    tiny_source,
)

from pgsum.config import DecodeConfig
from pgsum.data.batch import collate, collate_sources
from pgsum.data.example import Source
from pgsum.decode.beam import beam_search
from pgsum.decode.constraints import Rules
from pgsum.decode.hypothesis import Hypothesis
from pgsum.generate import NEVER_PRODUCED, ModelStep, generate, length_limits
from pgsum.nn.model import PointerGenerator
from pgsum.text.vocab import BOS_ID, EOS_ID, UNK_ID

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
NAMES = [4, 6, 7, 10]
"""The words that need support."""
FAITHFUL = replace(DECODE, faithful=True)


def model_of(*, end: float = 1.0, **settings: object) -> PointerGenerator:
    """`end` is added to the logit of EOS."""
    model = tiny_model(**settings)
    with torch.no_grad():
        model.projection.bias[EOS_ID] += end
    return model


def search(
    model: PointerGenerator, sources: list[Source], config: DecodeConfig = DECODE
) -> list[list[Hypothesis]]:
    return generate(model, collate_sources(sources), config, needing_support=NAMES)


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


@pytest.mark.fault(51)
@SEVERAL_MODELS
@pytest.mark.parametrize(
    "config", [DECODE, replace(FAITHFUL, copy_bias=-0.8)], ids=["", "faithful"]
)
def test_a_batch_of_many_equals_many_batches_of_one_in_any_order(settings, config):
    model = model_of(**settings)
    config = replace(config, n_best=3)
    together = search(model, SOURCES, config)
    backwards = search(model, SOURCES[::-1], config)[::-1]
    alone = [search(model, [source], config)[0] for source in SOURCES]
    assert said(together) == said(backwards) == said(alone)
    for one, two, three in zip(scores(together), scores(backwards), scores(alone), strict=True):
        assert one == pytest.approx(two)
        assert one == pytest.approx(three)


@SEVERAL_MODELS
@pytest.mark.parametrize("faithful", [False, True])
def test_a_beam_of_one_equals_greedy_search(settings, faithful):
    model = model_of(**settings)
    greedy = search(model, SOURCES, replace(DECODE, beam_size=1, faithful=faithful))
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
        ModelStep(model, needing_support=torch.tensor(NAMES) if faithful else None),
        encode(model, batch),
        rules,
        beam_size=1,
        length_alpha=0.0,
        n_best=1,
        bos_id=BOS_ID,
    )
    assert said(greedy) == said(beam)
    assert scores(greedy) == [pytest.approx(score) for score in scores(beam)]


@SEVERAL_MODELS
@pytest.mark.parametrize(
    "changed",
    [{"copy_bias": 1.5}, {"faithful": True}, {"faithful": True, "copy_bias": -1.5}],
    ids=str,
)
def test_a_faithful_or_biased_search_finds_what_a_textbook_finds(settings, changed):
    model, config = model_of(**settings), replace(DECODE, n_best=3, **changed)
    found = search(model, SOURCES, config)
    for source, hypotheses in zip(SOURCES, found, strict=True):

        @torch.no_grad()
        def next_log_probs(prefix, source=source):
            reads = [BOS_ID, *(i if i < VOCAB else UNK_ID for i in prefix)]
            needing = NAMES if config.faithful else ()
            steps = textbook_model.steps(
                model,
                config_of(**settings),
                source,
                reads,
                copy_bias=config.copy_bias,
                needing_support=needing,
            )
            return steps[-1].p_final.log().tolist()

        low, high = length_limits(config, len(source.source_ids))
        expected = textbook_beam_search(
            next_log_probs,
            Settings(low, high, EOS_ID, NEVER_PRODUCED, length_alpha=config.length_alpha),
            beam_size=config.beam_size,
        )[: config.n_best]
        assert [one.ids for one in hypotheses] == [one.ids for one in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected])


@pytest.mark.parametrize("settings", [{}, {"pointer": False}], ids=str)
def test_a_faithful_search_says_no_name_that_its_source_lacks_and_no_other_does_not(settings):
    """A model that likes one name above all says it, but where that must stand in the source."""
    usual = replace(DECODE, copy_bias=-20.0)  # so it hardly copies
    faithful = replace(usual, faithful=True)
    for name in NAMES:
        model = model_of(end=0.0, **settings)
        with torch.no_grad():
            model.projection.bias[name] += 9
        lacking = [source for source in SOURCES if name not in source.source_ids]
        assert any(name in one.ids for [one] in search(model, lacking, usual))
        for [one], source in zip(search(model, SOURCES, faithful), SOURCES, strict=True):
            assert not set(one.ids) & (set(NAMES) - set(source.source_ids))
        having = [source for source in SOURCES if name in source.source_ids]
        assert all(name in one.ids for [one] in search(model, having, faithful))


def test_a_faithful_search_can_end_where_every_word_needs_support():
    every_word = range(EOS_ID + 1, VOCAB)
    batch = collate_sources([Source([UNK_ID], [VOCAB], ("oov",))])
    for pointer, words in ((True, {VOCAB}), (False, set())):
        config = DecodeConfig(min_tokens=0, faithful=True, n_best=4)
        model = model_of(pointer=pointer)
        [found] = generate(model, batch, config, needing_support=every_word)
        assert {word for one in found for word in one.ids} <= words
        assert "eos" in {one.stop for one in found}


def test_a_bias_is_in_the_probability_of_generating_that_comes_with_each_word():
    model = model_of()
    state = encode(model, collate_sources(SOURCES))
    last_ids = torch.full((len(SOURCES),), BOS_ID)
    usual = ModelStep(model)(last_ids, state)[0].p_gen
    biased = ModelStep(model, copy_bias=2.0)(last_ids, state)[0].p_gen
    torch.testing.assert_close(biased.logit(), usual.logit() - 2)


def test_a_bias_makes_it_copy_more_or_less():
    generated = [
        sum(float(one.p_gen.mean()) for [one] in search(model_of(), SOURCES, config))
        for config in (replace(DECODE, copy_bias=bias) for bias in (-3.0, 0.0, 3.0))
    ]
    assert generated == sorted(generated, reverse=True)
    assert len(set(generated)) == 3


def test_which_words_need_support_must_be_said():
    with pytest.raises(ValueError, match="faithful is true, but which words need support"):
        generate(model_of(), collate_sources(SOURCES), FAITHFUL)


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
    "faithful": True,
    "copy_bias": 2.0,
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
