"""A model from its settings: which modules, of which sizes. The only reader of `model.*`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from pgsum.config import ModelConfig
from pgsum.nn.attention import AdditiveRelevance, Attention, DotRelevance, GeneralRelevance
from pgsum.nn.conv import ConvDecoder, ConvEncoder
from pgsum.nn.decoder import Decoder
from pgsum.nn.encoder import Bridge, RecurrentEncoder
from pgsum.nn.model import PointerGenerator, begin_without_coverage, initialise_see2017
from pgsum.nn.recurrent import RecurrentDecoder
from pgsum.nn.transformer import TransformerDecoder, TransformerEncoder
from pgsum.text.vocab import PAD_ID, UNK_ID


def build_model(config: ModelConfig, vocab_size: int) -> PointerGenerator:
    """A model with fresh weights, from its settings."""
    embedding = nn.Embedding(vocab_size, config.embedding_size, padding_idx=PAD_ID)
    # As output weights, too, vectors should begin with a norm near 1.
    nn.init.normal_(embedding.weight, std=config.embedding_size**-0.5)
    projection = nn.Linear(config.output_size or config.embedding_size, vocab_size)
    nn.init.zeros_(projection.bias)
    if config.tie_embeddings:
        projection.weight = embedding.weight
    model = PointerGenerator(
        embedding=embedding,
        encoder=_encoder(config),
        decoder=_decoder(config),
        projection=projection,
        unk_id=UNK_ID,
        coverage_weight=config.coverage_weight,
        dropout=config.dropout,
    )
    if config.initialisation == "see2017":
        initialise_see2017(model)
    if config.coverage == "auto":
        begin_without_coverage(model)
    return model


def build_empty_model(config: ModelConfig, vocab_size: int) -> PointerGenerator:
    """The same model without numbers, on the meta device: nothing is allocated, nothing drawn."""
    with torch.device("meta"), _NothingNormal():
        return build_model(config, vocab_size)


class _NothingNormal(TorchFunctionMode):
    """Leaves `nn.init.normal_` out: on the meta device torch would import its compiler for that,
    which takes longer than to load a model.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is nn.init.normal_:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _encoder(config: ModelConfig) -> nn.Module:
    embedding, hidden = config.embedding_size, config.hidden_size
    match config.encoder:
        case "rnn":
            return RecurrentEncoder(
                embedding,
                hidden,
                cell=config.cell,
                layers=config.layers,
                bidirectional=config.bidirectional,
                reverse_source=config.reverse_source,
                dropout=config.dropout,
            )
        case "conv":
            return ConvEncoder(
                embedding,
                hidden,
                layers=config.layers,
                kernel_size=config.kernel_size,
                max_positions=config.max_positions,
                dropout=config.dropout,
            )
        case "transformer":
            return TransformerEncoder(
                embedding,
                hidden,
                layers=config.layers,
                heads=config.heads,
                inner_size=config.inner_size or 4 * hidden,
                dropout=config.dropout,
            )


def _decoder(config: ModelConfig) -> Decoder:
    match config.decoder:
        case "rnn":
            return _recurrent_decoder(config)
        case "conv":
            return ConvDecoder(
                embedding_size=config.embedding_size,
                hidden_size=config.hidden_size,
                encoder_size=config.encoder_states,
                layers=config.layers,
                kernel_size=config.kernel_size,
                max_positions=config.max_positions,
                attentions=[_attention(config) for _ in range(config.layers)],
                output_size=config.output_size or config.embedding_size,
                output_activation=config.output_activation,
                pointer=config.pointer,
                dropout=config.dropout,
            )
        case "transformer":
            return TransformerDecoder(
                embedding_size=config.embedding_size,
                hidden_size=config.hidden_size,
                encoder_size=config.encoder_states,
                layers=config.layers,
                heads=config.heads,
                inner_size=config.inner_size or 4 * config.hidden_size,
                output_size=config.output_size or config.embedding_size,
                output_activation=config.output_activation,
                pointer=config.pointer,
                copy_head=config.copy_head,
                dropout=config.dropout,
            )


def _recurrent_decoder(config: ModelConfig) -> RecurrentDecoder:
    hidden = config.decoder_size or config.hidden_size
    return RecurrentDecoder(
        embedding_size=config.embedding_size,
        hidden_size=hidden,
        encoder_size=config.encoder_states,
        output_size=config.output_size or config.embedding_size,
        bridge=Bridge(
            config.encoder_states,
            hidden,
            layers=config.layers,
            cells=config.cell == "lstm",
            activation=config.bridge,
        ),
        attention=None if config.attention == "none" else _attention(config),
        cell=config.cell,
        layers=config.layers,
        query=config.query,
        query_with_cell=config.query_with_cell,
        fixed_context=config.context == "every_step",
        input_feeding=config.input_feeding,
        output_activation=config.output_activation,
        pointer=config.pointer,
        coverage=config.coverage != "none",
        dropout=config.dropout,
    )


def _attention(config: ModelConfig) -> Attention:
    coverage = config.coverage != "none"
    query, states = config.query_size, config.encoder_states
    if config.attention == "general":
        return Attention(GeneralRelevance(query, states, coverage=coverage))
    if config.attention == "additive":
        size = config.attention_size
        return Attention(AdditiveRelevance(query, states, size, coverage=coverage))
    scaled = config.attention == "scaled_dot"
    return Attention(DotRelevance(query, scaled=scaled, coverage=coverage))
