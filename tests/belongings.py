"""One of everything that a tenant can have, made by the front door; and the names that lead to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from everthread import wiring
from everthread.core.ids import KeyId, Tenant
from everthread.core.view import Hook
from everthread.settings import Settings
from front_door import Answer, Client
from upstream import Upstream, sleeps

OWNERS = ("Zerubbabel", "marzipan", "quokka")  # what nobody else may ever read
STRANGERS = ("Archibald", "porridge", "wombat")
LONG = " Some more words about nothing at all." * 16


class Keyring:
    """Makes and revokes API keys beside a running server, as `everthread keys` does."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def make(self, *tenants: str, prefix: str | None = None, hook: Hook | None = None, **more: Any) -> list[str]:
        """A key for each tenant, with every right."""
        made = [
            wiring.new_key(datetime.now(UTC), tenant=Tenant(tenant), session_key_prefix=prefix, hook=hook)
            for tenant in tenants
        ]
        asyncio.run(self._add([key for _, key in made], {"rights": ("chat", "read", "admin"), **more}))
        return [secret for secret, _ in made]

    async def _add(self, keys: list[Any], fields: Mapping[str, Any]) -> None:
        store = wiring.open_store(self._settings, serving=False)
        await store.open()
        try:
            await asyncio.gather(*(store.add_key(msgspec.structs.replace(key, **fields)) for key in keys))
        finally:
            await store.close()

    def revoke(self, secret: str) -> None:
        asyncio.run(self._revoke(KeyId(secret.split("_")[1])))

    async def _revoke(self, name: KeyId) -> None:
        store = wiring.open_store(self._settings, serving=False)
        await store.open()
        try:
            assert await store.revoke_key(name, datetime.now(UTC))
        finally:
            await store.close()


@dataclass
class Belongings:
    """A tenant's things by the name of the parameter that takes them, and by what they are."""

    client: Client
    words: tuple[str, str, str]  # that are in all that its owner said
    named: dict[str, dict[str, str]] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)  # what no log may show

    def keep(self, parameter: str, kind: str, name: str) -> str:
        self.named.setdefault(parameter, {})[kind] = name
        return name

    def one(self, parameter: str) -> str:
        """The plainest of its kind."""
        return next(iter(self.named[parameter].values()))

    @property
    def said(self) -> str:
        return "My name is {}, and I hide {} in the {} cupboard.".format(*self.words)

    @property
    def names(self) -> set[str]:
        return {name for kinds in self.named.values() for name in kinds.values()}


def good(answer: Answer) -> Answer:
    assert answer.status in {200, 201, 202}, (answer.status, answer.body[:500])
    return answer


def furnish(
    client: Client, upstream: Upstream, words: tuple[str, str, str], *, owner: str, hook: Mapping[str, Any]
) -> Belongings:
    """Everything, under names that begin with the owner's."""
    has = Belongings(client, words)
    has.secrets += [client.key or "", hook["secret"]]
    has.keep("key_id", "an API key", (client.key or "").split("_")[1])
    talked(has, owner)
    responded(has)
    if words is OWNERS:
        begun(has, upstream)
    conversed(has)
    remembered(has)
    scheduled(has, hook)
    if words is OWNERS:
        until(lambda: client.get("/api/memory/status").json["waiting"] == 0)
    return has


def talked(has: Belongings, owner: str) -> None:
    client = has.client
    session = has.keep("session_id", "a session", f"{owner}:diary/2026")
    key = has.keep("session_key", "a memory scope", f"{owner}:person-1")
    has.keep("message_id", "a client's own message id", f"{owner}-message-1")
    has.keep("idempotency_key", "an idempotency key", f"{owner}-once-1")
    first = good(once(client, has, has.said))
    step = first.json["id"].removeprefix("chatcmpl-")
    has.keep("completion_id", "a stored completion", first.json["id"])
    has.keep("turn_id", "a completion", first.json["id"])
    has.keep("run_id", "a turn", f"run_{step}")
    for number in range(3):
        good(client.say(f"{number}: {LONG}", session=session))
    child = good(client.send("POST", f"/api/sessions/{quote(session, safe='')}/compress", b"")).json["session"]["id"]
    assert child != session, "the session has rotated"
    has.keep("session_id", "a session's child", child)
    good(client.say("And then?", session=session))
    forked = good(client.send("POST", f"/api/sessions/{quote(session, safe='')}/fork", b"")).json["session"]["id"]
    has.keep("session_id", "a branch", forked)
    messages = good(client.get(f"/api/sessions/{quote(session, safe='')}/messages")).json["data"]
    has.keep("message", "a message", messages[-1]["id"])
    plain = good(client.say(has.said))
    has.keep("session_id", "a session that nobody named", plain.hermes["session_id"])
    has.keep("completion_id", "a completion that was not stored", plain.json["id"])
    current = good(client.say(has.said, session="@current", key=f"{owner}:person-2"))
    has.keep("session_key", "a key with a current session", f"{owner}:person-2")
    has.keep("session_id", "a key's current session", current.hermes["session_id"])
    assert key in first.headers["x-hermes-session-key"]


def once(client: Client, has: Belongings, text: str) -> Answer:
    """A turn that is known by its message id and by its idempotency key."""
    given = {"X-Hermes-Message-Id": has.one("message_id"), "Idempotency-Key": has.one("idempotency_key")}
    return client.say(text, session=has.one("session_id"), key=has.one("session_key"), store=True, headers=given)


def responded(has: Belongings) -> None:
    client = has.client
    stored = good(client.post("/v1/responses", {"input": has.said})).json
    has.keep("response_id", "a response", stored["id"])
    has.keep("item_id", "an answer", stored["output"][0]["id"])
    behind = good(client.post("/v1/responses", {"input": has.said, "background": True})).json
    has.keep("response_id", "a background response", behind["id"])
    until_over(client, behind["id"].replace("resp_", "run_"))
    run = good(client.post("/v1/runs", {"input": has.said, "metadata": {"a": "b"}})).json
    until_over(client, has.keep("run_id", "a run", run["run_id"]))
    has.secrets.append(has.keep("token", "a run's ticket", run["events_url"].partition("token=")[2]))


def begun(has: Belongings, upstream: Upstream) -> None:
    """What is not over yet."""
    before = len(upstream.requests)
    upstream.plan.append(sleeps(300))
    going = good(has.client.post("/v1/responses", {"input": has.said, "background": True})).json["id"]
    until(lambda: len(upstream.requests) > before)
    has.keep("response_id", "a response that is not over", going)
    has.keep("run_id", "a run that is not over", going.replace("resp_", "run_"))


def conversed(has: Belongings) -> None:
    client = has.client
    talk = good(client.post("/v1/conversations", {"metadata": {"a": "b"}})).json["id"]
    has.keep("conversation_id", "a conversation", talk)
    has.keep("session_id", "a conversation", talk)
    given = [{"role": "user", "content": has.said}]
    items = good(client.post(f"/v1/conversations/{talk}/items", {"items": given})).json["data"]
    has.keep("item_id", "an item", items[0]["id"])
    within = good(client.post("/v1/responses", {"input": has.said, "conversation": talk})).json
    has.keep("response_id", "a response in a conversation", within["id"])


def remembered(has: Belongings) -> None:
    client = has.client
    key = quote(has.one("session_key"), safe="")
    likes = f"{has.words[0]} likes {has.words[1]}."
    has.keep("claim_id", "a claim", good(client.post(f"/api/memory?session_key={key}", {"text": likes})).json["id"])
    alone = good(client.say(f"We use {has.words[2]} for the cache.", session=f"{key} alone")).hermes["session_id"]
    loose = good(client.post(f"/api/memory?session_id={quote(alone)}", {"text": f"{has.words[0]} owns it."})).json
    has.keep("session_id", "a session without a key", alone)
    has.keep("claim_id", "a claim of a session", loose["id"])


def scheduled(has: Belongings, hook: Mapping[str, Any]) -> None:
    client = has.client
    job = {"name": "yearly", "prompt": has.said, "schedule": "0 0 1 1 *", "session_key": has.one("session_key")}
    made = good(client.post("/api/jobs", {**job, "deliver": {"type": "webhook", **hook}})).json["job"]
    has.keep("job_id", "a job", made["id"])
    has.keep("session_id", "a job's session", made["session_id"])
    run = good(client.send("POST", f"/api/jobs/{made['id']}/run", b"")).json["run_id"]
    until_over(client, has.keep("run_id", "a job's run", run))


def until_over(client: Client, run: str) -> None:
    until(lambda: client.get(f"/v1/runs/{run}").json["status"] not in {"queued", "running"})


def until(happened: Any) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
