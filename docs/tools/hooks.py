"""Pages of the site that are made from files kept elsewhere, so that nothing is written twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import links
from examples import examples
from reference import reference

ROOT = Path(__file__).parents[2]
FOLDED = re.compile(r"<details>(<summary>.*?</summary>)")


def sections(text: str) -> dict[str, str]:
    """A long page cut at its second-level headings: names of pages to what stands in them."""
    head, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
    cut = {"index": head}
    for part in rest:
        title, _, body = part.partition("\n")
        name = re.sub(r"[^a-z0-9]+", "-", title.partition(":")[0].lower()).strip("-")
        body = re.sub(r"^###", "##", body, flags=re.MULTILINE)
        cut[name] = f"# {title}\n{body}"
    return cut


def listed(cut: Mapping[str, str]) -> str:
    """The first of the pages, with a list of the others below its heading."""
    titles = {name: body.splitlines()[0].lstrip("# ") for name, body in cut.items() if name != "index"}
    head, _, rest = cut["index"].partition("\n")
    lines = "\n".join(f"* [{title}]({name}.md)" for name, title in titles.items())
    return f"{head}\n\n{lines}\n{rest}"


def experiments() -> dict[str, str]:
    """The pages of the experiments, by their places in the site."""
    cut = sections((ROOT / "experiments" / "README.md").read_text(encoding="utf-8"))
    cut["index"] = listed(cut)
    return {f"experiments/{name}.md": body for name, body in cut.items()}


def targets(folder: str, place: str) -> str:
    """The list of targets of a folder; its README is at this place in the site."""
    return (ROOT / folder / "targets.md").read_text(encoding="utf-8").replace("](README.md", f"]({place}")


def made() -> dict[str, str]:
    """All pages that are made, by their places in the site."""
    benchmarks = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {
        **experiments(),
        **reference(),
        "examples.md": examples(),
        "experiments/targets.md": targets("experiments", "index.md"),
        "benchmarks.md": benchmarks,
        "targets.md": targets("benchmarks", "benchmarks.md"),
        "changelog.md": changes,
        "contributing.md": links.turned_from_root(contributing),
    }


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """Tables that are folded away are Markdown, too; links to files that pages are made of lead to the pages."""
    unfolded = FOLDED.sub(r'<details markdown="1">\n\1', markdown)
    return links.turned(unfolded, page.file.src_uri, experiments())


def on_post_page(output: str, **more: Any) -> str:
    """Readers of screens are told what the dialog of the theme is for."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def on_config(config: Any) -> Any:
    """Put the experiments and the reference into the contents, where their first pages are."""
    for part in config.nav:
        for title, pages in part.items():
            if "experiments/index.md" in pages:
                pages[pages.index("experiments/index.md")] = {"Experiments": list(experiments())}
            if "reference/index.md" in pages:
                part[title] = [*reference(), *pages[1:]]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the figures that they show."""
    for place, body in made().items():
        files.append(File.generated(config, place, content=body))
    for figure in sorted((ROOT / "experiments" / "results").glob("*.svg")):
        files.append(File.generated(config, f"experiments/results/{figure.name}", abs_src_path=str(figure)))
    for measured in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        files.append(File.generated(config, f"results/{measured.name}", abs_src_path=str(measured)))
    return files
