"""From one step's output to the best extensions of each document, over all its hypotheses."""

from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from pgsum.decode.constraints import Bans, forbid_
from pgsum.decode.ranking import best_first
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

    Where nothing is allowed at all, it is EOS, though forbidden, for every hypothesis. The tables
    of `output` are written over. Raises ModelError where a probability is not a number.
    """
    vocab, oovs = output.vocab_log_probs.shape[1], output.oov_log_probs.shape[1]
    eos = output.vocab_log_probs[:, eos_id].clone()
    generated = _best(output.vocab_log_probs, log_probs, bans, first_id=0, count=count)
    copied = _best(output.oov_log_probs, log_probs, bans, first_id=vocab, count=count)
    totals, tokens, rows, ids = (torch.cat(pair, 1) for pair in zip(generated, copied, strict=True))
    if totals.isnan().any():
        raise ModelError(
            "The model gave a probability that is not a number (NaN).",
            hint="its training diverged or its file is damaged: use another checkpoint",
        )
    both = Candidates(totals, tokens, rows, ids).only(totals > -torch.inf)
    both = both.take((rows * (vocab + oovs) + ids).argsort(dim=1))
    best = both.take(best_first(both.log_probs, count))
    return _end_stuck(best, eos.view_as(log_probs), log_probs, eos_id)


def _best(
    table: Float[Tensor, "rows ids"],
    log_probs: Float[Tensor, "documents beam"],
    bans: Bans,
    *,
    first_id: int,
    count: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best of each row, as the fields of Candidates; the table's column 0 is `first_id`."""
    documents, beam = log_probs.shape
    missing = -(-count // beam) - table.shape[1]
    if missing > 0:
        table = functional.pad(table, (0, missing), value=-torch.inf)
    best = best_first(forbid_(table, bans, first_id=first_id), count)
    tokens = table.gather(1, best)
    totals = tokens + log_probs.reshape(-1, 1)
    rows = torch.arange(len(table), device=best.device)[:, None].expand_as(best)
    fields_by_row = (totals, tokens, rows, best + first_id)
    return tuple(field.reshape(documents, -1) for field in fields_by_row)  # type: ignore[return-value]


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
