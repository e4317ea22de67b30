"""A model laid out as tables: what it says depends on its source and on all it has read.

Its state carries a number, the memory of what was read; the next ids' log-probabilities, the
attention and p_gen are looked up by it. With `multiplier` 0 the memory is the last id alone (a
first-order chain); otherwise it is a hash of the whole prefix, so that a state which belongs to
another prefix shows in the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pgsum.decode.step import StepOutput

PAD, UNK, BOS, EOS = range(4)
SPECIALS = [PAD, UNK, BOS]


@dataclass(frozen=True)
class DrawnState:
    document: Tensor
    memory: Tensor
    coverage: Tensor
    prefix: Tensor

    def select(self, rows: Tensor) -> "DrawnState":
        return DrawnState(
            self.document[rows], self.memory[rows], self.coverage[rows], self.prefix[rows]
        )


class DrawnModel:
    """Sources of drawn tables, each (memories, vocab + its own number of OOVs)."""

    def __init__(
        self, log_probs: Sequence[Tensor], *, vocab: int, multiplier: int = 0, source: int = 5
    ) -> None:
        self.tables = list(log_probs)
        self.vocab = vocab
        self.multiplier = multiplier
        self.memories = len(self.tables[0])
        self.attention = [torch.rand(self.memories, source).softmax(-1) for _ in self.tables]
        self.p_gen = [torch.rand(self.memories) for _ in self.tables]
        self.calls: list[tuple[Tensor, DrawnState]] = []
        """What each step was given: the ids to read, and the state before it."""

    def alone(self, document: int) -> "DrawnModel":
        return self.rearranged([document])

    def rearranged(self, documents: Sequence[int]) -> "DrawnModel":
        model = DrawnModel(
            [self.tables[i] for i in documents], vocab=self.vocab, multiplier=self.multiplier
        )
        model.attention = [self.attention[i] for i in documents]
        model.p_gen = [self.p_gen[i] for i in documents]
        return model

    def start(self) -> DrawnState:
        documents = len(self.tables)
        return DrawnState(
            document=torch.arange(documents),
            memory=torch.zeros(documents, dtype=torch.long),
            coverage=torch.zeros(documents, self.attention[0].shape[1]),
            prefix=torch.zeros(documents, 0, dtype=torch.long),
        )

    def remember(self, memory: int, read: int) -> int:
        return (self.multiplier * memory + read) % self.memories

    def __call__(self, last_ids: Tensor, state: DrawnState) -> tuple[StepOutput, DrawnState]:
        self.calls.append((last_ids, state))
        read = zip(state.memory.tolist(), last_ids.tolist(), strict=True)
        memory = [self.remember(*pair) for pair in read]
        rows = list(zip(state.document.tolist(), memory, strict=True))
        size = max(table.shape[1] for table in self.tables)
        attention = torch.stack([self.attention[i][j] for i, j in rows])
        output = StepOutput(
            log_probs=torch.stack([self._extended(i, j, size) for i, j in rows]),
            attention=attention,
            p_gen=torch.stack([self.p_gen[i][j] for i, j in rows])[:, None],
        )
        following = DrawnState(
            document=state.document,
            memory=torch.tensor(memory),
            coverage=state.coverage + attention,
            prefix=torch.cat([state.prefix, last_ids[:, None]], 1),
        )
        return output, following

    def _extended(self, document: int, memory: int, size: int) -> Tensor:
        own = self.tables[document][memory]
        return torch.cat([own, own.new_full((size - len(own),), -torch.inf)])

    def memory_of(self, prefix: Sequence[int]) -> int:
        """Recomputed from nothing, as no search does it."""
        memory = 0
        for read in [BOS, *prefix]:
            memory = self.remember(memory, read)
        return memory

    def next_log_probs(self, document: int, prefix: Sequence[int]) -> list[float]:
        return self.tables[document][self.memory_of(prefix)].tolist()


def draw_model(
    seed: int,
    *,
    documents: int = 1,
    words: int = 4,
    oovs: Sequence[int] | None = None,
    multiplier: int = 0,
    sharpness: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> DrawnModel:
    """`words` is the fixed vocabulary without the four specials; `oovs` of each document."""
    torch.manual_seed(seed)
    oovs = [document % 3 for document in range(documents)] if oovs is None else oovs
    vocab = 4 + words
    memories = 97 if multiplier else vocab + max(oovs)
    return DrawnModel(
        [
            (sharpness * torch.randn(memories, vocab + own, dtype=dtype)).log_softmax(-1)
            for own in oovs
        ],
        vocab=vocab,
        multiplier=multiplier,
    )
