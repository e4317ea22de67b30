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
    template: str, *, styles: Sequence[str], scripts: Sequence[str], data: object, **context: object
) -> str:
    """The page of a template of this folder, with the files named, and `data` for the scripts.

    A template finds `policy`, `style`, `script` and `data` beside what `context` has.
    """
    style = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in styles)
    script = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:"
    )
    # Jinja's own default is to escape nothing.
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        policy=Markup(policy),
        style=Markup(style),
        script=Markup(script),
        data=json_for_script(data),
        **context,
    )


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
