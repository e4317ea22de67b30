"""A page in one file: style, script and data are in it, and its policy forbids everything else.

Opened from a disk it asks for nothing, and no text in it can become markup: templates escape what
they are given, and scripts read their data as JSON. Knows templates; knows nothing of summaries.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pgsum.data.files import write_whole
from pgsum.errors import ConfigError

_HERE = Path(__file__).parent
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def render(
    template: str,
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    data: object,
    folder: Path = _HERE,
    framed: Sequence[str] = (),
    directives: str = "",
    **context: object,
) -> str:
    """The page of a template of this folder, with the files named, and `data` for the scripts.

    A template finds `policy`, `style`, `script` and `data` beside what `context` has. `folder` has
    what this one lacks. A page that shows others in frames names their scripts as `framed`, since a
    frame may run no more than what is around it; `directives` are added to its policy.
    """
    # Jinja's own default is to escape nothing.
    environment = Environment(
        loader=FileSystemLoader([_HERE, folder]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script, others = (_joined(environment, names) for names in (styles, scripts, framed))
    digests = [_digest(script)] + [_digest(others)] * bool(framed)
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {' '.join(digests)}; "
        f"img-src data:{directives}"
    )
    return environment.get_template(template).render(
        policy=Markup(policy),
        style=Markup(style),
        script=Markup(script),
        data=json_for_script(data),
        **context,
    )


def _joined(environment: Environment, names: Sequence[str]) -> str:
    loader = environment.loader
    assert loader is not None
    return "\n".join(loader.get_source(environment, name)[0] for name in names)


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def json_for_script(data: object) -> Markup:
    """JSON that no text in it can end the script element with, nor begin a comment in.

    What turns the writing around is spelt out, since a reader would not see it.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = _TURNING.sub(lambda match: rf"\\u{ord(match[0]):04x}", text)
    return Markup(text.replace("<", "\\u003c"))


def write(path: Path, content: str | bytes, *, option: str) -> None:
    """A file, whole or not at all. ConfigError, with `option` as a remedy, where that fails."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise ConfigError(
            f"The file cannot be written: {error.strerror or error}.",
            where=str(path),
            hint=f"name another with {option}",
        ) from error
