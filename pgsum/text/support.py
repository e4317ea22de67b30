"""Words that a document must hold to be believed in its summary: numbers and names."""

from pgsum.text.casing import Casing
from pgsum.text.vocab import SPECIAL_TOKENS, Vocab


def ids_needing_support(vocab: Vocab, casing: Casing) -> list[int]:
    """Ids of the words that hold a digit, or whose usual form inside a sentence has a capital.

    A vocabulary that keeps case has "The" beside "the": of such a pair the more frequent is usual.
    """
    return [
        index
        for index, form in enumerate(vocab.forms, start=len(SPECIAL_TOKENS))
        if any(map(str.isdigit, form)) or _is_name(index, casing.usual.get(form, form), vocab)
    ]


def _is_name(index: int, usual: str, vocab: Vocab) -> bool:
    """Whether a word that is usually written so is a name; `vocab` lists frequent words first."""
    lower = usual.lower()
    return usual != lower and not (lower in vocab and vocab.id_of(lower) < index)
