"""What is left of sound content when a disk, an editor or a stranger has been at it."""

import json
from typing import Any

from hypothesis import strategies as st

HOSTILE_TEXT = (
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></svg><script/>",
    "{{7*7}} {% raw %}",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "&lt;b&gt; \u2028 \udc80 \ud800",
    "\u202eturned\u2066",
    "\x00\x1b[2J\x07\x9b31m",
    "$\\frac{1}{0}$ $",
    "[bold]rich[/bold] [/]",
    "=cmd|' /C calc'!A0",
    "../../x",
)
TEXT = st.text(max_size=40) | st.sampled_from(HOSTILE_TEXT)
_HOSTILE_BYTES = st.sampled_from(
    [
        *(text.encode(errors="surrogatepass") for text in HOSTILE_TEXT),
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x00" * 8,
        b"\r\n",
        b"\r",
        b'"',
        b"[" * 2000,
        b'{"a":' * 2000,
        b"9" * 5000,
        b"1e999",
        b"NaN",
        b"-1",
        b"\\ud800",
        b"&a *a !!python/object:os.system",
    ]
)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """`content` with up to four places cut out, overwritten or grown, or anything else at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.sampled_from([start, start + 1, start + 7, start + 40, len(content)]))
        new = draw(st.just(b"") | st.binary(max_size=8) | _HOSTILE_BYTES)
        content = content[:start] + new + content[end:]
    return content


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**12, -1, 2**63, 10**400])
    | st.floats()
    | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def edited(draw: st.DrawFn, content: Any) -> Any:
    """A JSON value of which one part, at any depth, is gone, new or another."""
    if not isinstance(content, dict | list) or not content or draw(st.integers(0, 4)) == 0:
        return draw(_VALUES)
    keys = list(content) if isinstance(content, dict) else range(len(content))
    key = draw(st.sampled_from(keys))
    changed = json.loads(json.dumps(content))
    match draw(st.sampled_from(["change", "remove", "add"])):
        case "change":
            changed[key] = draw(edited(content[key]))
        case "remove":
            del changed[key]
        case _ if isinstance(content, dict):
            changed[draw(st.text(max_size=5))] = draw(_VALUES)
        case _:
            changed.insert(key, draw(_VALUES))
    return changed
