"""The fixed vocabulary: which forms have an id, and which id.

Four special ids come first. They stand for no text: a form that reads "[UNK]" is a form like any
other, with an id of its own or none.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from pgsum.errors import ModelError

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[BOS]", "[EOS]")
"""How the special ids are shown; in this order they are ids 0 to 3."""

_FORMAT = 1

T = TypeVar("T")


class Vocab:
    """Forms and their ids, most frequent first, after the special ids."""

    def __init__(self, forms: Sequence[str], counts: Sequence[int]) -> None:
        self.forms = tuple(forms)
        """The form of id `len(SPECIAL_TOKENS) + i` at `i`."""
        self.counts = tuple(counts)
        """How often each was seen in training."""
        self._ids = {form: i for i, form in enumerate(self.forms, start=len(SPECIAL_TOKENS))}
        if len(self._ids) != len(self.forms):
            raise ValueError("A vocabulary lists a form twice.")
        if len(self.counts) != len(self.forms):
            raise ValueError(
                f"A vocabulary has {len(self.forms)} forms, {len(self.counts)} counts."
            )

    @staticmethod
    def build(counts: Mapping[str, int], *, size: int, min_count: int) -> "Vocab":
        """The most frequent forms seen `min_count` times or more; ties in order of the form.

        `size` is the most ids there may be, the special ones included.
        """
        if size <= len(SPECIAL_TOKENS):
            raise ValueError(
                f"A vocabulary of {size} has no room beside its {len(SPECIAL_TOKENS)} special "
                "tokens."
            )
        frequent = [(-count, form) for form, count in counts.items() if count >= min_count]
        kept = sorted(frequent)[: size - len(SPECIAL_TOKENS)]
        return Vocab([form for _, form in kept], [-count for count, _ in kept])

    def id_of(self, form: str) -> int:
        """The id of `form`, `UNK_ID` where it has none."""
        return self._ids.get(form, UNK_ID)

    def form(self, index: int) -> str:
        """The form of an id; a special id's name."""
        specials = len(SPECIAL_TOKENS)
        return SPECIAL_TOKENS[index] if index < specials else self.forms[index - specials]

    def __contains__(self, form: object) -> bool:
        return form in self._ids

    def __len__(self) -> int:
        return len(SPECIAL_TOKENS) + len(self.forms)

    @property
    def fingerprint(self) -> str:
        """A sha256 over the forms in their order."""
        return hashlib.sha256(json.dumps(self.forms).encode()).hexdigest()

    def save(self, path: Path) -> None:
        content = {"format": _FORMAT, "words": self.forms, "counts": self.counts}
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Vocab":
        """Raises `ModelError` where the file is missing or is not a vocabulary."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict):
                raise _damaged("it is not an object")
            return Vocab.from_dict(content)
        except OSError as error:
            raise ModelError(
                f"The vocabulary cannot be read: {error.strerror}.", where=str(path)
            ) from error
        except (ValueError, RecursionError) as error:
            raise ModelError(
                "The vocabulary is damaged: it is not JSON.", where=str(path)
            ) from error
        except ModelError as error:
            error.where = str(path)
            raise

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> "Vocab":
        """What `save` wrote. Raises `ModelError` where `content` is no vocabulary."""
        if content.get("format") != _FORMAT:
            raise ModelError(
                f"The vocabulary has format {content.get('format')!r}; this version of pgsum reads "
                f"format {_FORMAT}.",
                hint="use the version of pgsum that wrote it, or train again",
            )
        forms, counts = content.get("words"), content.get("counts")
        if not _is_list_of(forms, str):
            raise _damaged('"words" is not a list of strings')
        if not _is_list_of(counts, int) or not all(0 <= count < 2**63 for count in counts):
            raise _damaged('"counts" is not a list of whole numbers')
        for form in forms:  # no text has such a word, and no summary could be written with it
            if form.split() != [form] or form in SPECIAL_TOKENS:
                raise _damaged(f"{form!r} is no word")
        try:
            return Vocab(forms, counts)
        except ValueError as error:
            raise _damaged(str(error).removesuffix(".")) from error


def _is_list_of(value: object, kind: type[T]) -> TypeGuard[list[T]]:
    return isinstance(value, list) and all(type(item) is kind for item in value)


def _damaged(why: str) -> ModelError:
    return ModelError(f"The vocabulary is damaged: {why}.")
