"""Whatever a file holds, reading it gives what can be used, or a PgsumError."""

import gzip
import io
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.corpus_files import SOUND, encoded
from reference.damage import damaged, edited
from reference.effort import FEW

from pgsum.config import Config, load_config, to_yaml
from pgsum.data.documents import read_documents
from pgsum.data.files import DATA_OPTIONS
from pgsum.data.records import Pair, Reading, Record, Tally
from pgsum.data.row_files import read_rows
from pgsum.data.rows import BadRow, Row
from pgsum.data.text_files import read_aligned, text_pair
from pgsum.data.vectors import read_vectors
from pgsum.errors import PgsumError
from pgsum.evaluation import evaluate
from pgsum.metrics.copying import Ratio
from pgsum.prediction_line import prediction_lines
from pgsum.predictions import read_predictions
from pgsum.systems import Trace, Written, recorded
from pgsum.text.vocab import Vocab

ROWS = {
    suffix: encoded([*SOUND, ('a "quoted", one', "naïve\n中文")], suffix)
    for suffix in (".jsonl", ".csv", ".tsv", ".parquet")
}
ON_BAD = st.sampled_from(["skip", "error"])


def sound_predictions() -> bytes:
    """As `pgsum evaluate --out` writes them."""
    pairs = [Pair("a", "The cat sat. It slept.", ("The cat slept.", "A cat."))]
    trace = Trace(-0.5, "eos", True, 2, 20, 3, 2, 1, 0.25, 0.75, None, Ratio(1, 2))
    lines = prediction_lines(evaluate(pairs, {"sut": recorded([Written("A cat.", trace)])}))
    return "".join(lines).encode()


PREDICTIONS = sound_predictions()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@st.composite
def files(draw):
    """A file of rows: its ending and its bytes; compressed before or after it was damaged."""
    suffix = draw(st.sampled_from([*ROWS]))
    content = ROWS[suffix]
    match draw(st.sampled_from(["plain", "packed", "damaged in the pack"])):
        case "plain":
            return suffix, draw(damaged(content))
        case "packed":
            return f"{suffix}.gz", gzip.compress(draw(damaged(content)), 1)
        case _:
            return f"{suffix}.gz", draw(damaged(gzip.compress(content, 1)))


@given(files())
def test_a_damaged_file_of_rows_gives_rows_or_an_error(folder, file):
    suffix, content = file
    path = folder / f"rows{suffix}"
    path.write_bytes(content)
    with suppress(PgsumError):
        for row in read_rows(path, encoding=None, options=DATA_OPTIONS):
            assert isinstance(row, Row | BadRow)


@given(files(), ON_BAD)
def test_a_damaged_file_gives_documents_of_sound_text_or_an_error(folder, file, on_bad):
    suffix, content = file
    path = folder / f"documents{suffix}"
    path.write_bytes(content)
    with suppress(PgsumError):
        for document in read_documents(path, column="document", on_bad=on_bad):
            assert isinstance(document, Pair | BadRow)
            if isinstance(document, Pair):
                (document.id + document.document).encode()


@given(
    damaged("It came. naïve 中文\n".encode()),
    st.sampled_from([None, "utf-8", "utf-16", "utf-7", "gb18030", "latin-1"]),
    st.sampled_from([".txt", ".txt.gz"]),
)
def test_any_bytes_are_one_document_or_an_error(folder, content, encoding, suffix):
    path = folder / f"text{suffix}"
    path.write_bytes(content)
    with suppress(PgsumError):
        (document,) = read_documents(path, encoding=encoding)
        document.document.encode()


@given(damaged(b"one\ntwo\nthree\n"), damaged(b"1\n2\n3\n"))
def test_damaged_lines_side_by_side_give_pairs_or_an_error(folder, documents, summaries):
    path = folder / "a.source"
    path.write_bytes(documents)
    path.with_suffix(".target").write_bytes(summaries)
    with suppress(PgsumError):
        for record in read_aligned(text_pair(path), Reading("pairs"), Tally("a")):
            assert isinstance(record, Record)


@given(damaged(PREDICTIONS) | edited(json.loads(PREDICTIONS)), ON_BAD, st.booleans())
def test_damaged_predictions_give_predictions_or_an_error(folder, content, on_bad, references):
    path = folder / "predictions.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with suppress(PgsumError):
        read = read_predictions(path, references=references, on_bad=on_bad)
        assert len(read.pairs) == len(read.written) == len(read.measured)


LINES = b"3 3\nthe 0.5 -1 2e-1\ncat 1 2 3\n. 7 8 9\n"


def packed_vectors(words=("the", "cat")) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, words=np.array(words), vectors=np.ones((len(words), 3), np.float32))
    return sink.getvalue()


@given(
    st.one_of(
        st.tuples(st.just(".txt"), damaged(LINES)),
        st.tuples(st.just(".txt.gz"), damaged(gzip.compress(LINES))),
        st.tuples(st.just(".npz"), damaged(packed_vectors())),
    )
)
def test_damaged_word_vectors_give_finite_numbers_or_an_error(folder, file):
    suffix, content = file
    path = folder / f"vectors{suffix}"
    path.write_bytes(content)
    with suppress(PgsumError):
        read = read_vectors(path, Vocab(["the", "cat"], [2, 1]), at_most=3)
        assert np.isfinite(read.vectors).all()


@FEW
@given(damaged(to_yaml(Config(), commented=False).encode()))
def test_a_damaged_file_of_settings_gives_settings_or_an_error(folder, content):
    path = folder / "config.yaml"
    path.write_bytes(content)
    with suppress(PgsumError):
        config = load_config(files=[path])
        path.write_text(to_yaml(config), encoding="utf-8")
        assert load_config(files=[path]) == config


@FEW
@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_overrides_give_settings_or_an_error(overrides):
    with suppress(PgsumError):
        load_config(overrides)
