"""From one step's output to the best extensions of each document, over all its hypotheses."""

from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from pgsum.decode.constraints import Bans, forbid_
from pgsum.decode.ranking import best, best_first
from pgsum.decode.step import StepOutput
from pgsum.errors import ModelError


@dataclass(frozen=True)
class Candidates:
    """Extensions considered, best first; minus infinity where there is none.

    Equal ones come in the order of their rows, then of their ids, whatever else is in the batch.
    """

    log_probs: Float[Tensor, "documents candidates"]
    """Of the whole hypothesis."""
    token_log_probs: Float[Tensor, "documents candidates"]
    """Of the extension alone."""
    rows: Int[Tensor, "documents candidates"]
    """The row of the step that each extends."""
    ids: Int[Tensor, "documents candidates"]

    @property
    def stuck(self) -> Bool[Tensor, " documents"]:
        """Documents none of whose hypotheses may go on."""
        return self.log_probs[:, 0] == -torch.inf

    def take(self, order: Int[Tensor, "documents taken"]) -> "Candidates":
        return Candidates(*(getattr(self, field.name).gather(1, order) for field in fields(self)))

    def only(self, where: Bool[Tensor, "documents candidates"]) -> "Candidates":
        """These, with no candidate left elsewhere.

        A place without one is stepped along with the others, so it gets an id that exists.
        """
        return replace(
            self,
            log_probs=self.log_probs.masked_fill(~where, -torch.inf),
            ids=self.ids.masked_fill(~where, 0),
        )


def expand(
    output: StepOutput,
    log_probs: Float[Tensor, "documents beam"],
    bans: Bans,
    count: int,
    *,
    eos_id: int,
) -> Candidates:
    """The `count` best allowed extensions of each document's hypotheses, which have `log_probs`.

    Where nothing is allowed at all, it is EOS, though forbidden, for every hypothesis. The table
    of `output` is written over. Raises ModelError where a probability is not a number.
    """
    documents, beam = log_probs.shape
    eos = output.log_probs[:, eos_id].clone()
    table = forbid_(output.log_probs, bans)
    missing = -(-count // beam) - table.shape[1]
    if missing > 0:
        table = functional.pad(table, (0, missing), value=-torch.inf)
    ids = best(table, count)  # first of each row, which is quicker
    tokens = table.gather(1, ids)
    totals = tokens + log_probs.reshape(-1, 1)
    if totals.isnan().any():
        raise ModelError(
            "The model gave a probability that is not a number (NaN).",
            hint="its training diverged or its file is damaged: use another checkpoint",
        )
    # From left to right, what a document may go on with comes by its rows, then by its ids.
    rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)
    parts = (part.reshape(documents, -1) for part in (totals, tokens, rows, ids))
    candidates = Candidates(*parts)
    candidates = candidates.take(best_first(candidates.log_probs, count))
    candidates = candidates.only(candidates.log_probs > -torch.inf)
    return _end_stuck(candidates, eos.view_as(log_probs), log_probs, eos_id)


def _end_stuck(
    candidates: Candidates,
    eos: Float[Tensor, "documents beam"],
    log_probs: Float[Tensor, "documents beam"],
    eos_id: int,
) -> Candidates:
    """The candidates, but EOS, of log-probability `eos`, for all hypotheses of stuck documents.

    A step that gives even EOS no chance counts as giving it the least there is: a hypothesis
    always comes back, and its log-probability is a number that JSON can hold.
    """
    stuck = candidates.stuck[:, None]
    if not stuck.any():
        return candidates
    eos = eos.clamp(min=torch.finfo(eos.dtype).min)
    rows = torch.arange(eos.numel(), device=eos.device).view_as(eos)
    ends = Candidates(log_probs + eos, eos, rows, torch.full_like(rows, eos_id))
    places = min(log_probs.shape[1], candidates.ids.shape[1])
    ends = ends.take(best_first(ends.log_probs, places))

    def replaced(name: str) -> Tensor:
        old, new = getattr(candidates, name), getattr(ends, name)
        return torch.cat([torch.where(stuck, new, old[:, :places]), old[:, places:]], dim=1)

    return Candidates(*(replaced(field.name) for field in fields(Candidates)))
