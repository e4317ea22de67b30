"""lead-k: the first k sentences of a document, the baseline that news made hard to beat."""

from pgsum.text.sentences import split_sentences


def lead(document: str, k: int) -> str:
    """The first `k` sentences, one a line, so that ROUGE-Lsum sees the same sentences."""
    return "\n".join(split_sentences(document)[:k])
