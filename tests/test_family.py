"""Every member of the family, small, through the same trials: none of them knows which it is.

Members are the presets of conf/model, and each encoder with each decoder.
"""

import subprocess
import sys
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from reference.tiny import VOCAB, encode, gradients, loss_of, tiny_source
from torch import Tensor

from pgsum.build import build_empty_model, build_model
from pgsum.bundle import Bundle, load_bundle, save_bundle
from pgsum.config import (
    Config,
    DecodeConfig,
    ModelConfig,
    TextConfig,
    group_options,
    load_config,
)
from pgsum.data.batch import Batch, SourceBatch, collate, collate_sources
from pgsum.data.example import Example, Source
from pgsum.generate import generate
from pgsum.nn.model import PointerGenerator
from pgsum.text.surface import SurfaceCounts
from pgsum.text.vocab import BOS_ID, EOS_ID, SPECIAL_TOKENS, UNK_ID, Vocab

HIDDEN = 16
KINDS = ("rnn", "conv", "transformer")
MEMBERS = {preset: [f"model={preset}"] for preset in group_options("model")} | {
    f"{encoder}_to_{decoder}": [
        f"model.encoder={encoder}",
        f"model.decoder={decoder}",
        f"model.attention={'scaled_dot' if decoder == 'transformer' else 'general'}",
    ]
    for encoder, decoder in product(KINDS, KINDS)
    if encoder != decoder
}
EVERY_MEMBER = pytest.mark.parametrize("member", MEMBERS)


def settings_of(member: str, **changed: Any) -> ModelConfig:
    """With small sizes that keep its proportions, and without dropout."""
    model = load_config(MEMBERS[member]).model
    share = HIDDEN / model.hidden_size
    sizes = {
        name: round(value * share)
        for name in ("hidden_size", "decoder_size", "inner_size")
        if (value := getattr(model, name)) is not None
    }
    if model.attention == "additive":
        sizes["attention_size"] = HIDDEN
    if model.output_size is not None:
        sizes["output_size"] = HIDDEN
    return replace(model, **{"embedding_size": 12, "dropout": 0.0} | sizes | changed)


def model_of(member: str, **changed: Any) -> PointerGenerator:
    torch.manual_seed(0)
    return build_model(settings_of(member, **changed), VOCAB)


def exact(member: str, **changed: Any) -> PointerGenerator:
    """In float64 and eval mode, far enough from 0 for everything to have an effect."""
    model = model_of(member, **changed).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).uniform_(-0.3, 0.3))
    return model


def pair(number: int, *, oovs: int) -> Example:
    """A source of 3 to 8 words, and a target of 2 to 4 of them, an OOV first if there is one."""
    source = tiny_source(seed=number, tokens=3 + number % 6, oovs=oovs)
    words = list(dict.fromkeys(source.source_extended_ids))
    torch.manual_seed(number)
    order = torch.randperm(len(words))[: 2 + number % 3].tolist()
    gold = [words[i] for i in order] if not oovs else [VOCAB, *(words[i] for i in order if i)]
    inputs = [BOS_ID, *(word if word < VOCAB else UNK_ID for word in gold)]
    return Example(source, inputs, [*gold, EOS_ID])


def pairs(member: str) -> list[Example]:
    """Eight, half of them with words outside the vocabulary where the model can say those."""
    copies = settings_of(member).pointer
    return [pair(number, oovs=number % 2 if copies else 0) for number in range(8)]


def said(model: PointerGenerator, sources: list[Source], **search: Any) -> list[tuple[int, ...]]:
    """The best ids of each."""
    config = DecodeConfig(**{"max_tokens": 8, "no_repeat_ngram": 0} | search)
    return [best[0].ids for best in generate(model, collate_sources(sources), config)]


def learn(model: PointerGenerator, batch: Batch, *, steps: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if loss.nll < 0.005:
            break


@EVERY_MEMBER
def test_eight_pairs_are_learned_by_heart(member):
    """And said again by search, word for word."""
    model, examples = model_of(member), pairs(member)
    learn(model.train(), collate(examples), steps=400)
    found = said(model.eval(), [example.source for example in examples])
    assert found == [tuple(example.target_extended_ids[:-1]) for example in examples]


@EVERY_MEMBER
def test_a_batch_of_many_equals_many_batches_of_one(member):
    model, examples = exact(member), pairs(member)
    together = loss_of(model, collate(examples))
    alone = [loss_of(model, collate([example])) for example in examples]
    expected = sum(loss.total * loss.tokens for loss in alone) / together.tokens
    torch.testing.assert_close(together.total, expected)
    sources = [example.source for example in examples]
    assert said(model, sources) == [said(model, [source])[0] for source in sources]


@EVERY_MEMBER
def test_padding_changes_nothing(member):
    """Eight more places on the source's side, filled with real words, but masked."""
    model, batch = exact(member), collate(pairs(member))

    def longer(ids: Tensor, filling: int | bool) -> Tensor:
        mask = batch.source.source_mask if ids.dtype != torch.bool else ids
        filled = ids.masked_fill(~mask, filling)
        return torch.cat([filled, torch.full((len(ids), 8), filling)], dim=1)

    source = batch.source
    padded = replace(
        source,
        source_ids=longer(source.source_ids, 9),
        source_extended_ids=longer(source.source_extended_ids, 9),
        source_mask=longer(source.source_mask, False),
    )
    torch.testing.assert_close(loss_of(model, replace(batch, source=padded)), loss_of(model, batch))
    assert best_scores(model, padded) == pytest.approx(best_scores(model, source), abs=1e-9)


def best_scores(model: PointerGenerator, sources: SourceBatch) -> list[float]:
    return [best[0].score for best in generate(model, sources, DecodeConfig(max_tokens=8))]


@EVERY_MEMBER
def test_one_step_after_the_other_equals_teacher_forcing(member):
    """The gold words' log P by search's steps, with their rows turned round on the way."""
    model, batch = exact(member), collate(pairs(member))
    state = encode(model, batch.source)
    rows, log_probs = torch.arange(len(batch)), []
    for step in range(batch.target_input_ids.shape[1]):
        read = batch.target_input_ids[rows, step]
        found, _, state = model.step(read, state)
        gold = batch.target_extended_ids[rows, step]
        if not model.pointer:
            gold = torch.where(gold < VOCAB, gold, UNK_ID)
        log_prob = found.gather(1, gold[:, None])[:, 0]
        log_probs.append(log_prob[rows.argsort()])
        state, rows = state.select(torch.arange(len(rows)).flip(0)), rows.flip(0)
    steps = torch.stack(log_probs, 1).flatten()[batch.gold_positions]
    torch.testing.assert_close(-steps.mean(), loss_of(model, batch).nll)


@EVERY_MEMBER
def test_saved_and_loaded_it_says_the_same(member, tmp_path):
    words = VOCAB - len(SPECIAL_TOKENS)
    vocab = Vocab([f"word{i}" for i in range(words)], [1] * words)
    config = Config(text=TextConfig(vocab_size=VOCAB), model=settings_of(member))
    surface = SurfaceCounts(lowercase=True).learned(vocab)
    model = model_of(member).eval()
    save_bundle(Bundle(config, vocab, surface, model), tmp_path / "model", card="# A model\n")
    loaded = load_bundle(tmp_path / "model").model
    sources = [example.source for example in pairs(member)]
    assert said(loaded, sources) == said(model, sources)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name


@EVERY_MEMBER
def test_empty_it_has_the_same_shapes_and_no_numbers(member):
    empty = build_empty_model(settings_of(member), VOCAB).state_dict()
    shapes = {name: weight.shape for name, weight in model_of(member).state_dict().items()}
    assert {name: weight.shape for name, weight in empty.items()} == shapes
    assert all(weight.is_meta for weight in empty.values())


def test_no_empty_model_needs_the_compiler_of_torch():
    """To import that takes longer than all that a short document needs."""
    settings = [settings_of(member) for member in MEMBERS]
    code = (
        "import sys; from pgsum.build import build_empty_model; from pgsum.config import *\n"
        f"for settings in {settings!r}: build_empty_model(settings, {VOCAB})\n"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@EVERY_MEMBER
def test_every_parameter_gets_a_gradient(member):
    model = exact(member)
    for name, gradient in gradients(loss_of(model, collate(pairs(member))).total, model).items():
        assert gradient.abs().max() > 0, name


@EVERY_MEMBER
def test_products_in_bfloat16_stay_near(member):
    model, batch = model_of(member), collate(pairs(member))
    plain = loss_of(model, batch)
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(model, batch)
    torch.testing.assert_close(loss.total, plain.total, rtol=0.05, atol=0.02)
    assert all(g.isfinite().all() for g in gradients(loss.total, model).values())


# Of each option that only these kinds have, another value.
OTHER = [
    ("conv_pointer", "encoder", "rnn", {"attention": "general"}),
    ("conv_pointer", "decoder", "rnn", {}),
    ("conv_pointer", "kernel_size", 3, {}),
    ("conv_pointer", "max_positions", 2, {}),
    ("conv_pointer", "layers", 3, {}),
    ("conv_pointer", "attention", "scaled_dot", {}),
    ("conv_pointer", "output_activation", False, {}),
    ("transformer_pointer", "encoder", "conv", {}),
    ("transformer_pointer", "decoder", "conv", {}),
    ("transformer_pointer", "heads", 2, {}),
    ("transformer_pointer", "inner_size", 24, {}),
    ("transformer_pointer", "copy_head", "last", {}),
    ("transformer_pointer", "layers", 2, {}),
    ("transformer_pointer", "output_activation", False, {}),
]


@pytest.mark.parametrize(("member", "option", "value", "others"), OTHER)
def test_every_option_changes_the_result(member, option, value, others):
    batch = collate(pairs(member))
    before, after = (
        loss_of(model_of(member, **others, **changed), batch).total
        for changed in ({}, {option: value})
    )
    assert not torch.isclose(before, after)
