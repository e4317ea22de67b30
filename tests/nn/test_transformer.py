import math
from itertools import accumulate

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pgsum.nn.decoder import DecoderOutput, EncodedSource
from pgsum.nn.encoder import EncoderOutput
from pgsum.nn.transformer import (
    TransformerDecoder,
    TransformerEncoder,
    TransformerState,
    sinusoids,
)

EMBEDDING, HIDDEN, ENCODER, INNER, OUTPUT = 3, 8, 5, 7, 6
LENGTHS = [4, 1, 6]
MASK = torch.arange(6) < torch.tensor(LENGTHS)[:, None]


def draw(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def shaken(module: nn.Module) -> nn.Module:
    """In float64, with all parameters drawn: a bias of 0 would hide its absence."""
    torch.manual_seed(0)
    for parameter in module.double().parameters():
        nn.init.uniform_(parameter, -1, 1)
    return module


def encoder_of(layers: int = 2, heads: int = 2, dropout: float = 0.0) -> TransformerEncoder:
    encoder = TransformerEncoder(
        EMBEDDING, HIDDEN, layers=layers, heads=heads, inner_size=INNER, dropout=dropout
    )
    return shaken(encoder)


def decoder_of(**changed: object) -> TransformerDecoder:
    settings = {
        "embedding_size": EMBEDDING,
        "hidden_size": HIDDEN,
        "encoder_size": ENCODER,
        "layers": 3,
        "heads": 2,
        "inner_size": INNER,
        "output_size": OUTPUT,
        "output_activation": True,
        "pointer": True,
        "copy_head": "mean",
        "dropout": 0.0,
    }
    return shaken(TransformerDecoder(**{**settings, **changed}))


def encoded_of(states: Tensor) -> EncoderOutput:
    """As if values were something else than states, as those of convolutions."""
    return EncoderOutput(states, states.flip(-1), states.mean(1)[None])


def start_of(decoder: TransformerDecoder, encoded: EncoderOutput, mask: Tensor) -> TransformerState:
    keys, values = decoder.project(encoded)
    ids = torch.zeros(mask.shape, dtype=torch.long)
    return decoder.start(encoded, EncodedSource(keys, values, mask, ids, ids, 0))


def assert_close(found: object, expected: object) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)


def assert_outputs_close(found: DecoderOutput, expected: DecoderOutput) -> None:
    for name in DecoderOutput._fields:
        one, other = getattr(found, name), getattr(expected, name)
        if name == "log_attention":  # the least finite number, where it is padding
            one, other = one.clamp(min=-1e9), other.clamp(min=-1e9)
        assert_close(one, other)


def steps_of(outputs: list[DecoderOutput]) -> DecoderOutput:
    return DecoderOutput(*(torch.cat(parts, dim=1) for parts in zip(*outputs, strict=True)))


# Positions


@pytest.mark.parametrize("size", [1, 6, 7])
def test_positions_are_the_waves_of_the_paper(size):
    found = sinusoids(3, 4, size, dtype=torch.float64, device=torch.device("cpu"))
    expected = [
        [
            (math.cos if feature % 2 else math.sin)(
                position / 10_000 ** ((feature - feature % 2) / size)
            )
            for feature in range(size)
        ]
        for position in range(3, 7)
    ]
    assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_positions_have_no_end_and_half_precision_is_rounded_last():
    exact = sinusoids(1_000_000, 2, 6, dtype=torch.float64, device=torch.device("cpu"))
    assert exact[0, 0].item() == pytest.approx(math.sin(1_000_000), abs=1e-9)
    single = sinusoids(300, 2, 6, dtype=torch.float32, device=torch.device("cpu"))
    half = sinusoids(300, 2, 6, dtype=torch.bfloat16, device=torch.device("cpu"))
    assert torch.equal(half, single.bfloat16())


def words_by_hand(words: nn.Module, embedded: Tensor) -> Tensor:
    """What enters the first layer, from position 0 on."""
    places = sinusoids(
        0, embedded.shape[1], HIDDEN, dtype=torch.float64, device=torch.device("cpu")
    )
    return math.sqrt(EMBEDDING) * embedded @ words.input.weight.T + words.input.bias + places


# The encoder


def heads_by_hand(query: Tensor, keys: Tensor, values: Tensor, heads: int) -> Tensor:
    """Vaswani et al. 2017, eq. 1, of one source: head by head, query by query."""
    size = query.shape[-1] // heads
    rows = []
    for one in query:
        contexts = []
        for part in (slice(head * size, (head + 1) * size) for head in range(heads)):
            scores = torch.stack([one[part] @ key[part] for key in keys]) / math.sqrt(size)
            contexts.append(scores.softmax(0) @ values[:, part])
        rows.append(torch.cat(contexts))
    return torch.stack(rows)


def encoder_by_hand(encoder: TransformerEncoder, embedded: Tensor, heads: int) -> Tensor:
    """The states of one source without padding."""
    states = words_by_hand(encoder.words, embedded[None])[0]
    for layer in encoder.layers.layers:
        attention = layer.self_attn
        normed = layer.norm1(states)
        query, keys, values = (normed @ attention.in_proj_weight.T + attention.in_proj_bias).chunk(
            3, dim=-1
        )
        states = states + attention.out_proj(heads_by_hand(query, keys, values, heads))
        states = states + layer.linear2(layer.linear1(layer.norm2(states)).clamp(min=0))
    return encoder.layers.norm(states)


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("search", [False, True])
def test_a_padded_batch_equals_its_sources_one_by_one_and_by_hand(layers, heads, search):
    """`search`: without gradients, where torch computes its layers on another path."""
    encoder, embedded = encoder_of(layers, heads), draw(3, 6, EMBEDDING, seed=1)
    with torch.inference_mode(search):
        encoded = encoder.train(not search)(embedded, MASK)
        for row, length in enumerate(LENGTHS):
            source = embedded[row, :length]
            expected = encoder_by_hand(encoder, source, heads)
            alone = encoder(source[None], torch.ones(1, length, dtype=torch.bool))
            assert_close(alone.states[0], expected)
            assert_close(encoded.states[row, :length], expected)
            assert_close(encoded.final[:, row], expected.mean(0)[None])
    assert encoded.states.shape == (3, 6, encoder.size)
    assert encoded.values is encoded.states
    assert encoded.final.shape == (1, 3, encoder.size)
    assert encoded.final_cell is None
    assert (encoded.states[~MASK] == 0).all()


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_what_fills_the_padding_of_a_source_changes_nothing(heads, search):
    encoder, embedded = encoder_of(2, heads), draw(3, 6, EMBEDDING, seed=1)
    with torch.inference_mode(search):
        encoded = encoder.train(not search)(embedded, MASK)
        filled = embedded.masked_fill(~MASK[..., None], 9.0)
        wide = torch.cat([filled, torch.full((3, 2, EMBEDDING), 9.0).double()], dim=1)
        found = encoder(wide, torch.cat([MASK, torch.zeros(3, 2, dtype=torch.bool)], dim=1))
    assert_close(found.states[:, :6], encoded.states)
    assert_close(found.final, encoded.final)


def test_padding_gets_no_gradient_and_all_real_words_do():
    embedded = draw(3, 6, EMBEDDING, seed=1).requires_grad_()
    encoded = encoder_of()(embedded, MASK)
    (encoded.states.sin().sum() + encoded.final.sin().sum()).backward()
    assert (embedded.grad[~MASK] == 0).all()
    assert (embedded.grad[MASK] != 0).all()


# The decoder


def torch_layer_of(layer: nn.Module, encoder_size: int) -> nn.TransformerDecoderLayer:
    """torch's own layer with the same weights."""
    twin = nn.TransformerDecoderLayer(
        HIDDEN, layer.heads, INNER, 0.0, batch_first=True, norm_first=True
    )
    twin.multihead_attn = nn.MultiheadAttention(
        HIDDEN, layer.heads, batch_first=True, kdim=encoder_size, vdim=encoder_size
    )
    across = {"query": layer.query, "key": layer.key, "value": layer.value}
    weights = {
        "self_attn.in_proj_weight": layer.self_input.weight,
        "self_attn.in_proj_bias": layer.self_input.bias,
        # Any bias of the keys: softmax does not see it.
        "multihead_attn.in_proj_bias": torch.cat(
            [layer.query.bias, torch.full((HIDDEN,), 0.7), layer.value.bias]
        ),
    }
    if encoder_size == HIDDEN:
        together = torch.cat([part.weight for part in across.values()])
        weights["multihead_attn.in_proj_weight"] = together
    else:
        for name, part in across.items():
            weights[f"multihead_attn.{name[0]}_proj_weight"] = part.weight
    modules = {
        "norm1": layer.self_norm,
        "self_attn.out_proj": layer.self_output,
        "norm2": layer.source_norm,
        "multihead_attn.out_proj": layer.source_output,
        "norm3": layer.inner_norm,
        "linear1": layer.inner_input,
        "linear2": layer.inner_output,
    }
    for name, module in modules.items():
        weights |= {f"{name}.{kind}": value for kind, value in module.state_dict().items()}
    twin.double().load_state_dict(weights)
    return twin


def by_torch(
    decoder: TransformerDecoder, embedded: Tensor, encoded: EncoderOutput, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What the last layer's heads attended to, the states, and the gate's logits, by torch's."""
    words = states = words_by_hand(decoder.words, embedded)
    future = torch.ones(embedded.shape[1], embedded.shape[1], dtype=torch.bool).triu(1)
    seen = {}

    def read_values(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """torch's layer knows one memory: here values differ from states."""
        seen["asked"] = args[0]
        return (args[0], args[1], encoded.values), kwargs

    for layer in decoder.layers:
        twin = torch_layer_of(layer, encoded.states.shape[-1])
        attention = twin.multihead_attn
        hook = attention.register_forward_pre_hook(read_values, with_kwargs=True)
        states = twin(states, encoded.states, tgt_mask=future, memory_key_padding_mask=~mask)
        hook.remove()
    attention.out_proj.weight.data = torch.eye(HIDDEN).double()
    attention.out_proj.bias.data.zero_()
    context, weights = attention(
        seen["asked"],
        encoded.states,
        encoded.values,
        key_padding_mask=~mask,
        average_attn_weights=False,
    )
    states = decoder.norm(states)
    return weights, states, decoder.gate(torch.cat([context, states, words], -1)).squeeze(-1)


@pytest.mark.parametrize("copy_head", ["last", "mean"])
@pytest.mark.parametrize("encoder_size", [ENCODER, HIDDEN])
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (1, 4), (3, 2)])
def test_it_equals_torchs_own_layers(layers, heads, encoder_size, copy_head):
    decoder = decoder_of(layers=layers, heads=heads, encoder_size=encoder_size, copy_head=copy_head)
    encoded, words = encoded_of(draw(3, 6, encoder_size, seed=1)), draw(3, 5, EMBEDDING, seed=2)
    output, _ = decoder(words, start_of(decoder, encoded, MASK))
    weights, states, gate = by_torch(decoder, words, encoded, MASK)
    attention = weights[:, -1] if copy_head == "last" else weights.mean(1)
    assert_close(output.attention, attention)
    assert_close(output.log_attention.exp(), attention)
    assert_close(output.features, torch.tanh(decoder.output(states)))
    assert_close(output.gate, gate)
    assert (output.coverage_loss == 0).all()


@pytest.mark.parametrize(("copy_head", "expected"), [("last", [0.1, 0.9]), ("mean", [0.3, 0.7])])
def test_the_copy_distribution_is_the_last_heads_or_the_mean_of_all(copy_head, expected):
    by_head = torch.tensor([[0.5, 0.5], [0.1, 0.9]])[None, :, None]
    found = decoder_of(copy_head=copy_head).copies(by_head.log()).exp()
    torch.testing.assert_close(found, torch.tensor([[expected]]))


@pytest.mark.parametrize("copy_head", ["last", "mean"])
@pytest.mark.parametrize("heads", [1, 4])
def test_attention_is_a_distribution_over_real_tokens(heads, copy_head):
    decoder = decoder_of(heads=heads, copy_head=copy_head)
    state = start_of(decoder, encoded_of(draw(3, 6, ENCODER, seed=1)), MASK)
    output, _ = decoder(draw(3, 5, EMBEDDING, seed=2), state)
    padding = ~MASK[:, None].expand(3, 5, 6)
    assert_close(output.attention.sum(-1), torch.ones(3, 5).double())
    assert (output.attention[padding] == 0).all()
    assert (output.attention[~padding] > 0).all()
    assert output.log_attention.isfinite().all()


def test_a_batch_of_many_equals_many_of_one_and_padding_changes_nothing():
    decoder, words = decoder_of(), draw(3, 5, EMBEDDING, seed=2)
    states = draw(3, 6, ENCODER, seed=1)
    together, _ = decoder(words, start_of(decoder, encoded_of(states), MASK))
    filled = encoded_of(states.masked_fill(~MASK[..., None], 9.0))
    other, _ = decoder(words, start_of(decoder, filled, MASK))
    assert_outputs_close(other, together)
    for row, length in enumerate(LENGTHS):
        encoded = encoded_of(states[row : row + 1, :length])
        state = start_of(decoder, encoded, torch.ones(1, length, dtype=torch.bool))
        alone, _ = decoder(words[row : row + 1], state)
        assert_close(alone.features[0], together.features[row])
        assert_close(alone.gate[0], together.gate[row])
        assert_close(alone.log_attention[0], together.log_attention[row, :, :length])


@settings(max_examples=30)
@given(pieces=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_steps_in_any_pieces_equal_all_at_once(pieces):
    decoder = decoder_of()
    start = start_of(decoder, encoded_of(draw(3, 6, ENCODER, seed=1)), MASK)
    words = draw(3, sum(pieces), EMBEDDING, seed=2)
    together, after = decoder(words, start)
    outputs, state = [], start
    for piece, so_far in zip(words.split(pieces, dim=1), accumulate(pieces), strict=True):
        output, state = decoder(piece, state)
        outputs.append(output)
        assert {cache.shape for cache in state.keys + state.values} == {(3, so_far, HIDDEN)}
    assert_outputs_close(steps_of(outputs), together)
    assert_close((state.keys, state.values), (after.keys, after.values))
    assert {cache.shape[1] for cache in start.keys + start.values} == {0}


BEAMS = [
    [[0, 0, 0, 1, 1, 1, 2, 2, 2], [2, 0, 0, 5, 4, 3, 7, 7, 7]],  # begun, then repeated, re-ordered
    [[0, 0, 1, 1, 2, 2], [1, 0, 4, 5], [3, 2, 1, 1]],  # a document leaves; the others change places
    [[2, 2, 0, 0], [0, 3, 1, 2, 0]],  # no longer a beam of each
]


@pytest.mark.parametrize("choices", BEAMS, ids=str)
@pytest.mark.parametrize(("steps", "copy_head"), [(1, "last"), (3, "last"), (3, "mean")])
def test_chosen_rows_go_on_as_if_each_had_been_alone(choices, steps, copy_head):
    decoder, states = decoder_of(copy_head=copy_head), draw(3, 6, ENCODER, seed=1)
    state = start_of(decoder, encoded_of(states), MASK)
    documents, words = torch.arange(3), draw(3, 2, EMBEDDING, seed=2)
    output, state = decoder(words, state)
    for choice in map(torch.tensor, choices):
        state, documents = state.select(choice), documents[choice]
        new = draw(len(choice), steps, EMBEDDING, seed=len(words[0]))
        words = torch.cat([words[choice], new], dim=1)
        output, state = decoder(new, state)
        for row, document in enumerate(documents):
            encoded = encoded_of(states[document][None])
            alone = start_of(decoder, encoded, MASK[document][None])
            expected, _ = decoder(words[row][None], alone)
            found = DecoderOutput(*(part[row][None] for part in output))
            assert_outputs_close(found, DecoderOutput(*(part[:, -steps:] for part in expected)))


@pytest.mark.parametrize("said", [0, 2])
def test_no_step_sees_later_words(said):
    decoder = decoder_of()
    state = start_of(decoder, encoded_of(draw(3, 6, ENCODER, seed=1)), MASK)
    if said:
        _, state = decoder(draw(3, said, EMBEDDING, seed=3), state)
    words = draw(3, 5, EMBEDDING, seed=2).requires_grad_()
    output, _ = decoder(words, state)
    for step in range(5):
        seen = output.features[:, step].sum() + output.gate[:, step].sum()
        seen = seen + output.attention[:, step, 0].sum()
        (gradient,) = torch.autograd.grad(seen, words, retain_graph=True)
        assert (gradient[:, : step + 1] != 0).all()
        assert (gradient[:, step + 1 :] == 0).all()


# Both


@pytest.mark.parametrize("copy_head", ["last", "mean"])
def test_gradients_reach_every_parameter(copy_head):
    encoder, decoder = encoder_of(), decoder_of(encoder_size=HIDDEN, copy_head=copy_head)
    state = start_of(decoder, encoder(draw(3, 6, EMBEDDING, seed=1), MASK), MASK)
    output, _ = decoder(draw(3, 5, EMBEDDING, seed=2), state)
    loss = output.features.sin().sum() + output.gate.sum() + output.log_attention[..., 0].sum()
    loss.backward()
    for module in (encoder, decoder):
        for name, parameter in module.named_parameters():
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.abs().max() > 1e-9, name


@pytest.mark.parametrize("search", [False, True])
def test_it_runs_in_bfloat16_and_its_attention_stays_exact(search):
    encoder, decoder = encoder_of().float(), decoder_of(encoder_size=HIDDEN).float()
    source, words = draw(3, 6, EMBEDDING, seed=1).float(), draw(3, 5, EMBEDDING, seed=2).float()
    with torch.inference_mode(search), torch.autocast("cpu", torch.bfloat16):
        state = start_of(decoder, encoder.train(not search)(source, MASK), MASK)
        output, after = decoder.train(not search)(words, state)
        one, _ = decoder(words[:, :1], after.select(torch.tensor([2, 0, 1])))
    for part in (*output, *one, *state.keys, *after.keys):
        assert part.isfinite().all()
    assert output.attention.dtype == output.log_attention.dtype == torch.float32
    torch.testing.assert_close(output.attention.sum(-1), torch.ones(3, 5))
    assert {cache.dtype for cache in after.keys + after.values} == {torch.bfloat16}
    if not search:
        (output.features.float().sum() + output.gate.sum()).backward()
        gradients = [p.grad for module in (encoder, decoder) for p in module.parameters()]
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_dropout_is_for_training_only_and_leaves_a_distribution():
    plain = encoder_of(), decoder_of(encoder_size=HIDDEN)
    dropped = encoder_of(dropout=0.5), decoder_of(encoder_size=HIDDEN, dropout=0.5)

    def run(encoder: TransformerEncoder, decoder: TransformerDecoder) -> DecoderOutput:
        encoded = encoder(draw(3, 6, EMBEDDING, seed=1), MASK)
        return decoder(draw(3, 5, EMBEDDING, seed=2), start_of(decoder, encoded, MASK))[0]

    one, other = run(*dropped), run(*dropped)
    assert not torch.equal(one.features, other.features)
    assert not torch.equal(one.attention, other.attention)
    assert_close(one.attention.sum(-1), torch.ones(3, 5).double())
    expected = run(*plain)
    assert_outputs_close(run(*(module.eval() for module in dropped)), expected)
    assert_outputs_close(run(*(module.eval() for module in plain)), expected)


def test_dropout_of_what_is_read_leaves_where_it_looked_alone():
    last = decoder_of(dropout=0.5).layers[-1]
    query, keys, values = (draw(3, 6, HIDDEN, seed=seed) for seed in (1, 2, 3))
    context, log_attention = last.point(query, keys, values, MASK)
    exact, same_log_attention = last.eval().point(query, keys, values, MASK)
    assert torch.equal(log_attention, same_log_attention)
    assert not torch.equal(context, exact)


def test_without_a_pointer_there_is_no_gate():
    decoder = decoder_of(pointer=False)
    state = start_of(decoder, encoded_of(draw(3, 6, ENCODER, seed=1)), MASK)
    output, _ = decoder(draw(3, 5, EMBEDDING, seed=2), state)
    assert (output.gate == torch.inf).all()


def test_matrices_start_as_glorot_each_layer_its_own_and_biases_at_zero():
    torch.manual_seed(0)
    sizes = {"layers": 2, "heads": 2, "inner_size": 80, "dropout": 0.0}
    encoder = TransformerEncoder(32, 40, **sizes)
    decoder = TransformerDecoder(
        embedding_size=32,
        hidden_size=40,
        encoder_size=40,
        output_size=36,
        output_activation=True,
        pointer=True,
        copy_head="mean",
        **sizes,
    )
    for module in (encoder, decoder):
        for name, parameter in module.named_parameters():
            if parameter.dim() > 1:
                bound = math.sqrt(6 / sum(parameter.shape))
                assert 0.8 * bound < parameter.abs().max() <= bound, name
            else:
                expected = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                assert (parameter == expected).all(), name
    first, second = (layer.linear1.weight for layer in encoder.layers.layers)
    assert not torch.equal(first, second)
