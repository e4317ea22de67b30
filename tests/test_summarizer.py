from dataclasses import replace

import numpy as np
import pytest
import torch
from reference.explained import make_summary

from pgsum.build import build_model
from pgsum.bundle import Bundle
from pgsum.config import load_config
from pgsum.data.batch import collate_sources
from pgsum.data.example import encode_source
from pgsum.errors import DataError
from pgsum.summarizer import Summarizer, mixture_parts
from pgsum.text.extended import ExtendedVocab
from pgsum.text.surface import SurfaceCounts
from pgsum.text.tokenize import lookup_form, tokenize
from pgsum.text.vocab import BOS_ID, Vocab

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


def test_the_coverage_loss_is_what_words_look_at_again():
    read = "Ada met Bob."
    words = (("Ada", 0, False, 0.5, -1.0), ("Ada", 0, False, 0.5, -1.0))
    summary = make_summary(read, words=words)
    assert summary.coverage_loss == pytest.approx((0 + 1) / 2)  # the second looks as the first did
    elsewhere = make_summary(read, words=(words[0], ("Bob", 2, False, 0.5, -1.0)))
    assert elsewhere.coverage_loss == pytest.approx((0 + 4 * 0.1 / 3) / 2)
    assert make_summary(read, words=words, attention=False).coverage_loss is None


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
    assert summary.unread_tokens == len(tokenize(DOCUMENT)) - 5
    whole = summarizer(DOCUMENT)
    assert not whole.truncated
    assert whole.unread_tokens == 0


def test_the_parts_of_a_probability_are_those_of_the_mixture(summarizer):
    """Forced along the summary, the model gives both terms of eq. 9, which search never forms."""
    summary = summarizer(DOCUMENT)
    vocab = summarizer.bundle.vocab
    forms = [lookup_form(token, lowercase=True) for token in summary.source_tokens]
    source = encode_source(vocab, forms)
    extended = ExtendedVocab(vocab, source.source_oovs)
    batch = collate_sources([source])
    state = summarizer.model.encode(
        batch.source_ids, batch.source_extended_ids, batch.source_mask, batch.max_source_oovs
    )
    last = BOS_ID
    for step, token in enumerate(summary.tokens):
        with torch.inference_mode():
            log_probs, output, state = summarizer.model.step(torch.tensor([last]), state)
        p_gen = output.gate.sigmoid().item()
        id_ = extended.id_of(lookup_form(token, lowercase=True))
        pointed = (output.attention[0, 0] * (batch.source_extended_ids[0] == id_)).sum().item()
        assert summary.log_probs[step] == pytest.approx(log_probs[0, id_].item(), abs=1e-5)
        assert summary.p_gen[step] == pytest.approx(p_gen, abs=1e-5)
        assert summary.copied_part[step] == pytest.approx((1 - p_gen) * pointed, abs=1e-5)
        assert summary.oov[step] == (id_ >= len(vocab))
        if summary.oov[step]:
            assert summary.generated_part[step] == pytest.approx(0, abs=1e-5)
        last = id_
    sums = np.add(summary.generated_part, summary.copied_part)
    assert sums == pytest.approx(np.exp(summary.log_probs))
    assert summary.copied == tuple(np.greater(summary.copied_part, summary.generated_part))
    assert any(summary.oov)


def test_no_part_of_a_probability_is_negative():
    assert mixture_parts(1.0, 0.0, -1e-7) == (0.0, pytest.approx(1.0))
    assert mixture_parts(0.5, 0.5, np.log(0.75)) == (pytest.approx(0.5), 0.25)


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT,
        "Ada met\r\nBOB 👩‍👧 — e\u0301 \u200bİs.\t",
        " 今天 \udc80 a\x1b[31mred\x1b[0m ",
        "مرحبا Ada",
    ],
)
def test_spans_and_what_lies_between_them_are_the_original_text(summarizer, document):
    summary = summarizer(document)
    assert summary.document == document
    read, end = "", 0
    for token, (start, stop) in zip(summary.source_tokens, summary.source_spans, strict=True):
        assert document[start:stop] == token
        read += document[end:start] + token
        end = stop
    assert read + document[end:] == document


def test_a_summarizer_is_where_its_model_is(summarizer):
    """Lightning moves a model to a GPU while somebody has it validate."""
    assert summarizer.device == torch.device("cpu")
    summarizer.model.to("meta")
    assert summarizer.device == torch.device("meta")
