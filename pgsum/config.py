"""Every setting as a typed dataclass, and `load_config`, the only code that knows Hydra.

A leaf of the house: it imports nothing of ours but `errors`, and nothing heavy at import time.
Each dataclass checks its own ranges when it is made; `load_config` turns `conf/*.yaml` and
`key=value` overrides into one `Config`.
"""

from dataclasses import dataclass, field


@dataclass
class DataConfig:
    """Which corpus, and how its files are read."""

    name: str = "docstrings"
    """`docstrings`, the built-in corpus, or `files`, your own."""
    root: str | None = None
    """A folder that holds train, validation and test files."""
    train: str | None = None
    """A file of training pairs; with `root`, relative to it."""
    validation: str | None = None
    """A file of validation pairs; without one, `holdout` of the training pairs is held out."""
    test: str | None = None
    """A file of test pairs."""
    document_column: str | None = None
    """The column that holds the document; recognised by its name where not given."""
    summary_column: str | None = None
    """The column that holds the summary (a text or a list of texts)."""
    id_column: str | None = None
    """The column that holds the id; `id` where there is one, else the row's number."""
    encoding: str | None = None
    """The files' encoding; UTF-8, or what a byte order mark says, where not given."""
    reference: str = "error"
    """Several references in training data: `error`, or `first` to train on the first."""
    holdout: float = 0.05
    """Share of the training pairs held out, by a hash of the document, where no file is given."""
    on_bad: str = "error"
    """A bad row: `error` stops, `skip` counts it and goes on."""
    max_chars: int = 1_000_000
    """Characters of a document that are read; what follows is cut, and counted."""
    max_pairs: int | None = None
    """Train on the first so many pairs only."""
    workers: int | None = None
    """Processes that read, parse and tokenise; as many as there are cores where not given."""


@dataclass
class TextConfig:
    """From text to ids."""

    lowercase: bool = True
    """Look words up in lower case; a summary still comes back in the case a person would write."""
    vocab_size: int = 20_000
    """Words of the fixed vocabulary, its 4 special tokens included."""
    min_count: int = 2
    """Words seen less often stay out of the vocabulary; a pointer can still copy them."""
    max_source_tokens: int = 400
    """Tokens of a document that the model reads; what follows is cut, and counted."""
    max_target_tokens: int = 100
    """Tokens of a reference that are learned."""


@dataclass
class ModelConfig:
    """What is computed; `spec` of each axis in ARCHITECTURE.md."""

    name: str = "pointer_generator"
    """The preset these settings began as."""
    embedding_size: int = 128
    hidden_size: int = 256
    """Of the encoder in each direction, and of the decoder."""
    layers: int = 1
    """Layers of the encoder; the decoder has one."""
    attention: str = "general"
    """`general` (s.W.h) or `additive` (v.tanh(W_h h + W_s s + b))."""
    attention_size: int = 512
    """Of the additive form."""
    query: str = "hidden"
    """What asks: the decoder's `hidden` state, or `cell` and hidden together (See et al. 2017)."""
    input_feeding: bool = False
    """The last context joins the next input."""
    output_activation: bool = True
    """tanh between [hidden; context] and the output projection (Luong et al. 2015, eq. 5)."""
    output_size: int | None = None
    """Size of that layer; the embedding's where not given."""
    pointer: bool = True
    """Copy gate and mixture over the extended vocabulary."""
    coverage: str = "none"
    """`none` or `from_start`."""
    coverage_weight: float = 1.0
    """Of the coverage loss beside the likelihood."""
    tie_embeddings: bool = True
    """The output projection is the embedding table."""
    dropout: float = 0.3
    initialisation: str = "torch"
    """`torch`, or `see2017` (MODEL of See et al.: uniform LSTM, truncated normal outputs)."""


@dataclass
class DecodeConfig:
    """Search."""

    beam_size: int = 4
    """Hypotheses kept at each step; 1 is greedy."""
    min_tokens: int = 1
    """The end is forbidden before so many tokens; capped by the source's length."""
    max_tokens: int = 100
    length_alpha: float = 1.0
    """Strength of the length penalty (Wu et al. 2016); 0 prefers short summaries."""
    no_repeat_ngram: int = 3
    """No n-gram of this size twice in a summary; 0 allows it."""
    n_best: int = 1
    """Hypotheses returned per document, at most `beam_size`."""
    batch_size: int = 16
    """Documents decoded together."""


@dataclass
class OptimConfig:
    """The optimizer and its schedule."""

    name: str = "adam"
    """`adam` or `adagrad`."""
    lr: float = 2e-3
    accumulator: float = 0.1
    """Adagrad's initial accumulator."""
    weight_decay: float = 0.0
    clip_norm: float = 2.0
    """Largest norm of all gradients together; 0 does not clip."""
    warmup_steps: int = 100
    decay: str = "linear"
    """After the warm-up: `none`, `linear` or `cosine`, down to `final_lr` at `trainer.max_steps`."""
    final_lr: float = 0.05
    """As a share of `lr`."""


@dataclass
class TrainerConfig:
    """How long, on what, and how often it is looked at."""

    max_steps: int = 2000
    batch_size: int = 32
    """Pairs in a batch, at most."""
    batch_tokens: int = 16_384
    """Padded source and target tokens in a batch, at most."""
    validate_every: int = 500
    """Steps between validations by search."""
    validation_pairs: int = 200
    """Pairs of the fixed validation sample."""
    patience: int = 0
    """Stop after so many validations without a better score; 0 never."""
    metric: str = "rouge1"
    """Chooses the best: `rouge1`, `rouge2`, `rougeL`, `rougeLsum` or `rouge_mean` (of 1, 2, L)."""
    precision: str = "auto"
    """`float32`, `bfloat16` (products only; the loss stays float32) or `auto`."""
    accelerator: str = "auto"
    """`auto`, `cpu` or `gpu`."""
    threads: int | None = None
    """Threads for tensors; as many as there are cores where not given."""
    seed: int = 1
    log_every: int = 10


@dataclass
class Config:
    """All settings of a run."""

    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    name: str | None = None
    """Name of the run; the corpus's where not given."""
