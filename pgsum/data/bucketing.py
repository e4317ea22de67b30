"""Batches of like length on both sides, a pure function of (seed, batch index).

Padding on the target side multiplies the decoder's sequential work, padding on the source side
the attention's; so both lengths decide who shares a batch. Batch number i depends on nothing but
the seed and i: a training that is resumed sees the very batches it would have seen.
"""

from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler

from pgsum.data.example import Lengths

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Places of pairs, in 8 bytes each; in a list it would be 40."""


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

    def batches_of_pass(self, number: int) -> list[Indices]:
        """The batches of pass `number`, in order."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.source_lengths))
        size = self.pool * self.batch_size
        batches: list[Indices] = []
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            batches.extend(self._cut(chosen))
        rng.shuffle(batches)
        return batches

    def _cut(self, chosen: Indices) -> list[Indices]:
        """One pool, sorted by length and cut where either limit would be passed."""
        # Target length in steps of 4 first, then source length: like on the side that loops, and
        # near on the other. Every other step runs from long to short, so that a batch across two
        # steps holds no longest beside a shortest.
        groups = self.target_lengths[chosen] // 4
        sources = self.source_lengths[chosen]
        chosen = chosen[np.lexsort((np.where(groups % 2, -sources, sources), groups))]
        starts = [0]
        source = target = 0
        lengths = self.source_lengths[chosen].tolist(), self.target_lengths[chosen].tolist()
        for place, own in enumerate(zip(*lengths, strict=True)):
            source, target = max(source, own[0]), max(target, own[1])
            before = place - starts[-1]
            full = before == self.batch_size
            if before and (full or (source + target) * (before + 1) > self.batch_tokens):
                starts.append(place)
                source, target = own
        return np.split(chosen, starts[1:])

    def __iter__(self) -> Iterator[list[int]]:
        number, skip = 0, self.first
        while True:
            batches = self.batches_of_pass(number)
            own = batches[skip :: self.every]
            yield from (batch.tolist() for batch in own)
            skip += len(own) * self.every - len(batches)
            number += 1
