"""The hypotheses of the documents that are still searched, from one step to the next."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from pgsum.decode.constraints import Rules
from pgsum.decode.expand import Candidates
from pgsum.decode.hypothesis import Ends
from pgsum.decode.scoring import LengthPenalty


@dataclass(frozen=True)
class Beam:
    """Of each document still searched: what lives, best first, and the best of what has ended.

    A log-probability of minus infinity marks a place for which there was no candidate.
    """

    documents: Int[Tensor, " documents"]
    log_probs: Float[Tensor, "documents beam"]
    prefixes: Int[Tensor, "documents beam length"]
    indices: Int[Tensor, "documents beam"]
    """Of each prefix's last token, among those that `History` kept of its step."""
    ended: Ends
    eos_count: Int[Tensor, " documents"]
    """Hypotheses that have ended by EOS, those no longer among the best included."""

    @classmethod
    def start(cls, documents: int, device: torch.device | None) -> "Beam":
        """One empty hypothesis per document."""
        everyone = torch.arange(documents, device=device)
        return cls(
            documents=everyone,
            log_probs=torch.zeros(documents, 1, device=device),
            prefixes=everyone.new_zeros(documents, 1, 0),
            indices=everyone.new_zeros(documents, 1),
            ended=Ends.none(documents, device=device),
            eos_count=torch.zeros_like(everyone),
        )

    @property
    def length(self) -> int:
        return self.prefixes.shape[2]

    def select(self, which: Bool[Tensor, " documents"]) -> "Beam":
        return Beam(
            self.documents[which],
            self.log_probs[which],
            self.prefixes[which],
            self.indices[which],
            self.ended.select(which),
            self.eos_count[which],
        )


def settle(ranked: Candidates, *, eos_id: int, beam_size: int) -> tuple[Candidates, Candidates]:
    """Who has ended, and who lives on.

    Only an EOS among the first `beam_size` ends a hypothesis: what does not make the beam is not
    an answer either. A row has one EOS at most, so that `2 * beam_size` candidates hold at least
    `beam_size` others.
    """
    is_eos = (ranked.ids == eos_id) & (ranked.log_probs > -torch.inf)
    others_first = is_eos.to(torch.uint8).argsort(dim=1, stable=True)
    in_beam = torch.arange(is_eos.shape[1], device=is_eos.device) < beam_size
    return ranked.only(is_eos & in_beam), ranked.take(others_first[:, :beam_size])


def follow(
    beam: Beam,
    ended: Candidates,
    live: Candidates,
    indices: Int[Tensor, "documents live"],
    *,
    rules: Rules,
    penalty: LengthPenalty,
    n_best: int,
) -> Beam:
    """The beam one token later, `live` now found at `indices`.

    What has reached its `max_tokens` counts as ended, unless its document's search was over.
    """
    eos_count = beam.eos_count + (ended.log_probs > -torch.inf).sum(1)
    length = beam.length + 1
    is_full = (rules.max_tokens[beam.documents] == length) & (eos_count < live.ids.shape[1])
    full = live.only(is_full[:, None].expand_as(live.ids))
    ends = (
        Ends.by_eos(
            ended,
            scores=penalty.score(ended.log_probs, length),
            length=beam.length,
            indices=beam.indices.flatten()[ended.rows],
            min_tokens=rules.min_tokens[beam.documents],
        ),
        Ends.at_max_tokens(
            full, scores=penalty.score(full.log_probs, length), length=length, indices=indices
        ),
    )
    prefixes = beam.prefixes.flatten(0, 1)[live.rows]
    return Beam(
        documents=beam.documents,
        log_probs=live.log_probs,
        prefixes=torch.cat([prefixes, live.ids[:, :, None]], dim=2),
        indices=indices,
        ended=beam.ended.best_with(ends, n_best),
        eos_count=eos_count,
    )


def in_order(over: Sequence[Beam]) -> Ends:
    """What has ended, in the order of the documents."""
    documents = torch.cat([beam.documents for beam in over])
    return Ends.joined([beam.ended for beam in over], dim=0).select(documents.argsort())
