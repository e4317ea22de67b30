import math

import pytest
import torch
from reference.tiny import FULL, tiny_batch, tiny_model
from torch.utils._python_dispatch import TorchDispatchMode

from pgsum.config import OptimConfig
from pgsum.training.module import TrainingModule, build_optimizer, learning_rate_share


def shares(config: OptimConfig, max_steps: int) -> list[float]:
    return [learning_rate_share(config, step, max_steps=max_steps) for step in range(max_steps + 1)]


def test_learning_rate_rises_to_all_of_it_in_the_warm_up_and_then_falls():
    rates = shares(OptimConfig(warmup_steps=4, decay="linear", final_lr=0.1), max_steps=10)
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rates[-1] == pytest.approx(0.1)


def test_linear_and_cosine_decay_meet_halfway_and_at_both_ends():
    linear = shares(OptimConfig(warmup_steps=0, decay="linear", final_lr=0.2), max_steps=8)
    cosine = shares(OptimConfig(warmup_steps=0, decay="cosine", final_lr=0.2), max_steps=8)
    for step in (0, 4, 8):
        assert linear[step] == pytest.approx(cosine[step])
    assert cosine[2] == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert cosine[2] > linear[2]


def test_no_decay_keeps_the_rate():
    assert set(shares(OptimConfig(warmup_steps=0, decay="none"), max_steps=5)) == {1.0}


def test_the_rate_stays_at_its_end_when_training_goes_on():
    config = OptimConfig(warmup_steps=1, decay="linear", final_lr=0.05)
    assert learning_rate_share(config, 99, max_steps=10) == pytest.approx(0.05)


def test_a_warm_up_longer_than_the_training_divides_by_nothing():
    assert shares(OptimConfig(warmup_steps=10, decay="linear"), max_steps=3)[-1] == 0.4


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (OptimConfig(name="adam", lr=0.5, weight_decay=0.25), torch.optim.AdamW),
        (OptimConfig(name="adagrad", lr=0.5, accumulator=0.75), torch.optim.Adagrad),
    ],
)
def test_optimizer_takes_every_setting(config: OptimConfig, kind: type):
    layer = torch.nn.Linear(2, 3)
    optimizer = build_optimizer(layer, config)
    assert type(optimizer) is kind
    assert optimizer.defaults["lr"] == 0.5
    assert optimizer.defaults["weight_decay"] == config.weight_decay
    if config.name == "adagrad":
        assert optimizer.state[layer.weight]["sum"].unique().tolist() == [0.75]


class NothingWaits(TorchDispatchMode):
    """Refuses what a GPU would have to finish its work for: numbers read, sizes that depend on
    values.
    """

    waiting = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_consecutive")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.__name__.split(".")[0] not in self.waiting, func
        indices = args[1] if func.__name__.startswith("index.") else ()
        assert all(index is None or index.dtype != torch.bool for index in indices), func
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("settings", [{}, FULL, {"pointer": False}], ids=str)
@pytest.mark.parametrize("bfloat16", [False, True])
def test_no_part_of_a_step_waits_for_a_device(settings, bfloat16):
    model, batch = tiny_model(**settings).float().train(), tiny_batch()
    config = OptimConfig()
    module = TrainingModule(
        model, config, max_steps=9, usual_tokens=8.0, bfloat16_products=bfloat16, log_every=9
    )
    optimizer = build_optimizer(model, config)
    with NothingWaits():
        loss = module.loss(batch)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    with pytest.raises(AssertionError), NothingWaits():
        loss.total.item()
    with pytest.raises(AssertionError), NothingWaits():
        batch.target_mask[batch.target_mask]
