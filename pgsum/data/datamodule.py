"""The LightningDataModule: wiring only."""

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
    """Endless bucketed batches to train on, and the fixed sample to validate on."""

    def __init__(self, prepared: Prepared, config: TrainerConfig) -> None:
        super().__init__()
        self.prepared = prepared
        self.trainer_config = config

    def train_dataloader(self) -> DataLoader[Batch]:
        batches = BucketedBatches(
            self.prepared.source_lengths,
            self.prepared.target_lengths,
            batch_size=self.trainer_config.batch_size,
            batch_tokens=self.trainer_config.batch_tokens,
            seed=self.trainer_config.seed,
        )
        return DataLoader(self.prepared.train, batch_sampler=batches, collate_fn=collate_rows)

    def val_dataloader(self) -> DataLoader[Batch]:
        examples: list[Example] = sorted(
            self.prepared.validation_examples, key=lambda e: len(e.source.source_ids)
        )
        return DataLoader(
            examples,  # type: ignore[arg-type]  # a list is a dataset to torch
            batch_size=self.trainer_config.batch_size,
            collate_fn=collate,
        )
