"""The model card: README.md of a bundle."""

from collections.abc import Mapping

import pgsum
from pgsum.config import Config, to_yaml


def model_card(
    config: Config,
    *,
    corpus: str,
    fingerprint: str,
    training_pairs: int,
    validation_pairs: int,
    parameters: int,
    step: int,
    scores: Mapping[str, float] | None,
    signature: str | None,
    versions: Mapping[str, str],
) -> str:
    """Data, settings and measured scores of a model, in Markdown."""
    measured = "It has not been scored: training was stopped before the first validation."
    if scores is not None:
        rows = "\n".join(f"| {name} | {value:.2f} |" for name, value in scores.items())
        measured = (
            f"F1 x 100 on {validation_pairs} validation pairs, by search as set below (the model"
            f" was chosen by `{config.trainer.metric}` on these very pairs, so expect a little less"
            f" elsewhere):\n\n| score | |\n|---|---|\n{rows}\n\n`{signature}`"
        )
    half = config.trainer.weights == "float16"
    stored = ", stored as float16 (what was scored were these before rounding)" if half else ""
    return f"""# {config.name or corpus}

A {config.model.name} summarizer, trained by pgsum {pgsum.__version__}.

    pgsum summarize FILE --model THIS_FOLDER

- Data: `{corpus}`, {training_pairs:,} training pairs, fingerprint `{fingerprint}`
- Model: {parameters:,} parameters, weights of step {step:,} of {config.trainer.max_steps:,}{stored}
- Versions: {", ".join(f"{name} {version}" for name, version in versions.items())}

It writes what the training summaries look like, from the words it was trained on and those of the
document. Names and numbers are usually copied from the document; that the sentence built around
them is true, nothing guarantees.

## Scores

{measured}

## Settings

```yaml
{to_yaml(config, commented=False).strip()}
```
"""
