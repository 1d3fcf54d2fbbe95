"""The networks of examples/models, for experiments that ask the same ones."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = str(Path(__file__).parents[1] / "examples")
sys.path.insert(0, EXAMPLES)  # for these imports alone
try:
    from models import detector, mixing, sounds, tagger, training
finally:
    sys.path.remove(EXAMPLES)

__all__ = ["detector", "mixing", "sounds", "tagger", "training"]
