"""Split any text into tokens, each with its place in the raw text.

Words for scripts that put blanks between words, characters for those that do not (Han, kana, Thai,
Lao, Khmer, Myanmar). Nothing is normalised: a token is a slice of the text, and what vocabulary and
pointers compare is its `lookup_form`. Linear in the text, whatever it holds: each repeat of the
pattern is possessive or bounded, so nothing is scanned again and again.

Hyphens part words: of the words of summaries that neither vocabulary nor document has, four in ten
are compounds of known ones.
"""

import unicodedata
from itertools import islice
from typing import NamedTuple

import regex

# Never part of a word: a terminal's escape sequences; control characters, lone surrogates and
# invisible format characters; a zero-width joiner that builds no emoji.
_ESCAPE = r"\x1b\[[0-?]{0,32}+[\x20-/]{0,4}+[@-~]"
_INVISIBLE = (
    r"[\p{Cc}--\x1b]\p{Cs}\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb"
)
_SKIPPED = regex.compile(
    rf"{_ESCAPE}|[{_INVISIBLE}]++|\x1b|\u200d++(?!\p{{Extended_Pictographic}})", regex.VERSION1
)

# Scripts without blanks between words; the sound marks are kana too.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
UNSPACED = regex.compile(rf"[{_UNSPACED}]\p{{M}}*+")
"""A character that is a token by itself."""

_LETTER = rf"[a-zA-Z0-9_[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]]"
# At most 100 characters, so that a file without blanks is not one token. A soft hyphen, a
# zero-width joiner or non-joiner, or a word joiner inside a word does not part it.
_RUN = rf"{_LETTER}(?:{_LETTER}|[\u00ad\u200c\u200d\u2060]{{1,4}}+(?={_LETTER})){{0,99}}+\p{{M}}*+"
_ATOM = r"a-zA-Z0-9_.+\-"
_AUXILIARY = (
    "ai|are|ca|could|dare|did|do|does|had|has|have|is|may|might|must|need|ought|sha|should|was|were"
    "|wo|would"
)
_CLITIC = r"(?i:s|m|re|ve|ll|d)(?!\w)"
_NOT = r"(?i:n)['’](?i:t)(?!\w)"
_APHERESIS = r"(?i:bout|cause|cos|coz|em|til|tis|twas|[0-9]0s)(?!\w)"

_TOKEN = rf"""
      [a-zA-Z]{{1,100}}+(?=[ \n,;!?)])                                  # the common cases, fast
    | [.,](?=\s) | [()\[\]{{}}"]
    | [{_UNSPACED}]\p{{M}}*+                                              # 字
    | (?:(?:https?|ftp)://|(?<![a-zA-Z0-9])www\.)                       # links, without the
      [!\#-;=?-~]{{1,2000}}(?<=[\w/=&\#~+\-])                          # punctuation around them
    | (?<![{_ATOM}])[{_ATOM}]{{1,64}}+@[a-zA-Z0-9\-]{{1,63}}+(?:\.[a-zA-Z0-9\-]{{1,63}}+){{1,8}}+
    | (?i:{_AUXILIARY})(?={_NOT}) | {_NOT}                             # do n't
    | (?<=\w)['’]{_CLITIC} | (?<=\s)['’]{_CLITIC}(?=\s)                # Tom 's
    | (?<!\w)['’]{_APHERESIS}                                          # 'em
    | (?:\p{{L}}\.){{2,8}}+\p{{L}}?(?!\w)                                # U.S., e.g., U.S.A
    | {_RUN}                                                           # words, numbers, names:
      (?: (?<=\p{{Nd}})[.,:/\-](?=\p{{Nd}}){_RUN}                        # 10,000 12:30 1-2
        | ::{_RUN}                                                     # Net::Pcap
        | \.(?!\p{{Lu}}\p{{Ll}}*+(?![\w.(])){_RUN}                       # os.path, not end.Next
        | ['’](?!{_CLITIC}){_RUN}                                      # o'clock
      ){{0,16}}+
      (?:\+\+(?!\w) | (?<=[A-Z])\#(?!\w))?+                            # C++, C#
    | [@\#]\p{{L}}\w{{0,99}}+                                            # @name, #tag
    | (?<!\S)--[a-zA-Z][\w\-]{{0,99}}+                                  # --option
    | (?=\p{{Extended_Pictographic}})\X | \p{{RI}}{{1,2}}+               # emoji, whole
    | [:;=]['’]?-[()DPpOo/\\|\]\[*]{{1,64}}+ | <3(?!\w)                 # :-)
    | [:;=]['’]?[()DPp/\\|*]{{1,64}}+(?![^\s,.!?])                      # :)
    | [!?]{{1,64}}+                                                     # ?!
    | (?P<mark>[^\s\p{{Ps}}\p{{Pe}}\p{{Pi}}\p{{Pf}}"])(?P=mark){{0,63}}+\p{{M}}*+    # ... -- $
    | \S\p{{M}}*+
"""
_BETWEEN = rf"[\s{_INVISIBLE}\u200d\ufe00-\ufe0f]++|{_ESCAPE}|\x1b"
_PATTERN = regex.compile(
    rf"[\x20\n]?+(?:{_BETWEEN}|({_TOKEN}))",
    regex.VERBOSE | regex.VERSION1,
)


class Token(NamedTuple):
    """A slice of a text: `text == document[start:end]`."""

    text: str
    start: int
    end: int


def tokenize(text: str, *, max_tokens: int | None = None) -> list[Token]:
    """The tokens of `text` in order, at most `max_tokens`; what follows them is not read.

    Blanks and invisible characters lie between tokens, never alone in one.
    """
    tokens = (
        Token(text[start:end], start, end)
        for start, end in (match.span(1) for match in _PATTERN.finditer(text))
        if end >= 0
    )
    return list(islice(tokens, max_tokens))


def visible(token: str) -> str:
    """The token without the invisible characters in it."""
    return token if token.isprintable() and token.isascii() else _SKIPPED.sub("", token)


def lookup_form(token: str, *, lowercase: bool) -> str:
    """What vocabulary and pointers compare: NFC, straight apostrophes, nothing invisible.

    Its length may differ from the token's ("İ" in lower case has two characters).
    """
    if not token.isascii() or not token.isprintable():
        token = unicodedata.normalize("NFC", visible(token)).replace("’", "'")
        return unicodedata.normalize("NFC", token.lower()) if lowercase else token
    return token.lower() if lowercase else token
