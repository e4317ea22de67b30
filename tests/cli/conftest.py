from reference.command_line import pgsum, tiny_model
from reference.hub_stand_in import hub

__all__ = ["hub", "pgsum", "tiny_model"]
