"""The score that hypotheses are sorted by, and the best that a live one can still reach."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha.  Wu et al. 2016, eq. 14."""
    return float(((5 + length) / 6) ** alpha)


class LengthPenalty:
    """Divides log-probabilities by the penalty of their length.

    The length is the number of log-probabilities in the sum: EOS counts where it was produced (it
    was scored), BOS never does (it was not).
    """

    def __init__(self, alpha: float, *, max_tokens: Sequence[int]) -> None:
        if not alpha >= 0:
            raise ValueError(
                f"length_alpha ({alpha}) must be 0 or more: a negative one would reward stopping "
                "and void the bound by which search stops early."
            )
        self._alpha = alpha
        self._at_max_tokens = [length_penalty(length, alpha) for length in max_tokens]

    def score(
        self, log_probs: Float[Tensor, "documents places"], length: int
    ) -> Float[Tensor, "documents places"]:
        return log_probs / log_probs.new_tensor(length_penalty(length, self._alpha))

    def best_attainable(
        self, log_probs: Float[Tensor, " live"], documents: Int[Tensor, " live"]
    ) -> Float[Tensor, " live"]:
        """No descendant of a live hypothesis of `documents` with `log_probs` scores higher.

        A descendant has log_prob l' <= l <= 0, as every step adds the logarithm of a probability,
        and length n' <= max_tokens (with EOS it has at most max_tokens - 1 tokens before it). For
        alpha >= 0 the penalty p(n) > 0 does not fall with n, so
        l' / p(n') <= l / p(n') <= l / p(max_tokens), the latter because l is not positive.
        """
        return log_probs / log_probs.new_tensor(self._at_max_tokens)[documents]
