import json

import pytest

from pgsum.errors import ConfigError
from pgsum.explain.one_file import json_for_script, render, write


def test_what_a_page_is_given_is_escaped():
    html = render(
        "page.html", styles=["page.css"], scripts=["page.js"], data={}, title="<b>{{7*7}}"
    )
    assert "<title>&lt;b&gt;{{7*7}}</title>" in html


@pytest.mark.parametrize("text", ["</script>", "<!--", "a\u2028b", '"', "\\u003c"])
def test_json_in_a_script_says_the_same_and_has_no_markup(text):
    written = json_for_script({text: [text, 1.5, None]})
    assert "<" not in written
    assert json.loads(written) == {text: [text, 1.5, None]}


@pytest.mark.fault(13)
def test_what_turns_the_writing_around_is_spelt_out():
    assert json.loads(json_for_script("a\u202eb\u2066c")) == "a\\u202eb\\u2066c"


def test_no_number_that_json_lacks_gets_into_a_page():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_for_script(float("nan"))


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    path = tmp_path / "page.html"
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be written") as caught:
        write(path, "text", option="--explain")
    assert caught.value.where == str(path)
    assert caught.value.hint == "name another with --explain"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_is_written_as_json_would_write_it(tmp_path):
    write(tmp_path / "a", '"\udc80"', option="--explain")
    assert json.loads((tmp_path / "a").read_text(encoding="utf-8")) == "\udc80"
