"""A model from its settings: which modules, of which sizes. The only reader of `model.*`."""

from torch import nn

from pgsum.config import ModelConfig
from pgsum.nn.attention import AdditiveRelevance, Attention, DotRelevance, GeneralRelevance
from pgsum.nn.decoder import Decoder
from pgsum.nn.encoder import Bridge, RecurrentEncoder
from pgsum.nn.model import PointerGenerator, initialise_see2017
from pgsum.nn.recurrent import RecurrentDecoder
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
    return model


def _encoder(config: ModelConfig) -> nn.Module:
    return RecurrentEncoder(
        config.embedding_size,
        config.hidden_size,
        cell=config.cell,
        layers=config.layers,
        bidirectional=config.bidirectional,
        reverse_source=config.reverse_source,
        dropout=config.dropout,
    )


def _decoder(config: ModelConfig) -> Decoder:
    hidden_size = config.decoder_size or config.hidden_size
    return RecurrentDecoder(
        embedding_size=config.embedding_size,
        hidden_size=hidden_size,
        encoder_size=config.encoder_states,
        output_size=config.output_size or config.embedding_size,
        bridge=Bridge(
            config.encoder_states,
            hidden_size,
            layers=config.layers,
            cells=config.cell == "lstm",
            activation=config.bridge,
        ),
        attention=_attention(config),
        cell=config.cell,
        layers=config.layers,
        query=config.query,
        query_with_cell=config.query_with_cell,
        fixed_context=config.attention == "none" and config.context == "every_step",
        input_feeding=config.input_feeding,
        output_activation=config.output_activation,
        pointer=config.pointer,
        coverage=config.coverage != "none",
        dropout=config.dropout,
    )


def _attention(config: ModelConfig) -> Attention | None:
    coverage = config.coverage != "none"
    query, states = config.query_size, config.encoder_states
    match config.attention:
        case "none":
            return None
        case "general":
            return Attention(GeneralRelevance(query, states, coverage=coverage))
        case "additive":
            size = config.attention_size
            return Attention(AdditiveRelevance(query, states, size, coverage=coverage))
        case "dot" | "scaled_dot" as form:
            scaled = form == "scaled_dot"
            return Attention(DotRelevance(query, scaled=scaled, coverage=coverage))
