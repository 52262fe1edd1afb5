"""Records what Open WebUI sends to an OpenAI-compatible server: a browser at its front, this program at its back.

Needs an environment of its own, with `open-webui` and `playwright`, and a Chromium; see README.md beside this file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

from answers import Answer, answer, asked, task_of
from playwright.sync_api import Locator, Page, sync_playwright

HERE = Path(__file__).parent
MODEL = "hermes"
MESSAGE = '[id^="message-"]:not(#message-input-container):not(textarea)'
HANG_UP = 0  # in the place of a status: the connection is closed without an answer
PATIENCE = 30.0  # seconds for anything that should happen

HEADERS = {  # the connection settings that map Open WebUI with no patch
    "X-Hermes-Session-Id": "{{CHAT_ID}}",
    "X-Hermes-Session-Key": "{{USER_ID}}",
    "X-Hermes-Task": "{{TASK}}",
    "X-Hermes-Message-Id": "{{MESSAGE_ID}}",
    "X-Hermes-Parent-Message-Id": "{{USER_MESSAGE_PARENT_ID}}",
}


# --- the back: an upstream that writes down what it is asked ---


class Upstream:
    """Answers on a real socket and keeps every request in the order of arrival."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen: list[dict[str, Any]] = []
        self.questions = 0
        self.failures: list[int] = []  # the statuses the next questions meet
        self.open = 0
        self.changed = time.monotonic()
        upstream = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                upstream.note(self, None, None)
                self.reply(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "recorder"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.endswith("/embeddings"):
                    self.reply(200, embeddings(body))
                    return
                with upstream.working():
                    status, said = upstream.answer(self, body)
                    if status == HANG_UP:
                        self.close_connection = True
                    elif status != 200:
                        self.reply(status, {"error": {"message": "down", "type": "server_error", "code": None}})
                    elif body.get("stream"):
                        self.stream(said)
                    else:
                        self.reply(200, completion(said))

            def reply(self, status: int, body: dict[str, Any]) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def stream(self, said: Answer) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for event in [*map(json.dumps, chunks(said)), "[DONE]"]:
                    raw = f"data: {event}\n\n".encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
                self.wfile.write(b"0\r\n\r\n")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @contextmanager
    def working(self) -> Iterator[None]:
        with self.lock:
            self.open += 1
        try:
            yield
        finally:
            with self.lock:
                self.open -= 1
                self.changed = time.monotonic()

    def answer(self, door: BaseHTTPRequestHandler, body: dict[str, Any]) -> tuple[int, Answer]:
        with self.lock:
            if task_of(asked(body)) is None:
                self.questions += 1
                if self.failures:
                    status = self.failures.pop(0)
                    self.keep(door, {"body": body, "status": status})
                    return status, Answer("")
            said = answer(body, self.questions)
            entry: dict[str, Any] = {"body": body, "answer": said.text}
            if said.calls:
                entry["calls"] = said.calls
            self.keep(door, entry)
            return 200, said

    def note(self, door: BaseHTTPRequestHandler, *_: None) -> None:
        with self.lock:
            self.keep(door, {})

    def keep(self, door: BaseHTTPRequestHandler, more: dict[str, Any]) -> None:
        self.seen.append({"method": door.command, "path": door.path, "headers": that_matter(door), **more})
        self.changed = time.monotonic()

    def quiet(self, seconds: float) -> bool:
        with self.lock:
            return self.open == 0 and time.monotonic() - self.changed > seconds

    def take(self) -> list[dict[str, Any]]:
        with self.lock:
            taken, self.seen = self.seen, []
            return taken


def that_matter(door: BaseHTTPRequestHandler) -> dict[str, str]:
    headers = {name.lower(): value for name, value in door.headers.items()}
    kept = {
        name: value
        for name, value in headers.items()
        if name.startswith(("x-", "idempotency-")) or name == "content-type"
    }
    if "authorization" in headers:
        kept["authorization"] = "present"
    return dict(sorted(kept.items()))


def completion(said: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    return {
        "id": "chatcmpl-recorder",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def chunks(said: Answer) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-recorder", "object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in re.findall(r"\S+\s*|\s+", said.text):
        yield chunk({"content": piece})
    for index, call in enumerate(said.calls):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, "tool_calls" if said.calls else "stop")


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Bags of hashed words: near for texts that share words, and the same on every machine."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [{"object": "embedding", "index": index, "embedding": vector(text)} for index, text in enumerate(texts)]
    return {
        "object": "list",
        "model": body.get("model"),
        "data": data,
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }


def vector(text: str) -> list[float]:
    counts = [0.01] * 64
    for word in re.findall(r"\w+", text.lower()):
        counts[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
    return counts


# --- the middle: Open WebUI itself ---


@contextmanager
def open_webui(upstream: Upstream, settings: dict[str, str], headers: dict[str, str], port: int) -> Iterator[str]:
    """A fresh Open WebUI, offline and without accounts, whose only connection is `upstream`."""
    with tempfile.TemporaryDirectory(prefix="openwebui-") as home:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "WEBUI_", "RAG_"))},
            "DATA_DIR": home,
            "WEBUI_AUTH": "False",
            "WEBUI_SECRET_KEY": "recording",
            "OFFLINE_MODE": "True",
            "HF_HUB_OFFLINE": "1",
            "ANONYMIZED_TELEMETRY": "False",
            "DO_NOT_TRACK": "True",
            "ENABLE_OLLAMA_API": "False",
            "ENABLE_EVALUATION_ARENA_MODELS": "False",
            "ENABLE_VERSION_UPDATE_CHECK": "False",
            "DEFAULT_MODELS": MODEL,
            "OPENAI_API_BASE_URLS": upstream.url,
            "OPENAI_API_KEYS": "recording",
            "OPENAI_API_CONFIGS": json.dumps({"0": {"enable": True, "headers": headers}}),
            "RAG_EMBEDDING_ENGINE": "openai",
            "RAG_EMBEDDING_MODEL": "hashed-words",
            "RAG_OPENAI_API_BASE_URL": upstream.url,
            "RAG_OPENAI_API_KEY": "recording",
            **settings,
        }
        with (Path(home) / "log").open("wb") as log:
            running = subprocess.Popen(
                [Path(sys.executable).with_name("open-webui"), "serve", "--host", "127.0.0.1", "--port", str(port)],
                env=environ,
                cwd=home,
                stdout=log,
                stderr=log,
            )
            try:
                address = f"http://127.0.0.1:{port}"
                wait_until(lambda: answers(f"{address}/api/config"), 120)
                yield address
            except BaseException:
                sys.stderr.write((Path(home) / "log").read_text()[-6000:])
                raise
            finally:
                running.terminate()
                running.wait(30)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def wait_until(happened: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s")
        time.sleep(0.1)


# --- the front: a person in a browser ---


class Chat:
    """One chat in one tab. Each thing done is a step: what was done, what Open WebUI sent, what is then shown."""

    def __init__(self, page: Page, address: str, upstream: Upstream, query: str = "") -> None:
        self.page, self.address, self.upstream = page, address, upstream
        self.steps: list[dict[str, Any]] = []
        upstream.take()
        upstream.questions = 0
        page.goto(f"{address}/{query}")
        page.wait_for_selector("#chat-input", timeout=60_000)
        page.wait_for_timeout(1500)
        news = page.get_by_text("Okay, Let's Go!")
        if news.is_visible():
            news.click()
            page.wait_for_timeout(500)

    def step(self, did: str, act: Callable[[], None], *, asks: bool = True) -> None:
        before = self.upstream.questions
        act()
        if asks:
            self.until(lambda: self.upstream.questions > before)
        self.until(lambda: self.upstream.quiet(1.5))
        self.page.wait_for_timeout(500)
        self.steps.append({"did": did, "requests": self.upstream.take(), "shown": self.shown()})

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline:
                self.page.screenshot(path="stuck.png")
                raise TimeoutError("the browser did not get there; see stuck.png")
            self.page.wait_for_timeout(100)

    def say(self, did: str, words: str, file: str | None = None) -> None:
        def act() -> None:
            if file:
                self.attach(file)
            self.page.click("#chat-input")
            self.page.keyboard.insert_text(words)
            self.page.wait_for_timeout(200)
            self.page.keyboard.press("Enter")

        self.step(did, act)

    def attach(self, file: str) -> None:
        self.page.locator("input[type=file]").first.set_input_files(HERE / file)
        self.page.wait_for_timeout(3000)

    def users(self, turn: int) -> Locator:
        return self.messages(".user-message").nth(turn - 1)

    def assistants(self, turn: int) -> Locator:
        return self.messages(":not(.user-message)").nth(turn - 1)

    def messages(self, which: str) -> Locator:
        """All of the branch: the page draws earlier messages only when one scrolls up to them."""
        found, drawn = self.page.locator(f"{MESSAGE}{which}"), -1
        while found.count() > drawn:
            drawn = found.count()
            self.page.locator("#messages-container").evaluate("element => { element.scrollTop = 0 }")
            self.page.wait_for_timeout(600)
        return found

    def press(self, message: Locator, label: str) -> None:
        message.hover()
        message.get_by_label(label, exact=True).first.click()
        self.page.wait_for_timeout(500)

    def edit(self, did: str, turn: int, words: str) -> None:
        self.step(did, lambda: self.rewrite(self.users(turn), words, "confirm"))

    def save(self, did: str, turn: int, words: str, *, answer: bool = False) -> None:
        """Changes a text in place, without asking again."""
        message, button = (self.assistants(turn), "confirm") if answer else (self.users(turn), "save")
        self.step(did, lambda: self.rewrite(message, words, button), asks=False)

    def rewrite(self, message: Locator, words: str, button: str) -> None:
        self.press(message, "Edit")
        message.locator("textarea").first.fill(words)
        message.locator(f"#{button}-edit-message-button").click()

    def regenerate(self, did: str, turn: int, choice: str = "Try Again") -> None:
        def act() -> None:
            self.press(self.assistants(turn), "Regenerate")
            self.page.get_by_text(choice, exact=True).click()

        self.step(did, act)

    def go_on(self, did: str) -> None:
        self.step(did, lambda: self.page.locator("#continue-response-button").click())

    def switch(self, did: str, turn: int, label: str, *, answer: bool = False) -> None:
        message = self.assistants(turn) if answer else self.users(turn)
        self.step(did, lambda: self.press(message, label), asks=False)

    def shown(self) -> list[dict[str, str]]:
        """The branch on the screen, each message as Open WebUI keeps it (a temporary chat: as it shows it)."""
        drawn = self.page.locator(MESSAGE).all()
        if found := re.search(r"/c/([0-9a-f-]{36})", self.page.url):
            kept = self.api("GET", f"/api/v1/chats/{found[1]}")["chat"]["history"]["messages"]
            branch, at = [], id_of(drawn[-1]) if drawn else None
            while at:
                branch.append({"id": at, "role": kept[at]["role"], "content": kept[at]["content"]})
                at = kept[at]["parentId"]
            return branch[::-1]
        return [
            {
                "id": id_of(message),
                "role": "user" if "user-message" in (message.get_attribute("class") or "") else "assistant",
                "content": message.locator(".chat-user, .chat-assistant").first.inner_text().strip().split("\n\n")[0],
            }
            for message in drawn
        ]

    def api(self, method: str, path: str, body: Any = None) -> Any:
        token = self.page.evaluate("localStorage.token")
        reply = self.page.request.fetch(
            f"{self.address}{path}", method=method, headers={"authorization": f"Bearer {token}"}, data=body
        )
        if not reply.ok:
            raise RuntimeError(f"{method} {path}: {reply.status} {reply.text()[:500]}")
        return reply.json()


def id_of(message: Locator) -> str:
    return (message.get_attribute("id") or "").removeprefix("message-")


# --- what is done, scenario by scenario ---


def plain(chat: Chat) -> None:
    chat.step("open the page", lambda: None, asks=False)
    chat.say("turn 1", "My cat is called Ada.")
    chat.say("turn 2", "She is seven years old.")
    chat.say("turn 3", "What is my cat called?")
    chat.say("turn 4", "And how old is she?")


def edited(chat: Chat) -> None:
    chat.say("turn 1", "I want to plant a tree.")
    chat.say("turn 2", "Should it be an oak?")
    chat.say("turn 3", "How tall does it grow?")
    chat.say("turn 4", "How long does that take?")
    chat.edit("edit turn 2", 2, "Should it be a birch?")
    chat.say("turn 3 of the second branch", "What colour is its bark?")
    chat.switch("switch back to the first branch", 2, "Previous message")
    chat.say("turn 5 of the first branch", "Does it need much water?")
    chat.switch("switch to the second branch", 2, "Next message")
    chat.say("turn 4 of the second branch", "And its leaves?")


def regenerated(chat: Chat) -> None:
    chat.say("turn 1", "Name a planet.")
    chat.say("turn 2", "Name a moon.")
    chat.say("turn 3", "Name a comet.")
    chat.regenerate("regenerate turn 3", 3)
    chat.regenerate("regenerate turn 3 again", 3)
    chat.regenerate("regenerate turn 2", 2)
    chat.say("turn 3 after the regenerated turn 2", "Name an asteroid.")
    chat.regenerate("regenerate turn 1", 1)
    chat.say("turn 2 after the regenerated turn 1", "Name a galaxy.")
    chat.edit("edit turn 1", 1, "Name a star.")
    chat.say("turn 2 after the edited turn 1", "Name a nebula.")


def short(chat: Chat) -> None:
    """Turns, an edit, a regeneration and a way back: for the connections that send fewer headers."""
    chat.step("open the page", lambda: None, asks=False)
    chat.say("turn 1", "I want to plant a tree.")
    chat.say("turn 2", "Should it be an oak?")
    chat.say("turn 3", "How tall does it grow?")
    chat.edit("edit turn 2", 2, "Should it be a birch?")
    chat.say("turn 3 of the second branch", "What colour is its bark?")
    chat.regenerate("regenerate turn 3 of the second branch", 3)
    chat.say("turn 4 of the second branch", "And its leaves?")
    chat.switch("switch back to the first branch", 2, "Previous message")
    chat.say("turn 4 of the first branch", "Does it need much water?")
    chat.edit("edit turn 1", 1, "I want to plant a bush.")
    chat.say("turn 2 after the edited turn 1", "Which one?")
    chat.regenerate("regenerate turn 1", 1)
    chat.say("turn 2 after the regenerated turn 1", "Which one is small?")


def hi_twice(chat: Chat) -> None:
    chat.say("turn 1", "hi")
    chat.say("turn 2", "hi")
    chat.say("turn 3", "How often did I say hi?")


def attached(chat: Chat) -> None:
    chat.say("turn 1", "I read about the coast.")
    chat.say("turn 2 with a file", "Who keeps the lighthouse?", "note.txt")
    chat.say("turn 3", "What is her boat called?")
    chat.say("turn 4", "Thank you, that was all.")
    chat.regenerate("regenerate turn 2", 2)
    chat.edit("edit turn 2", 2, "When was the lamp replaced?")


def pictured(chat: Chat) -> None:
    chat.say("turn 1 with a picture", "What colour is this?", "dot.png")
    chat.say("turn 2", "Are you sure?")


def compacted(chat: Chat) -> None:
    towns = ["Bergen", "Tromso", "Alesund", "Molde", "Narvik", "Bodo", "Alta"]
    for number, town in enumerate(towns, 1):
        chat.say(
            f"turn {number}", f"On day {number} we stop in {town} and stay for {number} nights with all our friends."
        )
    chat.regenerate("regenerate turn 7", 7)
    chat.edit("edit turn 7", 7, "On day 7 we stop in Moss instead and stay for a night.")
    chat.say("turn 8", "Where do we stop on day 2?")
    chat.edit("edit turn 2, which was compacted", 2, "On day 2 we stop in Odda instead and stay for a night.")
    chat.say("turn 3 of the second branch", "Is that far?")


def interleaved(chat: Chat) -> None:
    chat.say("turn 1", "Remind me of the bread every morning.")
    chat.say("turn 2", "Is it in the oven?")
    chat.say("turn 3", "Did anything come in between?")


def called(chat: Chat) -> None:
    chat.say("turn 1", "There is a probe in the lake.")
    chat.say("turn 2 with a tool call", "What does the probe say?")
    chat.say("turn 3", "Is that much?")
    chat.regenerate("regenerate turn 2 with a tool call", 2)
    chat.say("turn 3 after the regenerated turn 2", "Is that less?")


def revised(chat: Chat) -> None:
    """The rarer buttons: a guided regeneration, going on, and texts changed in place."""
    chat.say("turn 1", "Tell me of the sea.")
    chat.say("turn 2", "Tell me of the tide.")
    chat.regenerate("regenerate turn 2, more concise", 2, "More Concise")
    chat.say("turn 3", "Tell me of the moon.")
    chat.go_on("continue the answer of turn 3")
    chat.say("turn 4", "Tell me of the sand.")
    chat.save("save a changed answer of turn 1", 1, "The sea is wide.", answer=True)
    chat.save("save a changed question of turn 2", 2, "Tell me of the waves.")
    chat.say("turn 5", "Tell me of the wind.")


def failed(chat: Chat) -> None:
    chat.say("turn 1", "Is anybody there?")
    chat.upstream.failures = [503]
    chat.say("turn 2 meets a 503", "Are you still there?")
    chat.regenerate("regenerate turn 2", 2)
    chat.say("turn 3", "Good.")
    chat.upstream.failures = [HANG_UP]
    chat.say("turn 4 meets a closed connection", "And now?")
    chat.say("turn 5 on top of the failed one", "Never mind, go on.")


def temporary(chat: Chat) -> None:
    chat.say("turn 1", "Forget this afterwards.")
    chat.say("turn 2", "What was it?")


PROBE = '''
class Tools:
    def probe(self, depth: int) -> str:
        """
        Reads the probe in the lake.
        :param depth: how deep, in metres
        """
        return f"{4 + depth} degrees at {depth} metres"
'''


def with_a_probe(chat: Chat) -> None:
    meta = {"description": "Reads the probe in the lake."}
    chat.api("POST", "/api/v1/tools/create", {"id": "lake", "name": "Lake", "content": PROBE, "meta": meta})


@dataclass(frozen=True)
class Profile:
    """One Open WebUI with its settings, and its scenarios: file name, what is done, the page's query."""

    scenarios: tuple[tuple[str, Callable[[Chat], None], str], ...]
    headers: dict[str, str] = field(default_factory=lambda: HEADERS)
    settings: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Chat], None] | None = None


COMPACTION = {
    "ENABLE_CONTEXT_COMPACTION": "True",
    "CONTEXT_COMPACTION_TOKEN_THRESHOLD": "400",
    "ENABLE_FOLLOW_UP_GENERATION": "False",
}

PROFILES = {
    "default": Profile(
        scenarios=(
            ("plain", plain, ""),
            ("edited", edited, ""),
            ("regenerated", regenerated, ""),
            ("hi_twice", hi_twice, ""),
            ("file", attached, ""),
            ("picture", pictured, ""),
            ("interleaved", interleaved, ""),
            ("revised", revised, ""),
            ("failed", failed, ""),
            ("temporary", temporary, "?temporary-chat=true"),
            ("tool", called, "?tools=lake"),
        ),
        prepare=with_a_probe,
    ),
    "whole": Profile(
        scenarios=(("file_whole", attached, ""),),
        settings={"BYPASS_EMBEDDING_AND_RETRIEVAL": "True"},
    ),
    "legacy": Profile(
        scenarios=(("file_legacy", attached, ""),),
        settings={"DEFAULT_MODEL_PARAMS": json.dumps({"function_calling": "legacy"})},
    ),
    "compaction": Profile(
        scenarios=(("compacted", compacted, ""),),
        settings=COMPACTION,
    ),
    "compaction_session_id_only": Profile(
        scenarios=(("compacted_session_id_only", compacted, ""),),
        headers={"X-Hermes-Session-Id": "{{CHAT_ID}}"},
        settings=COMPACTION,
    ),
    "session_id_only": Profile(
        scenarios=(("session_id_only", short, ""), ("file_session_id_only", attached, "")),
        headers={"X-Hermes-Session-Id": "{{CHAT_ID}}"},
    ),
    "forwarded": Profile(
        scenarios=(("forwarded", short, ""),),
        headers={},
        settings={"ENABLE_FORWARD_USER_INFO_HEADERS": "True"},
    ),
}


# --- what is written down ---


def write(name: str, title: str, chat: Chat, tools: dict[str, Any]) -> None:
    for step in chat.steps:
        # Lists of models are asked for at any time; the step that opens the page shows how.
        opened = step["did"] == "open the page"
        step["requests"] = [each for each in step["requests"] if opened or each["method"] == "POST"]
        for request in step["requests"]:
            if offered := request.get("body", {}).get("tools"):
                tools.update({each["function"]["name"]: each for each in offered})
                request["body"]["tools"] = [each["function"]["name"] for each in offered]
    recording = {"version": version("open-webui"), "scenario": title, "steps": chat.steps}
    text = stable(json.dumps(recording, indent=1, ensure_ascii=False))
    (HERE / "recorded" / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def stable(text: str) -> str:
    """Ids and dates in the order of their appearance, so that two recordings can be compared."""
    seen: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"00000000-0000-4000-8000-{len(seen) + 1:012d}")

    text = re.sub(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", numbered, text)
    text = re.sub(r"\btemporary:[\w-]{16,}", "temporary:00000000000000000001", text)
    return re.sub(r"(Today's date is: )\d{4}-\d\d-\d\d", r"\g<1>2026-01-01", text)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("profiles", nargs="*", help=f"of {', '.join(PROFILES)}; all when none is named")
    options.add_argument("--only", help="one scenario by its file name")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--port", type=int, default=18_080)
    chosen = options.parse_args()
    (HERE / "recorded").mkdir(exist_ok=True)
    shelf = HERE / "recorded" / "tools.json"
    tools: dict[str, Any] = {}
    for name in chosen.profiles or PROFILES:
        profile = PROFILES[name]
        upstream = Upstream()
        with (
            open_webui(upstream, profile.settings, profile.headers, chosen.port) as address,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=chosen.chromium, args=["--no-sandbox"]) as browser,
        ):
            page = browser.new_page(viewport={"width": 1400, "height": 900}, locale="en-US")
            if profile.prepare:
                profile.prepare(Chat(page, address, upstream))
            for file, scenario, query in profile.scenarios:
                if chosen.only in (None, file):
                    sys.stdout.write(f"{name}: {file}\n")
                    sys.stdout.flush()
                    chat = Chat(page, address, upstream, query)
                    scenario(chat)
                    write(file, f"{scenario.__name__}, connection: {name}", chat, tools)
        upstream.server.shutdown()
    tools = {**(json.loads(shelf.read_text(encoding="utf-8")) if shelf.exists() else {}), **tools}
    shelf.write_text(json.dumps(tools, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
