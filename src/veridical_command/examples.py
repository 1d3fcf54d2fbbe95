"""What can be typed as it stands where ``veridical demo --files`` wrote files; help, docs and tests share it."""

from __future__ import annotations

LEAD = "Explain any model's predictions, and say how far each explanation can be believed."
ENDING = (
    "Files to try the examples on: veridical demo --files .",
    "Exit codes: 0 it ran, 1 a check or verdict failed (audit, --fail), 2 it could not run.",
)
EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("veridical demo --files .",),
    "explain": (
        "veridical explain model.onnx data.csv --row 3 --out why.html",
        "veridical explain model.py:model data.csv --label grape --rows 0:20 --out many.parquet",
        "veridical explain model.py:topic texts.jsonl --row 0",
        "veridical explain model.py:leaves pictures --row leaf-1.png --parts grid --out leaf.html",
    ),
    "pick": ("veridical pick many.parquet --budget 3",),
    "group": ("veridical group model.py:model data.csv --label grape --k 3 --out groups.html",),
    "evaluate": (
        "veridical evaluate model.py:model data.csv --label grape --methods lime,occlusion --metrics correlation",
    ),
    "debug": ("veridical debug model.py:model data.csv --label grape --check randomize",),
    "audit": (
        "veridical audit audits:subject --checks randomize --out audit.xml",
        "veridical audit model.py:model data.csv --label grape --background train.csv --checks randomize,labels",
    ),
    "veracity": ("veridical veracity model.py:model data.csv --label grape --methods lime --rows :10",),
    "compare": (
        "veridical compare model.py:model model.py:other data.csv --label grape --row 3",
        "veridical compare before.json after.json --names before,after",
    ),
    "show": ("veridical show many.parquet --out many.html",),
    "version": ("veridical version",),
}


def examples_of(name: str) -> str:
    """The examples of a command, as help shows them."""
    title = "Example:" if len(EXAMPLES[name]) == 1 else "Examples:"
    return title + "\n\n\b\n" + "\n".join(f"  {line}" for line in EXAMPLES[name])
