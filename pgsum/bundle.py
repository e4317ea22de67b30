"""A trained model on disk, complete and checkable; and how a model is built from its settings.

A bundle is a folder: config.json (format, versions, settings), vocab.json, surface.json,
model.safetensors, README.md (the model card) and MANIFEST.json (sha256 of each). No pickles.
"""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

import pgsum
from pgsum.config import Config, ModelConfig, from_dict, to_dict
from pgsum.errors import ModelError
from pgsum.nn.attention import AdditiveRelevance, Attention, GeneralRelevance
from pgsum.nn.decoder import RecurrentDecoder
from pgsum.nn.encoder import Bridge, RecurrentEncoder
from pgsum.nn.model import PointerGenerator, initialise_see2017
from pgsum.text.surface import Surface
from pgsum.text.vocab import PAD_ID, UNK_ID, Vocab

FORMAT = 1
FILES = ("config.json", "vocab.json", "surface.json", "model.safetensors", "README.md")
HINT = "Copy the bundle again from where it was made, or train anew with `pgsum train`."


@dataclass(frozen=True)
class Bundle:
    """All that summarising needs."""

    config: Config
    vocab: Vocab
    surface: Surface
    model: PointerGenerator


def build_model(config: ModelConfig, vocab_size: int) -> PointerGenerator:
    """A model with fresh weights, from its settings."""
    encoder_size = 2 * config.hidden_size
    output_size = config.output_size or config.embedding_size
    use_cell = config.query == "cell"
    query_size = 2 * config.hidden_size if use_cell else config.hidden_size
    coverage = config.coverage != "none"
    relevance = (
        GeneralRelevance(query_size, encoder_size, coverage=coverage)
        if config.attention == "general"
        else AdditiveRelevance(query_size, encoder_size, config.attention_size, coverage=coverage)
    )
    embedding = nn.Embedding(vocab_size, config.embedding_size, padding_idx=PAD_ID)
    # As output weights, too, vectors should begin with a norm near 1.
    nn.init.normal_(embedding.weight, std=config.embedding_size**-0.5)
    projection = nn.Linear(output_size, vocab_size)
    nn.init.zeros_(projection.bias)
    if config.tie_embeddings:
        projection.weight = embedding.weight
    model = PointerGenerator(
        embedding=embedding,
        encoder=RecurrentEncoder(
            config.embedding_size,
            config.hidden_size,
            layers=config.layers,
            dropout=config.dropout,
        ),
        bridge=Bridge(encoder_size, config.hidden_size),
        decoder=RecurrentDecoder(
            embedding_size=config.embedding_size,
            hidden_size=config.hidden_size,
            encoder_size=encoder_size,
            output_size=output_size,
            attention=Attention(relevance),
            use_cell=use_cell,
            input_feeding=config.input_feeding,
            output_activation=config.output_activation,
            pointer=config.pointer,
            coverage=coverage,
            dropout=config.dropout,
        ),
        projection=projection,
        unk_id=UNK_ID,
        coverage_weight=config.coverage_weight,
        dropout=config.dropout,
    )
    if config.initialisation == "see2017":
        initialise_see2017(model)
    return model
