"""Where a program runs: versions, hardware, the commit of its source.

Knows the machine. Knows nothing of what is computed on it.
"""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import pgsum

_PACKAGES = ("torch", "pytorch-lightning", "datasets", "rouge-score", "nltk", "numpy", "typer")


def versions() -> dict[str, str]:
    """Of Python, pgsum and the packages that figures depend on."""
    return {
        "pgsum": pgsum.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def hardware() -> dict[str, str]:
    """Of the machine and what torch makes of it, by name."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    bf16 = [name for name in ("avx512_bf16", "amx_bf16") if capabilities.get(name)]
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "platform": platform.platform(),
        "cpu": str(capabilities.get("cpu_name") or platform.processor() or "unknown"),
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "bfloat16": ", ".join(bf16) or "emulated",
        "gpu": ", ".join(gpus) or "none",
    }


def memory_in_use() -> int | None:
    """Bytes of this process in memory; None where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def git_commit() -> str | None:
    """Of the checkout that pgsum runs from, with `-dirty` where it was changed; None elsewhere."""
    root = Path(pgsum.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no git, or it does not trust this folder
        return None
    return done.stdout.strip()
