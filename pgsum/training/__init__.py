"""Training: Lightning is the engine, this is the wiring."""
