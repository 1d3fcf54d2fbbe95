"""Tables of what a file holds, from docs/schema/veridical-N.json, for the page that has their marks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from veridical.storage.schema import SCHEMA, arrow_schema

SOURCE = Path(__file__).parents[1] / "schema" / f"veridical-{SCHEMA}.json"
DOCUMENT: dict[str, Any] = json.loads(SOURCE.read_text(encoding="utf-8"))
DEFS: dict[str, Any] = DOCUMENT["$defs"]
HEAD = "| {} | type | meaning |\n| --- | --- | --- |\n"
APART = {  # columns of a Parquet file that stand otherwise in JSON
    "target": "the output that was explained, as text",
    "target_is_index": "whether that is a position among the outputs",
    "target_class": "the class, as JSON, where it is no text",
    "recipe": "all that is needed to ask again, as JSON",
    "view": "what a picture of the instance needs, as JSON",
    "map": "of gradient methods: one number for every value of the instance, as JSON",
    "findings": "what the verdict of a check has besides, as JSON",
    "values": "of the parts, as a program reads them, each as JSON",
    "row_name": "the row's own name, as JSON; the number of the row where rows have no names",
    "own": "the row's own value for each part, where it is a float; empty where parts have none",
    "own_texts": "the row's own values that are no floats, each as JSON; empty where all are",
}
BESIDE = {  # columns of the parts of a store, after those of explanations
    "row": ("int64", "the number of the row in X; `row_name` is empty where rows have no names"),
    "error": ("string", "why there is no explanation: the columns of explanations are empty then"),
    "keep: …": ("any", "a column that was kept, as `keep=` names it"),
    "instance: …": (
        "any",
        "a column of the instance, of table rows; values that Parquet has no type for are JSON",
    ),
    "instance": ("list<number> or string", "the instance, of rows of numbers or of texts; others are not stored"),
}
MANIFEST = {
    "veridical": ('`"store"`', "the kind of record"),
    "identity": ("string", "digest of what the store is of; every part has it"),
    "schema": (f"`{SCHEMA}`", "the version of the schema"),
    "version": ("string", "of veridical, that began it"),
    "recipe": ("[value](#value)", "`method`, `target`, `classes` and `rng`, as they were asked for"),
    "represent": ("string", "digest of what the representer makes of the first rows"),
    "data": ("object", "digests of the first rows (`first`), and of all, by where they are"),
    "keep": ("list of string", "columns that are not the model's"),
    "chunk_rows": ("integer", "rows per chunk; the last has fewer"),
    "answers": ("null or list of list of number", "the model's answers to the first rows"),
    "n_rows": ("null or integer", "rows in all; null where that is not known before the end"),
    "complete": ("boolean", "whether all rows are there"),
    "n_shared_calls": ("integer", "inputs that the model was asked about for all rows together"),
    "parts": ("list of object", "the receipts of all parts, once it is complete"),
}
RECEIPT = {
    "number": ("integer", "of the part, as in its name"),
    "start": ("integer", "number of its first row"),
    "stop": ("integer", "one more than that of its last"),
    "store": ("string", "`identity` of the store; in the part only"),
    "n_failed": ("integer", "rows that have no explanation"),
    "n_calls": ("integer", "inputs that the model was asked about for these rows alone"),
    "n_passed": ("integer", "explanations that are reliable"),
    "fidelity": ("number", "sum of those that are known"),
    "n_fidelity": ("integer", "how many that are"),
    "digest": ("string", "of the content, in hexadecimal: one SHA-256 per row, added up modulo 2^256"),
}
STORES = {
    "beside": (BESIDE, "column"),
    "manifest": (MANIFEST, "field"),
    "receipt": (RECEIPT, "field"),
}


def kind_of(field: Mapping[str, Any]) -> str:
    """The type of a field, in words, with links to what is described elsewhere."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(kind_of, field["anyOf"])))
    if field.get("type") == "array":
        return "list of " + kind_of(field["items"]) if "items" in field else "list"
    names = field.get("type", "anything")
    return " or ".join(names) if isinstance(names, list) else str(names)


def lines(named: Mapping[str, Any]) -> Iterator[str]:
    """One line per field; nested objects have theirs below."""
    for name, field in named.items():
        meaning = field.get("description") or DEFS.get(kind_of(field), {}).get("description", "")
        yield f"| `{name}` | {kind_of(field)} | {meaning} |\n"
        inner = field.get("properties", {})
        yield from lines({f"{name}.{key}": value for key, value in inner.items()})


def section(name: str) -> str:
    """What is said of one kind of object."""
    kind = DEFS[name]
    said = f"### {name}\n\n{kind['description']}\n\n"
    if "properties" in kind:
        return said + HEAD.format("field") + "".join(lines(kind["properties"]))
    if "prefixItems" in kind:
        places = {field["title"]: field for field in kind["prefixItems"]}
        return f"{said}A list, by place:\n\n" + HEAD.format("place") + "".join(lines(places))
    if "anyOf" in kind:
        tags = {", ".join(each.get("properties", {})) or kind_of(each): each for each in kind["anyOf"]}
        told = [f"| `{tag}` | {each.get('description', 'as it is')} |\n" for tag, each in tags.items()]
        return f"{said}| written | is |\n| --- | --- |\n" + "".join(
            line.replace("`[", "[").replace(")`", ")") for line in told
        )
    return said


def parquet() -> str:
    """The columns of a file of explanations."""
    known = DEFS["explanation"]["properties"]
    found = [HEAD.format("column")]
    for column in arrow_schema(pa):
        meaning = APART.get(column.name) or known[column.name]["description"]
        kind = str(column.type).replace("list<element: ", "list<").replace("list<item: ", "list<")
        found.append(f"| `{column.name}` | {kind} | {meaning} |\n")
    return "".join(found)


def plain(named: Mapping[str, tuple[str, str]], what: str) -> str:
    """A table of what is not in the schema of JSON."""
    told = [f"| `{name}` | {kind} | {meaning} |\n" for name, (kind, meaning) in named.items()]
    return f"| {what} | type | meaning |\n| --- | --- | --- |\n" + "".join(told)


def table(name: str) -> str:
    if name in STORES:
        return plain(*STORES[name])
    if name == "parquet":
        return parquet()
    if name == "head":
        return HEAD.format("field") + "".join(lines(DOCUMENT["properties"]))
    return "\n".join(map(section, DEFS))
