"""Whether a value fits a JSON schema: the part of the standard that tools use for their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Schema = Mapping[str, object] | bool

TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}
DEEPEST = 64


def problem(value: object, schema: object, *, root: object = None, path: str = "", depth: int = 0) -> str | None:
    """The first thing about a value that its schema forbids; None if it fits."""
    if depth > DEEPEST:
        return f"{path or 'the value'} is nested too deeply"
    if not isinstance(schema, dict):
        return f"{path or 'the value'} is not allowed" if schema is False else None
    root = schema if root is None else root
    if isinstance(schema.get("$ref"), str):
        return problem(value, resolve(schema["$ref"], root), root=root, path=path, depth=depth + 1)
    if found := unfit(value, schema):
        return f"{path or 'the value'} {found}"
    for part, inner, place in parts(value, schema, path):
        if found := problem(part, inner, root=root, path=place, depth=depth + 1):
            return found
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            found_all = [problem(value, each, root=root, path=path, depth=depth + 1) for each in options]
            if None not in found_all:
                return found_all[0]
    for each in as_list(schema.get("allOf")):
        if found := problem(value, each, root=root, path=path, depth=depth + 1):
            return found
    return None


def unfit(value: object, schema: Mapping[str, object]) -> str | None:
    """What is wrong with the value itself, whatever is inside it."""
    if "const" in schema and value != schema["const"]:
        return f"must be {schema['const']!r}"
    if "enum" in schema and value not in as_list(schema["enum"]):
        return f"must be one of {schema['enum']!r}"
    kinds = [kind for kind in as_list(schema.get("type")) if kind in TYPES]
    if kinds and not any(TYPES[str(kind)](value) for kind in kinds):
        return f"must be of type {' or '.join(map(str, kinds))}"
    if isinstance(value, dict):
        missing = [name for name in as_list(schema.get("required")) if name not in value]
        if missing:
            return f"lacks {missing[0]!r}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return outside(value, schema, "minimum", "maximum", "")
    if isinstance(value, str):
        return outside(len(value), schema, "minLength", "maxLength", " characters")
    if isinstance(value, list):
        return outside(len(value), schema, "minItems", "maxItems", " items")
    return None


def outside(size: float, schema: Mapping[str, object], least: str, most: str, unit: str) -> str | None:
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, int | float) and size < low:
        return f"must be at least {low}{unit}"
    if isinstance(high, int | float) and size > high:
        return f"must be at most {high}{unit}"
    return None


def parts(value: object, schema: Mapping[str, object], path: str) -> Iterator[tuple[object, object, str]]:
    """What is inside a value, each with its schema and its place."""
    if isinstance(value, dict):
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        others = schema.get("additionalProperties", True)
        for name, part in value.items():
            yield part, known.get(name, others), f"{path}.{name}" if path else str(name)
    elif isinstance(value, list) and "items" in schema:
        for number, part in enumerate(value):
            yield part, schema["items"], f"{path}[{number}]"


def resolve(pointer: str, root: object) -> object:
    """What a reference inside the document points to; anything goes where it points nowhere."""
    found = root
    for step in pointer.removeprefix("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if name:
            found = found.get(name, True) if isinstance(found, dict) else True
    return found


def as_list(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
