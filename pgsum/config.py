"""Every setting as a typed dataclass, and `load_config`, the only code that knows Hydra.

A leaf of the house: it imports nothing of ours but what reads, checks and refuses one value, and
nothing heavy at import time. Each dataclass checks its own ranges when it is made; `load_config`
turns `conf/*.yaml` and `key=value` overrides into one `Config`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from math import gcd
from pathlib import Path
from typing import Annotated, Any, Literal

from pgsum.errors import ConfigError, ModelError
from pgsum.plain_yaml import Line, Value, read_plain_yaml, written
from pgsum.settings import Range, Section, Setting, own_settings, shown, unknown_key

_MOST = 2**31 - 1  # what every library that is handed a number can hold
Natural = Annotated[int, Range(0, _MOST)]
Count = Annotated[int, Range(1, _MOST)]
Share = Annotated[float, Range(0, 1)]
Size = Annotated[int, Range(1, 65_536)]
Architecture = Literal["rnn", "conv", "transformer"]


@dataclass
class DataConfig(Section, prefix="data."):
    """Which corpus, and how its files are read."""

    name: Literal["docstrings", "files", "hub"] = "docstrings"
    """`docstrings`, the built-in corpus, `files`, your own, or `hub`, of the Hugging Face hub."""
    root: str | None = None
    """A folder that holds train, validation and test files."""
    hub: str | None = None
    """A data set of the hub: OWNER/NAME or OWNER/NAME:CONFIG. No script of it is run."""
    train: str | None = None
    """A file of training pairs; with `root`, relative to it; with `hub`, a split of that."""
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
    reference: Literal["error", "first"] = "error"
    """Several references in training data: `error`, or `first` to train on the first."""
    holdout: Annotated[float, Range(above=0, below=1)] = 0.05
    """Share of the training pairs held out, by a hash of the document, where no file is given."""
    validate_on: Literal["corpus", "train"] = "corpus"
    """What the best model is chosen by: the `corpus`'s validation pairs, or pairs held out of
    `train` though it has some, which can then be reported on: no choice has seen them."""
    leaks: Literal["keep", "drop"] = "keep"
    """Training pairs whose document is a validation or test document, too: `keep` counts them,
    `drop` leaves them out."""
    on_bad: Literal["error", "skip"] = "error"
    """A bad row: `error` stops, `skip` counts it and goes on."""
    max_chars: Count = 1_000_000
    """Characters of a document that are read; what follows is cut, and counted."""
    max_pairs: Count | None = None
    """Train on the first so many pairs only."""
    workers: Count | None = None
    """Processes that read, parse and tokenise; as many as there are cores where not given."""

    def check_together(self) -> None:
        if self.name != "hub" and self.hub is not None:
            raise ConfigError(
                f"data.hub names a data set, but the corpus is data.name={self.name}.",
                where="data.hub",
                hint="add data.name=hub",
            )
        for name in ("root", "train", "validation", "test"):
            belongs = self.name == "files" or (self.name == "hub" and name != "root")
            if not belongs and getattr(self, name) is not None:
                raise ConfigError(
                    f"data.{name} names a file or folder, but the corpus is data.name={self.name}.",
                    where=f"data.{name}",
                    hint="add data.name=files",
                )
        if self.name == "docstrings" and self.validate_on == "train":
            raise ConfigError(
                "data.validate_on is train, but data.name=docstrings has test pairs to report on: "
                "nothing more needs to be held out.",
                where="data.validate_on",
                hint="leave it at corpus",
            )
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError):
                raise ConfigError(
                    f"data.encoding is {shown(self.encoding)}, which is no text encoding.",
                    where="data.encoding",
                    hint="for example data.encoding=latin-1",
                ) from None


@dataclass
class TextConfig(Section, prefix="text."):
    """From text to ids."""

    lowercase: bool = True
    """Look words up in lower case; a summary still comes back in the case a person would write."""
    vocab_size: Annotated[int, Range(5, 10_000_000)] = 20_000
    """Words of the fixed vocabulary, its 4 special tokens included."""
    min_count: Count = 2
    """Words seen less often stay out of the vocabulary; a pointer can still copy them."""
    max_source_tokens: Count = 400
    """Tokens of a document that the model reads; what follows is cut, and counted."""
    max_target_tokens: Count = 100
    """Tokens of a reference that are learned."""


@dataclass
class ModelConfig(Section, prefix="model."):
    """What is computed; each axis is described in docs/model.md."""

    name: str = "pointer_generator"
    """The preset these settings began as."""
    encoder: Architecture = "rnn"
    """What reads: `rnn`, `conv` (Gehring et al. 2017) or `transformer` (Vaswani et al. 2017)."""
    decoder: Architecture = "rnn"
    """What writes: `rnn`, `conv` or `transformer`."""
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """Of recurrent encoders and decoders: `lstm`, `gru` or plain `rnn`."""
    bidirectional: bool = True
    """A recurrent encoder reads in both directions."""
    reverse_source: bool = False
    """A recurrent encoder reads the source backwards (Sutskever et al. 2014)."""
    layers: Annotated[int, Range(1, 64)] = 1
    """Layers of each side."""
    heads: Annotated[int, Range(1, 256)] = 4
    """Of a Transformer's attention."""
    kernel_size: Annotated[int, Range(1, 255)] = 5
    """Positions that a convolution sees; odd where one reads, which sees as many on each side."""
    embedding_size: Size = 128
    """Of a word; source and target share one table."""
    embeddings: str | None = None
    """A file of word vectors to begin with, at most `embedding_size` long: GloVe's text format, or
    .npz."""
    hidden_size: Size = 256
    """Of the encoder (a recurrent one has it in each direction), and of the decoder."""
    decoder_size: Size | None = None
    """Of a recurrent decoder that is to have another size than `hidden_size`."""
    inner_size: Size | None = None
    """Of a Transformer's layer between two layers; four times `hidden_size` where not given."""
    max_positions: Annotated[int, Range(1, 65_536)] = 1024
    """Positions that convolutions tell apart; all further ones look like the last."""
    bridge: Literal["relu", "tanh", "none"] = "relu"
    """From encoder to recurrent decoder: a linear map and `relu` (See et al. 2017) or `tanh` (Cho
    et al. 2014), or `none`: its last state as it is (Sutskever et al. 2014)."""
    attention: Literal["none", "dot", "scaled_dot", "general", "additive"] = "general"
    """`none`, `dot` (s.h), `scaled_dot` (s.h/sqrt(d)), `general` (s.W.h) or `additive`
    (v.tanh(W_h h + W_s s + b))."""
    attention_size: Size = 512
    """Of the additive form."""
    query: Literal["current", "previous"] = "current"
    """Which state asks: the `current` one (Luong et al. 2015, See et al. 2017), or the `previous`
    one, and what it reads enters the cell (Bahdanau et al. 2015)."""
    query_with_cell: bool = False
    """An LSTM's cell asks together with its hidden state (See et al. 2017)."""
    context: Literal["initial", "every_step"] = "initial"
    """Without attention the fixed vector starts the decoder, and with `every_step` also enters each
    step and the output layer (Cho et al. 2014)."""
    input_feeding: bool = False
    """The last context joins the next input."""
    output_activation: bool = True
    """tanh between [hidden; context] and the output projection (Luong et al. 2015, eq. 5)."""
    output_size: Size | None = None
    """Size of that layer; the embedding's where not given."""
    pointer: bool = True
    """Copy gate and mixture over the extended vocabulary."""
    copy_head: Literal["last", "mean"] = "mean"
    """Which attention of a Transformer's last layer copies: its `last` head's, or the `mean`."""
    coverage: Literal["none", "from_start", "auto"] = "none"
    """`none`, `from_start`, or `auto`: without until validation no longer improves, or in the last
    `trainer.coverage_steps`; the model with it is kept if it scores no lower."""
    coverage_weight: Annotated[float, Range(0)] = 1.0
    """Of the coverage loss beside the likelihood."""
    tie_embeddings: bool = True
    """The output projection is the embedding table."""
    dropout: Annotated[float, Range(0, below=1)] = 0.3
    """Share of activations dropped in training."""
    initialisation: Literal["torch", "see2017"] = "torch"
    """`torch`, or `see2017` (MODEL of See et al.: uniform LSTM, truncated normal outputs)."""

    def check_together(self) -> None:
        self._check_that_all_has_effect()
        self._check_attention()
        self._check_sizes()

    @property
    def encoder_states(self) -> int:
        """Size of the encoder's states."""
        both = self.encoder == "rnn" and self.bidirectional
        return (1 + both) * self.hidden_size

    @property
    def query_size(self) -> int:
        """Of what the decoder asks with."""
        size = self.decoder_size or self.hidden_size
        return (1 + self.query_with_cell) * size

    def _check_that_all_has_effect(self) -> None:
        """A setting that this kind of model does not have must not be given another value."""
        sides = (self.encoder, self.decoder)
        only_in: dict[tuple[str, ...], tuple[str, bool]] = {
            ("cell",): ("an rnn", "rnn" in sides),
            ("bidirectional", "reverse_source"): ("encoder=rnn", self.encoder == "rnn"),
            ("bridge", "query", "query_with_cell", "input_feeding", "coverage", "decoder_size"): (
                "decoder=rnn",
                self.decoder == "rnn",
            ),
            ("heads", "inner_size"): ("a transformer", "transformer" in sides),
            ("copy_head",): (
                "decoder=transformer, pointer=true and several heads",
                self.decoder == "transformer" and self.pointer and self.heads > 1,
            ),
            ("kernel_size", "max_positions"): ("a conv", "conv" in sides),
            ("attention_size",): ("attention=additive", self.attention == "additive"),
            ("context",): ("attention=none", self.attention == "none"),
            ("query_with_cell",): ("cell=lstm", self.cell == "lstm"),
            ("initialisation",): ("encoder=rnn and decoder=rnn", sides == ("rnn", "rnn")),
        }
        for names, (what, is_there) in only_in.items():
            for name in names:
                value, usual = getattr(self, name), getattr(ModelConfig, name)
                if not is_there and value != usual:
                    raise ConfigError(
                        f"model.{name} is {written(value)}, which has a meaning only with {what}; "
                        f"this model has {self._kind()}.",
                        where=f"model.{name}",
                        hint=f"leave it at {written(usual)}, or choose {what}",
                    )

    def _kind(self) -> str:
        return (
            f"encoder={self.encoder}, decoder={self.decoder}, cell={self.cell}, "
            f"attention={self.attention}"
        )

    def _check_attention(self) -> None:
        if self.decoder == "transformer" and self.attention != "scaled_dot":
            raise ConfigError(
                f"model.attention is {self.attention}, but model.decoder=transformer attends by "
                "scaled_dot.",
                where="model.attention",
                hint="set model.attention=scaled_dot, or model.decoder=rnn",
            )
        if self.decoder == "conv" and self.attention == "none":
            raise ConfigError(
                "model.attention is none, but model.decoder=conv knows its source by attention "
                "alone.",
                where="model.attention",
                hint="set model.attention=general, or model.decoder=rnn",
            )
        looks: dict[str, Value] = {
            "pointer": False,
            "coverage": "none",
            "input_feeding": False,
            "query": "current",
            "query_with_cell": False,
        }
        for name, without in looks.items():
            value = getattr(self, name)
            if self.attention == "none" and value != without:
                raise ConfigError(
                    f"model.{name} is {written(value)}, but model.attention is none: "
                    "there is nothing to look with.",
                    where=f"model.{name}",
                    hint=f"set model.{name}={written(without)}, or model.attention=general",
                )
        if self.query == "previous" and self.input_feeding:
            raise ConfigError(
                "model.input_feeding is true, but with model.query=previous the context of each "
                "step enters its cell already.",
                where="model.input_feeding",
                hint="set model.input_feeding=false, or model.query=current",
            )

    def _equal_sizes(self) -> str:
        """What makes a query as large as the encoder's states, if one setting does."""
        size, rest = divmod(self.encoder_states, 1 + self.query_with_cell)
        if self.decoder == "conv":  # of hidden_size, as is each direction of the encoder
            return "model.bidirectional=false, or "
        return "" if rest else f"model.decoder_size={size}, or "

    def _check_sizes(self) -> None:
        if self.tie_embeddings and self.output_size not in (None, self.embedding_size):
            raise ConfigError(
                f"model.output_size ({self.output_size}) must equal model.embedding_size "
                f"({self.embedding_size}) while model.tie_embeddings is true.",
                where="model.output_size",
                hint="set model.tie_embeddings=false, or leave model.output_size out",
            )
        multiplies = self.attention in ("dot", "scaled_dot") and self.decoder != "transformer"
        if multiplies and self.query_size != self.encoder_states:
            raise ConfigError(
                f"model.attention={self.attention} multiplies states of the encoder, of size "
                f"{self.encoder_states}, by the decoder's, of size {self.query_size}: they must "
                "be equal.",
                where="model.attention",
                hint=f"set {self._equal_sizes()}model.attention=general",
            )
        decoder_size = self.decoder_size or self.hidden_size
        if self.bridge == "none" and self.encoder != "rnn":
            raise ConfigError(
                f"model.bridge is none, but model.encoder={self.encoder} has no last state to hand "
                "over.",
                where="model.bridge",
                hint="set model.bridge=relu or tanh",
            )
        if self.bridge == "none" and self.encoder_states != decoder_size:
            raise ConfigError(
                f"model.bridge=none hands over the encoder's last state, of size "
                f"{self.encoder_states}, to a decoder of size {decoder_size}: they must be equal.",
                where="model.bridge",
                hint=f"set model.decoder_size={self.encoder_states}, or model.bridge=relu or tanh",
            )
        if "transformer" in (self.encoder, self.decoder) and self.hidden_size % self.heads:
            raise ConfigError(
                f"model.hidden_size ({self.hidden_size}) must be a multiple of model.heads "
                f"({self.heads}).",
                where="model.heads",
                hint=f"set model.heads={gcd(self.hidden_size, self.heads)}: each has an equal "
                "part of the state",
            )
        if self.encoder == "conv" and self.kernel_size % 2 == 0:
            raise ConfigError(
                f"model.kernel_size is {self.kernel_size}, but must be odd: as many positions on "
                "each side.",
                where="model.kernel_size",
                hint=f"set model.kernel_size={self.kernel_size + 1}",
            )


@dataclass
class DecodeConfig(Section, prefix="decode."):
    """Search."""

    beam_size: Annotated[int, Range(1, 1024)] = 4
    """Hypotheses kept at each step; 1 is greedy."""
    min_tokens: Natural = 1
    """The end is forbidden before so many tokens; capped by the source's length."""
    max_tokens: Annotated[int, Range(1, 100_000)] = 100
    """A summary ends after so many tokens at the latest."""
    length_alpha: Annotated[float, Range(0, 10)] = 1.0
    """Strength of the length penalty (Wu et al. 2016); 0 prefers short summaries."""
    no_repeat_ngram: Natural = 3
    """No n-gram of this size twice in a summary; 0 allows it."""
    may_repeat: str | None = None
    """Words, parted by blanks, that may complete an n-gram once more."""
    faithful: bool = False
    """A generated word that is a number or a name must stand in the source that the model reads."""
    copy_bias: Annotated[float, Range(-1000, 1000)] = 0.0
    """Subtracted from the logit of the gate: above 0 it copies more, below 0 less."""
    n_best: Count = 1
    """Hypotheses returned per document, at most `beam_size`."""
    batch_size: Count = 16
    """Documents decoded together."""

    def check_together(self) -> None:
        if self.min_tokens > self.max_tokens:
            raise ConfigError(
                f"decode.min_tokens ({self.min_tokens}) must not exceed "
                f"decode.max_tokens ({self.max_tokens}).",
                where="decode.min_tokens",
                hint="lower the one or raise the other",
            )
        if self.n_best > self.beam_size:
            raise ConfigError(
                f"decode.n_best ({self.n_best}) must not exceed "
                f"decode.beam_size ({self.beam_size}).",
                where="decode.n_best",
                hint=f"decode.beam_size={self.n_best} searches wide enough",
            )


@dataclass
class OptimConfig(Section, prefix="optim."):
    """The optimizer and its schedule."""

    name: Literal["adam", "adagrad"] = "adam"
    """`adam` or `adagrad`."""
    lr: Annotated[float, Range(above=0)] = 2e-3
    """The learning rate after the warm-up."""
    accumulator: Annotated[float, Range(0)] = 0.1
    """Adagrad's initial accumulator."""
    weight_decay: Annotated[float, Range(0)] = 0.0
    """Pull of every weight towards 0."""
    clip_norm: Annotated[float, Range(0)] = 2.0
    """Largest norm of all gradients together; 0 does not clip."""
    label_smoothing: Annotated[float, Range(0, below=1)] = 0.0
    """Share of each word to learn that goes to all words alike (Szegedy et al. 2016)."""
    ema_decay: Annotated[float, Range(0, below=1)] = 0.0
    """Decay a step of an exponential mean of the weights, which is then what is validated and kept;
    0 does without."""
    warmup_steps: Natural = 100
    """Steps in which the learning rate rises from 0."""
    decay: Literal["none", "linear", "cosine"] = "linear"
    """After the warm-up: `none`, `linear` or `cosine`, reaching `final_lr` at the last step."""
    final_lr: Share = 0.05
    """As a share of `lr`."""


@dataclass
class TrainerConfig(Section, prefix="trainer."):
    """How long, on what, and how often it is looked at."""

    max_steps: Count = 2000
    """Updates of the weights."""
    batch_size: Count = 32
    """Pairs in a batch, at most."""
    batch_tokens: Count = 16_384
    """Padded source and target tokens in a batch, at most."""
    accumulate: Count = 1
    """Batches of each process that make one step together."""
    validate_every: Count = 500
    """Steps between validations by search."""
    validation_pairs: Count = 200
    """Pairs of the fixed validation sample."""
    patience: Natural = 0
    """Stop after so many validations without a better score; 0 never."""
    coverage_steps: Count | None = None
    """With `model.coverage=auto`: steps at the end that have coverage at the latest; a tenth of all
    where not given."""
    metric: Literal["rouge1", "rouge2", "rougeL", "rougeLsum", "rouge_mean"] = "rouge1"
    """Chooses the best: `rouge1`, `rouge2`, `rougeL`, `rougeLsum` or `rouge_mean` (of 1, 2, L)."""
    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """`float32`, `bfloat16` (products only; the loss stays float32) or `auto`."""
    weights: Literal["float32", "float16"] = "float32"
    """How the bundle stores them; as `float16` it is half as large. Computed with is float32."""
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`, `cpu` or `gpu`."""
    strategy: Literal["auto", "ddp"] = "auto"
    """`auto`, or `ddp`: each process has all weights and batches of its own."""
    devices: Count = 1
    """Processes on this machine, each with a GPU if there is one."""
    nodes: Count = 1
    """Machines."""
    loader_workers: Natural = 0
    """Processes that make batches beside each process that trains; with 0 it makes its own."""
    threads: Annotated[int, Range(1, 1024)] | None = None
    """Threads for tensors; torch's own choice where not given: OMP_NUM_THREADS, or one a core."""
    seed: Annotated[int, Range(0, 2**32 - 1)] = 1
    """Of all that is drawn: initial weights, order of batches, dropout."""
    log_every: Count = 10
    """Steps between lines of metrics.jsonl."""
    checkpoint_every: Count = 500
    """Steps between checkpoints; there is one around each validation, too."""
    max_skipped: Natural = 10
    """Steps whose loss or gradient is no number and that are left out, at most; then it ends."""
    tensorboard: bool = False
    """Write event files for TensorBoard, too; the package tensorboard must be installed."""


@dataclass
class Config(Section):
    """All settings of a run."""

    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    name: str | None = None
    """Name of the run; the corpus's where not given."""

    def check_together(self) -> None:
        if self.decode.copy_bias != 0 and not self.model.pointer:
            raise ConfigError(
                f"decode.copy_bias is {written(self.decode.copy_bias)}, but model.pointer is "
                "false: there is no gate to copy by.",
                where="decode.copy_bias",
                hint="leave it at 0, or use a model with a pointer",
            )
        # The name becomes that of a folder, on any system.
        if self.name is not None and (set(self.name) & set('/\\:*?"<>|') or self.name[0] == "."):
            raise ConfigError(
                f"name is {shown(self.name)}: a folder is called after it, so it must not begin "
                'with a dot nor hold any of / \\ : * ? " < > |.',
                where="name",
                hint="--out=FOLDER puts a run elsewhere",
            )


GROUPS = ("data", "text", "model", "decode", "optim", "trainer", "experiment")
"""Folders of `conf/`: each holds the options of `GROUP=OPTION`."""


def load_config(overrides: Sequence[str] = (), *, files: Sequence[Path] = ()) -> Config:
    """The settings: defaults < files of the chosen groups < experiment < `files` < `overrides`.

    An override is `key=value`, its value taken as it stands (blanks, commas and all; `null` is no
    value), or `GROUP=OPTION`. Raises ConfigError with the key, the limit and what came.
    """
    choices, last = _parse(overrides)
    from_files = [line for file in files for line in read_plain_yaml(file)]
    return _build(_read([*_compose(choices), *from_files, *last]))


def change_config(config: Config, overrides: Sequence[str], *, sections: Sequence[str]) -> Config:
    """A copy of `config` with other values, of these sections only: the rest is settled.

    Raises ConfigError as `load_config` does, and for a setting of another section.
    """
    choices, lines = _parse(overrides)
    for key in [*choices, *(line.key for line in lines)]:
        if key in choices or (key in all_settings() and key.partition(".")[0] not in sections):
            raise ConfigError(
                f"{key} cannot be set here.",
                where=key,
                hint=f"what can be: {', '.join(f'{section}.*' for section in sections)}",
            )
    return _build(dict(_flat(to_dict(config))) | _read(lines))


@cache
def all_settings() -> Mapping[str, Setting]:
    """Every setting by its full key."""
    sections = [*_sections().values(), Config]
    return {setting.key: setting for section in sections for setting in own_settings(section)}


def conf_folder() -> Path:
    """Where `conf/` is: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return here / "conf" if (here / "conf").is_dir() else here.parent / "conf"


def group_options(group: str) -> list[str]:
    """What may be chosen as `group=`."""
    return sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))


def to_yaml(config: Config, *, commented: bool = True) -> str:
    """A complete file of settings, from which `load_config(files=[...])` makes the same again."""
    lines = []
    for section_name, section in [("", Config), *_sections().items()]:
        part = getattr(config, section_name) if section_name else config
        indent = "  " if section_name else ""
        if section_name:
            about = f"  # {section.__doc__}" if commented else ""
            lines += ["", f"{section_name}:{about}"]
        for setting in own_settings(section):
            if commented and setting.meaning:
                lines.append(f"{indent}# {setting.meaning}")
            lines.append(f"{indent}{setting.name}: {written(getattr(part, setting.name))}")
    return "\n".join(lines) + "\n"


def to_dict(config: Config) -> dict[str, Any]:
    """Sections and settings as plain values, for JSON."""
    return asdict(config)


def from_dict(data: Mapping[str, Any]) -> Config:
    """What `to_dict` gave; a setting it lacks takes its default.

    Raises ModelError for an unknown key or a value out of range: it is read from a bundle.
    """
    settings = all_settings()
    values = dict(_flat(data))
    if unknown := sorted(values.keys() - settings.keys()):
        raise ModelError(
            f"The model's settings hold keys this version does not know: {', '.join(unknown)}.",
            hint="a newer pgsum may have written it: upgrade pgsum",
        )
    try:
        return _build({key: settings[key].read(value, where=key) for key, value in values.items()})
    except ConfigError as error:
        raise ModelError(
            f"The model's settings are damaged: {error.message}", where=error.where
        ) from error


@cache
def _sections() -> Mapping[str, type]:
    return {
        f.name: f.type for f in fields(Config) if isinstance(f.type, type) and f.default is MISSING
    }


def _build(values: Mapping[str, Value]) -> Config:
    def own(section: type) -> dict[str, Value]:
        return {s.name: values[s.key] for s in own_settings(section) if s.key in values}

    parts = {name: section(**own(section)) for name, section in _sections().items()}
    return Config(**parts, **own(Config))  # type: ignore[arg-type]  # checked by its own fields


def _parse(overrides: Sequence[str]) -> tuple[dict[str, str], list[Line]]:
    """The options chosen for groups, and the settings given one by one."""
    choices: dict[str, str] = {}
    lines: list[Line] = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if not key or not equals:
            raise ConfigError(
                f"{shown(override)} is not a setting: it must be KEY=VALUE.",
                hint="for example optim.lr=0.001; what to train on comes before all settings",
            )
        if key in GROUPS:
            choices[key] = _option(key, value)
        else:
            lines.append(Line(key, None if value == "null" else value, where=key))
    return choices, lines


def _read(lines: Iterable[Line]) -> dict[str, Value]:
    """The values by their full keys; of several for one key, the last."""
    settings = all_settings()
    values: dict[str, Value] = {}
    for line in lines:
        if line.key in GROUPS:
            raise ConfigError(
                f"{line.key} is a group of settings, not one setting.",
                where=line.where,
                hint=f"choose it on the command line: {line.key}={line.value}",
            )
        if line.key not in settings:
            raise unknown_key(line.key, settings, where=line.where)
        values[line.key] = settings[line.key].read(line.value, where=line.where)
    return values


def _option(group: str, value: str) -> str:
    options = group_options(group)
    if value not in options:
        near = get_close_matches(value, options, n=1) or options
        raise ConfigError(
            f"{group} is {shown(value)}: it must be one of {', '.join(options)}.",
            where=group,
            hint=f"did you mean {group}={near[0]}?",
        )
    return value


def _compose(choices: Mapping[str, str]) -> Iterator[Line]:
    """What Hydra makes of `conf/` under these choices; nothing in it is interpolated."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    # Hydra keeps one state per process: a program that itself runs under Hydra gets its own back.
    outer, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            composed = compose("config", [f"{key}={option}" for key, option in choices.items()])
    except HydraException as error:
        raise ConfigError(f"{error}", where=str(conf_folder())) from error
    finally:
        GlobalHydra.instance().hydra = outer
    for key, value in _flat(OmegaConf.to_container(composed, resolve=False)):
        yield Line(key, value, where=f"{conf_folder()}: {key}")


def _flat(data: Any) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            yield str(key), value
