"""The API's description as a page: no scripts, nothing fetched from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; color: #1c2330; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; font-size: 1.05rem; }
code, .method { font: 0.92em ui-monospace, monospace; } .method { font-weight: 700; color: #0b6e4f; }
.open, .shapes { color: #6b7280; font-weight: 400; font-size: 0.85em; }
dt { margin-top: .5rem; } dd { margin-left: 1.2rem; }
@media (prefers-color-scheme: dark) { body { background: #14181f; color: #d9dee7; } .method { color: #5ad1a5; } }
"""


def page(description: dict[str, Any]) -> str:
    info = description["info"]
    sections = [
        section(method, path, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])}</p>"
        f"<p>Every request needs <code>Authorization: Bearer &lt;key&gt;</code>, except those marked open. The same in"
        f' a form for machines: <a href="/openapi.json">/openapi.json</a>.</p>{"".join(sections)}</html>'
    )


def section(method: str, path: str, operation: dict[str, Any]) -> str:
    mark = "" if operation["security"] else ' <span class="open">open</span>'
    told = "".join(
        f"<dt><code>{escape(parameter['name'])}</code></dt><dd>{escape(parameter['description'])}</dd>"
        for parameter in operation["parameters"]
        if parameter["in"] != "path"
    )
    note = f" {escape(operation['description'])}" if "description" in operation else ""
    return (
        f'<h2><span class="method">{method.upper()}</span> <code>{escape(path)}</code>{mark}</h2>'
        f'<p>{escape(operation["summary"])}{note}</p><p class="shapes">{escape(shapes(operation))}</p>'
        + (f"<dl>{told}</dl>" if told else "")
    )


def shapes(operation: dict[str, Any]) -> str:
    """What it takes, what it answers with, how it fails."""
    bodies = {"takes": operation["requestBody"]["content"]} if "requestBody" in operation else {}
    fails = [status for status in operation["responses"] if status >= "400"]
    bodies |= {status: told["content"] for status, told in operation["responses"].items() if status not in fails}
    said = [f"{what} {', '.join(named(kind, content[kind]) for kind in content)}" for what, content in bodies.items()]
    return f"{'; '.join(said)}; fails with {', '.join(fails)}"


def named(kind: str, media: dict[str, Any]) -> str:
    """A body by the name of its schema, or by its media type."""
    return str(media["schema"].get("$ref", kind)).rpartition("/schemas/")[2]
