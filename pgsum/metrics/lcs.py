"""Longest common subsequences, bit-parallel.

rouge-score fills a table cell by cell, which is most of ROUGE's time and quadratic in Python steps.
Here a row of the table is one integer, after Hyyrö, "Bit-parallel LCS-length computation revisited"
(2004): a step for each token of the prediction, whatever the reference's length. Which of several
longest subsequences is taken matters to rougeLsum; it is the one that rouge-score takes.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain


def lcs_length(reference: Sequence[str], prediction: Sequence[str]) -> int:
    """Length of their longest common subsequence."""
    return _rises(reference, prediction)[-1].bit_count()


def union_lcs_length(reference: Sequence[list[str]], prediction: Sequence[list[str]]) -> int:
    """Hits of rougeLsum, from two lists of tokenised sentences.

    For each sentence of the reference, the tokens that lie on its longest common subsequence with
    any sentence of the prediction (Lin 2004, section 3.2); a token counts no more often than the
    prediction has it, as in ROUGE-1.5.5.
    """
    on_lcs: Counter[str] = Counter()
    for sentence in reference:
        union = 0
        for other in prediction:
            union |= _lcs_positions(sentence, other)
        on_lcs.update(token for i, token in enumerate(sentence) if union >> i & 1)
    return (on_lcs & Counter(chain.from_iterable(prediction))).total()


def _rises(reference: Sequence[str], prediction: Sequence[str]) -> list[int]:
    """The table of LCS lengths, a row for each j from 0 to len(prediction), as differences.

    Bit i of row j is set where LCS(reference[:i+1], prediction[:j]) is greater, by one, than
    LCS(reference[:i], prediction[:j]).
    """
    places: dict[str, int] = {}
    for i, token in enumerate(reference):
        places[token] = places.get(token, 0) | 1 << i
    everywhere = (1 << len(reference)) - 1
    flat = everywhere  # the complement of the rises, as in the paper
    rises = [0]
    for token in prediction:
        if matches := flat & places.get(token, 0):
            flat = ((flat + matches) | (flat - matches)) & everywhere
        rises.append(everywhere ^ flat)
    return rises


def _lcs_positions(reference: Sequence[str], prediction: Sequence[str]) -> int:
    """The places in the reference, as bits, of the subsequence that rouge-score reads out.

    Its rule, from the ends: take equal tokens; else drop the prediction's last token if
    LCS[i][j-1] > LCS[i-1][j], which holds where LCS[i][j] rises at i; else the reference's.
    """
    rises = _rises(reference, prediction)
    i, j = len(reference), len(prediction)
    positions = 0
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            i -= 1
            j -= 1
            positions |= 1 << i
        elif rises[j] >> (i - 1) & 1:
            j -= 1
        else:
            i -= 1
    return positions
