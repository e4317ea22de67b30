"""What search asks of a model: one step, and a state that can be re-ordered.

Knows ids, log-probabilities and rows. Knows nothing of models, words or devices.
"""

from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


class StepOutput(NamedTuple):
    """The distribution over the extended vocabulary, and how it came about.

    `log_probs[:, w]` is log P(w) of extended id w, what copying adds to it included; minus infinity
    beyond the OOVs that a row's source has.
    """

    log_probs: Float[Tensor, "rows extended_vocab"]
    attention: Float[Tensor, "rows source"]
    p_gen: Float[Tensor, "rows 1"]


Own = TypeVar("Own")


@runtime_checkable
class State(Protocol):
    """All that a step hands to the next one, rows first."""

    def select(self: Own, rows: Int[Tensor, " selected"]) -> Own:
        """The state of `rows`, in that order; a row may repeat."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class Step(Protocol[S]):
    """One decoding step of a model."""

    def __call__(self, last_ids: Int[Tensor, " rows"], state: S) -> tuple[StepOutput, S]:
        """Log-probabilities of each next id, and the state after reading `last_ids`.

        The table is the search's own: it writes over it.
        `last_ids` are extended ids; the step itself feeds an OOV back as UNK.
        """
        ...
