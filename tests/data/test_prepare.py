import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from pgsum.config import TextConfig
from pgsum.data import cache
from pgsum.data import prepare as module
from pgsum.data.example import Example, encode_example
from pgsum.data.prepare import Prepared, example_of_row, prepare, validation_sample
from pgsum.data.sources import Corpus
from pgsum.errors import DataError
from pgsum.text.tokenize import lookup_form, tokenize
from pgsum.text.vocab import EOS_ID, UNK_ID, Vocab

TEXT = TextConfig(vocab_size=30, min_count=2, max_source_tokens=8, max_target_tokens=4)
PAIRS = [
    ("The cat sat on the mat.", "A cat sat."),
    ("The dog met Zoë there, and the dog ran off at once.", "The dog met Zoë there."),
    ("Zoë!", "Zoë."),
    ("The cat saw the dog.", "The cat saw it."),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    yield use_folder(tmp_path / "cache", monkeypatch)
    cache._cache_folder.cache_clear()


def use_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PGSUM_CACHE", str(path))
    cache._cache_folder.cache_clear()
    return path


def dataset(pairs: Sequence[tuple[str, str]]) -> Dataset:
    return Dataset.from_list(
        [
            {"id": str(number), "document": document, "references": [summary]}
            for number, (document, summary) in enumerate(pairs)
        ]
    )


def corpus(
    train: Sequence[tuple[str, str]] = PAIRS,
    validation: Sequence[tuple[str, str]] = PAIRS[1:3],
    fingerprint: str = "one",
) -> Corpus:
    return Corpus("tiny", dataset(train), dataset(validation), None, fingerprint, ())


def prepared(
    of: Corpus | None = None, text: TextConfig = TEXT, workers: int = 1, **more: object
) -> Prepared:
    return prepare(of or corpus(), text, validation_pairs=2, workers=workers, **more)


def forms_of(raw: str, *, lowercase: bool = True) -> list[str]:
    return [lookup_form(token.text, lowercase=lowercase) for token in tokenize(raw)]


def encoded_by_hand(vocab: Vocab, document: str, summary: str, text: TextConfig) -> Example:
    source, target = forms_of(document), forms_of(summary)
    cut = len(target) > text.max_target_tokens
    source, target = source[: text.max_source_tokens], target[: text.max_target_tokens]
    return encode_example(vocab, source, target, target_cut=cut)


def test_pairs_become_examples_with_lengths():
    found = prepared()
    expected = [encoded_by_hand(found.vocab, *pair, TEXT) for pair in PAIRS]
    assert [example_of_row(row) for row in found.train] == expected
    assert found.source_lengths.tolist() == [len(e.source.source_ids) for e in expected]
    assert found.target_lengths.tolist() == [len(e.target_extended_ids) for e in expected]


def test_the_vocabulary_is_counted_on_both_sides_of_what_is_read():
    """Words beyond the cut are never met, so they are not counted."""
    counts = Counter()
    for document, summary in PAIRS:
        counts.update(forms_of(document)[: TEXT.max_source_tokens])
        counts.update(forms_of(summary)[: TEXT.max_target_tokens])
    vocab = prepared().vocab
    assert dict(zip(vocab.forms, vocab.counts, strict=True)) == {
        form: count for form, count in counts.items() if count >= TEXT.min_count
    }


def test_validation_pairs_come_as_text_and_as_the_same_pairs_in_ids():
    found = prepared()
    assert [(pair.document, pair.references[0]) for pair in found.validation] == PAIRS[1:3]
    assert [*found.validation_examples] == [
        encoded_by_hand(found.vocab, *pair, TEXT) for pair in PAIRS[1:3]
    ]


def test_a_validation_document_without_a_token_is_left_out():
    """A variation selector alone: no blank, and no token either."""
    found = prepared(corpus(validation=[("\ufe0f", "Nothing."), PAIRS[0], PAIRS[3]]))
    assert [pair.document for pair in found.validation] == [PAIRS[0][0], PAIRS[3][0]]
    assert len(found.validation_examples) == 2


def test_the_validation_sample_depends_on_the_documents_alone():
    pairs = [(f"Document {number}.", "A summary.") for number in range(50)]
    chosen = {pair.document for pair in validation_sample(dataset(pairs), 7)}
    assert len(chosen) == 7
    assert {pair.document for pair in validation_sample(dataset(pairs[::-1]), 7)} == chosen
    with_more = dataset([*pairs, *((f"Another {n}.", "It.") for n in range(10))])
    later = {pair.document for pair in validation_sample(with_more, 7)}
    assert len(later & chosen) >= 4
    assert len(validation_sample(dataset(pairs), 99)) == 50


def test_no_more_is_held_of_many_validation_pairs_than_of_few():
    """But for the pairs that are chosen."""

    def peak_of(pairs: Dataset) -> int:
        tracemalloc.start()
        try:
            validation_sample(pairs, 7)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    many = dataset([(f"Document {number}.", "A summary.") for number in range(5_000)])
    few = many.select(range(1_000))
    peak_of(few)  # what is only made once
    assert peak_of(many) - peak_of(few) < 10 * (len(many) - len(few))


def test_fault_13_oovs_are_numbered_after_the_cut():
    """Zoë stands in the document, but beyond the 8 tokens that are read: she cannot be copied."""
    pair = ("the cat sat on the mat and the yak saw Zoë", "the mat Zoë")
    found = prepared(corpus([pair]), replace(TEXT, min_count=9))
    example = example_of_row(found.train[0])
    assert example.source.source_oovs == ("the", "cat", "sat", "on", "mat", "and")
    first_oov = len(found.vocab)
    assert example.target_extended_ids == [first_oov, first_oov + 4, UNK_ID, EOS_ID]


def test_fault_23_what_is_too_long_is_cut_and_counted_and_never_left_out():
    found = prepared()
    assert len(found.train) == len(PAIRS)
    assert found.source_lengths.max() == TEXT.max_source_tokens
    assert found.notes == (
        "1 of 4 training sources are cut to 8 tokens (text.max_source_tokens).",
        "2 of 4 training targets are cut to 4 tokens (text.max_target_tokens).",
    )
    ends = [row["target_extended_ids"][-1] == EOS_ID for row in found.train]
    assert ends == [True, False, True, False]
    whole = prepared(text=replace(TEXT, max_source_tokens=99, max_target_tokens=99))
    assert whole.notes == ()


def test_documents_without_a_token_are_left_out_and_counted():
    found = prepared(corpus([*PAIRS, ("\ufe0f", "Nothing.")]))
    assert len(found.train) == len(PAIRS)
    assert found.notes[0] == "No visible character in 1 of 5 training documents: left out."


def entries(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("this was to be found in the cache")


def test_what_was_prepared_once_is_read_from_the_cache(folder, monkeypatch):
    first, files = prepared(), entries(folder)
    assert len(files) == 3
    for work in ("tokenize_rows", "encode_rows", "SurfaceCounts"):
        monkeypatch.setattr(module, work, refuse)
    again = prepared()
    assert entries(folder) == files
    assert again.train.to_list() == first.train.to_list()
    assert again.vocab.fingerprint == first.vocab.fingerprint
    assert again.surface == first.surface


@pytest.mark.fault(27)
@pytest.mark.parametrize("damaged", ["tokens.arrow", "ids.arrow", "surface.json"])
@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_what_was_cut_short_in_the_cache_is_prepared_anew(folder, damaged, share):
    first = prepared()
    rows = first.train.to_list()
    [path] = folder.rglob(f"*{damaged}")
    whole = path.read_bytes()
    path.unlink()  # what is mapped into memory must not shrink
    path.write_bytes(whole[: int(share * len(whole))])
    for kept in folder.rglob("*ids.arrow") if damaged == "tokens.arrow" else ():
        kept.unlink()
    again = prepared()
    assert again.train.to_list() == rows
    assert again.surface == first.surface
    assert path.stat().st_size == len(whole)


@pytest.mark.parametrize(
    "changed",
    [
        {"of": corpus(fingerprint="two")},
        {"of": corpus(PAIRS[:3])},
        {"text": replace(TEXT, max_source_tokens=5)},
        {"text": replace(TEXT, lowercase=False)},
        {"vocab": Vocab(["cat"], [1])},
    ],
    ids=["fingerprint", "fewer_pairs", "cut", "case", "vocabulary"],
)
def test_another_corpus_or_other_settings_are_prepared_anew(folder, changed):
    before = prepared()
    files = entries(folder)
    after = prepared(**changed)
    assert len(entries(folder)) > len(files)
    assert entries(folder).items() >= files.items()
    if "fingerprint" not in str(changed):
        assert after.train.to_list() != before.train.to_list()


def test_a_vocabulary_and_a_surface_that_are_given_are_used():
    given = prepared(corpus(PAIRS[:1]))
    found = prepared(vocab=given.vocab, surface=given.surface)
    assert found.vocab is given.vocab
    assert found.surface is given.surface
    expected = [encoded_by_hand(given.vocab, *pair, TEXT) for pair in PAIRS]
    assert [example_of_row(row) for row in found.train] == expected


@pytest.mark.slow
def test_one_worker_and_two_prepare_the_same(tmp_path, monkeypatch):
    """Each from an empty cache; the second reading is from what the other left."""
    pairs = [(f"the cat {n} sat {n % 7} on word{n % 50}", f"cat {n % 9}") for n in range(1500)]
    results = []
    for workers in (1, 2):
        use_folder(tmp_path / str(workers), monkeypatch)
        results.append(prepared(corpus(pairs), workers=workers))
    use_folder(tmp_path / "1", monkeypatch)
    results.append(prepared(corpus(pairs), workers=2))
    one = results[0]
    for other in results[1:]:
        assert other.vocab.forms == one.vocab.forms
        assert other.surface.to_dict() == one.surface.to_dict()
        assert other.train.to_list() == one.train.to_list()
        assert np.array_equal(other.source_lengths, one.source_lengths)
        assert other.notes == one.notes


OTHER = {
    "lowercase": False,
    "vocab_size": 6,
    "min_count": 3,
    "max_source_tokens": 3,
    "max_target_tokens": 2,
}


def test_fault_08_no_option_of_text_is_left_out_below():
    assert {field.name for field in fields(TextConfig)} == set(OTHER)


@pytest.mark.parametrize("option", OTHER)
def test_fault_08_every_option_of_text_changes_the_result(option):
    changed = prepared(text=replace(TEXT, **{option: OTHER[option]}))
    assert changed.train.to_list() != prepared().train.to_list()


def test_a_corpus_without_a_pair_is_refused():
    empty = replace(corpus(), train=dataset(PAIRS).select([]))
    with pytest.raises(DataError, match="There is no pair to train on"):
        prepared(empty)


def test_a_corpus_without_a_token_is_refused():
    with pytest.raises(DataError, match="There is no pair to train on"):
        prepared(corpus([("\ufe0f", "Nothing.")]))


def broken(*arguments: object, **named: object) -> None:
    raise OSError(5, "Input/output error")


def broken_and_written_to_again(*arguments: object, **named: object) -> None:
    try:
        broken()
    finally:
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("failing", [broken, broken_and_written_to_again])
def test_a_disk_that_fails_while_ids_are_written_is_said(tmp_path, monkeypatch, failing):
    monkeypatch.setattr(Dataset, "map", failing)
    rows = Dataset.from_dict({"id": ["a"], "document": ["d"], "references": [["s"]]})
    with pytest.raises(DataError, match="cannot be written to the cache: Input/output error") as e:
        module._map(rows, module.tokenize_rows, tmp_path / "tokens.arrow", 1, text=TextConfig())
    assert e.value.where == str(tmp_path)


def test_another_error_while_ids_are_made_stays_what_it_is(tmp_path, monkeypatch):
    def wrong(*arguments: object, **named: object) -> None:
        raise ValueError("no such column")

    monkeypatch.setattr(Dataset, "map", wrong)
    rows = Dataset.from_dict({"id": ["a"], "document": ["d"], "references": [["s"]]})
    with pytest.raises(ValueError, match="no such column"):
        module._map(rows, module.tokenize_rows, tmp_path / "tokens.arrow", 1, text=TextConfig())
