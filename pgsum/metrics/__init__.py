"""Scores that can be defended."""
