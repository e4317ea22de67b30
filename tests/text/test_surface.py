import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.errors import ModelError
from pgsum.text.surface import Piece, Surface, SurfaceCounts, restore
from pgsum.text.tokenize import lookup_form, tokenize
from pgsum.text.vocab import SPECIAL_TOKENS

PAIRS = [
    (
        "The cat of Tom Miller sat on the mat. It didn't move, and the dog wasn't there.",
        "Tom's cat sat on the mat. The dog wasn't there.",
    ),
    (
        "Yesterday the cat saw a dog on the mat, and they said it was a well-known dog of Anna's.",
        "The cat saw Anna's well-known dog on the mat.",
    ),
    (
        "We think that the dog, the cat and Tom (of Berlin) like a mat that cost $5 on Monday.",
        'They said "the mat" of Tom (in Berlin) cost $5.',
    ),
]


def learn(pairs=PAIRS, *, lowercase=True) -> Surface:
    counts = SurfaceCounts(lowercase=lowercase)
    forms = set()
    for document, summary in pairs:
        counts.add(document, [summary])
        for text in (document, summary):
            forms |= {lookup_form(token.text, lowercase=lowercase) for token in tokenize(text)}
    return counts.learned(forms)


def write(words: str, document: str = "", surface: Surface | None = None) -> str:
    """Restore a summary written as forms; `form@n` is copied from token n of the document."""
    pieces = []
    for word in words.split():
        form, at, index = word.partition("@")
        pieces.append(Piece(form, int(index) if at else None))
    surface = surface or learn()
    return restore(pieces, surface, document=document, source_tokens=tokenize(document)).text


@pytest.mark.parametrize("summary", [summary for _, summary in PAIRS])
def test_a_generated_summary_reads_as_a_person_wrote_it(summary):
    forms = [lookup_form(token.text, lowercase=True) for token in tokenize(summary)]
    assert write(" ".join(forms)) == summary


def test_a_copied_word_comes_back_as_the_document_wrote_it():
    document = "we met eBay's McDonald at the Café Über in NEW york"
    words = "they met@1 mcdonald@4 at the café@7 über@8 in new@10 york@11"
    assert write(words, document) == "They met McDonald at the Café Über in NEW york"


def test_combining_accents_come_back_as_they_were():
    assert write("the café@2", "in the Cafe\u0301") == "The Cafe\u0301"


def test_a_capital_that_only_began_a_sentence_is_lost_inside_one():
    document = "The mat is red. Zorg likes it. Dog and cat"
    assert write("they like the@0 mat", document) == "They like the mat"
    assert write("they like zorg@5", document) == "They like Zorg"
    assert write("the@0 mat", document) == "The mat"


def test_a_capital_inside_a_sentence_of_the_document_is_kept():
    assert write("they saw the@2 mat@3", "we read The Mat") == "They saw The Mat"


def test_the_first_word_takes_a_capital_but_an_identifier_does_not():
    assert write("mat . mat") == "Mat. Mat"
    assert write("zorg@0 . os.path@1", "zorg os.path") == "Zorg. os.path"
    assert write("get_it@0", "get_it iphone") == "get_it"
    assert write("iphone@0", "iPhone") == "iPhone"


def test_no_capital_where_summaries_have_none():
    pairs = [(document, summary[0].lower() + summary[1:]) for document, summary in PAIRS * 2]
    surface = learn([(d, s.replace(". T", ". t")) for d, s in pairs if not s.startswith("tom")])
    assert write("the cat of tom", surface=surface) == "the cat of Tom"
    assert write("the@0 cat@1", "The cat", surface) == "the cat"


def test_a_generated_word_is_in_its_usual_case_or_in_the_documents():
    assert write("they saw anna and the cat") == "They saw Anna and the cat"
    assert write("they saw the mat", "we like the MAT of it") == "They saw the MAT"


def test_a_word_in_lower_case_here_and_in_its_usual_case_there_is_in_that():
    assert write("they saw tom@0", "tom met Tom") == "They saw Tom"
    assert write("they saw tom@0", "tom met tom") == "They saw tom"


@pytest.mark.parametrize("gap", ["", " ", "\u200b", "\u3000", "  "])
def test_neighbours_copied_together_keep_the_documents_spacing(gap):
    document = f"A{gap}-{gap}B"
    blank = " " if gap.strip("\u200b") else ""
    assert write("a@0 -@1 b@2", document) == f"A{blank}-{blank}B"


def test_a_line_break_between_neighbours_says_nothing():
    assert write("they@0 said@1 .@2", "They\nsaid\n.") == "They said."
    assert write("中@0 文@1", "中\n文") == "中文"


def test_chinese_has_no_blanks_and_mixed_text_is_as_in_the_document():
    assert write("中 文 。") == "中文。"
    assert write("用@0 iphone@1 手@2 机@3", "用 iPhone 手机") == "用 iPhone 手机"
    assert write("用@0 iphone@1 手@2 机@3", "用iPhone手机") == "用iPhone手机"


def test_control_tokens_of_the_document_are_text():
    document = "write [UNK] or </s>"
    tokens = tokenize(document)
    pieces = [Piece(lookup_form(t.text, lowercase=True), i) for i, t in enumerate(tokens)]
    restored = restore(pieces, learn(), document=document, source_tokens=tokens)
    assert restored.text == "Write [UNK] or </s>"


@pytest.mark.parametrize("special", SPECIAL_TOKENS)
def test_a_special_token_cannot_be_written(special):
    with pytest.raises(ValueError, match="stands for no text, so it cannot be part of a summary"):
        restore([Piece(special, None)], learn(), document="", source_tokens=[])


def test_an_empty_summary_is_an_empty_text():
    assert restore([], learn(), document="a", source_tokens=tokenize("a")) == ("", ())


def test_the_words_are_those_of_the_text():
    restored = restore(
        [Piece("the", None), Piece("cat", None), Piece("'s", None)],
        learn(),
        document="",
        source_tokens=[],
    )
    assert restored.tokens == ("The", "cat", "'s")
    assert restored.text == "The cat's"


def test_a_cased_model_writes_its_own_case():
    surface = learn(lowercase=False)
    assert write("the Cat . the mat@1", "The mat", surface) == "the Cat. the mat"
    assert write("Mat@0 .", "Mat", surface) == "Mat."


@given(st.text(st.characters()))
def test_a_document_copied_whole_comes_back_but_for_blanks_and_invisible_characters(text):
    text = " ".join(text.split())
    tokens = tokenize(text)
    pieces = [Piece(lookup_form(t.text, lowercase=True), i) for i, t in enumerate(tokens)]
    surface = SurfaceCounts(lowercase=True).learned(set())
    restored = restore(pieces, surface, document=text, source_tokens=tokens)
    shown = "".join(restored.tokens)
    assert restored.text.replace(" ", "") == shown
    assert [lookup_form(w, lowercase=True) for w in restored.tokens] == [p.form for p in pieces]
    if text.isascii() and text.isprintable():
        assert restored.text == text
    restored.text.encode("utf-8")


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1)))
def test_any_generated_forms_give_a_text(forms):
    pieces = [Piece(form, None) for form in forms if form not in SPECIAL_TOKENS]
    restored = restore(pieces, learn(), document="", source_tokens=[])
    assert len(restored.tokens) == len(pieces)


def test_counts_add_up_across_processes():
    whole, part = SurfaceCounts(lowercase=True), SurfaceCounts(lowercase=True)
    for document, summary in PAIRS:
        whole.add(document, [summary])
    part.add(PAIRS[2][0], [PAIRS[2][1]])
    rest = SurfaceCounts(lowercase=True)
    for document, summary in PAIRS[:2]:
        rest.add(document, [summary])
    part.update(pickle.loads(pickle.dumps(rest)))
    vocab = {"the", "tom", "cat", "mat", "anna"}
    assert json.dumps(part.learned(vocab).to_dict()) == json.dumps(whole.learned(vocab).to_dict())


def test_a_surface_survives_json():
    surface = learn()
    assert Surface.from_dict(json.loads(json.dumps(surface.to_dict()))) == surface


@pytest.mark.parametrize("key", ["lowercase", "usual", "lower", "capital_start", "glued"])
def test_a_damaged_surface_is_refused_in_words(key):
    content = learn().to_dict()
    for value in (None, "no", {"the": 3}, [["the"]]):
        with pytest.raises(ModelError, match=f'The surface forms are damaged: "{key}" is not a'):
            Surface.from_dict(content | {key: value})
    del content[key]
    with pytest.raises(ModelError, match=f'The surface forms are damaged: "{key}" is not a'):
        Surface.from_dict(content)
