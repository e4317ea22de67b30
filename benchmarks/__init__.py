"""How fast pgsum is: against a plain twin of itself, and against what the arithmetic allows.

A checkout's own, no part of the package. `make bench` runs it; README.md says what is measured.
"""

import os
import sys
from pathlib import Path

from pgsum.cli.main import TORCH

ROOT = Path(__file__).parent.parent

sys.path.insert(0, str(ROOT / "tests"))  # for reference.plain_twin
for name, value in TORCH.items():
    os.environ.setdefault(name, value)  # as the command has it
