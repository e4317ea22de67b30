"""Systems with no parameters."""
