"""Search over any step function: knows no model and no words."""
