"""Batches of like length on both sides, a pure function of (seed, batch index).

Padding on the target side multiplies the decoder's sequential work, padding on the source side
the attention's; so both lengths decide who shares a batch. Batch number i depends on nothing but
the seed and i: a training that is resumed sees the very batches it would have seen.
"""

from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler

from pgsum.data.example import Lengths


class BucketedBatches(Sampler[list[int]]):
    """An endless sequence of batches; each pass over the data is shuffled anew.

    A pass is cut into pools of `pool` batches' worth of shuffled pairs; a pool is sorted by length
    and cut into batches under both limits; the batches of the pass are then shuffled. The last,
    smaller batch of a pool is kept. Of several processes, number `rank` of `processes` gets every
    such batch in turn; `start` counts its own.
    """

    def __init__(
        self,
        source_lengths: Lengths,
        target_lengths: Lengths,
        *,
        batch_size: int,
        batch_tokens: int,
        seed: int,
        start: int = 0,
        rank: int = 0,
        processes: int = 1,
        pool: int = 100,
    ) -> None:
        if len(source_lengths) != len(target_lengths) or not len(source_lengths):
            raise ValueError(
                f"Bucketing needs as many source lengths ({len(source_lengths)}) as target lengths"
                f" ({len(target_lengths)}), and at least one."
            )
        self.source_lengths = source_lengths
        self.target_lengths = target_lengths
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.first = start * processes + rank
        self.every = processes
        self.pool = pool

    def batches_of_pass(self, number: int) -> list[list[int]]:
        """The batches of pass `number`, in order."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.source_lengths))
        size = self.pool * self.batch_size
        batches: list[list[int]] = []
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            batches.extend(self._cut(chosen))
        rng.shuffle(batches)
        return batches

    def _cut(self, chosen: Lengths) -> list[list[int]]:
        """One pool, sorted by length and cut where either limit would be passed."""
        # Target length in steps of 4 first, then source length: like on the side that loops, and
        # near on the other. Every other step runs from long to short, so that a batch across two
        # steps holds no longest beside a shortest.
        groups = self.target_lengths[chosen] // 4
        sources = self.source_lengths[chosen]
        order = np.lexsort((np.where(groups % 2, -sources, sources), groups))
        batches: list[list[int]] = []
        batch: list[int] = []
        source = target = 0
        for index in chosen[order].tolist():
            own = int(self.source_lengths[index]), int(self.target_lengths[index])
            source, target = max(source, own[0]), max(target, own[1])
            full = len(batch) == self.batch_size
            if batch and (full or (source + target) * (len(batch) + 1) > self.batch_tokens):
                batches.append(batch)
                batch = []
                source, target = own
            batch.append(index)
        batches.append(batch)
        return batches

    def __iter__(self) -> Iterator[list[int]]:
        number, skip = 0, self.first
        while True:
            batches = self.batches_of_pass(number)
            own = batches[skip :: self.every]
            yield from own
            skip += len(own) * self.every - len(batches)
            number += 1
