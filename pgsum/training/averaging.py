"""The mean of the weights over the last steps, which summarizes better than the last weights do."""

from collections.abc import Sequence
from functools import partial

from pytorch_lightning.callbacks import WeightAveraging
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn


class MeanWeights(WeightAveraging):
    """Validates, and so keeps, the exponential mean of the weights (Polyak and Juditsky 1992).

    It must come after all callbacks that use the model at a validation, or save it at the end:
    Lightning puts the mean in place when the first hook of a validation is called, and the weights
    themselves when the last is.
    """

    def __init__(self, decay: float) -> None:
        super().__init__(use_buffers=False, multi_avg_fn=partial(follow, decay=decay))


def follow(
    means: Sequence[Tensor], weights: Sequence[Tensor], steps: Tensor | int, *, decay: float
) -> None:
    """`means`, of so many steps, take up `weights`, in place: mean = d mean + (1 - d) weight.

    d is at most (1 + steps) / (10 + steps), so that the mean soon forgets how training began.
    """
    least = (1 + int(steps)) / (10 + int(steps))
    get_ema_multi_avg_fn(min(decay, least))(list(means), list(weights), steps)
