"""random-k: k sentences by chance, below which no system should fall."""

from random import Random

from pgsum.text.sentences import split_sentences


def random_k(document: str, k: int, *, seed: int) -> str:
    """`k` sentences, or all where there are fewer, in the document's order, one a line.

    Chance is of the document and `seed` alone: neither the order of documents nor the process that
    asks makes a difference.
    """
    sentences = split_sentences(document)
    rng = Random(f"{seed} {document}".encode("utf-8", "surrogatepass"))
    drawn = rng.sample(range(len(sentences)), min(k, len(sentences)))
    return "\n".join(sentences[i] for i in sorted(drawn))
