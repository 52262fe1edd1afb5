"""What the recording upstream answers: a function of the request and of how many questions came before it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

TOOL_WORDS = "What does the probe say"


@dataclass(frozen=True)
class Answer:
    text: str
    calls: list[dict[str, Any]] = field(default_factory=list)  # OpenAI's tool calls, whole


def answer(body: dict[str, Any], number: int) -> Answer:
    """The reply to `body`; `number` counts a scenario's questions from 1, so that a regenerated answer differs."""
    words = asked(body)
    if (task := task_of(words)) is not None:
        return Answer(task)
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Answer(f"Answer {number}: the tool said {text_of(last)}")
    if last["role"] == "assistant" or tail(words) == "</context>":
        return Answer(f" Answer {number} goes on.")
    offered = [each["function"]["name"] for each in body.get("tools", [])]
    if words.startswith(TOOL_WORDS) and "probe" in offered:
        call = {"name": "probe", "arguments": json.dumps({"depth": number})}
        return Answer("", [{"id": f"call_{number}", "type": "function", "function": call}])
    return Answer(f"Answer {number} to: {tail(words)}")


def asked(body: dict[str, Any]) -> str:
    """The words of the last user message."""
    return next((text_of(each) for each in reversed(body["messages"]) if each["role"] == "user"), "")


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


def tail(words: str) -> str:
    """The last line: the user's own words, also below a template."""
    return words.strip().splitlines()[-1].strip() if words.strip() else ""


def task_of(words: str) -> str | None:
    """What an auxiliary prompt wants to read, or None when a person asks."""
    if not words.startswith("### Task:"):
        return None
    if '{ "title":' in words:
        return json.dumps({"title": "Recorded chat"})
    if '{ "tags":' in words:
        return json.dumps({"tags": ["General"]})
    if '{ "follow_ups":' in words:
        return json.dumps({"follow_ups": ["What else?", "Why is that so?"]})
    if '{ "queries":' in words:
        return json.dumps({"queries": [tail(history(words)).removeprefix("USER: ")]})
    if words.startswith("### Task:\nSummarize the conversation history"):
        compacted = words.partition("### Messages Being Compacted:")[2].partition("### Recent Messages")[0]
        questions = re.findall(r"^USER: (.*)", compacted, re.MULTILINE)
        return f"The user said: {' / '.join(questions)}"
    return None


def history(words: str) -> str:
    found = re.search(r"<chat_history>\n(.*)</chat_history>", words, re.DOTALL)
    return found[1] if found else words
