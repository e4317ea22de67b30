"""The benchmarks count right, take turns, compare what is equal, and run from end to end."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import torch
from reference.tiny import FULL, loss_of, tiny_batch, tiny_model, tiny_source

from benchmarks import equality, floor, measure, memory, pairs, startup, text, train_step
from benchmarks.__main__ import MEASUREMENTS, main
from benchmarks.equality import NotEqualError, check_gradients, check_hypotheses
from benchmarks.floor import Probes, Rates, Size, Work
from benchmarks.measure import Timing, interleaved
from benchmarks.report import Figures, Result
from pgsum.config import DecodeConfig, ModelConfig, OptimConfig

# Two sources of 2 and 3 tokens, their targets of 2 and 1: 2 x 2 + 3 x 1 looks.
SIZE = Size(pairs=2, source_tokens=5, target_tokens=3, looks=7)
VOCAB = 11
SEE = ModelConfig(
    embedding_size=2,
    hidden_size=3,
    output_size=7,
    tie_embeddings=False,
    output_activation=False,
    **FULL | {"attention_size": 5},
)
LUONG = ModelConfig(embedding_size=2, hidden_size=3, layers=2)


def test_a_batchs_size_counts_what_is_no_padding():
    """Sources of 6, 1 and 4 tokens; targets of 4, 6 and 3, their ends counted."""
    assert Size.of(tiny_batch()) == Size(3, 11, 13, 6 * 4 + 1 * 6 + 4 * 3)


def test_operations_by_hand_for_an_additive_model_with_everything():
    assert floor.forward_flops(SIZE, SEE, VOCAB) == {
        # Two directions, 5 tokens, 12 gates from 2 + 3 numbers: 600 multiplications, 600 additions.
        "encoder": 1200,
        # Hidden and cell, 2 pairs, 3 numbers from 6.
        "bridge": 144,
        # 5 tokens, 5 numbers from 6.
        "keys": 300,
        # 3 tokens, 2 numbers from 2 + 6.
        "input": 96,
        # 3 tokens, 12 gates from 2 + 3.
        "decoder cell": 360,
        # 3 tokens, 5 numbers from cell and hidden state.
        "query": 180,
        # 7 looks, 5 numbers.
        "scores": 70,
        # 7 looks, 6 numbers.
        "context": 84,
        # 3 tokens, 1 number from 6 + 6 + 2.
        "gate": 84,
        # 3 tokens, 7 numbers from 3 + 6.
        "output layer": 378,
        # 3 tokens, 11 words from 7 numbers.
        "projection": 462,
    }
    assert floor.tanh_evaluations(SIZE, SEE) == {
        # 7 looks, 5 numbers, twice.
        "attention": 70,
        # 5 tokens in two directions and 3 in one, 5 for each of 3 numbers.
        "cells": 195,
        "output layer": 0,
    }
    assert floor.bytes_moved(SIZE, SEE, OptimConfig(name="adagrad"), VOCAB, parameters=10) == {
        "weights": 4 * 10 * 7,
        # 7 looks at a key of 5 and a state of 6, there and back.
        "keys and states": 4 * 7 * 11 * 2,
        "logits": 4 * 3 * 11 * 2,
    }


def test_operations_by_hand_for_a_bilinear_model_without_a_loop():
    flops = floor.forward_flops(SIZE, LUONG, VOCAB)
    assert flops == {
        # As above, and a second layer that reads 6 numbers.
        "encoder": 1200 + 2 * 2 * 5 * 12 * 9,
        # For each of two layers.
        "bridge": 288,
        # 5 tokens, 3 numbers from 6: as many as the query has.
        "keys": 180,
        "input": 0,
        # As above, and a second layer that reads 3 numbers.
        "decoder cell": 360 + 2 * 3 * 12 * 6,
        "query": 0,
        "scores": 42,
        "context": 84,
        "gate": 2 * 3 * (6 + 3 + 2),
        "output layer": 2 * 3 * 9 * 2,
        "projection": 2 * 3 * 2 * 11,
    }
    assert floor.tanh_evaluations(SIZE, LUONG) == {
        "attention": 0,
        "cells": 2 * (2 * 5 + 3) * 5 * 3,
        "output layer": 3 * 2,
    }
    moved = floor.bytes_moved(SIZE, LUONG, OptimConfig(), VOCAB, parameters=10)
    assert moved["weights"] == 4 * 10 * 9
    # Of each source token once, there and back.
    assert moved["keys and states"] == 4 * 5 * 9 * 2


def test_a_step_takes_three_forward_passes_and_the_rest_once():
    work = floor.work_of(tiny_batch(), LUONG, OptimConfig(), vocab_size=VOCAB, parameters=10)
    size = Size.of(tiny_batch())
    assert work.flops == 3 * sum(floor.forward_flops(size, LUONG, VOCAB).values())
    assert work.tanhs == sum(floor.tanh_evaluations(size, LUONG).values())
    rates = Rates(flop=Timing(1, 2), tanh=Timing(10, 20), byte=Timing(100, 200))
    assert Work(flops=3, tanhs=2, bytes=1).time(rates) == Timing(123, 246)
    assert Work.mean([Work(1, 2, 3), Work(3, 4, 7)]) == Work(2, 3, 5)


def test_rates_are_per_operation_and_bfloat16_has_its_own(monkeypatch):
    monkeypatch.setattr(Probes, "SIDE", 4)
    monkeypatch.setattr(Probes, "COPIED", 8)
    probes = Probes()
    timings = {name: Timing(6.0, 3.0) for name in probes.calls()}
    timings["bfloat16 product"] = Timing(2.0, 1.0)
    for call in probes.calls().values():
        call()
    rates = probes.rates(timings)
    assert rates.flop.wall == pytest.approx(3 / (probes.PRODUCTS * 2 * 4**3))
    assert rates.byte.cpu == pytest.approx(6 / (probes.COPIES * 2 * 4 * 8))
    assert probes.per_second(timings)["copy"] == pytest.approx(2 / rates.byte.cpu)
    assert probes.rates(timings, bfloat16=True).flop.wall == pytest.approx(rates.flop.wall / 3)


def test_calls_take_turns_and_the_medians_are_theirs(monkeypatch):
    called = []
    seconds = {"a": [5.0, 1.0, 3.0], "b": [20.0, 40.0, 90.0]}

    def timed(call):
        name = call()
        wall = seconds[name].pop(0)
        return Timing(2 * wall, wall)

    def call(name):
        called.append(name)
        return name

    monkeypatch.setattr(measure, "timed", timed)
    found = interleaved({"a": lambda: call("a"), "b": lambda: call("b")}, repeats=3)
    assert found == {"a": Timing(6.0, 3.0), "b": Timing(80.0, 40.0)}
    assert called == ["a", "b"] * 4  # the first round is not timed


def test_processor_time_is_that_of_all_threads_and_processes():
    idle = measure.timed(lambda: startup.run("pgsum --help"))
    assert idle.cpu > 0.02
    assert idle.wall > 0.02


def test_ratios_say_how_many_times_better_a_side_is():
    result = Result(
        name="x",
        unit="step",
        details={},
        sides={
            "twin": Figures(Timing(8.0, 6.0), memory=100),
            "ours": Figures(Timing(2.0, 2.0), memory=20, floor=Timing(1.0, 0.5)),
        },
        baseline="twin",
    )
    assert result.ratios() == {
        "ours": {"cpu": 4.0, "wall": 3.0, "memory": 5.0, "floors_cpu": 2.0, "floors_wall": 4.0}
    }


def test_a_gradient_that_differs_is_named():
    model = tiny_model(**FULL)
    assert check_gradients(model, tiny_batch(), lambda b: loss_of(model, b).total)[1] < 1e-9
    bias = model.decoder.bridge.cell[0].bias
    words = (
        r"gradient of decoder.bridge.cell.0.bias differs from the plain twin's by .* at most 1e-09"
    )
    with pytest.raises(NotEqualError, match=words):
        check_gradients(model, tiny_batch(), lambda b: loss_of(model, b).total + 9 * bias.sum())


def test_hypotheses_that_differ_are_refused(monkeypatch):
    model = tiny_model(**FULL)
    sources = [tiny_source(seed=i, tokens=4 + i, oovs=1) for i in range(2)]
    config = DecodeConfig(beam_size=3, n_best=3, max_tokens=5)
    assert check_hypotheses(model, sources, config, exempt_ids=[]) < 1e-9
    generate = equality.generate
    monkeypatch.setattr(equality, "generate", lambda *a, **k: generate(*a, **k)[::-1])
    with pytest.raises(NotEqualError, match="Of document 0 the plain twin finds other hypotheses"):
        check_hypotheses(model, sources, config, exempt_ids=[])


def test_excerpts_are_neighbours_a_sentence_a_line():
    words = " ".join(f"Word{i}." for i in range(3 * text.WORDS))
    ((first, second),) = text.excerpts(["Too short.", words])
    assert first.split("\n")[0] == "Word0."
    assert second.split("\n") == [f"Word{i}." for i in range(text.WORDS, 2 * text.WORDS)]


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    used = memory.peak_memory("train-see2017", train_step.OURS, quick=True)
    assert used is not None
    assert 1e6 < used < 1e9


@pytest.fixture
def small_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In place of the built-in one, which takes a while to read."""
    rng = Random(0)

    def words(count: int) -> str:
        return " ".join(rng.choices(["one", "two", "three", "four", "five."], k=count))

    rows = [{"document": words(150), "summary": words(9)} for _ in range(40)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    settings = (
        *("data=files", f"data.train={file}", "data.holdout=0.3", "data.workers=1"),
        *("model.hidden_size=8", "trainer.batch_size=4", "decode.max_tokens=9"),
    )
    monkeypatch.setattr(pairs, "SETTINGS", (*pairs.SETTINGS, *settings))
    pairs.docstrings.cache_clear()
    yield
    pairs.docstrings.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("small_corpus")
def test_everything_runs_and_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Probes, "SIDE", 64)
    monkeypatch.setattr(Probes, "COPIED", 64)
    monkeypatch.setattr(Probes, "BLOCKS", 1)
    monkeypatch.setattr(train_step, "peak_memory", lambda *_, **__: 10**6)
    out = tmp_path / "new" / "figures.json"
    main(["--quick", "--repeats", "1", "--out", str(out)])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert list(found) == ["ratios", "machine", "figures"]
    assert list(found["figures"]) == list(MEASUREMENTS)
    assert found["machine"]["torch"] == torch.__version__
    assert found["ratios"]["train-see2017"][train_step.OURS]["memory"] == 1.0
    shown = capsys.readouterr()
    assert all(name in shown.out and f"measuring {name}" in shown.err for name in MEASUREMENTS)
    assert "equal: float64" in shown.err
