"""The picture of attention, drawn from a summary made by hand."""

import base64
import dataclasses
import io
import re
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest
from reference.explained import make_summary

from pgsum.explain.content import NO_ATTENTION, Explained
from pgsum.explain.heatmap import heatmap

SVG = "{http://www.w3.org/2000/svg}"
WORDS = (("$5", 2, False, 0.25, -0.1), ("今天", None, False, 0.75, -0.2))


@pytest.mark.parametrize("pointer", [True, False])
def test_words_stand_as_text_and_p_gen_only_where_there_is_a_pointer(pointer):
    summary = make_summary("it costs $5 & <now> 今天", words=WORDS, pointer=pointer)
    svg = heatmap(Explained("where $ went", summary))
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    for text in ("it", "costs", "$5", "&", "<", "now", "今", "今天", "where $ went"):
        assert text in texts
    assert ("p_gen" in texts, "0.25" in texts) == (pointer, pointer)


def test_what_xml_cannot_hold_is_spelt_out():
    svg = heatmap(Explained("a\x00b\x1b[31m\ud83d\uffff", make_summary()))
    texts = [element.text for element in ElementTree.fromstring(svg).iter()]
    assert r"a\x00b\x1b[31m\ud83d\uffff" in texts


def test_the_same_summary_gives_the_same_picture():
    pictures = [heatmap(Explained("twice", make_summary())) for _ in range(2)]
    assert pictures[0] == pictures[1]


def test_a_little_attention_over_many_tokens_can_be_seen():
    summary = make_summary(" ".join(["word"] * 120))
    summary = dataclasses.replace(summary, attention=np.full_like(summary.attention, 0.03))
    svg = heatmap(Explained("long", summary))
    (image,) = re.findall(r'href="data:image/png;base64,([^"]*)"', svg)
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(image)))
    (shade,) = np.unique(pixels[..., 0])
    white, linear = matplotlib.colormaps["Greys"]([0.0, 0.03])[:, 0]
    assert white - shade > 3 * (white - linear) > 0


def test_a_model_without_attention_has_a_sentence_for_a_picture():
    svg = heatmap(Explained("where $ went", make_summary(attention=False)))
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert texts == ["where $ went", NO_ATTENTION]
    assert "<image" not in svg
