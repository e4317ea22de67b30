"""What is measured on: the built-in corpus with the quickstart's settings, and random words."""

from dataclasses import dataclass
from functools import cache
from random import Random

from pgsum.config import Config, load_config
from pgsum.data.example import Example, Source
from pgsum.data.prepare import Prepared, prepare
from pgsum.data.sources import Corpus, open_corpus
from pgsum.text.vocab import BOS_ID, EOS_ID, SPECIAL_TOKENS, UNK_ID

SETTINGS = ("experiment=quickstart",)
SEED = 1
HELD_OUT = 64


@dataclass(frozen=True)
class Docstrings:
    """The corpus as text and as ids; `HELD_OUT` of its validation pairs."""

    config: Config
    corpus: Corpus
    prepared: Prepared


@cache
def docstrings() -> Docstrings:
    """From pgsum's cache, where it was read before."""
    config = load_config(SETTINGS)
    corpus = open_corpus(config.data)
    return Docstrings(config, corpus, prepare(corpus, config.text, validation_pairs=HELD_OUT))


def random_example(rng: Random, vocab_size: int, source: int, target: int) -> Example:
    """A random source, and a target every fourth word of which is copied from it."""
    read = random_source(rng, vocab_size, source)
    said = [
        rng.choice(read.source_extended_ids) if i % 4 == 0 else draw(rng, vocab_size)
        for i in range(target - 1)
    ]
    return Example(
        read,
        target_input_ids=[BOS_ID, *(word if word < vocab_size else UNK_ID for word in said)],
        target_extended_ids=[*said, EOS_ID],
    )


def random_source(rng: Random, vocab_size: int, tokens: int) -> Source:
    """Words drawn alike from the vocabulary, and one in 25 that is not in it."""
    oovs = tokens // 25
    words = [draw(rng, vocab_size) for _ in range(tokens - oovs)]
    words += range(vocab_size, vocab_size + oovs)
    rng.shuffle(words)
    return Source(
        source_ids=[word if word < vocab_size else UNK_ID for word in words],
        source_extended_ids=words,
        source_oovs=tuple(f"oov{i}" for i in range(oovs)),
    )


def draw(rng: Random, vocab_size: int) -> int:
    """A word of the vocabulary."""
    return rng.randrange(len(SPECIAL_TOKENS), vocab_size)
