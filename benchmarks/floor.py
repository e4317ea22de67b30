"""The least time that a training step can take on this machine, by counting.

Floating-point operations over the rate of a matrix product, evaluations of tanh over the rate of
`torch.tanh`, bytes over the rate of a copy, one after the other. The rates are measured in the same
rounds as the step itself.

Not counted: softmax, dropout, masks, sums and other elementwise work, the gradient of the keys,
whatever happens outside tensors. So the floor cannot be reached; and what stays in a cache moves
faster than a copy, so a part of it can be undercut.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from benchmarks.measure import Call, Timing
from pgsum.config import ModelConfig, OptimConfig
from pgsum.data.batch import Batch

FLOAT = 4  # bytes
PASSES = 3  # a product's backward pass is two products of its size


@dataclass(frozen=True)
class Size:
    """How much there is to read and to say in a batch, padding left out."""

    pairs: int
    source_tokens: int
    target_tokens: int
    looks: int
    """Source tokens seen from each target token, all together."""

    @classmethod
    def of(cls, batch: Batch) -> "Size":
        sources, targets = batch.source.source_mask.sum(1), batch.target_mask.sum(1)
        return cls(
            len(batch), int(sources.sum()), int(targets.sum()), int((sources * targets).sum())
        )


@dataclass(frozen=True)
class Work:
    """What a step has to do."""

    flops: float
    tanhs: float
    bytes: float

    @classmethod
    def mean(cls, works: "Sequence[Work]") -> "Work":
        return cls(
            *(sum(getattr(work, f.name) for work in works) / len(works) for f in fields(cls))
        )

    def time(self, rates: "Rates") -> Timing:
        return (
            rates.flop.times(self.flops)
            .plus(rates.tanh.times(self.tanhs))
            .plus(rates.byte.times(self.bytes))
        )


@dataclass(frozen=True)
class Rates:
    """What one of each takes."""

    flop: Timing
    tanh: Timing
    byte: Timing


def forward_flops(size: Size, model: ModelConfig, vocab_size: int) -> dict[str, int]:
    """Of each part's forward pass, in multiplications and additions.

    A linear map of n rows from a to b numbers takes 2 n a b. An LSTM is one such map from
    [input; hidden] to its 4 gates. Attention scores a query against each key, which takes 2 k for a
    key of k numbers in either form (q . key, or v . tanh), and sums the weighted states.
    """
    embedding, hidden = model.embedding_size, model.hidden_size
    encoder = 2 * hidden
    query = 2 * hidden if model.query_with_cell else hidden
    additive = model.attention == "additive"
    key = model.attention_size if additive else query
    output = model.output_size or embedding
    sources, targets = size.source_tokens, size.target_tokens
    layer_inputs = [embedding, *[encoder] * (model.layers - 1)]
    cell_inputs = [embedding, *[hidden] * (model.layers - 1)]
    return {
        "encoder": sum(2 * 2 * sources * (inputs + hidden) * 4 * hidden for inputs in layer_inputs),
        "bridge": 2 * 2 * size.pairs * encoder * hidden * model.layers,
        "keys": 2 * sources * encoder * key,
        "input": 2 * targets * (embedding + encoder) * embedding if model.input_feeding else 0,
        "decoder cell": sum(2 * targets * (inputs + hidden) * 4 * hidden for inputs in cell_inputs),
        "query": 2 * targets * query * key if additive else 0,
        "scores": 2 * size.looks * key,
        "context": 2 * size.looks * encoder,
        "gate": 2 * targets * (encoder + query + embedding) if model.pointer else 0,
        "output layer": 2 * targets * (hidden + encoder) * output,
        "projection": 2 * targets * output * vocab_size,
    }


def tanh_evaluations(size: Size, model: ModelConfig) -> dict[str, int]:
    """Of each part; a sigmoid counts as one.

    The additive form evaluates one for each look and each number of a key, and once more in the
    backward pass: kept, they would fill the memory. An LSTM cell has three gates, its new content
    and its output.
    """
    cells = model.layers * (2 * size.source_tokens + size.target_tokens)
    output = model.output_size or model.embedding_size
    return {
        "attention": 2 * size.looks * model.attention_size * (model.attention == "additive"),
        "cells": 5 * cells * model.hidden_size,
        "output layer": size.target_tokens * output * model.output_activation,
    }


def bytes_moved(
    size: Size, model: ModelConfig, optim: OptimConfig, vocab_size: int, parameters: int
) -> dict[str, int]:
    """Of each part, in float32.

    Of each weight: its gradient written, read for the norm that is clipped and read by the
    optimizer, the weight and what the optimizer remembers (one number in Adagrad, two in Adam) read
    and written. Where a step needs the step before, its keys and states are read anew, forward and
    backward; else each is read once for all steps. Logits are written and read.
    """
    remembered = 1 if optim.name == "adagrad" else 2
    query = 2 * model.hidden_size if model.query_with_cell else model.hidden_size
    key = model.attention_size if model.attention == "additive" else query
    sequential = model.input_feeding or model.coverage != "none" or model.query_with_cell
    reads = size.looks if sequential else size.source_tokens
    return {
        "weights": FLOAT * parameters * (3 + 2 + 2 * remembered),
        "keys and states": FLOAT * 2 * reads * (key + 2 * model.hidden_size),
        "logits": FLOAT * 2 * size.target_tokens * vocab_size,
    }


def work_of(
    batch: Batch, model: ModelConfig, optim: OptimConfig, *, vocab_size: int, parameters: int
) -> Work:
    """All that a training step on `batch` has to do."""
    size = Size.of(batch)
    return Work(
        flops=PASSES * sum(forward_flops(size, model, vocab_size).values()),
        tanhs=sum(tanh_evaluations(size, model).values()),
        bytes=sum(bytes_moved(size, model, optim, vocab_size, parameters).values()),
    )


class Probes:
    """Calls that are timed for their rates."""

    SIDE = 1024
    PRODUCTS = 8
    BLOCK = 2**17  # numbers: two blocks stay in a core's second cache
    BLOCKS = 100
    COPIED = 2**25  # numbers: more than a cache holds
    COPIES = 2

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.matrices = torch.randn(3, self.SIDE, self.SIDE)
        self.narrow = self.matrices.bfloat16()
        self.block = torch.randn(2, self.BLOCK)
        self.long = torch.zeros(2, self.COPIED)

    def calls(self) -> dict[str, Call]:
        """By name, to be timed along with others."""
        return {
            "float32 product": lambda: self._multiply(self.matrices),
            "bfloat16 product": lambda: self._multiply(self.narrow),
            "tanh": self._tanh,
            "copy": self._copy,
        }

    def rates(self, timings: Mapping[str, Timing], *, bfloat16: bool = False) -> Rates:
        one = {name: timings[name].times(1 / count) for name, count in self._counts().items()}
        product = one["bfloat16 product" if bfloat16 else "float32 product"]
        return Rates(flop=product, tanh=one["tanh"], byte=one["copy"])

    def per_second(self, timings: Mapping[str, Timing]) -> dict[str, float]:
        """Operations, evaluations and bytes, by the name of the call."""
        return {name: count / timings[name].wall for name, count in self._counts().items()}

    def _counts(self) -> dict[str, int]:
        """How many a call of each is."""
        product = self.PRODUCTS * 2 * self.SIDE**3
        return {
            "float32 product": product,
            "bfloat16 product": product,
            "tanh": self.BLOCKS * self.BLOCK,
            "copy": self.COPIES * 2 * FLOAT * self.COPIED,  # each number is read and written
        }

    def _multiply(self, matrices: Tensor) -> None:
        for _ in range(self.PRODUCTS):
            torch.mm(matrices[0], matrices[1], out=matrices[2])

    def _tanh(self) -> None:
        for _ in range(self.BLOCKS):
            torch.tanh(self.block[0], out=self.block[1])

    def _copy(self) -> None:
        for _ in range(self.COPIES):
            self.long[1].copy_(self.long[0])
