"""For all tests: Hypothesis does not time its examples, since the machine may be busy."""

from hypothesis import settings

settings.register_profile("pgsum", deadline=None)
settings.load_profile("pgsum")
