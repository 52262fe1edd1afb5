"""Open WebUI as it is: what it sent while a browser clicked through it, replayed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from everthread.core.ids import DEFAULT_TENANT, SessionId
from everthread.core.messages import say
from everthread.core.turn import Envelope, Finished, Turn
from front_door import Answer, Everthread
from openwebui import recordings
from upstream import Upstream, calls, hangs_up, says, status, text_of

pytestmark = pytest.mark.slow

Start = Callable[..., Everthread]

AMBIGUOUS = {
    # without message ids an edit of the very first message is another message, and a body that was compacted is foreign
    "session_id_only": "edit turn 1",
    "forwarded": "edit turn 1",
    "compacted_session_id_only": "regenerate turn 7",
}


class Replay:
    """One recorded chat, sent to a server of its own."""

    def __init__(self, everthread: Everthread, upstream: Upstream, name: str) -> None:
        self.client = everthread.client
        self.upstream = upstream
        self.recording = recordings.load(name)
        self.chat = next(
            headers.get("x-hermes-session-id") or headers.get("x-openwebui-chat-id")
            for step in self.recording["steps"]
            for headers in (request["headers"] for request in step["requests"])
            if headers.get("x-hermes-session-id") or headers.get("x-openwebui-chat-id")
        )

    def send(self, request: dict[str, Any]) -> Answer:
        headers = {name: value for name, value in request["headers"].items() if name.startswith("x-")}
        if request["method"] == "GET":
            return self.client.get(request["path"], **headers)
        if "answer" in request and request.get("calls"):
            made = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in request["calls"]]
            self.upstream.plan[:] = [calls(*made)]
        elif "answer" in request:
            self.upstream.plan[:] = [says(request["answer"])]
        else:
            self.upstream.plan[:] = [hangs_up if request["status"] == 0 else status(request["status"])] * 3
        body = json.dumps(request["body"]).encode()
        return self.client.send("POST", request["path"], body, headers)

    def play(self, step: dict[str, Any]) -> None:
        for request in step["requests"]:
            answer = self.send(request)
            failed = request.get("status") is not None and "answer" not in request and request["method"] == "POST"
            assert answer.status in ({502, 503} if failed else {200}), (step["did"], answer.body)

    def transcript(self) -> list[dict[str, Any]]:
        answer = self.client.get(f"/api/sessions/{quote(self.chat, safe='')}/messages?limit=200")
        return list(answer.json["data"]) if answer.status == 200 else []


@pytest.fixture
def replay(start: Start, upstream: Upstream) -> Callable[[str], Replay]:
    return lambda name: Replay(start(context_budget="24000"), upstream, name)


def own(text: str) -> str:
    """The person's words, out of the template and the list of files around them."""
    if text.startswith("### Task:"):
        text = text.rpartition("</context>")[2]
    return text.rpartition("</attached_files>")[2].strip()


def spoken(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What a person would see: questions and answers, an answer that went on as one."""
    seen: list[tuple[str, str]] = []
    for entry in entries:
        text = own(text_of(entry)) if entry["role"] == "user" else text_of(entry)
        if entry["role"] == "tool" or entry.get("tool_calls"):
            continue
        if seen and seen[-1][0] == entry["role"] == "assistant":
            seen[-1] = ("assistant", seen[-1][1] + text)
        else:
            seen.append((entry["role"], text))
    return seen


def on_screen(step: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], own(message["content"])) for message in step["shown"] or () if message["content"]]


PLAIN = [name for name in recordings.names() if name not in {"temporary", "failed", "revised", "interleaved"}]


@pytest.mark.parametrize("name", PLAIN)
def test_after_every_step_the_transcript_is_the_branch_on_the_screen(
    replay: Callable[[str], Replay], name: str
) -> None:
    chat = replay(name)
    for step in chat.recording["steps"]:
        if step["did"].startswith(AMBIGUOUS.get(name, "\0")):
            return
        chat.play(step)
        if step["requests"] and step["shown"]:
            said = spoken(chat.transcript())
            assert [text for _, text in said] == [text for _, text in on_screen(step)], step["did"]


def test_what_the_model_is_sent_is_the_branch_on_the_screen(
    replay: Callable[[str], Replay], upstream: Upstream
) -> None:
    chat = replay("regenerated")
    for step in chat.recording["steps"]:
        chat.play(step)
        questions = [prompt for prompt in upstream.prompts if text_of(prompt[-1])[:9] != "### Task:"]
        assert [text_of(message) for message in questions[-1]] == [text for _, text in on_screen(step)[:-1]]


def test_answers_that_were_revised_in_place_lose_nothing(replay: Callable[[str], Replay], upstream: Upstream) -> None:
    chat = replay("revised")
    for step in chat.recording["steps"]:
        chat.play(step)
    said = spoken(chat.transcript())
    shown = on_screen(chat.recording["steps"][-1])
    assert said[-1] == shown[-1]
    joined = next(text for role, text in said if role == "assistant" and "goes on" in text)
    assert joined in [text for _, text in shown], "an answer and its continuation are one"
    assert ("user", "More Concise") in said, "the ledger keeps what was asked"


def test_a_turn_that_failed_leaves_no_half_behind_and_the_chat_goes_on(replay: Callable[[str], Replay]) -> None:
    chat = replay("failed")
    for step in chat.recording["steps"]:
        chat.play(step)
    said = spoken(chat.transcript())
    assert said == [pair for pair in on_screen(chat.recording["steps"][-1]) if pair[1]]


def test_a_temporary_chat_is_answered_and_not_kept(replay: Callable[[str], Replay], upstream: Upstream) -> None:
    chat = replay("temporary")
    for step in chat.recording["steps"]:
        chat.play(step)
    question = [prompt for prompt in upstream.prompts if text_of(prompt[-1])[:9] != "### Task:"][-1]
    assert len(question) == 3, "its own history is used"
    assert chat.transcript() == []
    assert chat.client.get("/api/sessions").json["data"] == []


def test_a_jobs_turn_in_the_middle_of_a_chat_is_not_lost(start: Start, upstream: Upstream) -> None:
    everthread = start(context_budget="24000")
    chat = Replay(everthread, upstream, "interleaved")
    one, two, *rest = [step for step in chat.recording["steps"] if step["shown"]]
    chat.play(one)
    job(everthread, upstream, chat.chat, "The weekly report, please.", "All is well.")
    for step in (two, *rest):
        chat.play(step)
    said = spoken(chat.transcript())
    assert said == [
        *on_screen(one),
        ("user", "The weekly report, please."),
        ("assistant", "All is well."),
        *on_screen(rest[-1])[2:],
    ]
    question = [prompt for prompt in upstream.prompts if text_of(prompt[-1])[:9] != "### Task:"][-1]
    assert "All is well." in [text_of(message) for message in question]
    tree = chat.client.get(f"/api/sessions/{chat.chat}/lineage").json["branches"]
    assert len(tree) == 1


def job(everthread: Everthread, upstream: Upstream, session: str, prompt: str, answer: str) -> None:
    """A turn from another source, as a schedule makes it."""
    upstream.plan[:] = [says(answer)]
    turn = Turn(
        envelope=Envelope(tenant=DEFAULT_TENANT, session_id=SessionId(session)),
        messages=(say("user", prompt),),
        source="job",
    )

    async def run() -> None:
        assert everthread.running is not None
        events = [some async for some in everthread.running.site.turns.run(turn)]
        assert isinstance(events[-1][-1], Finished)

    asyncio.run_coroutine_threadsafe(run(), everthread.loop).result(30)


def test_only_questions_are_in_a_transcript(replay: Callable[[str], Replay]) -> None:
    for name in ("session_id_only", "compacted_session_id_only"):
        chat = replay(name)
        for step in chat.recording["steps"]:
            chat.play(step)
        assert not [text for role, text in spoken(chat.transcript()) if role == "user" and "### Task" in text]
