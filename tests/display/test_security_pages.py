"""Pages full of attacks, opened in a real browser: nothing runs, nothing is fetched, nothing is hidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import veridical as vd
from tests.builders.browser import Chromium, Look, Seen
from tests.builders.gallery import NAMES, everything, loan, loans
from tests.builders.hostile import ATTACKS, SCRIPTS, Poison, poisoned
from veridical.display import html
from veridical.display.html_charts import script

HARMFUL = {"script", "img", "iframe", "base", "link", "object", "embed", "form", "input", "frame", "foreignobject"}
INSPECT = f"""() => {{
  const all = [...document.querySelectorAll('*')];
  const odd = all.filter(e => {sorted(HARMFUL)}.includes(e.localName) && !e.closest('.vd-filter'))
    .map(e => e.outerHTML).filter(s => s !== {json.dumps("<script>" + script() + "</script>")});
  const handlers = all.flatMap(e => [...e.attributes]).filter(a => a.name.startsWith('on')).map(a => a.name);
  const links = all.map(e => e.getAttribute('href') || '').filter(h => /^\\s*(?!data:image)\\w+:/.test(h));
  const hidden = all.filter(e => e.localName === 'h1' && !e.offsetHeight).length;
  return {{odd, handlers, links, hidden, canary: window.canary || 0}};
}}"""
QUIET = {"odd": [], "handlers": [], "links": [], "hidden": 0, "canary": 0}


def everywhere(start: int, attacks: tuple[str, ...] = ATTACKS) -> list[tuple[str, Any]]:
    """All records, poisoned, each under a heading that is an attack too."""
    names = [name for name in NAMES if name != "page"]
    return [
        (attacks[(start + i) % len(attacks)], poisoned(everything()[name], Poison(start + i, attacks)))
        for i, name in enumerate(names)
    ]


def inspected(page: Any) -> Any:
    """What is on the page after someone has opened, hovered, focused and clicked whatever there is."""
    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    for place in page.locator("[tabindex], summary, [data-tip]").all()[:5]:
        place.hover(force=True)
    for _ in range(5):
        page.keyboard.press("Tab")
    page.evaluate("() => document.querySelectorAll('a').forEach(a => a.click())")
    return page.evaluate(INSPECT)


@pytest.mark.parametrize("start", [0, 5, 10])
def test_nothing_runs_in_a_page(start: int, chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    vd.Page(SCRIPTS[start], everywhere(start, SCRIPTS), SCRIPTS[start - 1]).save(path)
    assert "Content-Security-Policy" in path.read_text(encoding="utf-8")
    found, seen = chromium.visit(path, inspected)
    assert found == QUIET
    assert seen == Seen()


@pytest.mark.parametrize("start", [0, 7])
def test_nothing_runs_in_a_page_about_a_model(start: int, chromium: Chromium, tmp_path: Path) -> None:
    """Names of columns, categories, rows, classes and the model are attacks, and so are all sentences made of them."""
    attacks = [SCRIPTS[(start + i) % len(SCRIPTS)] for i in range(len(SCRIPTS))]
    path, table = tmp_path / "page.html", loans()
    table["home"] = table["home"].map(dict(zip(("own", "rent", "parents"), attacks[:3], strict=True)))
    names = list(table.columns)
    table.columns = pd.Index(attacks[3 : 3 + len(names)])
    table.index = pd.Index([f"{attacks[8 + i % 5]} {i}" for i in range(len(table))])

    def foretell(rows: Any) -> Any:
        return loan(pd.DataFrame(rows).set_axis(names, axis=1))

    foretell.__name__ = attacks[0]
    page = vd.pages.report_model(
        foretell, vd.Rows(table), table, classes=attacks[-2:], method=vd.Lime(n_samples=64), n_rows=60
    )
    titled = vd.Page(attacks[1], [*page.sections, (attacks[2], None, attacks[3])], attacks[4])
    for shown in (page, titled, vd.Page(attacks[1], poisoned(page.sections, Poison(start, SCRIPTS)), attacks[5])):
        shown.save(path)
        found, seen = chromium.visit(path, inspected)
        assert found == QUIET
        assert seen == Seen()


@pytest.mark.parametrize("start", [2, 8, 15])
def test_nothing_runs_in_a_notebook_either(start: int, chromium: Chromium, tmp_path: Path) -> None:
    """Fragments have no policy to protect them: escaping alone has to do."""
    path = tmp_path / "page.html"
    inner = "".join(html.fragment(record) for _, record in everywhere(start))
    path.write_text(f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><body>{inner}', encoding="utf-8")
    found, seen = chromium.visit(path, inspected, Look(dark=True))
    assert found == QUIET
    assert seen == Seen()


def test_what_would_have_run_is_seen(chromium: Chromium, tmp_path: Path) -> None:
    """The same looks on a page that does not escape: with a policy it is blocked and told, without one it runs."""
    path = tmp_path / "page.html"
    naive = "".join(f"<p title='{attack}'>{attack}</p>" for attack in SCRIPTS[:3])
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
    path.write_text(f"{head}<h1>t</h1>{naive}", encoding="utf-8")
    found, _ = chromium.visit(path, inspected)
    assert found["canary"] == 1
    assert found["odd"]
    assert found["handlers"]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{html.POLICY}">'
    path.write_text(f"{head}{policy}<h1>t</h1>{naive}", encoding="utf-8")
    found, seen = chromium.visit(path, inspected)
    assert found["canary"] == 0
    assert any("Content Security Policy" in error for error in seen.errors)
