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

    A log-probability of minus infinity marks a place where nothing lives, anywhere among them.
    """

    documents: Int[Tensor, " documents"]
    log_probs: Float[Tensor, "documents beam"]
    prefixes: Int[Tensor, "documents beam length"]
    indices: Int[Tensor, "documents beam"]
    """Of each prefix's last token, among those that `History` kept of its step."""
    ended: Ends
    eos_count: Int[Tensor, " documents"]
    """Places of the beam held by what has ended by EOS, in its n-best list or not."""

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


def settle(
    ranked: Candidates, places: Int[Tensor, " documents"], *, eos_id: int
) -> tuple[Candidates, Candidates]:
    """Of the best candidates, as many as a document has `places`: who ends, and who lives on."""
    is_eos = ranked.ids == eos_id
    in_beam = torch.arange(is_eos.shape[1], device=is_eos.device) < places[:, None]
    return ranked.only(in_beam & is_eos), ranked.only(in_beam & ~is_eos)


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

    What has reached its `max_tokens` counts as ended.
    """
    eos_count = beam.eos_count + (ended.log_probs > -torch.inf).sum(1)
    length = beam.length + 1
    is_full = rules.max_tokens[beam.documents] == length
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
