import json
import string

import numpy as np
import pytest
from reference.explained import DOCUMENT, make_summary

from pgsum.explain.content import Explained, coverage, for_page, to_json, to_object, top_positions


def test_a_file_has_the_keys_of_attn_vis_and_then_ours():
    summary = make_summary()
    content = to_object(Explained.scored("ada", summary, ["Ada reads a book.", " "]))
    assert list(content)[:5] == [
        "article_lst",
        "decoded_lst",
        "abstract_str",
        "attn_dists",
        "p_gens",
    ]
    assert content["article_lst"] == list(summary.source_tokens)
    assert content["decoded_lst"] == ["Ada", "reads", "the", "book"]
    assert content["abstract_str"] == "Ada reads a book."
    assert np.shape(content["attn_dists"]) == summary.attention.shape
    assert content["p_gens"] == [0.125, 0.875, 0.25, 0.0625]
    assert content["references"] == ["Ada reads a book."]
    assert content["scores"]["rouge1"] == pytest.approx(0.75)
    spans = content["source_spans"]
    assert [content["document"][start:end] for start, end in spans] == content["article_lst"]


def test_one_document_is_an_object_and_several_are_a_list():
    explained = Explained("a", make_summary())
    assert json.loads(to_json([explained])) == to_object(explained)
    assert json.loads(to_json([explained, explained])) == [to_object(explained)] * 2


def test_a_page_has_the_numbers_of_the_file():
    explained = Explained.scored("a", make_summary(max_source_tokens=17), ["Ada reads."])
    file, page = to_object(explained), for_page(explained)
    shared = file.keys() & page.keys() - {"summary", "references"}
    assert {"p_gens", "generated_part", "copied_part", "log_probs", "scores"} <= shared
    assert {key: page[key] for key in shared} == {key: file[key] for key in shared}
    attention = np.array(file["attn_dists"])
    for row, top in zip(attention, page["used"], strict=True):
        assert len(top) == 3
        assert [row[position] for position, _ in top] == [weight for _, weight in top]
        assert [weight for _, weight in top] == sorted(row, reverse=True)[:3]
    assert page["coverage"] == pytest.approx(attention.sum(0), abs=1e-5)
    digits = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    shades = np.array([digits.index(digit) / 63 for digit in page["attention"]])
    assert shades.reshape(attention.shape) == pytest.approx(np.sqrt(attention), abs=1 / 126 + 1e-6)


def test_what_a_page_says_of_a_token_is_in_the_file_though_it_is_not_at_the_top():
    words = tuple((word, 9, False, 0.1, -0.1) for word in "abcdef")
    summary = make_summary(words=words)
    summary.attention[:] = 0
    summary.attention[:, 3:8] = 0.19
    summary.attention[:, 9] = 0.05
    assert for_page(Explained("a", summary))["used"] == [
        [*((position, 0.19) for position in range(3, 8)), (9, 0.05)]
    ] * len(words)


def test_pieces_are_the_text_and_every_second_one_a_token():
    page = for_page(Explained("a", make_summary(max_source_tokens=6), ("Two  words.",)))
    assert "".join(page["source"]) + page["unread"] == DOCUMENT
    assert page["source"][1::2] == ["Ada", "met", "Bob", "in", "Oslo", "."]
    assert page["unread_tokens"] == 13
    assert page["summary"] == ["", "Ada", " ", "reads", " ", "the", " ", "book", ""]
    assert page["references"] == [["", "Two", "  ", "words", "", ".", ""]]


def test_of_a_long_rest_a_page_has_the_beginning():
    page = for_page(Explained("a", make_summary("word " * 3000, max_source_tokens=20)))
    assert len(page["unread"]) == 5000
    assert page["unread_characters_left_out"] == 15_000 - len("".join(page["source"])) - 5000


def test_a_model_without_attention_has_no_strongest_position():
    summary = make_summary(attention=False, pointer=False)
    assert top_positions(summary, 0) == []
    assert coverage(summary) == [0] * len(summary.source_tokens)
    page = for_page(Explained("a", summary))
    assert (page["has_attention"], page["has_pointer"]) == (False, False)
