"""`pgsum info`."""

import os
import platform
from importlib.metadata import version

import pgsum
from pgsum.cli import console
from pgsum.cli.options import Debug, Quiet, Verbose

_PACKAGES = ("torch", "pytorch-lightning", "datasets", "rouge-score", "typer")


def info(quiet: Quiet = False, verbose: Verbose = False, debug: Debug = False) -> None:
    """Print versions and hardware, to paste into a report."""
    console.set_mode(quiet=quiet, verbose=verbose, debug=debug)
    for name, value in environment().items():
        console.data(f"{name + ':':<19}{value}")


def environment() -> dict[str, str]:
    """Versions and hardware, by name."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    bf16 = [name for name in ("avx512_bf16", "amx_bf16") if capabilities.get(name)]
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "pgsum": pgsum.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        "platform": platform.platform(),
        "cpu": str(capabilities.get("cpu_name") or platform.processor() or "unknown"),
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "bfloat16": ", ".join(bf16) or "emulated",
        "gpu": ", ".join(gpus) or "none",
    }
