"""Which files a bundle has, by name. Knows nothing of what is in them, so that it costs nothing."""

FILES = ("config.json", "vocab.json", "surface.json", "model.safetensors", "README.md")
MANIFEST = "MANIFEST.json"
"""Of the others: the sha256 of each."""
