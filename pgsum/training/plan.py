"""What a training would do, found out without training."""

from importlib.util import find_spec
from multiprocessing.connection import Listener
from pathlib import Path
from tempfile import gettempdir

import torch

from pgsum.build import build_model
from pgsum.config import Config, ModelConfig, TrainerConfig
from pgsum.data.files import check_file
from pgsum.data.prepare import prepare
from pgsum.data.sources import Corpus, open_corpus
from pgsum.data.vectors import WordVectors, read_vectors
from pgsum.errors import ConfigError
from pgsum.nn.loss import SCORES_AT_A_TIME
from pgsum.text.vocab import Vocab
from pgsum.training.callbacks import Report, report_nothing
from pgsum.training.folder import run_folder

# What a process holds when it has loaded its libraries and begins.
_PROCESS = 400 * 2**20


def plan(
    config: Config,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    report: Report = report_nothing,
) -> dict[str, str]:
    """What `train` would do, without doing it; the corpus is read, for its figures."""
    run_dir = run_folder(config, out, overwrite=overwrite)
    check_embeddings(config.model)
    check_installation(config.trainer)
    corpus = read_corpus(config, report)
    prepared = prepare(corpus, config.text, validation_pairs=1, workers=config.data.workers)
    vectors = read_embeddings(config.model, prepared.vocab)
    with torch.device("meta"):
        model = build_model(config.model, len(prepared.vocab))
    pairs, held_out, steps = len(prepared.train), len(corpus.validation), config.trainer.max_steps
    parameters = sum(parameter.numel() for parameter in model.parameters())
    memory = memory_estimate(config, parameters, len(prepared.vocab))
    return {
        "corpus": f"{corpus.name}, {pairs:,} training pairs, {held_out:,} for validation",
        "notes": " ".join((*corpus.notes, *prepared.notes)) or "none",
        "vocabulary": f"{len(prepared.vocab):,} words",
        "word vectors": str(vectors or "none"),
        "parameters": f"{parameters:,}",
        "steps": f"{steps:,}, about {steps * config.trainer.batch_size / pairs:.1f} passes",
        "memory": f"about {memory / 2**30:.1f} GiB",
        "output": str(run_dir),
    }


def read_corpus(config: Config, report: Report) -> Corpus:
    """The corpus; that takes a while where it is made of many files and read for the first time."""

    def progress(done: int, total: int) -> None:
        report("reading the corpus", done, total, "")

    return open_corpus(config.data, progress=progress)


def check_embeddings(model: ModelConfig) -> None:
    """Raises DataError where `model.embeddings` names no file: sooner than a corpus is read."""
    if model.embeddings is not None:
        check_file(Path(model.embeddings))


def check_installation(trainer: TrainerConfig) -> None:
    """Raises ConfigError where a GPU, a package or processes are asked for that cannot be had."""
    has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    if trainer.accelerator == "gpu" and not has_gpu:
        raise ConfigError(
            "trainer.accelerator is gpu, but torch sees none here.",
            where="trainer.accelerator",
            hint="set trainer.accelerator=cpu",
        )
    if trainer.tensorboard and find_spec("tensorboard") is None:
        raise ConfigError(
            "trainer.tensorboard is true, but the package tensorboard is not installed.",
            where="trainer.tensorboard",
            hint="pip install tensorboard, or leave the setting out",
        )
    if trainer.loader_workers:
        _check_sockets()


def _check_sockets() -> None:
    """Processes hand batches over through sockets in the folder of temporary files.

    Where none can be made there, torch would wait for the first batch for ever: the error is lost
    in a thread of the process that makes it.
    """
    try:
        Listener().close()
    except OSError as error:
        raise ConfigError(
            f"Processes that make batches cannot pass them on through a socket in "
            f"{gettempdir()}: {error.strerror or error}.",
            where="trainer.loader_workers",
            hint="set TMPDIR to a folder with a shorter path, or trainer.loader_workers=0",
        ) from error


def read_embeddings(model: ModelConfig, vocab: Vocab) -> WordVectors | None:
    """The word vectors that `model.embeddings` names, where it names some."""
    if model.embeddings is None:
        return None
    return read_vectors(Path(model.embeddings), vocab, at_most=model.embedding_size)


def memory_estimate(config: Config, parameters: int, vocab_size: int) -> int:
    """Bytes that a training takes at its peak, roughly: within a factor of two.

    The process with its libraries; weights, gradients and the optimizer's two moments; for the
    largest batch the encoder's states, the target's attention, and the vocabulary's scores of as
    many tokens as are scored at a time; of a Transformer's layers, three tables of each head's
    attention and of what lies between their two maps.
    """
    trainer, text, model = config.trainer, config.text, config.model
    sources = min(trainer.batch_size * text.max_source_tokens, trainer.batch_tokens)
    targets = min(trainer.batch_size * text.max_target_tokens, trainer.batch_tokens)
    scores = min(targets * vocab_size, SCORES_AT_A_TIME)
    attention = 6 * targets * text.max_source_tokens
    inner = model.inner_size or 4 * model.hidden_size
    tables = 0
    if model.encoder == "transformer":
        tables += sources * (model.heads * text.max_source_tokens + inner)
    if model.decoder == "transformer":
        seen = text.max_source_tokens + text.max_target_tokens
        tables += targets * (model.heads * seen + inner)
    states = 40 * sources * model.hidden_size + 3 * model.layers * tables
    return _PROCESS + 4 * (4 * parameters + scores + attention + states)
