"""The plain twin, which speed is measured against, is the same model and the same search."""

from dataclasses import replace

import pytest
import torch
from reference import plain_twin
from reference.textbook_search import Settings, textbook_beam_search
from reference.tiny import (
    FULL,
    POINTER_GENERATORS,
    VOCAB,
    gradients,
    loss_of,
    name_of,
    tiny_batch,
    tiny_model,
    tiny_source,
)

from pgsum.config import DecodeConfig
from pgsum.data.batch import collate_sources
from pgsum.generate import generate

EVERY_COMBINATION = pytest.mark.parametrize(
    "settings", [settings | {"layers": 1} for settings in POINTER_GENERATORS], ids=name_of
)
SOURCES = [
    tiny_source(seed=i, tokens=tokens, oovs=oovs)
    for i, (tokens, oovs) in enumerate([(6, 2), (1, 0), (4, 1), (1, 1), (9, 3)])
]
DECODE = DecodeConfig(beam_size=3, min_tokens=2, max_tokens=7, no_repeat_ngram=0, n_best=3)


@EVERY_COMBINATION
def test_loss_and_gradients_are_the_models(settings):
    model = tiny_model(**settings, coverage_weight=0.7)
    ours = loss_of(model, tiny_batch()).total
    twins = plain_twin.loss(model, tiny_batch())
    torch.testing.assert_close(twins, ours)
    expected = gradients(ours, model)
    for name, gradient in gradients(twins, model).items():
        torch.testing.assert_close(gradient, expected[name], msg=name)


@EVERY_COMBINATION
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"min_tokens": 0, "length_alpha": 0.0},
        {"no_repeat_ngram": 1, "max_tokens": 12},
        {"no_repeat_ngram": 2, "beam_size": 4},
    ],
    ids=str,
)
def test_hypotheses_are_the_models(settings, changed):
    model = tiny_model(**settings)
    config = replace(DECODE, **changed)
    ours = generate(model, collate_sources(SOURCES), config, exempt_ids=[7])
    for source, expected in zip(SOURCES, ours, strict=True):
        found = plain_twin.beam_search(
            model,
            collate_sources([source]),
            plain_twin.settings_for(config, len(source.source_ids), exempt_ids=[7]),
            beam_size=config.beam_size,
        )[: config.n_best]
        assert [(one.ids, one.stop) for one in found] == [(one.ids, one.stop) for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected])


def test_carrying_the_state_along_finds_what_reading_each_prefix_anew_finds():
    model = tiny_model(**FULL)
    document = collate_sources([SOURCES[0]])
    settings = plain_twin.settings_for(replace(DECODE, no_repeat_ngram=2), 6)

    @torch.no_grad()
    def next_log_probs(prefix):
        source, state = plain_twin.read(model, document)
        for read in [2, *(i if i < VOCAB else model.unk_id for i in prefix)]:
            p_final, _, state = plain_twin.step(model, torch.tensor([read]), source, state)
        return p_final[0].log().tolist()

    found = plain_twin.beam_search(model, document, settings, beam_size=3)
    expected = textbook_beam_search(next_log_probs, settings, beam_size=3)
    assert [(one.ids, one.stop) for one in found] == [(one.ids, one.stop) for one in expected]
    assert [one.log_prob for one in found] == pytest.approx([one.log_prob for one in expected])


def test_where_nothing_is_allowed_every_hypothesis_ends():
    model = tiny_model(pointer=False)
    settings = Settings(
        min_tokens=5,
        max_tokens=9,
        eos_id=3,
        banned_ids=[0, 1, 2, *range(5, VOCAB)],
        no_repeat_ngram=1,
    )
    (found,) = plain_twin.beam_search(model, collate_sources(SOURCES[:1]), settings, beam_size=2)
    assert (found.ids, found.stop) == ((4,), "blocked")
