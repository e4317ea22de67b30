import pytest

from pgsum.data.columns import Columns, NamedColumns, recognise
from pgsum.data.files import DATA_OPTIONS, OptionNames
from pgsum.errors import DataError


def found(columns: str, wanted="pairs", named=NamedColumns(), options=DATA_OPTIONS) -> Columns:  # noqa: B008
    return recognise(columns.split(","), named, wanted=wanted, where="f", options=options)


@pytest.mark.parametrize(
    ("columns", "document", "summary"),
    [
        ("id,document,summary", "document", "summary"),
        ("article,highlights,id", "article", "highlights"),
        ("dialogue,summary", "dialogue", "summary"),
        ("title,text", "text", "title"),
        ("text,title,summary", "text", "summary"),
        ("email_body,subject_line", "email_body", "subject_line"),
        ("content,title,url", "content", "title"),
        ("source,target", "source", "target"),
        ("document,references", "document", "references"),
        ("article,references", "article", "references"),
        ("Document, Summary ", "Document", " Summary "),
    ],
)
def test_columns_of_published_corpora_are_known(columns, document, summary):
    recognised = found(columns)
    assert (recognised.document, recognised.summary) == (document, summary)


def test_all_references_are_preferred_to_one_only_where_they_are_wanted():
    assert found("document,summary,references", wanted="references").summary == "references"
    assert found("document,summary,references", wanted="pairs").summary == "summary"


def test_documents_need_no_summaries():
    assert found("text,date", wanted="documents") == Columns("text", None, None)


def test_id_is_a_column_of_that_name_unless_another_is_named():
    assert found("id,document,summary").id == "id"
    assert found("document,summary").id is None
    assert found("id,key,document,summary", named=NamedColumns(id="key")).id == "key"


def test_named_columns_are_taken_whatever_else_there_is():
    named = NamedColumns(document="body", summary="abstract")
    assert found("document,summary,body,abstract", named=named) == Columns("body", "abstract", None)


def test_one_named_column_leaves_the_other_to_be_recognised():
    assert found("body,highlights", named=NamedColumns(document="body")).summary == "highlights"
    assert found("article,tldr", named=NamedColumns(summary="tldr")).document == "article"


def test_unknown_columns_are_listed_with_the_settings_that_name_them():
    with pytest.raises(DataError) as caught:
        found("body,headline")
    assert str(caught.value) == (
        "The columns are not known by name: body, headline; at f; "
        "name them: data.document_column=NAME data.summary_column=NAME"
    )


def test_nearly_known_columns_are_suggested():
    with pytest.raises(
        DataError,
        match=r"did you mean data\.document_column=documnet data\.summary_column=sumary\?",
    ):
        found("documnet,sumary")


def test_known_document_column_stands_in_the_hint_for_an_unknown_summary():
    with pytest.raises(DataError, match=r"data\.document_column=text data\.summary_column=NAME"):
        found("text,tldr")


def test_missing_named_column_is_an_error_with_the_likeliest_meant():
    with pytest.raises(
        DataError,
        match=r"no column 'sumary' among: document, summary; at f; "
        r"did you mean data\.summary_column=summary\?",
    ):
        found("document,summary", named=NamedColumns(summary="sumary"))


def test_hint_calls_the_option_what_the_command_calls_it():
    with pytest.raises(DataError, match="name them: --column NAME"):
        found("body", wanted="documents", options=OptionNames(document_column="--column "))


def test_many_columns_are_listed_in_part():
    with pytest.raises(DataError, match=r"c0, c1, .*c19 and 5 more"):
        found(",".join(f"c{number}" for number in range(25)))
