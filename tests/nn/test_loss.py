import pytest
import torch

from pgsum.nn.loss import gold_vocab_log_probs

TOKENS, OUTPUT, VOCAB = 4, 3, 6


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
    ],
)
def test_the_gold_words_are_read_from_a_log_softmax_in_float32_at_least(dtype, result):
    """Products in bfloat16 give scores of three digits; their softmax is still taken exactly."""
    torch.manual_seed(0)
    features, weight, bias = (
        torch.randn(size, dtype=torch.float64).to(dtype)
        for size in ((TOKENS, OUTPUT), (VOCAB, OUTPUT), (VOCAB,))
    )
    gold = torch.tensor([5, 0, 3, 3])
    found = gold_vocab_log_probs(features, weight, bias, gold)
    logits = torch.nn.functional.linear(features, weight, bias).to(result)
    expected = [row.exp()[word] / row.exp().sum() for row, word in zip(logits, gold, strict=True)]
    assert found.dtype == result
    torch.testing.assert_close(found, torch.stack(expected).log())
