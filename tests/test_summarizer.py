from dataclasses import replace

import pytest
import torch

from pgsum.build import build_model
from pgsum.bundle import Bundle
from pgsum.config import load_config
from pgsum.errors import DataError
from pgsum.summarizer import Summarizer
from pgsum.text.surface import SurfaceCounts
from pgsum.text.vocab import Vocab

DOCUMENT = "Ada met Bob. Bob gave Ada the book, and Ada read the book."


@pytest.fixture
def summarizer() -> Summarizer:
    torch.manual_seed(3)
    config = load_config(
        ["model.embedding_size=6", "model.hidden_size=10", "text.min_count=1", "decode.beam_size=2"]
    )
    counts = dict.fromkeys(("the", "met", "gave", "read", "and", ".", ","), 5)
    vocab = Vocab.build(counts, size=50, min_count=1)
    surface = SurfaceCounts(lowercase=True)
    surface.add(DOCUMENT, ["Ada read the book."])
    model = build_model(config.model, len(vocab))
    return Summarizer(Bundle(config, vocab, surface.learned(vocab), model))


def test_a_summary_says_of_each_word_where_it_came_from(summarizer):
    summary = summarizer(DOCUMENT)
    assert len(summary.tokens) == len(summary.copied) == len(summary.p_gen)
    assert summary.attention.shape == (len(summary.tokens), len(summary.source_tokens))
    assert summary.attention.sum(1) == pytest.approx(1.0, abs=1e-5)
    for token, copied, position in zip(
        summary.tokens, summary.copied, summary.source_positions, strict=True
    ):
        assert copied == (position is not None)
        if position is not None:
            assert summary.source_tokens[position].lower() == token.lower()
    assert any(summary.copied)


def test_words_that_may_repeat_do_and_others_do_not(summarizer):
    once = replace(summarizer.bundle.config.decode, no_repeat_ngram=1, min_tokens=12, max_tokens=12)
    words = [token.lower() for token in summarizer(DOCUMENT, decode=once).tokens]
    assert len(set(words)) == len(words)
    again = [
        token.lower()
        for token in summarizer(DOCUMENT, decode=replace(once, may_repeat=" ".join(words))).tokens
    ]
    known = {word for word in words if word in summarizer.bundle.vocab}
    repeated = {word for word in again if again.count(word) > 1}
    assert repeated
    assert repeated <= known


def test_documents_come_back_in_their_order_whatever_their_length(summarizer):
    documents = [DOCUMENT * 3, "Bob read.", DOCUMENT]
    several = [best[0].text for best in summarizer.summarize(documents)]
    assert several == [summarizer(document).text for document in documents]


def test_progress_counts_documents(summarizer):
    decode = replace(summarizer.bundle.config.decode, batch_size=2)
    done: list[int] = []
    summarizer.summarize(["a", "b", "c"], decode=decode, progress=done.append)
    assert done == [2, 3]


def test_an_empty_document_is_refused_by_its_number(summarizer):
    with pytest.raises(DataError, match="Document 2 is empty"):
        summarizer.summarize(["Bob read.", "\u200b \n"])


def test_a_long_document_is_cut_and_says_so(summarizer):
    text = replace(summarizer.bundle.config.text, max_source_tokens=5)
    config = replace(summarizer.bundle.config, text=text)
    short = Summarizer(replace(summarizer.bundle, config=config))
    summary = short(DOCUMENT)
    assert summary.truncated
    assert summary.source_tokens == ("Ada", "met", "Bob", ".", "Bob")
    assert not summarizer(DOCUMENT).truncated
