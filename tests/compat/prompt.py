"""What can be known from a prompt, and nothing else: facts, sums, and the values of a JSON schema."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from upstream import own_text, text_of

Message = dict[str, Any]
Schema = dict[str, Any]

TELLS = re.compile(r"\b(?:my|our|the|its) ((?:[a-z]+[ _]){0,2}[a-z]+) (?:is|are|was) (?!\?)([^.;!?\n]+)", re.IGNORECASE)
ASKS = re.compile(r"\b(?:what|which|who)(?:'s| is| are| was) (?:my|our|the|your) ([a-z _]+?)\s*[?.!]*$", re.IGNORECASE)
SUM = re.compile(r"(-?\d+(?:\.\d+)?) ?(\+|-|\*|x|times|plus|minus) ?(-?\d+(?:\.\d+)?)")
PLACE = re.compile(r"\bin ([A-Z][\w-]*(?: [A-Z][\w-]*)*(?:, [A-Z]{2}\b)?)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
PLACES = {"city", "location", "place", "town"}

OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "plus": operator.add,
    "-": operator.sub,
    "minus": operator.sub,
    "*": operator.mul,
    "x": operator.mul,
    "times": operator.mul,
}


class Prompt:
    """The messages of one request."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        asked = [index for index, message in enumerate(messages) if message["role"] == "user"]
        self.turn = asked[-1] if asked else len(messages) - 1  # where the question that is to be answered stands

    @cached_property
    def question(self) -> str:
        """What was asked, without what was recalled for it."""
        return own_text(self.messages[self.turn]) if self.messages else ""

    @cached_property
    def told(self) -> str:
        """All that was said to the model, in its order: not what it said itself."""
        return "\n".join(text_of(message) for message in self.messages if message["role"] != "assistant")

    @cached_property
    def facts(self) -> dict[str, str]:
        """What is what; the newest word counts."""
        return {key(name): value.strip().strip("'\"") for name, value in TELLS.findall(self.told)}

    @cached_property
    def places(self) -> list[str]:
        return list(dict.fromkeys(PLACE.findall(self.question)))

    @cached_property
    def numbers(self) -> list[float]:
        """Those that the question itself has."""
        return [number(found) for found in NUMBER.findall(self.question)]

    @property
    def results(self) -> list[Message]:
        """What tools have answered since the question."""
        return [message for message in self.messages[self.turn :] if message["role"] == "tool"]

    @property
    def called(self) -> set[str]:
        """Names of the tools that were called since the question."""
        return {call["function"]["name"] for message in self.messages[self.turn :] for call in calls_of(message)}

    @property
    def calls(self) -> int:
        """How many calls there are in all: the next one's number."""
        return sum(len(calls_of(message)) for message in self.messages)

    def fact(self, name: str) -> str | None:
        """What was told under a name; of a longer one the last word will do ("favourite colour", "colour")."""
        wanted = key(name)
        for known in (wanted, wanted.rpartition(" ")[2]):
            if known in self.facts:
                return self.facts[known]
        near = [value for known, value in self.facts.items() if known.rpartition(" ")[2] == wanted.rpartition(" ")[2]]
        return near[-1] if near else None

    @cached_property
    def sum(self) -> float | None:
        found = SUM.search(self.question)
        return number(str(OPERATIONS[found[2]](float(found[1]), float(found[3])))) if found else None

    @cached_property
    def total(self) -> float:
        """All numbers that were told before the question."""
        before = [text_of(message) for message in self.messages[: self.turn] if message["role"] == "user"]
        return sum(number(found) for text in before for found in NUMBER.findall(text))


# --- filling a schema ---


class Form:
    """A JSON schema, filled from a prompt. Each number and each quotation of the question is used once."""

    def __init__(self, schema: Schema, prompt: Prompt, *, place: str | None = None) -> None:
        self.schema = schema
        self.prompt = prompt
        self.places = [place] if place else list(prompt.places)
        self.numbers = list(prompt.numbers)
        self.quoted = [one or other for one, other in QUOTED.findall(prompt.question)]

    def filled(self) -> Any:
        return self.value(self.schema, "")

    def value(self, schema: Schema, name: str, part: str | None = None) -> Any:
        """A value for the field of that name; `part` is the piece of a list it is to be read from."""
        if "$ref" in schema:
            return self.value(self.resolved(schema["$ref"]), name, part)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.chosen(schema["enum"], name, part)
        if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            return self.alternative(choices, name, part)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            return self.alternative([{**schema, "type": each} for each in kind], name, part)
        match kind:
            case "object":
                fields = schema.get("properties") or {}
                return {field: self.value(inner, field, part) for field, inner in fields.items()}
            case "array":
                return self.several(schema.get("items") or {}, name)
            case "integer" | "number":
                return self.amount(schema, name, part)
            case "boolean":
                return bool(re.search(rf"\b{re.escape(key(name))}\b", self.prompt.told, re.IGNORECASE))
            case "null":
                return None
        return self.words(name, part)

    def resolved(self, pointer: str) -> Schema:
        found: Any = self.schema
        for step in pointer.removeprefix("#").strip("/").split("/"):
            found = found[step] if step else found
        return dict(found)

    def chosen(self, values: list[Any], name: str, part: str | None) -> Any:
        """The one that the name's fact, the question or the prompt mentions."""
        for text in (part, self.prompt.fact(name), self.prompt.question, self.prompt.told):
            for value in values:
                if text and re.search(rf"\b{re.escape(str(value))}\b", text, re.IGNORECASE):
                    return value
        return values[0]

    def alternative(self, choices: list[Schema], name: str, part: str | None) -> Any:
        """What may be null is null, unless something is known about it."""
        real = [choice for choice in choices if choice.get("type") != "null"]
        known = part is not None or self.prompt.fact(name) or (key(name) in PLACES and self.places)
        return self.value(real[0], name, part) if real and (known or len(real) == len(choices)) else None

    def several(self, items: Schema, name: str) -> list[Any]:
        listed = self.prompt.fact(name) or ""
        parts = [part.strip() for part in re.split(r",| and ", listed) if part.strip()]
        return [self.value(items, name, part) for part in parts]

    def amount(self, schema: Schema, name: str, part: str | None) -> float:
        for text in (part, self.prompt.fact(name)):
            if text and (found := NUMBER.search(text)):
                return number(found[0])
        if key(name) in {"sum", "total", "result", "answer"} and self.prompt.sum is not None:
            return self.prompt.sum
        least: float = schema.get("minimum", 0)
        return self.numbers.pop(0) if self.numbers else least

    def words(self, name: str, part: str | None) -> str:
        if part is not None:
            return re.sub(r"\s*\(?-?\d[\d.]*\)?$", "", part)
        if key(name).rpartition(" ")[2] in PLACES and self.places:
            return self.places.pop(0)
        if (known := self.prompt.fact(name)) is not None:
            return known
        return self.quoted.pop(0) if self.quoted else self.prompt.question


# --- reading messages ---


def calls_of(message: Message) -> list[dict[str, Any]]:
    return message.get("tool_calls") or []


def key(name: str) -> str:
    """`favouriteColour`, `favourite_colour` and "Favourite colour" are one name."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).strip().lower()


def number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
