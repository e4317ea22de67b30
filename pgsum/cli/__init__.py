"""One file per verb, each a thin Typer function."""
