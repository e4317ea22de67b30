"""Beam search, documents a second: in batches of 1, 16 and 64, against the plain twin's.

`decode-trained` searches held-out docstrings with a model trained here for a short while, once both
sides have found the same hypotheses. `decode-see2017` has the preset's sizes and random weights,
and is for the time only.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

import torch
from reference import plain_twin

from benchmarks.equality import check_hypotheses
from benchmarks.measure import Call, interleaved
from benchmarks.pairs import SEED, Docstrings, docstrings, random_source
from benchmarks.report import Figures, Result
from benchmarks.train_step import TWIN, loss_of, train
from pgsum.build import build_model
from pgsum.config import DecodeConfig, ModelConfig, load_config
from pgsum.data.batch import collate_sources
from pgsum.data.datamodule import SummarizationData
from pgsum.data.example import Source
from pgsum.engine import use_bfloat16
from pgsum.generate import generate
from pgsum.nn.model import PointerGenerator
from pgsum.text.tokenize import lookup_form, tokenize
from pgsum.text.vocab import EOS_ID
from pgsum.training.module import build_optimizer

BATCH_SIZES = (1, 16, 64)
COMPARED = 32
"""Documents whose hypotheses are compared."""


@dataclass(frozen=True)
class Searching:
    """A model, what it searches and how."""

    model: PointerGenerator
    sources: Sequence[Source]
    """From short to long, as `pgsum summarize` has them."""
    config: DecodeConfig
    exempt_ids: Sequence[int]
    fewest: int
    """Documents that a call goes through at least."""

    def chosen(self, batch_size: int) -> Sequence[Source]:
        """The documents of a call: as many as a batch needs."""
        return self.sources[: max(batch_size, self.fewest)]

    def twin(self) -> Call:
        documents = [
            (
                collate_sources([source]),
                plain_twin.settings_for(self.config, len(source.source_ids), self.exempt_ids),
            )
            for source in self.chosen(1)
        ]

        def call() -> None:
            for document, settings in documents:
                plain_twin.beam_search(
                    self.model, document, settings, beam_size=self.config.beam_size
                )

        return call

    def ours(self, batch_size: int) -> Call:
        sources = self.chosen(batch_size)
        batches = [
            collate_sources(sources[first : first + batch_size])
            for first in range(0, len(sources), batch_size)
        ]

        def call() -> None:
            for batch in batches:
                generate(self.model, batch, self.config, exempt_ids=self.exempt_ids)

        return call

    def check(self) -> dict[str, float]:
        """The largest difference of a score from the twin's, where the words are the same."""
        compared = self.sources[:: max(1, len(self.sources) // COMPARED)][:COMPARED]
        everything = replace(self.config, n_best=self.config.beam_size)
        exact = copy.deepcopy(self.model).double()
        worst = check_hypotheses(exact, compared, everything, self.exempt_ids)
        return {f"float64, scores of {len(compared)} documents' hypotheses": worst}


def trained(*, quick: bool = False) -> Searching:
    """Held-out docstrings, and a model that was trained for a while on the others."""
    corpus = docstrings()
    held_out = [example.source for example in corpus.prepared.validation_examples]
    sources = sorted(held_out, key=lambda source: len(source.source_ids))[:: 8 if quick else 1]
    return Searching(
        train_for_a_while(corpus, steps=5 if quick else 200),
        sources,
        corpus.config.decode,
        exempt_ids=exempt_ids_of(corpus),
        fewest=len(sources),
    )


def see2017(*, quick: bool = False) -> Searching:
    """Sources of 400 random words, a vocabulary of 50,000, 35 to 120 tokens to say."""
    config = load_config(["model=see2017"])
    vocab_size, tokens, documents = (500, 9, 4) if quick else (50_000, 400, max(BATCH_SIZES))
    rng = Random(SEED)
    return Searching(
        random_model(config.model, vocab_size),
        [random_source(rng, vocab_size, tokens) for _ in range(documents)],
        config.decode,
        exempt_ids=(),
        fewest=4,
    )


SEARCHES: Mapping[str, Callable[..., Searching]] = {
    "decode-trained": trained,
    "decode-see2017": see2017,
}


def measure(name: str, *, repeats: int, quick: bool) -> Result:
    """Time of a document of `SEARCHES[name]`; where the model is trained, once it proved equal."""
    searching = SEARCHES[name](quick=quick)
    checks = searching.check() if name == "decode-trained" else {}
    sizes = {TWIN: 1, **{f"pgsum, batch {size}": size for size in BATCH_SIZES}}
    calls = {
        side: searching.twin() if side == TWIN else searching.ours(size)
        for side, size in sizes.items()
    }
    timings = interleaved(calls, repeats)
    documents = {side: len(searching.chosen(size)) for side, size in sizes.items()}
    return Result(
        name=name,
        unit="document",
        details={"vocabulary": searching.model.vocab_size, "documents": documents},
        sides={
            side: Figures(timing.times(1 / documents[side])) for side, timing in timings.items()
        },
        baseline=TWIN,
        checks=checks,
    )


def random_model(config: ModelConfig, vocab_size: int) -> PointerGenerator:
    """One that looks at single words, at none of them for long, and comes to an end.

    With smaller weights it looks everywhere at once and says one word for ever.
    """
    torch.manual_seed(SEED)
    model = build_model(config, vocab_size).eval()
    relevance = model.decoder.attention.relevance
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.2, 0.2)
        relevance.v.weight *= 5
        relevance.coverage.weight.copy_(-relevance.v.weight.T)
        model.projection.bias[EOS_ID] += 5.5  # ends after 35 to 60 tokens
    return model


def train_for_a_while(corpus: Docstrings, *, steps: int) -> PointerGenerator:
    """The quickstart's first steps, at its full learning rate."""
    config, prepared = corpus.config, corpus.prepared
    torch.manual_seed(config.trainer.seed)
    model = build_model(config.model, len(prepared.vocab))
    bfloat16 = use_bfloat16(config.trainer.precision, torch.device("cpu"))
    train(
        model,
        build_optimizer(model, config.optim),
        loss_of(model, config, bfloat16_products=bfloat16),
        islice(SummarizationData(prepared, config.trainer).train_dataloader(), steps),
        clip_norm=config.optim.clip_norm,
    )
    return model.eval()


def exempt_ids_of(corpus: Docstrings) -> list[int]:
    """Of the words that `decode.may_repeat` names, those of the vocabulary."""
    vocab, lowercase = corpus.prepared.vocab, corpus.config.text.lowercase
    tokens = tokenize(corpus.config.decode.may_repeat or "")
    forms = [lookup_form(token.text, lowercase=lowercase) for token in tokens]
    return [vocab.id_of(form) for form in forms if form in vocab]
