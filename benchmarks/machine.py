"""What the figures depend on, besides the code."""

import re
import subprocess
from pathlib import Path
from typing import Any

import torch

from benchmarks import ROOT
from pgsum.cli.info import environment

FLAGS = {
    "avx2": "avx2",
    "avx512f": "avx512_f",
    "avx512_bf16": "avx512_bf16",
    "amx_bf16": "amx_bf16",
}
"""Instructions that matter, by the names of Linux and of torch."""


def description() -> dict[str, Any]:
    """Versions, processor and commit."""
    capabilities = torch.cpu.get_capabilities()
    return {
        **environment(),
        "cpu": cpu_model() or environment()["cpu"],
        "cpu flags": ", ".join(flag for flag, name in FLAGS.items() if capabilities.get(name)),
        "commit": commit() or "none",
    }


def cpu_model() -> str | None:
    """As Linux names it."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        return None
    return found and found[1]


def commit() -> str | None:
    """Of the checkout, `-dirty` where it was changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
