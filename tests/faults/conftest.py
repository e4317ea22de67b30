from reference.command_line import pgsum, tiny_model

__all__ = ["pgsum", "tiny_model"]
