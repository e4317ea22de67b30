"""Of Markdown only the prose is read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsum.data.documents import read_documents
from pgsum.data.markdown import is_markdown, prose
from pgsum.errors import DataError

PAGE = """\
# The tool

![a badge](https://example.org/badge.svg) <img src="logo.png" alt="logo">

It **reads** [your text](https://example.org) and calls `main`.
Then it ends.

    indented code

```sh
pip install tool
```

| flag | meaning |
|------|---------|
| -q   | quiet   |

- one point
- another

---

<div>markup</div>
"""


def test_markup_code_tables_and_pictures_are_left_out():
    assert prose(PAGE) == (
        "The tool\n\nIt reads your text and calls main.\nThen it ends.\n\none point\n\nanother"
    )


@pytest.mark.parametrize("text", ["```\nonly code\n```\n", "| a |\n|---|\n| b |\n", " \n", ""])
def test_what_has_no_prose_is_read_as_it_is(text):
    assert prose(text) == text


@given(st.lists(st.from_regex(r"\A[a-zåß]{1,8}( [a-z]{1,8}){0,5}\.\Z"), min_size=1, max_size=4))
def test_plain_paragraphs_are_read_as_they_are(paragraphs):
    text = "\n\n".join(paragraphs)
    assert prose(text) == text


def test_the_name_of_a_file_says_whether_it_is_markdown(tmp_path):
    for name in ("page.md", "PAGE.MD", "page.markdown", "page.txt", "page"):
        path = tmp_path / name
        path.write_text(PAGE, encoding="utf-8")
        [document] = read_documents(path)
        expected = prose(PAGE) if is_markdown(Path(name)) else PAGE
        assert document.document == expected
    assert [is_markdown(Path(name)) for name in ("a.MD", "a.markdown", "a.txt", "md")] == [
        True,
        True,
        False,
        False,
    ]


def test_an_empty_page_is_still_an_empty_document(tmp_path):
    (tmp_path / "page.md").write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="empty"):
        list(read_documents(tmp_path / "page.md"))
