import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsum import config as module
from pgsum.config import (
    GROUPS,
    Config,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    OptimConfig,
    TextConfig,
    TrainerConfig,
    all_settings,
    conf_folder,
    from_dict,
    group_options,
    load_config,
    to_dict,
    to_yaml,
)
from pgsum.errors import ConfigError, ModelError
from pgsum.plain_yaml import written


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_asked_for_gives_the_defaults():
    assert load_config() == Config()


@pytest.mark.parametrize(
    ("group", "option"), [(group, option) for group in GROUPS for option in group_options(group)]
)
def test_every_file_in_conf_can_be_chosen(group, option):
    assert isinstance(load_config([f"{group}={option}"]), Config)


def test_every_value_in_conf_carries_its_reason():
    for file in conf_folder().glob("*/*.yaml"):
        for line in file.read_text(encoding="utf-8").splitlines():
            is_value = ": " in line.partition("#")[0] and not line.lstrip().startswith("-")
            assert not is_value or " # " in line, f"{file}: {line}"


def test_see2017_alone_gives_the_settings_of_the_paper():
    assert load_config(["model=see2017"]) == Config(
        text=TextConfig(
            vocab_size=50_000, min_count=1, max_source_tokens=400, max_target_tokens=100
        ),
        model=ModelConfig(
            name="see2017",
            embedding_size=128,
            hidden_size=256,
            attention="additive",
            attention_size=512,
            query_with_cell=True,
            input_feeding=True,
            output_activation=False,
            output_size=256,
            coverage="from_start",
            coverage_weight=1.0,
            tie_embeddings=False,
            dropout=0.0,
            initialisation="see2017",
        ),
        decode=DecodeConfig(beam_size=4, min_tokens=35, max_tokens=120, no_repeat_ngram=0),
        optim=OptimConfig(
            name="adagrad", lr=0.15, accumulator=0.1, clip_norm=2.0, warmup_steps=0, decay="none"
        ),
        trainer=TrainerConfig(batch_size=16),
    )


def test_a_group_chosen_by_hand_beats_what_a_preset_chooses():
    config = load_config(["model=see2017", "optim=adam"])
    assert (config.model.name, config.optim) == ("see2017", OptimConfig())


def test_each_source_of_settings_beats_those_before_it(tmp_path):
    file = write(tmp_path / "mine.yaml", "trainer:\n  max_steps: 7\n  batch_size: 5\n")
    later = write(tmp_path / "later.yaml", "trainer.batch_size: 6\n")
    from_experiment = load_config(["experiment=samsum"])
    assert from_experiment.trainer.max_steps != Config().trainer.max_steps
    config = load_config(
        ["experiment=samsum", "trainer.batch_size=3", "trainer.seed=1", "trainer.seed=2"],
        files=[file, later],
    )
    assert config.text == from_experiment.text
    assert (config.trainer.max_steps, config.trainer.batch_size) == (7, 3)
    assert config.trainer.seed == 2
    assert load_config(files=[file, later]).trainer.batch_size == 6


@pytest.mark.parametrize(
    "path", ["/a b,c/é=x.jsonl", "a'b\"c", "[1, 2]", "{a: b}", "C:\\data\\x", "a: b #c", "-", "no"]
)
def test_a_path_is_taken_as_it_stands(path):
    assert load_config(["data=files", f"data.train={path}"]).data.train == path


def test_null_takes_a_value_away(tmp_path):
    file = write(tmp_path / "mine.yaml", "data: {max_pairs: 9}\n")
    assert load_config(["data.max_pairs=null"], files=[file]).data.max_pairs is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optim.lrr=1", r"'optim\.lrr' is not a setting; .*did you mean optim\.lr\?"),
        ("batch_size=1", r"did you mean decode\.batch_size or trainer\.batch_size\?"),
        ("+optim.lr=1", r"did you mean optim\.lr\?"),
        ("data.train[0]=x", r"'data\.train\[0\]' is not a setting.*did you mean data\.train\?"),
        ("optim.lr.x=1", r"did you mean optim\.lr\?"),
        ("foo", r"'foo' is not a setting: it must be KEY=VALUE"),
        ("=1", r"must be KEY=VALUE"),
        ("optim.lr=nan", r"optim\.lr is nan: it must be a finite number above 0"),
        ("optim.lr=0", r"optim\.lr is 0\.0: .* above 0"),
        ("trainer.max_steps=1e3", r"trainer\.max_steps is '1e3': it must be a whole number"),
        ("trainer.seed=-1", r"trainer\.seed is -1: .* at least 0 and at most 4,294,967,295"),
        ("text.vocab_size=4", r"text\.vocab_size is 4: .* at least 5"),
        ("text.vocab_size=1000000000000", r"text\.vocab_size .* at most 10,000,000"),
        ("trainer.batch_size=9999999999999999999999", r"at least 1 and at most 2,147,483,647"),
        ("trainer.patience=9999999999999999999999", r"at least 0 and at most 2,147,483,647"),
        ("decode.length_alpha=1e308", r"length_alpha is 1e\+308: .* at least 0 and at most 10"),
        ("decode.beam_size=0", r"decode\.beam_size is 0: .* at least 1"),
        (
            "decode.min_tokens=9999",
            r"min_tokens \(9999\) must not exceed decode.max_tokens \(100\)",
        ),
        ("decode.copy_bias=nan", r"copy_bias is nan: .* at least -1,000 and at most 1,000"),
        ("decode.n_best=9", r"n_best \(9\) must not exceed decode.beam_size \(4\)"),
        ("model.output_size=7", r"output_size \(7\) must equal model.embedding_size \(128\)"),
        ("data.hub=a/b", r"data\.hub names .*data\.name=docstrings; .*add data\.name=hub"),
        ("data.root=x", r"data\.root names .* data\.name=docstrings; .*add data.name=files"),
        ("data.encoding=base64", r"data\.encoding is 'base64', which is no text encoding"),
        ("data.encoding=martian", r"data\.encoding is 'martian', which is no text encoding"),
        ("name=../../x", r"must not begin with a dot nor hold any of"),
        ("name=${oc.env:HOME}", r"nothing is put in for \${...}"),
        ("model=seee", r"model is 'seee': it must be one of .*pointer_generator, see2017"),
        ("model=see2107", r"did you mean model=see2017\?"),
        ("model=", r"model is '': it must be one of"),
        ("experiment=../config", r"experiment is '../config': it must be one of"),
    ],
)
def test_a_bad_override_is_refused_by_its_key(override, message):
    with pytest.raises(ConfigError, match=message):
        load_config([override])


def test_a_bias_of_the_gate_is_refused_where_there_is_none():
    message = (
        r"copy_bias is -2\.0, but model\.pointer is false: there is no gate.*leave it at 0, or use"
    )
    with pytest.raises(ConfigError, match=message):
        load_config(["model=attention_dot", "decode.copy_bias=-2"])


@pytest.mark.parametrize(
    ("given", "message", "remedies"),
    [
        (
            {"attention": "dot", "hidden_size": 6},
            r"attention=dot multiplies states of the encoder, of size 12, by .* of size 6: "
            r"they must be equal.*set model\.decoder_size=12, or model\.attention=general",
            [{"decoder_size": 12}, {"attention": "general"}],
        ),
        (
            {"attention": "scaled_dot", "bidirectional": False, "decoder_size": 9},
            r"attention=scaled_dot .* .* size 256, .* size 9: .*set model\.decoder_size=256,",
            [{"decoder_size": 256}, {"attention": "general"}],
        ),
        (
            {"attention": "dot", "query_with_cell": True, "decoder_size": 9},
            r"size 512, by the decoder's, of size 18: .*set model\.decoder_size=256, or",
            [{"decoder_size": 256}, {"attention": "general"}],
        ),
        (
            {
                "attention": "dot",
                "query_with_cell": True,
                "hidden_size": 5,
                "bidirectional": False,
            },
            r"size 5, by the decoder's, of size 10: .*; set model\.attention=general$",
            [{"attention": "general"}],
        ),
        (
            {"attention": "dot", "decoder": "conv"},
            r"size 512, by the decoder's, of size 256: .*; set model\.bidirectional=false, or",
            [{"bidirectional": False}, {"attention": "general"}],
        ),
        (
            {"attention": "none"},
            r"model\.pointer is true, but model\.attention is none: .*"
            r"set model\.pointer=false, or model\.attention=general",
            [{"pointer": False}, {"attention": "general"}],
        ),
        (
            {"attention": "none", "pointer": False, "coverage": "from_start"},
            r"model\.coverage is from_start, but model\.attention is none.*model\.coverage=none,",
            [{"coverage": "none"}, {"attention": "general"}],
        ),
        (
            {"attention": "none", "pointer": False, "input_feeding": True},
            r"model\.input_feeding is true, but model\.attention is none.*input_feeding=false, or",
            [{"input_feeding": False}, {"attention": "general"}],
        ),
        (
            {"attention": "none", "pointer": False, "query": "previous"},
            r"model\.query is previous, but model\.attention is none.*model\.query=current, or",
            [{"query": "current"}, {"attention": "general"}],
        ),
        (
            {"attention": "none", "pointer": False, "query_with_cell": True},
            r"model\.query_with_cell is true, but model\.attention is none.*_with_cell=false, or",
            [{"query_with_cell": False}, {"attention": "general"}],
        ),
        (
            {"query": "previous", "input_feeding": True},
            r"input_feeding is true, but with model\.query=previous .*"
            r"set model\.input_feeding=false, or model\.query=current",
            [{"input_feeding": False}, {"query": "current"}],
        ),
        (
            {"decoder": "transformer"},
            r"model\.attention is general, but model\.decoder=transformer attends by scaled_dot.*"
            r"set model\.attention=scaled_dot, or model\.decoder=rnn",
            [{"attention": "scaled_dot"}, {"decoder": "rnn"}],
        ),
        (
            {"decoder": "transformer", "attention": "none"},
            r"model\.attention is none, but model\.decoder=transformer .*attention=scaled_dot",
            [{"attention": "scaled_dot"}],
        ),
        (
            {"decoder": "conv", "attention": "none"},
            r"model\.attention is none, but model\.decoder=conv .*set model\.attention=general, or",
            [{"attention": "general"}, {"decoder": "rnn", "pointer": False}],
        ),
        (
            {"encoder": "conv", "decoder": "conv", "kernel_size": 4},
            r"model\.kernel_size is 4, but must be odd.*set model\.kernel_size=5",
            [{"kernel_size": 5}],
        ),
        (
            {"encoder": "transformer", "hidden_size": 10},
            r"model\.hidden_size \(10\) must be a multiple of model\.heads \(4\)",
            [{"heads": 5}, {"hidden_size": 12}],
        ),
        (
            {"bridge": "none", "hidden_size": 6},
            r"bridge=none hands over .* of size 12, to a decoder of size 6: they must be equal.*"
            r"set model\.decoder_size=12, or model\.bridge=relu or tanh",
            [{"decoder_size": 12}, {"bridge": "relu"}, {"bridge": "tanh"}],
        ),
        (
            {"encoder": "conv", "bridge": "none"},
            r"bridge is none, but model\.encoder=conv has no last state.*set model\.bridge=relu",
            [{"bridge": "relu"}, {"bridge": "tanh"}],
        ),
        (
            {"embedding_size": 8, "output_size": 7},
            r"output_size \(7\) must equal model\.embedding_size \(8\) while .*is true.*"
            r"set model\.tie_embeddings=false, or leave model\.output_size out",
            [{"tie_embeddings": False}, {"output_size": None}],
        ),
    ],
    ids=lambda part: " ".join(f"{k}={v}" for k, v in part.items()) if type(part) is dict else "",
)
def test_settings_that_do_not_go_together_are_refused_with_a_remedy_that_works(
    given, message, remedies
):
    with pytest.raises(ConfigError, match=message):
        ModelConfig(**given)
    for remedy in remedies:
        ModelConfig(**given | remedy)


ELSEWHERE: dict[str, tuple[Any, dict[str, Any]]] = {
    "cell": ("gru", {"encoder": "conv", "decoder": "conv"}),
    "bidirectional": (False, {"encoder": "conv"}),
    "reverse_source": (True, {"encoder": "conv"}),
    "bridge": ("tanh", {"decoder": "conv"}),
    "query": ("previous", {"decoder": "conv"}),
    "query_with_cell": (True, {"cell": "gru"}),
    "input_feeding": (True, {"decoder": "conv"}),
    "coverage": ("from_start", {"decoder": "conv"}),
    "decoder_size": (8, {"decoder": "conv"}),
    "heads": (2, {}),
    "inner_size": (8, {"encoder": "conv"}),
    "copy_head": ("last", {"encoder": "transformer"}),
    "kernel_size": (3, {"encoder": "transformer"}),
    "max_positions": (9, {}),
    "attention_size": (9, {"attention": "general"}),
    "context": ("every_step", {"attention": "general"}),
    "initialisation": ("see2017", {"encoder": "transformer"}),
}
"""Of each setting that some models do not have: another value, and such a model."""


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_setting_without_effect_is_refused_unless_it_is_left_alone(name):
    value, kind = ELSEWHERE[name]
    usual = written(getattr(ModelConfig, name))
    with pytest.raises(
        ConfigError,
        match=rf"model\.{name} is {written(value)}, which has a meaning only with (.*); this model "
        rf"has encoder=.*; at model\.{name}; leave it at {usual}, or choose \1$",
    ):
        ModelConfig(**kind | {name: value})
    ModelConfig(**kind)


def test_a_setting_of_recurrent_cells_is_refused_of_transformers_alone():
    transformers = {"encoder": "transformer", "decoder": "transformer", "attention": "scaled_dot"}
    with pytest.raises(ConfigError, match=r"cell is gru, .* only with an rnn; .*=transformer"):
        ModelConfig(cell="gru", **transformers)
    ModelConfig(cell="gru", **transformers | {"decoder": "rnn", "decoder_size": 256})


def test_a_name_that_yaml_takes_for_no_stays_as_written(tmp_path):
    assert load_config(["name=no"]).name == "no"
    assert load_config(files=[write(tmp_path / "a.yaml", "name: no\n")]).name == "no"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "optim:\n  lrr: 1\n",
            r"'optim\.lrr' is not a setting.*mine\.yaml:2; did you mean optim\.lr",
        ),
        ("optim:\n  lr: .nan\n", r"optim\.lr is '\.nan'.*mine\.yaml:2"),
        ("optim:\n  lr: nan\n", r"optim\.lr is nan.*mine\.yaml:2"),
        ("name: ${oc.env:HOME}\n", r"nothing is put in.*mine\.yaml:1"),
        ("model: see2017\n", r"model is a group of settings.*on the command line: model=see2017"),
    ],
)
def test_a_bad_line_of_a_file_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        load_config(files=[write(tmp_path / "mine.yaml", text)])


def test_hydra_is_left_as_it_was_found():
    load_config()
    assert not GlobalHydra.instance().is_initialized()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        assert load_config(["model=see2017"]).model.name == "see2017"
        assert "data" in compose("config")
    with pytest.raises(ConfigError):
        load_config(["optim.lr=nan"])
    assert not GlobalHydra.instance().is_initialized()


def test_a_broken_conf_is_reported_as_such(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "conf_folder", lambda: tmp_path)
    write(tmp_path / "config.yaml", "defaults:\n  - model: missing\n")
    with pytest.raises(ConfigError, match="missing"):
        load_config()


# Keywords, not configurations: types that are checked when one is made draw at random, which
# Hypothesis forbids while it draws.
DATA = st.fixed_dictionaries(
    {
        "name": st.just("files"),
        "train": st.none() | st.from_regex(r"[^\x00-\x1f\x7f${\s]+", fullmatch=True),
    }
)
OPTIM = st.fixed_dictionaries(
    {
        "lr": st.floats(0, exclude_min=True, allow_infinity=False),
        "decay": st.sampled_from(["none", "linear", "cosine"]),
    }
)
MODEL = st.fixed_dictionaries({"pointer": st.booleans(), "layers": st.integers(1, 64)})
NAME = st.none() | st.from_regex(r"[^\x00-\x1f\x7f/\\:*?\"<>|.${\s]+", fullmatch=True)


@settings(max_examples=20)
@given(NAME, DATA, OPTIM, MODEL, st.booleans())
def test_a_config_written_and_read_is_the_same(
    tmp_path_factory, name, data, optim, model, commented
):
    config = Config(
        name=name,
        data=DataConfig(**data),
        optim=OptimConfig(**optim),
        model=ModelConfig(**model),
    )
    file = tmp_path_factory.mktemp("config") / "config.yaml"
    write(file, to_yaml(config, commented=commented))
    assert load_config(files=[file]) == config
    assert from_dict(to_dict(config)) == config


def test_a_written_config_is_complete_and_says_what_each_setting_means():
    text = to_yaml(Config())
    loaded = yaml.safe_load(text)
    assert loaded == to_dict(Config())
    for setting in all_settings().values():
        assert setting.meaning, f"{setting.key} has no docstring"
        assert f"# {setting.meaning}\n" in text
    assert "#" not in to_yaml(Config(), commented=False)


def test_a_bundle_of_an_older_version_takes_the_defaults_for_what_it_lacks():
    data = to_dict(Config(name="old"))
    del data["decode"]["n_best"]
    assert from_dict(data) == Config(name="old")


def test_a_bundle_with_unknown_keys_names_them():
    data = to_dict(Config()) | {"zeal": 1}
    data["optim"]["momentum"] = 0.9
    with pytest.raises(ModelError, match=r"does not know: optim\.momentum, zeal"):
        from_dict(data)


@pytest.mark.parametrize("value", ["many", -1, 10**12, None, [1], {"a": 1}])
def test_a_bundle_with_a_value_out_of_range_is_damaged(value):
    data = to_dict(Config())
    data["text"]["vocab_size"] = value
    with pytest.raises(ModelError, match=r"settings are damaged: text\.vocab_size is"):
        from_dict(data)


def test_a_changed_copy_is_checked_too():
    with pytest.raises(ConfigError, match="must not exceed"):
        replace(Config().decode, max_tokens=5, min_tokens=6)


def test_every_group_of_settings_has_a_folder():
    assert {f.name for f in fields(Config)} - {"name"} <= set(GROUPS)
    assert {path.name for path in conf_folder().iterdir() if path.is_dir()} == set(GROUPS)


def test_importing_the_settings_imports_nothing_heavy():
    code = (
        "import pgsum.config, sys;"
        "print({'torch', 'hydra', 'datasets', 'pytorch_lightning'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
