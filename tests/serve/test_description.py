"""The description of the API against the API: requests that fit it, and such that do not."""

from dataclasses import asdict

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode

from pgsum.text.tokenize import tokenize


def fits_together(body, usual):
    """What a description cannot say."""
    chosen = asdict(usual) | {name: value for name, value in body.items() if value is not None}
    documents = body["document"] if isinstance(body["document"], list) else [body["document"]]
    return (
        chosen["min_tokens"] <= chosen["max_tokens"]
        and chosen["n_best"] <= chosen["beam_size"]
        and all(map(tokenize, documents))
    )


@pytest.mark.fault(49)
@pytest.mark.parametrize(
    ("mode", "paths"),
    [
        (GenerationMode.POSITIVE, {"/api/health", "/api/info", "/api/summarize"}),
        (GenerationMode.NEGATIVE, {"/api/summarize"}),
    ],
    ids=["that fits", "that does not"],
)
def test_the_description_holds_for_whatever_is_sent(served, summarizer, mode, paths):
    schema = schemathesis.openapi.from_url(f"{served({'tiny': summarizer})}api/openapi.json")
    tried = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        if operation.path not in paths:
            continue

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=40, suppress_health_check=list(HealthCheck))
        def holds(case):
            if mode is GenerationMode.POSITIVE and case.path == "/api/summarize":
                assume(fits_together(case.body, summarizer.bundle.config.decode))
            case.call_and_validate()
            tried.add(case.path)

        holds()
    assert tried == paths
