"""The LightningDataModule: wiring only."""

from itertools import islice
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader

from pgsum.config import TrainerConfig
from pgsum.data.batch import Batch, collate
from pgsum.data.bucketing import BucketedBatches
from pgsum.data.example import Example
from pgsum.data.prepare import Prepared, example_of_row


def collate_rows(rows: list[dict[str, Any]]) -> Batch:
    """Rows of the prepared training set as a batch."""
    return collate([example_of_row(row) for row in rows])


class SummarizationData(pl.LightningDataModule):
    """Endless bucketed batches to train on, and the fixed sample to validate on.

    Its state is how many batches each process has been given: a training that goes on gets the very
    batches that it would have got.
    """

    def __init__(self, prepared: Prepared, config: TrainerConfig) -> None:
        super().__init__()
        self.prepared = prepared
        self.trainer_config = config
        self.start = 0

    def train_dataloader(self) -> DataLoader[Batch]:
        return DataLoader(
            self.prepared.train,
            batch_sampler=self._batches(
                self.start,
                rank=self.trainer.global_rank if self.trainer else 0,
                processes=self.trainer.world_size if self.trainer else 1,
            ),
            collate_fn=collate_rows,
            num_workers=self.trainer_config.loader_workers,
        )

    def val_dataloader(self) -> DataLoader[Batch]:
        examples: list[Example] = sorted(
            self.prepared.validation_examples, key=lambda e: len(e.source.source_ids)
        )
        return DataLoader(
            examples,  # type: ignore[arg-type]  # a list is a dataset to torch
            batch_size=self.trainer_config.batch_size,
            collate_fn=collate,
        )

    def ids_of_steps(self, steps: list[int]) -> list[str]:
        """The pairs that steps, counted from 1, are made of, over all processes."""
        processes = self.trainer.world_size if self.trainer else 1
        each = self.trainer_config.accumulate * processes
        batches = (
            batch for step in steps for batch in islice(self._batches((step - 1) * each), each)
        )
        return [self.prepared.train[row]["id"] for batch in batches for row in batch]

    def state_dict(self) -> dict[str, Any]:
        assert self.trainer is not None
        return {"batches": self.trainer.fit_loop.epoch_loop.batch_progress.total.completed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.start = state_dict["batches"]

    def _batches(self, start: int, *, rank: int = 0, processes: int = 1) -> BucketedBatches:
        return BucketedBatches(
            self.prepared.source_lengths,
            self.prepared.target_lengths,
            batch_size=self.trainer_config.batch_size,
            batch_tokens=self.trainer_config.batch_tokens,
            seed=self.trainer_config.seed,
            start=start,
            rank=rank,
            processes=processes,
        )
