"""Before anything is timed: the twin and pgsum come to the same, or the run fails."""

from collections.abc import Callable, Sequence

import torch
from reference import plain_twin
from torch import Tensor

from pgsum.config import DecodeConfig
from pgsum.data.batch import Batch, collate_sources
from pgsum.data.example import Source
from pgsum.generate import generate
from pgsum.nn.model import PointerGenerator

LIMITS = {torch.float64: 1e-9, torch.float32: 1e-4}
"""The largest norm of a difference, as a share of the twin's norm."""


class NotEqualError(Exception):
    """The twin and pgsum differ: whatever would be timed is not the same work."""


def check_gradients(
    model: PointerGenerator, batch: Batch, loss: Callable[[Batch], Tensor]
) -> tuple[str, float]:
    """Of `loss` and its gradients, what differs most from the twin's, and by how much.

    Raises NotEqualError where it is above the limit for the model's numbers.
    """
    names, parameters = zip(*model.named_parameters(), strict=True)

    def found(value: Tensor) -> list[Tensor]:
        gradients = torch.autograd.grad(value, parameters, materialize_grads=True)
        return [value.detach(), *gradients]

    twins, ours = found(plain_twin.loss(model, batch)), found(loss(batch))
    shares = [_share(one - other, one) for one, other in zip(twins, ours, strict=True)]
    worst = max(range(len(shares)), key=shares.__getitem__)
    what = ("loss", *(f"gradient of {name}" for name in names))[worst]
    limit = LIMITS[parameters[0].dtype]
    if not shares[worst] <= limit:  # nor a NaN
        raise NotEqualError(
            f"The {what} differs from the plain twin's by {shares[worst]:.1e} of its norm; "
            f"at most {limit:.0e} is rounding in {parameters[0].dtype}."
        )
    return what, shares[worst]


def check_hypotheses(
    model: PointerGenerator,
    sources: Sequence[Source],
    config: DecodeConfig,
    exempt_ids: Sequence[int],
) -> float:
    """The largest difference between scores of hypotheses; their words must be the same.

    Raises NotEqualError where they are not, or a score differs by more than 1e-9.
    """
    ours = generate(model, collate_sources(sources), config, exempt_ids=exempt_ids)
    worst = 0.0
    for number, (source, hypotheses) in enumerate(zip(sources, ours, strict=True)):
        settings = plain_twin.settings_for(config, len(source.source_ids), exempt_ids)
        twins = plain_twin.beam_search(
            model, collate_sources([source]), settings, beam_size=config.beam_size
        )[: config.n_best]
        if [one.ids for one in twins] != [one.ids for one in hypotheses]:
            raise NotEqualError(f"Of document {number} the plain twin finds other hypotheses.")
        pairs = zip(twins, hypotheses, strict=True)
        worst = max(worst, *(abs(one.score - other.score) for one, other in pairs))
    if not worst <= 1e-9:
        raise NotEqualError(f"Scores of hypotheses differ from the plain twin's by {worst:.1e}.")
    return worst


def _share(difference: Tensor, of: Tensor) -> float:
    norm = float(difference.norm())
    return norm / float(of.norm()) if norm else 0.0
