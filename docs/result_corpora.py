"""The corpora of docs/results.md: licence, origin, and what others published on them.

Knows nothing that was measured here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A system's figures as they were printed, in points; `split` is what they were scored on."""

    system: str
    rouge: tuple[str, ...]
    split: str
    source: str
    tool: str


@dataclass(frozen=True)
class Corpus:
    """`quoted`: whether its texts may be shown; of the others only figures are."""

    licence: str
    origin: str
    quoted: bool = False
    published: tuple[Published, ...] = ()


_ROUGE155 = "ROUGE-1.5.5; R-L is of whole summaries (here R-Lsum)"
_CNNDM_TEST = "the official test set, 11,490 articles"

CORPORA = {
    "samsum": Corpus(
        "CC BY-NC-ND 4.0",
        "Gliwa et al. 2019, `data_scripts/samsum.py`",
        published=(
            Published(
                "pointer-generator",
                ("40.08", "15.28", "36.63"),
                "test",
                "Gliwa et al. 2019",
                "another ROUGE-L than the one used here",
            ),
        ),
    ),
    "debian": Corpus(
        "each description is under its package's licence, all of them free; quoted from Debian, "
        "with the package's name",
        "package descriptions of Debian's section main, `data_scripts/debian.py`",
        quoted=True,
    ),
    "aeslc": Corpus(
        "CC BY-NC-SA 4.0; the mails are of real people",
        "Zhang and Tetreault 2019, `data_scripts/aeslc.py`",
        published=(
            Published(
                "the corpus's first system",
                ("23.67", "10.29", "23.44"),
                "test",
                "Zhang and Tetreault 2019",
                "not known",
            ),
            Published(
                "Transformer, from scratch",
                ("15.04", "7.39", "14.93"),
                "test",
                "Zhang et al. 2020 (PEGASUS)",
                "not known",
            ),
        ),
    ),
    "csl": Corpus("Apache-2.0", "Li et al. 2022, `data_scripts/csl.py`"),
    "reuters": Corpus(
        "for research only",
        "Reuters-21578, Distribution 1.0, `data_scripts/reuters21578.py`",
    ),
    "scitldr": Corpus(
        "Apache-2.0",
        "Cachola et al. 2020, abstracts only, `data_scripts/scitldr.py`",
        quoted=True,
    ),
    "cnndm": Corpus(
        "the articles are copyright of CNN and the Daily Mail, collected for research",
        "Hermann et al. 2015, as See et al. 2017 released their test set",
        published=(
            Published(
                "pointer-generator with coverage, all training data",
                ("38.36", "16.48", "25.89"),
                "validation",
                "the released output of See et al. 2017, scored on these 500 articles",
                "rouge-score 0.1.2",
            ),
            Published(
                "sequence to sequence with attention",
                ("31.33", "11.81", "28.83"),
                _CNNDM_TEST,
                "See et al. 2017",
                _ROUGE155,
            ),
            Published(
                "pointer-generator",
                ("36.44", "15.66", "33.42"),
                _CNNDM_TEST,
                "See et al. 2017",
                _ROUGE155,
            ),
            Published(
                "pointer-generator with coverage",
                ("39.53", "17.28", "36.38"),
                _CNNDM_TEST,
                "See et al. 2017",
                _ROUGE155,
            ),
            Published(
                "lead-3", ("40.34", "17.70", "36.57"), _CNNDM_TEST, "See et al. 2017", _ROUGE155
            ),
        ),
    ),
    "docstrings": Corpus(
        "each docstring is under its package's licence",
        "the packages installed where it was trained, built in",
        quoted=True,
    ),
}
"""In the page's order."""
