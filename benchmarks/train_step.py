"""A training step: forward, backward, clipping and the optimizer, against the plain twin's.

`train-see2017` is the preset on a full-length batch of random words, `train-pointer-generator` the
default model with the quickstart's text settings on bucketed batches of the built-in corpus. Both
without dropout, of which the twin knows nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from random import Random

import torch
from reference import plain_twin
from torch import Tensor
from torch.optim import Optimizer

from benchmarks.equality import check_gradients
from benchmarks.floor import Probes, Size, Work, work_of
from benchmarks.measure import Call, interleaved
from benchmarks.memory import peak_memory
from benchmarks.pairs import SEED, docstrings, random_example
from benchmarks.report import Figures, Result
from pgsum.build import build_model
from pgsum.config import Config, OptimConfig, load_config
from pgsum.data.batch import Batch, collate
from pgsum.data.bucketing import BucketedBatches
from pgsum.data.prepare import example_of_row
from pgsum.nn.model import PointerGenerator
from pgsum.training.module import TrainingModule, build_optimizer

LossOf = Callable[[Batch], Tensor]
TWIN, OURS, OURS_BFLOAT16 = "plain twin", "pgsum", "pgsum, bfloat16 products"


@dataclass(frozen=True)
class Training:
    """A model to train and batches to train it on; one call of a side goes through them all."""

    config: Config
    vocab_size: int
    batches: Sequence[Batch]
    small_batch: Batch
    """To compare gradients on in float64."""

    def model(self) -> PointerGenerator:
        """With fresh weights, the same each time."""
        torch.manual_seed(SEED)
        return build_model(self.config.model, self.vocab_size)

    def sides(self) -> dict[str, Callable[[], Call]]:
        """What makes each side ready, and gives the call that is timed."""
        return {
            TWIN: self.twin,
            OURS: self.ours,
            OURS_BFLOAT16: partial(self.ours, bfloat16_products=True),
        }

    def twin(self) -> Call:
        model = self.model()
        optimizer = plain_optimizer(model, self.config.optim)
        return self._call(model, optimizer, lambda batch: plain_twin.loss(model, batch))

    def ours(self, *, bfloat16_products: bool = False) -> Call:
        model = self.model()
        optimizer = build_optimizer(model, self.config.optim)
        loss = loss_of(model, self.config, bfloat16_products=bfloat16_products)
        return self._call(model, optimizer, loss)

    def _call(self, model: PointerGenerator, optimizer: Optimizer, loss: LossOf) -> Call:
        clip_norm = self.config.optim.clip_norm
        return lambda: train(model, optimizer, loss, self.batches, clip_norm=clip_norm)

    def check(self) -> dict[str, float]:
        """The largest differences from the twin, by what they are of."""
        worst = {}
        model = self.model()
        with torch.no_grad():
            # With fresh weights the gradient of a query is a sum of terms that nearly cancel: its
            # rounding alone may be as large as itself.
            for parameter in model.parameters():
                parameter.uniform_(-0.2, 0.2)
        for dtype, batch in ((torch.float32, self.batches[0]), (torch.float64, self.small_batch)):
            model.to(dtype)
            what, share = check_gradients(model, batch, loss_of(model, self.config))
            worst[f"{dtype}, {what}".removeprefix("torch.")] = share
        return worst

    def work(self) -> Work:
        """Of the average step."""
        parameters = sum(parameter.numel() for parameter in self.model().parameters())
        works = [
            work_of(
                batch,
                self.config.model,
                self.config.optim,
                vocab_size=self.vocab_size,
                parameters=parameters,
            )
            for batch in self.batches
        ]
        return Work.mean(works)


def see2017(*, quick: bool = False) -> Training:
    """Batch 16, source 400, target 100, vocabulary 50,000, coverage from the start."""
    config = load_config(["model=see2017"])
    vocab_size, batch, source, target = 50_000, 16, 400, 100
    if quick:
        vocab_size, batch, source, target = 500, 2, 30, 5
    rng = Random(SEED)

    def examples(lengths: Sequence[tuple[int, int]]) -> Batch:
        return collate([random_example(rng, vocab_size, *pair) for pair in lengths])

    return Training(
        config,
        vocab_size,
        batches=[examples([(source, target)] * batch)],
        small_batch=examples([(30, 7), (60, 12), (45, 3)]),
    )


def pointer_generator(*, quick: bool = False) -> Training:
    """Real batches, of like length on both sides."""
    corpus = docstrings()
    config = replace(corpus.config, model=replace(corpus.config.model, dropout=0.0))
    trainer, prepared = config.trainer, corpus.prepared
    chosen = BucketedBatches(
        prepared.source_lengths,
        prepared.target_lengths,
        batch_size=trainer.batch_size,
        batch_tokens=trainer.batch_tokens,
        seed=trainer.seed,
    )
    batches = [
        [example_of_row(prepared.train[i]) for i in indices]
        for indices in islice(chosen, 2 if quick else 10)
    ]
    return Training(
        config,
        len(prepared.vocab),
        batches=[collate(examples) for examples in batches],
        small_batch=collate(batches[0][:8]),
    )


TRAININGS: Mapping[str, Callable[..., Training]] = {
    "train-see2017": see2017,
    "train-pointer-generator": pointer_generator,
}


def train(
    model: PointerGenerator,
    optimizer: Optimizer,
    loss: LossOf,
    batches: Iterable[Batch],
    *,
    clip_norm: float,
) -> None:
    """A step on each batch, as Lightning makes it."""
    for batch in batches:
        optimizer.zero_grad()
        loss(batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()


def loss_of(model: PointerGenerator, config: Config, *, bfloat16_products: bool = False) -> LossOf:
    """What `pgsum train` minimises."""
    module = TrainingModule(
        model,
        config.optim,
        max_steps=config.trainer.max_steps,
        usual_tokens=1.0,
        bfloat16_products=bfloat16_products,
        log_every=config.trainer.log_every,
    )
    return lambda batch: module.loss(batch).total


def plain_optimizer(model: PointerGenerator, config: OptimConfig) -> Optimizer:
    """As torch has it when nothing else is asked for."""
    if config.name == "adagrad":
        return torch.optim.Adagrad(
            model.parameters(), lr=config.lr, initial_accumulator_value=config.accumulator
        )
    return torch.optim.Adam(model.parameters(), lr=config.lr)


def measure(name: str, *, repeats: int, quick: bool) -> Result:
    """Time, memory and floor of a step of `TRAININGS[name]`, once both sides proved equal."""
    training = TRAININGS[name](quick=quick)
    checks = training.check()
    probes = Probes()
    calls = {side: prepare() for side, prepare in training.sides().items()}
    timings = interleaved(calls | probes.calls(), repeats)
    work = training.work()
    return Result(
        name=name,
        unit="step",
        details={
            "vocabulary": training.vocab_size,
            "batches": [asdict(Size.of(batch)) for batch in training.batches],
            "work of a step": asdict(work),
            "rates, a second": probes.per_second(timings),
        },
        sides={
            side: Figures(
                timings[side].times(1 / len(training.batches)),
                peak_memory(name, side, quick=quick),
                floor=work.time(probes.rates(timings, bfloat16=side == OURS_BFLOAT16)),
            )
            for side in calls
        },
        baseline=TWIN,
        checks=checks,
    )
