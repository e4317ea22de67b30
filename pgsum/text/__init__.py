"""Strings only: no tensors, no files but the vocabulary's."""
