"""Scores by real summaries while a model is trained; the best model so far is kept."""

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl

from pgsum.data.batch import Batch
from pgsum.data.records import Pair
from pgsum.metrics.rouge import METRICS, Rouge
from pgsum.summarizer import Summarizer
from pgsum.training.callbacks import Say
from pgsum.training.checkpoint import gathered

_SHOWN_CHARS = 300


class SearchValidation(pl.Callback):
    """ROUGE of real summaries of a fixed sample; the best model so far is kept as a bundle.

    `keep` is called with the step and the scores (0 to 100) whenever `metric` is better than ever
    before, `kept` whether that bundle is there: of a training that goes on it may be gone. Several
    processes share the sample out and all know all of it in the end.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        pairs: tuple[Pair, ...],
        rouge: Rouge,
        *,
        metric: str,
        say: Say,
        keep: Callable[[int, dict[str, float]], object],
        kept: Callable[[], bool],
    ) -> None:
        self.summarizer = summarizer
        self.pairs = pairs
        self.rouge = rouge
        self.metric = metric
        self.say = say
        self.keep = keep
        self.kept = kept
        self.best: dict[str, float] | None = None
        self.improved = False
        """Whether the last validation was the best."""
        self.equal_will_do = False
        """The next model is kept if it is no worse."""

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        if trainer.global_step == trainer.max_steps:
            # Asked to stop, Lightning validates once more: the last weights are scored, too.
            trainer.should_stop = True

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        pl_module.eval()
        summaries = self.summaries(trainer)
        scores = self.scores(summaries)
        pl_module.log_dict({f"val_{name}": value for name, value in scores.items()})
        figures = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
        self.say(f"step {trainer.global_step:,}: {figures}")
        for pair, summary in list(zip(self.pairs, summaries, strict=True))[:2]:
            self.say(f"  reference: {_one_line(pair.references[0])}")
            self.say(f"  model:     {_one_line(summary)}")
        if len(set(summaries)) == 1 < len({pair.document for pair in self.pairs}):
            self.say(
                f"warning: all {len(summaries):,} summaries are the same: the model does not look "
                "at the documents. If that stays so, look at the data (`pgsum check`), or lower "
                "optim.lr."
            )
        score = scores[self.metric]
        best = None if self.best is None else self.best[self.metric]
        self.improved = best is None or score > best or (self.equal_will_do and score == best)
        if self.improved:
            self.best = scores
            self.equal_will_do = False
            self.keep(trainer.global_step, scores)

    def summaries(self, trainer: pl.Trainer) -> list[str]:
        """The best summary of each document, by the model as it is now."""
        rank, processes = trainer.global_rank, trainer.world_size
        own = [pair.document for pair in self.pairs[rank::processes]]
        found = [several[0].text for several in self.summarizer.summarize(own)] if own else []
        every = gathered(trainer, found)
        return [every[i % processes][i // processes] for i in range(len(self.pairs))]

    def scores(self, summaries: list[str]) -> dict[str, float]:
        """Mean F1 of each ROUGE, 0 to 100."""
        each = [
            self.rouge.score(summary, pair.references)
            for summary, pair in zip(summaries, self.pairs, strict=True)
        ]
        means = {name: 100 * sum(s[name].f for s in each) / len(each) for name in METRICS}
        means["rouge_mean"] = (means["rouge1"] + means["rouge2"] + means["rougeL"]) / 3
        return means

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "equal_will_do": self.equal_will_do}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best, self.equal_will_do = state_dict["best"], state_dict["equal_will_do"]
        if self.best is not None and not self.kept():
            self.say("warning: the best model so far is no longer there; the next one is kept")
            self.best = None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"
