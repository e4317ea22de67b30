"""Which pieces of a summary stand in its document word by word, and how long they are.

Extractive fragments after Grusky et al., "Newsroom" (2018): from each word on, the
longest piece that the document has too; after a piece, or a word that the document lacks, from the
next word. Their program goes on behind a match in the document, so that of a piece that overlaps
itself it may find less than the longest. Words are those of `copying`, while theirs have
punctuation, too; so figures are compared among each other, not with their paper's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pgsum.metrics.copying import Ratio, words_of


@dataclass(frozen=True)
class Fragments:
    """The lengths, in words, of a summary's fragments, and the words of both texts.

    The parts of each ratio add up over a corpus.
    """

    lengths: tuple[int, ...]
    summary_words: int
    document_words: int

    @property
    def coverage(self) -> Ratio:
        """The words of the summary that lie on a fragment."""
        return Ratio(sum(self.lengths), self.summary_words)

    @property
    def density(self) -> Ratio:
        """The mean length of the fragment that a word of the summary lies on."""
        return Ratio(sum(length * length for length in self.lengths), self.summary_words)

    @property
    def compression(self) -> Ratio:
        """Words of the document for each of the summary."""
        return Ratio(self.document_words, self.summary_words)

    @property
    def mean_length(self) -> Ratio:
        """Copied words for each fragment: the mean copied span."""
        return Ratio(sum(self.lengths), len(self.lengths))

    @property
    def longest(self) -> int:
        """The longest copied span; 0 where nothing was copied."""
        return max(self.lengths, default=0)


def fragments(summary: str, document: str, *, tokenizer: str = "unicode") -> Fragments:
    """The extractive fragments of `summary`, in time linear in both texts."""
    written, source = words_of(summary, tokenizer), words_of(document, tokenizer)
    follows = _pieces_of(source)
    lengths = []
    start = 0
    while start < len(written):
        piece, end = 0, start
        while end < len(written) and (longer := follows[piece].get(written[end])):
            piece, end = longer, end + 1
        if end > start:
            lengths.append(end - start)
        start = max(end, start + 1)
    return Fragments(tuple(lengths), len(written), len(source))


def _pieces_of(words: Sequence[str]) -> list[dict[str, int]]:
    """The suffix automaton of `words` (Blumer et al. 1985).

    By state, the states that follow by word. From state 0, the empty piece, exactly the pieces of
    `words` can be followed; no word leads back to it.
    """
    follows: list[dict[str, int]] = [{}]
    longest, suffix = [0], [-1]  # by state: its longest piece, the state of what ends that
    last = 0
    for word in words:
        new = _add_state(follows, longest, suffix, {}, longest[last] + 1, 0)
        state = last
        while state >= 0 and word not in follows[state]:
            follows[state][word] = new
            state = suffix[state]
        if state >= 0:
            seen = follows[state][word]
            if longest[seen] > longest[state] + 1:  # more than this piece ends so: part them
                shorter = _add_state(
                    follows, longest, suffix, dict(follows[seen]), longest[state] + 1, suffix[seen]
                )
                while state >= 0 and follows[state].get(word) == seen:
                    follows[state][word] = shorter
                    state = suffix[state]
                suffix[seen] = seen = shorter
            suffix[new] = seen
        last = new
    return follows


def _add_state(
    follows: list[dict[str, int]],
    longest: list[int],
    suffix: list[int],
    following: dict[str, int],
    length: int,
    end: int,
) -> int:
    follows.append(following)
    longest.append(length)
    suffix.append(end)
    return len(follows) - 1
