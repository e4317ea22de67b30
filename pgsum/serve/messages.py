"""What is asked of the API and what it answers: the forms that its description is made from.

Knows bounds; knows nothing of models but their names.
"""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)
from pydantic_core import PydanticCustomError

from pgsum.data.records import Tally, sound_text
from pgsum.text.tokenize import tokenize

MOST_DOCUMENTS = 32
MOST_HYPOTHESES = 16
MOST_TOKENS = 500


def _sound(text: Any) -> Any:
    # JSON can hold half a character, which no text can.
    return sound_text(text, Tally("request")) if isinstance(text, str) else text


def _whole(number: Any) -> Any:
    # To JSON 4.0 is as whole as 4.
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _visible(text: str) -> str:
    if not tokenize(text, max_tokens=1):
        raise PydanticCustomError("empty", "The document is empty: it has no visible character.")
    return text


Document = Annotated[
    str,
    Field(min_length=1, pattern=r"\S"),
    BeforeValidator(_sound),
    AfterValidator(_visible),
]
Documents = Annotated[list[Document], Field(min_length=1, max_length=MOST_DOCUMENTS)]
# Told apart first: of a document in a list that is no good, one wants to know just that.
OneOrMany = Annotated[
    Annotated[Document, Tag("text")] | Annotated[Documents, Tag("texts")],
    Discriminator(lambda sent: "texts" if isinstance(sent, list) else "text"),
]
Hypotheses = Annotated[int, Field(ge=1, le=MOST_HYPOTHESES), BeforeValidator(_whole)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Asked(_Strict):
    """Documents to be summarized; what is not given is as the model was validated."""

    document: OneOrMany
    model: str | None = None
    beam_size: Hypotheses | None = None
    min_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS), BeforeValidator(_whole)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS), BeforeValidator(_whole)] | None = None
    length_alpha: Annotated[float, Field(ge=0, le=10)] | None = None
    no_repeat_ngram: Annotated[int, Field(ge=0, le=100), BeforeValidator(_whole)] | None = None
    copy_bias: Annotated[float, Field(ge=-1000, le=1000)] | None = None
    n_best: Hypotheses | None = None
    faithful: bool | None = None
    explain: bool = False
    """Whether to answer with `explanation` and `page`, too."""

    @property
    def documents(self) -> list[str]:
        return [self.document] if isinstance(self.document, str) else self.document

    def overrides(self) -> list[str]:
        """The settings of the search, as a command line has them."""
        settings = self.model_dump(
            exclude={"document", "model", "explain"}, exclude_none=True, mode="json"
        )
        return [f"decode.{name}={_written(value)}" for name, value in settings.items()]


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Written(BaseModel):
    """A summary, as `pgsum summarize --jsonl` has it."""

    summary: str
    tokens: list[str]
    copied: list[bool]
    source_tokens: list[str]
    truncated: bool
    score: float
    stop: str


class Summarized(Written):
    """A document's best summary, and the `others` where more than one is asked for."""

    id: str
    """The document's number in the request."""
    unfamiliar: bool
    """Whether the document is unlike those that the model was trained on."""
    others: list[Written] | None = None
    explanation: dict[str, Any] | None = None
    """What `pgsum summarize --explain FILE.json` writes."""
    page: str | None = None
    """What `pgsum summarize --explain FILE.html` writes."""


class Answer(BaseModel):
    """The summaries of all documents of a request, in their order."""

    model: str
    summaries: list[Summarized]


class Problem(BaseModel):
    """What happened, where, and what to do."""

    error: str
    where: str | None = None
    hint: str | None = None


class Health(BaseModel):
    """That the server answers."""

    status: str


class Model(BaseModel):
    """A model, and the settings of the search that hold where a request has none."""

    name: str
    max_source_tokens: int
    words: int
    decode: dict[str, Any]


class Info(BaseModel):
    """What this server has; the first of its models is used where none is named."""

    pgsum: str
    models: list[Model]
    limits: dict[str, int | float]
