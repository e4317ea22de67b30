"""The model dressed as a step of search: from a batch of sources to hypotheses."""

from collections.abc import Collection

import torch
from jaxtyping import Int
from torch import Tensor

from pgsum.config import DecodeConfig
from pgsum.data.batch import SourceBatch
from pgsum.decode.beam import beam_search
from pgsum.decode.constraints import Rules
from pgsum.decode.greedy import greedy_search
from pgsum.decode.hypothesis import Hypothesis
from pgsum.decode.step import StepOutput
from pgsum.nn.decoder import DecoderState
from pgsum.nn.model import PointerGenerator
from pgsum.text.vocab import BOS_ID, EOS_ID, PAD_ID, UNK_ID

NEVER_PRODUCED = (PAD_ID, UNK_ID, BOS_ID)


class ModelStep:
    """`pgsum.decode.step.Step` for a pointer-generator."""

    def __init__(
        self,
        model: PointerGenerator,
        *,
        copy_bias: float = 0.0,
        needing_support: Int[Tensor, " ids"] | None = None,
    ) -> None:
        self.model = model
        self.copy_bias = copy_bias
        self.needing_support = needing_support

    def __call__(
        self, last_ids: Int[Tensor, " rows"], state: DecoderState
    ) -> tuple[StepOutput, DecoderState]:
        log_probs, output, following = self.model.step(
            last_ids, state, copy_bias=self.copy_bias, needing_support=self.needing_support
        )
        step = StepOutput(
            log_probs,
            attention=output.attention[:, 0],
            p_gen=output.gate.sigmoid(),
        )
        return step, following


def length_limits(config: DecodeConfig, source_tokens: int) -> tuple[int, int]:
    """The fewest and the most tokens for a source of so many.

    A document of one word must not become a paragraph, nor be forced to be longer than it is.
    """
    longest = min(config.max_tokens, 2 * source_tokens + 2)
    return min(config.min_tokens, source_tokens, longest), longest


@torch.inference_mode()
def generate(
    model: PointerGenerator,
    batch: SourceBatch,
    config: DecodeConfig,
    *,
    exempt_ids: Collection[int] = (),
    needing_support: Collection[int] | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each document, best first.

    The model is used as it is: call `eval()` before. `exempt_ids` may repeat in any n-gram. With
    `config.faithful` the words `needing_support` are generated only where the source has them;
    ValueError without them.
    """
    device = batch.source_ids.device
    ids = None
    if config.faithful:
        if needing_support is None:
            raise ValueError("decode.faithful is true, but which words need support is not said.")
        ids = torch.tensor([*needing_support], dtype=torch.long, device=device)
    step = ModelStep(model, copy_bias=config.copy_bias, needing_support=ids)
    state = model.encode(
        batch.source_ids, batch.source_extended_ids, batch.source_mask, batch.max_source_oovs
    )
    limits = [length_limits(config, int(n)) for n in batch.source_mask.sum(-1).tolist()]
    rules = Rules.checked(
        min_tokens=[low for low, _ in limits],
        max_tokens=[high for _, high in limits],
        eos_id=EOS_ID,
        banned_ids=NEVER_PRODUCED,
        exempt_ids=exempt_ids,
        no_repeat_ngram=config.no_repeat_ngram,
        device=device,
    )
    if config.beam_size == 1:
        return greedy_search(step, state, rules, bos_id=BOS_ID)
    return beam_search(
        step,
        state,
        rules,
        beam_size=config.beam_size,
        length_alpha=config.length_alpha,
        n_best=config.n_best,
        bos_id=BOS_ID,
    )
