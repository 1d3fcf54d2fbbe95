"""The schema that docs/ has is the one that files follow, and nothing in it is left unsaid."""

from __future__ import annotations
