"""The vocabulary, followed by the words of one source that are not in it.

Extended ids below `len(vocab)` are the vocabulary's own; only a pointer can produce those above.
"""

from collections.abc import Iterable

from pgsum.text.vocab import UNK_ID, Vocab


class ExtendedVocab:
    """Ids for every form of one source."""

    def __init__(self, vocab: Vocab, source_oovs: tuple[str, ...]) -> None:
        self.vocab = vocab
        self.source_oovs = source_oovs
        """Forms outside `vocab`, in order of first use; the form of id `len(vocab) + i` at `i`."""
        self._oov_ids = {form: i for i, form in enumerate(source_oovs, start=len(vocab))}

    @staticmethod
    def from_source(vocab: Vocab, source_forms: Iterable[str]) -> "ExtendedVocab":
        """Extend by the forms that the model reads: cut the source first, then extend."""
        return ExtendedVocab(vocab, tuple(dict.fromkeys(f for f in source_forms if f not in vocab)))

    def id_of(self, form: str) -> int:
        """The extended id of `form`; `UNK_ID` where neither vocabulary nor source has it."""
        index = self.vocab.id_of(form)
        return self._oov_ids.get(form, UNK_ID) if index == UNK_ID else index

    def form(self, index: int) -> str:
        size = len(self.vocab)
        return self.vocab.form(index) if index < size else self.source_oovs[index - size]

    def __len__(self) -> int:
        return len(self.vocab) + len(self.source_oovs)
