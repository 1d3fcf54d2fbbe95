"""A store in a few numbers, in a terminal and on a page."""

from __future__ import annotations

import math

from veridical.render.markup import Markup, escape, join, tag
from veridical.render.tables import facts, notes
from veridical.render.words import Fact, count, number, percent, plain
from veridical.scale.stores.store import Store


def store_picture(store: Store) -> str:
    """Where it is, how far it is, and how good the explanations are."""
    lines = [f"store {plain(store.path, 200)}: {_state(store)}"]
    lines += [f"{name.lower():<10}{value} {meaning}" for name, value, meaning in _facts(store)]
    return "\n".join(lines)


def stored(store: Store) -> Markup:
    """The same as markup."""
    title = tag("div", {"class": "vd-say"}, tag("h3", {}, escape(f"Store: {_state(store)}")))
    return join(title, facts(_facts(store)), notes([f"Folder: {store.path}"]))


def store_words(store: Store) -> str:
    """What a store holds, in a line."""
    found = {name: value for name, value, _ in _facts(store)}
    n = len(store) - store.manifest["n_failed"]
    return f"{count(n, 'explanation')}, mean held-out R² {found['Fidelity']}, {found['Verdicts']} can be believed"


def _state(store: Store) -> str:
    done, known = store.manifest["n_done"], store.manifest["n_rows"]
    if store.manifest["complete"]:
        return f"{count(done, 'row')}, complete"
    return f"{done:,} of {count(known, 'row') if known is not None else 'all rows'}: not complete"


def _facts(store: Store) -> list[Fact]:
    parts, done = store.receipts, len(store)
    n_failed, n_calls = store.manifest["n_failed"], store.manifest["n_calls"]
    n_known, n_good = sum(r.n_fidelity for r in parts), max(done - n_failed, 1)
    fidelity = sum(r.fidelity for r in parts) / n_known if n_known else math.nan
    failed = [("Failed", f"{n_failed:,}", "rows have an error in the place of an explanation")] if n_failed else []
    return [
        *failed,
        (
            "Calls",
            f"{n_calls:,}",
            f"inputs that the model was asked about, {number(n_calls / max(done, 1))} a row",
        ),
        ("Fidelity", number(fidelity), "mean held-out R²" if n_known else "(mean held-out R²)"),
        ("Verdicts", percent(sum(r.n_passed for r in parts) / n_good), "of the explanations can be believed"),
    ]
