import pytest

from pgsum.cli.corpus import corpus_overrides, split_arguments
from pgsum.config import load_config
from pgsum.errors import DataError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "data", "settings"),
    [
        ([], None, []),
        (["a.jsonl"], "a.jsonl", []),
        (["a.jsonl", "optim.lr=1"], "a.jsonl", ["optim.lr=1"]),
        (["optim.lrr=1"], None, ["optim.lrr=1"]),
        (["+optim.lr=1"], None, ["+optim.lr=1"]),
        (["model=see2017", "a.jsonl"], None, ["model=see2017", "a.jsonl"]),
        (["optim.lr"], None, ["optim.lr"]),
        (["a b, c=d.jsonl"], "a b, c=d.jsonl", []),
    ],
)
def test_the_first_argument_is_data_unless_it_is_a_setting(arguments, data, settings):
    assert split_arguments(arguments) == (data, settings)


def test_a_file_may_be_called_like_a_setting(here):
    (here / "a=b.jsonl").touch()
    assert split_arguments(["a=b.jsonl", "x=1"]) == ("a=b.jsonl", ["x=1"])


@pytest.mark.parametrize("name", ["pairs.jsonl", "a b, c=é.jsonl", "'x'.csv"])
def test_a_file_is_the_split_that_is_asked_for(here, name):
    (here / name).touch()
    config = load_config(corpus_overrides(name, split="train")).data
    assert (config.name, config.train, config.root) == ("files", name, None)
    assert load_config(corpus_overrides(name, split="test")).data.test == name


def test_a_folder_is_the_root(here):
    (here / "my data").mkdir()
    config = load_config(corpus_overrides("my data", split="train")).data
    assert (config.name, config.root, config.train) == ("files", "my data", None)


def test_a_group_is_chosen_by_its_name():
    assert load_config(corpus_overrides("docstrings", split="train")).data.name == "docstrings"


def test_what_is_nothing_is_refused_with_its_nearest(here):
    (here / "pairs.jsonl").touch()
    with pytest.raises(DataError, match=r"called 'pair\.jsonl'.*did you mean pairs\.jsonl\?"):
        corpus_overrides("pair.jsonl", split="train")
    with pytest.raises(DataError, match=r"did you mean docstrings\?"):
        corpus_overrides("docstring", split="train")
    with pytest.raises(DataError, match="the built-in corpus is docstrings"):
        corpus_overrides("no/such/thing", split="train")


@pytest.mark.parametrize(
    ("data", "name", "split"),
    [
        ("owner/news", "owner/news", None),
        ("owner/news:3.0.0", "owner/news:3.0.0", None),
        ("owner/news:en_US@dev", "owner/news:en_US", "dev"),
        ("xsum@test", "xsum", "test"),
        ("news:default", "news:default", None),
    ],
)
def test_a_data_set_of_the_hub_is_named_with_its_config_and_split(data, name, split):
    config = load_config(corpus_overrides(data, split="validation")).data
    assert (config.name, config.hub, config.validation) == ("hub", name, split)
    assert (config.train, config.test) == (None, None)


def test_what_is_here_wins_over_the_hub(here):
    (here / "owner").mkdir()
    (here / "owner" / "news").mkdir()
    assert load_config(corpus_overrides("owner/news", split="train")).data.root == "owner/news"


@pytest.mark.parametrize(
    "data", ["owner/news.jsonl", "owner/a.csv.gz", "a/b.txt", "here/news", "news", "./a/b", "a/b/c"]
)
def test_a_path_that_was_mistyped_is_not_looked_for_on_the_hub(here, data):
    (here / "here").mkdir()
    with pytest.raises(DataError, match=r"no file, no folder and no corpus.*data\.hub=OWNER/NAME"):
        corpus_overrides(data, split="train")
