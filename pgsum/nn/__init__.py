"""Tensors only: constructors take sizes and modules, never configs.

Dimensions, the same everywhere:
batch, source, target: sizes of those axes.  embedding, encoder, decoder, hidden: feature sizes.
vocab: the fixed vocabulary.  extended_vocab: vocab plus the batch's most source OOVs.
oovs: the batch's most source OOVs.  tokens: real target tokens of a batch, flattened.
rows: batch times beam.
"""
