"""The picture of attention, drawn from a summary made by hand."""

from xml.etree import ElementTree

import pytest
from reference.explained import make_summary

from pgsum.explain.content import Explained
from pgsum.explain.heatmap import heatmap

WORDS = (("$5", 2, False, 0.25, -0.1), ("今天", None, False, 0.75, -0.2))


@pytest.mark.parametrize("pointer", [True, False])
def test_words_stand_as_text_and_p_gen_only_where_there_is_a_pointer(pointer):
    summary = make_summary("it costs $5 & <now> 今天", words=WORDS, pointer=pointer)
    svg = heatmap(Explained("where $ went", summary))
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    for text in ("it", "costs", "$5", "&", "<", "now", "今", "今天", "where $ went"):
        assert text in texts
    assert ("p_gen" in texts, "0.25" in texts) == (pointer, pointer)


def test_the_same_summary_gives_the_same_picture():
    pictures = [heatmap(Explained("twice", make_summary())) for _ in range(2)]
    assert pictures[0] == pictures[1]
