"""The pointer-generator: encoder, decoder that attends, and the two ways to say a word, mixed.

Knows ids and tensors. The words behind the ids, and search, are others' business.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from pgsum.nn.decoder import Decoder, DecoderOutput, DecoderState, EncodedSource
from pgsum.nn.loss import Loss, summed_log_prob
from pgsum.nn.pointer import (
    copy_log_probs,
    extended_log_probs_,
    first_positions,
    only_supported_,
)


class PointerGenerator(nn.Module):
    """See et al. 2017, and its family: any encoder, any decoder, with and without the pointer.

    One embedding table serves source and target. `unk_id` stands for each word outside the
    vocabulary wherever a word is read; extended ids only ever name what is pointed at.
    """

    def __init__(
        self,
        *,
        embedding: nn.Embedding,
        encoder: nn.Module,
        decoder: Decoder,
        projection: nn.Linear,
        unk_id: int,
        coverage_weight: float,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.decoder = decoder
        self.projection = projection
        self.unk_id = unk_id
        self.coverage_weight = coverage_weight
        self.dropout = dropout

    @property
    def vocab_size(self) -> int:
        return self.embedding.num_embeddings

    @property
    def pointer(self) -> bool:
        """Whether it can copy."""
        return self.decoder.gate is not None

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens embedding"]:
        """Vectors of ids; an extended id, which has none, reads as UNK."""
        known = torch.where(ids < self.vocab_size, ids, self.unk_id)
        return F.dropout(self.embedding(known), self.dropout, self.training)

    def encode(
        self,
        source_ids: Int[Tensor, "batch source"],
        source_extended_ids: Int[Tensor, "batch source"],
        source_mask: Bool[Tensor, "batch source"],
        max_source_oovs: int,
    ) -> DecoderState:
        """The state before the first step: each source read and its keys projected, once."""
        encoded = self.encoder(self.embed(source_ids), source_mask)
        keys, values = self.decoder.project(encoded)
        source = EncodedSource(
            keys,
            values,
            source_mask,
            source_extended_ids,
            first_positions(source_extended_ids),
            max_source_oovs,
        )
        return self.decoder.start(encoded, source)

    def teacher_forced(
        self, state: DecoderState, target_input_ids: Int[Tensor, "batch target"]
    ) -> DecoderOutput:
        """Every step's output when the gold words are read."""
        output: DecoderOutput = self.decoder(self.embed(target_input_ids), state)[0]
        return output

    def loss(
        self,
        state: DecoderState,
        target_input_ids: Int[Tensor, "batch target"],
        target_extended_ids: Int[Tensor, "batch target"],
        gold_positions: Int[Tensor, " tokens"],
        *,
        label_smoothing: float = 0.0,
    ) -> Loss:
        """The loss of a batch whose sources `state` has read.

        The output projection runs over the targets' `gold_positions` (row by row) only, and only
        the gold word's part of the mixture is computed. A gold word that is neither in the
        vocabulary nor in the source has no probability to raise: it is not among them, nor in the
        denominator. Without a pointer a gold word that is in the source alone is learned as UNK.
        `label_smoothing` is in what is minimised alone.
        """
        output = self.teacher_forced(state, target_input_ids)
        steps = target_input_ids.shape[1]
        gold = target_extended_ids.flatten()[gold_positions]
        gate = output.gate.flatten()[gold_positions]
        if self.pointer:
            log_copy = copy_log_probs(
                output.log_attention.flatten(0, 1)[gold_positions],
                state.source.extended_ids[gold_positions // steps],
                gold,
            )
        else:
            gold = torch.where(gold < self.vocab_size, gold, self.unk_id)
        log_prob = summed_log_prob(
            output.features.flatten(0, 1)[gold_positions],
            self.projection.weight,
            self.projection.bias,
            gold,
            *((log_copy, gate) if self.pointer else ()),
            label_smoothing=label_smoothing,
        )
        tokens = max(len(gold), 1)
        nll = -log_prob.gold / tokens
        coverage = output.coverage_loss.flatten()[gold_positions].sum() / tokens
        return Loss(
            total=self.coverage_weight * coverage - log_prob.objective / tokens,
            nll=nll,
            coverage=coverage.detach(),
            p_gen=gate.detach().to(nll.dtype).sigmoid().sum() / tokens,
            tokens=len(gold),
        )

    @torch.no_grad()
    def step(
        self,
        last_ids: Int[Tensor, " rows"],
        state: DecoderState,
        *,
        copy_bias: float = 0.0,
        needing_support: Int[Tensor, " ids"] | None = None,
    ) -> tuple[Float[Tensor, "rows extended_vocab"], DecoderOutput, DecoderState]:
        """One step of search: log P over the extended vocabulary, and the next state.

        `copy_bias` is subtracted from the gate's logit, the one that is handed back, too. Of the
        words `needing_support` those that a source has can be generated alone; none may be special.
        """
        source = state.source
        output, following = self.decoder(self.embed(last_ids[:, None]), state)
        output = output._replace(gate=output.gate - copy_bias)
        # Few rows times a large vocabulary is quicker as a product from the left: the table lies
        # word by word. It has room for the OOVs from the start.
        table = output.features.new_empty(self.vocab_size + source.max_source_oovs, len(last_ids))
        scores = table[: self.vocab_size]
        torch.mm(self.projection.weight, output.features[:, 0].T, out=scores)
        scores.add_(self.projection.bias[:, None])
        if needing_support is not None:
            only_supported_(table.T, needing_support, source.extended_ids, source.mask)
        log_probs = extended_log_probs_(
            table.T,
            output.attention[:, 0],
            output.gate[:, 0],
            source.extended_ids,
            source.first_positions,
            self.vocab_size,
        )
        return log_probs, output, following


def coverage_parameter(model: PointerGenerator) -> str | None:
    """The name of what coverage adds to a model, where it has that."""
    return next((name for name, _ in model.named_parameters() if ".coverage" in name), None)


def begin_without_coverage(model: PointerGenerator) -> None:
    """Coverage is off; where it is switched on, that changes nothing at first but the loss."""
    name = coverage_parameter(model)
    if name is not None:
        nn.init.zeros_(model.get_parameter(name))
    model.decoder.coverage = False


def initialise_see2017(model: PointerGenerator) -> None:
    """The starting weights of See et al.'s released code.

    Recurrent layers uniform in +-0.02, LSTMs with a forget bias of 1; embedding, bridge and
    projection, biases too, normal with a deviation of 1e-4, cut at two; the other matrices Glorot
    uniform, biases 0.
    """
    for name, parameter in model.named_parameters():
        if "rnn.weight" in name:
            nn.init.uniform_(parameter, -0.02, 0.02)
        elif name.startswith(("embedding", "decoder.bridge", "projection")):
            nn.init.trunc_normal_(parameter, std=1e-4, a=-2e-4, b=2e-4)
        elif parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
    for module in model.modules():
        for name, parameter in module.named_parameters() if isinstance(module, nn.LSTM) else ():
            if "bias_ih" in name:
                # torch orders the gates input, forget, cell, output, and adds a second bias.
                nn.init.ones_(parameter.data.chunk(4)[1])
