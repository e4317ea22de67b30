import errno

import pytest

from pgsum.config import Config, load_config
from pgsum.errors import ConfigError
from pgsum.training.folder import CONFIG, new_run_folder, on_its_disk, run_folder


class KilledError(Exception):
    pass


def half_written(folder):
    (folder / "vocab.json").write_text("{", encoding="utf-8")
    raise KilledError


@pytest.mark.fault(40)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_in_which_a_run_was_only_being_made_is_taken_anew(tmp_path, overwrite):
    """Also where another run stood there, of which nothing but a part is left."""
    out = tmp_path / "run"
    if overwrite:
        with new_run_folder(Config(name="before"), out, overwrite=False, write=str):
            (out / "model").mkdir()
    with (
        pytest.raises(KilledError),
        new_run_folder(Config(), out, overwrite=overwrite, write=half_written),
    ):
        raise AssertionError("it is no run")
    assert run_folder(Config(), out, overwrite=False) == out
    with new_run_folder(Config(name="after"), out, overwrite=False, write=str):
        assert sorted(path.name for path in out.iterdir() if path.name != ".lock") == [CONFIG]
    assert load_config(files=[out / CONFIG]).name == "after"


def test_a_run_is_never_taken_for_one_that_was_only_being_made(tmp_path):
    """As where a process was killed between writing its settings and taking its mark away."""
    with new_run_folder(Config(), tmp_path / "run", overwrite=False, write=str) as folder:
        (folder / ".begun").touch()
    with pytest.raises(ConfigError, match="The output folder is not empty"):
        run_folder(Config(), folder, overwrite=False)


@pytest.mark.fault(32)
def test_a_disk_that_fails_says_how_to_go_on_and_any_other_fault_is_not_hidden(tmp_path):
    kept = pytest.raises(ConfigError, match="cannot be kept: No space left on device")
    with kept as caught, on_its_disk(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.hint.endswith(f"pgsum train --resume {tmp_path}")
    with pytest.raises(ConnectionError), on_its_disk(tmp_path):
        raise ConnectionError(errno.ECONNRESET, "Connection reset")
