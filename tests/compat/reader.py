"""A model's server that answers only from the prompt it receives, so that an answer proves what it was sent.

It recalls what it was told ("My name is Alex." - "What is my name?"), does small sums, fills a schema, calls the
tools it is given, and begins its answers as its instructions say. What is not in the prompt it does not know."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from compat.prompt import ASKS, QUOTED, Form, Prompt, as_json
from upstream import HEAD, Behaviour, Upstream, end, event, text_of

Request = dict[str, Any]
Call = tuple[str, dict[str, Any]]

IDLE = {"get", "the", "tool", "my", "a", "of", "to", "for", "in", "and", "function", "agent", "result"}


@dataclass
class Reply:
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    reasoning: str = ""
    finish: str = "stop"


class Reader(Upstream):
    """Runs in a thread of its own, on a real socket."""

    def behaviour(self, request: Request) -> Behaviour:
        return streamed(request, reply(request))


def reply(request: Request) -> Reply:
    prompt = Prompt(request["messages"])
    calls = called(request, prompt)
    if calls:
        text = "Let me look." if re.search(r"\bsay first\b", prompt.question, re.IGNORECASE) else ""
        return Reply(text=text, calls=calls, finish="tool_calls", reasoning=reasoning(request, prompt))
    text, finish = cut(request, document(request, prompt) or spoken(prompt))
    return Reply(text=text, finish=finish, reasoning=reasoning(request, prompt))


# --- words ---


def spoken(prompt: Prompt) -> str:
    begins = re.findall(r"begin (?:every|each) answer with (\S+)", prompt.told, re.IGNORECASE)
    return " ".join([*(each.strip("'\".") for each in begins[-1:]), answer(prompt)])


def answer(prompt: Prompt) -> str:
    if results := prompt.results:
        return "The tools say: " + "; ".join(text_of(result) for result in results)
    if seen := attached(prompt):
        return f"I see {', '.join(seen)}."
    if re.search(r"\badd up\b", prompt.question):
        return f"They add up to {prompt.total}."
    if prompt.sum is not None:
        return f"It is {prompt.sum}."
    if asked := ASKS.search(prompt.question):
        name = asked[1].strip()
        known = prompt.fact(name)
        return f"Your {name} is {known}." if known else f"I do not know your {name}."
    if re.match(r"(?:please )?summari[sz]e", prompt.question, re.IGNORECASE):
        return " ".join(f"The {name} is {value}." for name, value in prompt.facts.items())
    return f"You said: {prompt.question}"


def attached(prompt: Prompt) -> list[str]:
    """Pictures and files of the question."""
    content = prompt.messages[prompt.turn].get("content")
    parts = content if isinstance(content, list) else []
    seen = []
    for part in parts:
        if part["type"] == "image_url":
            kind = re.match(r"data:([\w/+.-]+)", part["image_url"]["url"])
            seen.append(f"an image ({kind[1] if kind else 'by address'})")
        elif part["type"] == "file":
            seen.append(f"the file {part['file'].get('filename', 'without a name')}")
    return seen


def reasoning(request: Request, prompt: Prompt) -> str:
    effort = request.get("reasoning_effort")
    return f"The question is: {prompt.question}" if effort not in (None, "none") else ""


def document(request: Request, prompt: Prompt) -> str | None:
    """The answer as JSON, if that is asked for."""
    form = request.get("response_format") or {}
    match form.get("type"):
        case "json_schema":
            return as_json(Form(form["json_schema"]["schema"], prompt).filled())
        case "json_object":
            names = [one or other for one, other in QUOTED.findall(prompt.question)]
            return as_json({name: prompt.fact(name) or prompt.question for name in names})
    return None


def cut(request: Request, text: str) -> tuple[str, str]:
    """As much of the text as the request allows, and why it ends there."""
    stop = request.get("stop") or []
    for sign in [stop] if isinstance(stop, str) else stop:
        text = text.partition(sign)[0]
    most = request.get("max_completion_tokens") or request.get("max_tokens")
    words = pieces(text)
    return ("".join(words[:most]), "length") if most and len(words) > most else (text, "stop")


# --- tools ---


def called(request: Request, prompt: Prompt) -> list[Call]:
    """The calls that this prompt leads to: those the question asks for and that were not made yet, or a forced one."""
    tools = {each["function"]["name"]: each["function"] for each in request.get("tools") or []}
    choice = request.get("tool_choice") or "auto"
    if not tools or choice == "none":
        return []
    if isinstance(choice, dict):
        tools, choice = allowed(tools, choice)
    left = [tool for name, tool in tools.items() if name not in prompt.called]
    wanted = [tool for tool in left if covers(tool, prompt.question)]
    if not wanted and choice == "required":
        wanted = left[:1] or list(tools.values())[:1]
    calls = [call for tool in wanted for call in filled(tool, prompt)]
    return calls[:1] if request.get("parallel_tool_calls") is False else calls


def allowed(tools: dict[str, Any], choice: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What is left of the tools when the request names one, or several of them."""
    if choice["type"] == "allowed_tools":
        some = choice["allowed_tools"]
        names = {each["function"]["name"] for each in some["tools"]}
        return {name: tool for name, tool in tools.items() if name in names}, some["mode"]
    name = choice["function"]["name"]
    return {name: tools[name]}, "required"


def covers(tool: dict[str, Any], question: str) -> bool:
    """Whether the question has the tool's name in it, or one of the words of that."""
    words = {word for word in re.split(r"[_\W]+", tool["name"].lower()) if word not in IDLE and len(word) > 2}
    said = set(re.findall(r"\w+", question.lower()))
    return tool["name"].lower() in said or bool(words & said)


def filled(tool: dict[str, Any], prompt: Prompt) -> list[Call]:
    """One call; where the question names several places and the tool takes one, a call for each."""
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    by_place = len(prompt.places) > 1 and len(schema.get("properties") or {}) == 1
    places: list[str | None] = [*prompt.places] if by_place else [None]
    return [(tool["name"], Form(schema, prompt, place=place).filled()) for place in places]


# --- as a stream ---


def streamed(request: Request, said: Reply) -> Behaviour:
    async def behave(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for each in events(request, said):
            await event(writer, each)
        await end(writer)

    return behave


def events(request: Request, said: Reply) -> list[dict[str, Any] | str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "choices": [choice]}

    head = {"id": "chatcmpl-reader", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
    made: list[dict[str, Any] | str] = [chunk({"role": "assistant", "content": "" if not said.calls else None})]
    made += [chunk({"reasoning_content": piece}) for piece in pieces(said.reasoning)]
    made += [chunk({"content": piece}) for piece in pieces(said.text)]
    first = Prompt(request["messages"]).calls + 1
    for index, (name, arguments) in enumerate(said.calls):
        function = {"name": name, "arguments": ""}
        opening = {"index": index, "id": f"call_{first + index}", "type": "function", "function": function}
        made.append(chunk({"tool_calls": [opening]}))
        made += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces(as_json(arguments))
        ]
    return [*made, chunk({}, said.finish), {**head, "choices": [], "usage": usage(request, said)}, "[DONE]"]


def usage(request: Request, said: Reply) -> dict[str, Any]:
    """A word is a token; what comes before the last question counts as cached."""
    prompt = Prompt(request["messages"])
    sizes = [len(pieces(text_of(message))) for message in prompt.messages]
    thought = len(pieces(said.reasoning))
    spent = thought + len(pieces(said.text)) + sum(len(pieces(as_json(arguments))) for _, arguments in said.calls)
    return {
        "prompt_tokens": sum(sizes),
        "completion_tokens": spent,
        "total_tokens": sum(sizes) + spent,
        "prompt_tokens_details": {"cached_tokens": sum(sizes[: prompt.turn])},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)
