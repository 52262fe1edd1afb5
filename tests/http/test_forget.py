"""What is forgotten is gone: from every file, from every route, from every later prompt; and it does not come back."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from front_door import Answer, Client, Everthread
from upstream import Upstream, calls, chunk, falls_silent, says, streams

pytestmark = pytest.mark.slow

Start = Callable[..., Everthread]

SECRET = "Zyxwomat Straße 12"  # upper and lower case of it differ in length
KEY = "ada"


def forms(secret: str) -> set[bytes]:
    """As it could stand in a file: in any case, and as JSON with escapes."""
    written = {
        secret,
        secret.lower(),
        secret.upper(),
        secret.casefold(),
        secret.swapcase(),
        secret.split(maxsplit=1)[0],
    }
    written |= {word.lower() for word in secret.split() if len(word) > 3}
    return {form.encode() for form in written} | {json.dumps(form)[1:-1].encode() for form in written}


def files_with(home: Path, secret: str = SECRET) -> list[str]:
    return [
        f"{file.name}: {form!r}"
        for file in sorted(home.rglob("*"))
        if file.is_file()
        for form in forms(secret)
        if form in file.read_bytes()
    ]


def columns_with(home: Path) -> set[str]:
    """Where in the database it stands."""
    found = set()
    with closing(sqlite3.connect(f"file:{home / 'everthread.db'}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%'"):
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
                if any(has(str(value)) for (value,) in db.execute(f"SELECT {column} FROM {table}")):
                    found.add(f"{table}.{column}")
    return found


def has(text: str | bytes, secret: str = SECRET) -> bool:
    raw = text.encode() if isinstance(text, str) else text
    return any(form in raw for form in forms(secret))


def path(session: str, rest: str = "") -> str:
    return f"/api/sessions/{quote(session, safe='')}{rest}"


def memory(rest: str = "", **query: str) -> str:
    return f"/api/memory{rest}" + (f"?{urlencode(query)}" if query else "")


def forget(client: Client, what: dict[str, Any], **scope: str) -> dict[str, Any]:
    answer = client.post(memory("/forget", **scope), what)
    assert answer.status == 200, answer.body
    return dict(answer.json)


def read(client: Client, **scope: str) -> None:
    until = time.monotonic() + 30
    while client.get(memory("/status", **scope)).json["behind"]:
        assert time.monotonic() < until, "what was said is read within seconds"
        time.sleep(0.02)


def ok(answer: Answer) -> Answer:
    assert answer.status == 200, answer.body
    return answer


def shown(client: Client, **scope: str) -> dict[str, bytes]:
    """All that the GET routes tell about a scope."""
    found = {
        each: client.get(each).body
        for each in (
            memory(**scope, limit="200", state="current,reversed,unresolved,retracted"),
            memory("/search", **scope, q="street"),
            memory("/timeline", **scope),
            memory("/export", **scope),
            memory("/status", **scope),
            "/api/sessions?include_children=true&limit=200",
        )
    }
    found["markdown"] = client.get(memory("/export", **scope, format="markdown")).body.partition(b"As of")[2][30:]
    found["search"] = json.dumps({**client.get(memory("/search", **scope, q=SECRET)).json, "query": ""}).encode()
    listed = client.get("/api/sessions?include_children=true&limit=200").json["data"]
    for session in listed:
        for rest in ("", "/messages?limit=200", "/lineage", "/export"):
            found[path(session["id"], rest)] = client.get(path(session["id"], rest)).body
        for message in client.get(path(session["id"], "/messages?limit=200")).json["data"]:
            if run := message.get("run_id"):
                found[memory(f"/turns/{run}")] = client.get(memory(f"/turns/{run}")).body
    for claim in client.get(memory(**scope, limit="200")).json["data"]:
        for rest in ("", "/sources"):
            found[memory(f"/{claim['id']}{rest}")] = client.get(memory(f"/{claim['id']}{rest}")).body
    return found


def told(shown: dict[str, bytes]) -> list[str]:
    return [where for where, body in shown.items() if has(body)]


def filler(number: int) -> str:
    return f"Turn {number}. The budget for project P-{number} is ${number}00. " + "Some more words. " * 6


def plant(client: Client, upstream: Upstream) -> list[dict[str, Any]]:
    """The secret in all the places where a conversation can have it. The body that its client would send again."""
    history = [
        {"role": "user", "content": f"Before I came here I lived at {SECRET}."},
        {"role": "assistant", "content": f"So, {SECRET} it was."},
    ]
    body = [*history, {"role": "user", "content": f"I live at {SECRET}. I like tea."}]
    body.append({"role": "assistant", "content": ok(client.say(body, session="main", key=KEY)).text})

    def say(content: Any, **more: Any) -> Answer:
        body.append({"role": "user", "content": content, **more.pop("fields", {})})
        answer = ok(client.say(list(body), session="main", key=KEY, **more))
        if answer.headers["content-type"].startswith("application/json"):
            body.append(answer.json["choices"][0]["message"])
        else:
            body.append({"role": "assistant", "content": answer.text})
        return answer

    say(f"From now on always greet me with {SECRET.upper()}.")
    say([{"type": "text", "text": "My house is at Zyxwomat"}, {"type": "text", "text": "Straße 12, remember?"}])
    say("hello there", fields={"name": "Zyxwomat_12"})
    upstream.plan = [
        streams(
            chunk({"role": "assistant", "reasoning_content": "They said Zyxwomat "}),
            chunk({"reasoning_content": "Straße 12, I think."}),
            chunk({"content": "All right."}),
            chunk({}, "stop"),
            "[DONE]",
        )
    ]
    say("think about it", stream=True)
    upstream.plan = [calls(("call_1", "look_up", json.dumps({"where": f'"{SECRET}"', "deep": True})))]
    body.append({"role": "user", "content": "look it up"})
    called = ok(client.say(list(body), session="main", key=KEY)).json["choices"][0]["message"]
    body.append(called)
    body.append({"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"found": SECRET, "n": 3})})
    body.append({"role": "assistant", "content": ok(client.say(list(body), session="main", key=KEY)).text})
    for number in range(14):
        say(filler(number))
    say("Where do I live? Is it in a street?")  # its tail has it
    read(client, session_key=KEY)
    return body


@pytest.fixture
def server(start: Start) -> Everthread:
    return start(context_budget="2000", server_tools="off")


def spread(client: Client) -> None:
    """A branch, a fork, a session of its own under the same key, a title, a claim by hand."""
    messages = client.get(path("main", "/messages?limit=200")).json["data"]
    begun = [{"role": message["role"], "content": message["content"]} for message in messages[:4]]
    edited = {"role": "user", "content": f"Or rather: {SECRET}, second floor."}
    ok(client.say([*begun, edited], session="main", key=KEY))
    forked = client.post(path("main", "/fork"), {"id": "fork", "at": messages[3]["id"], "title": f"At {SECRET}"})
    assert forked.status == 201, forked.body
    ok(client.say(f"In this fork I moved to {SECRET}.", session="fork"))
    added = client.post(memory(session_key=KEY), {"text": f"The key is under the mat of {SECRET}", "pinned": True})
    assert added.status == 201, added.body
    read(client, session_key=KEY)
    ok(client.say("Where do I live, in which street?", session="other", key=KEY))  # profile and tail have it
    read(client, session_key=KEY)


def test_words_leave_every_file_every_route_and_every_later_prompt(server: Everthread, upstream: Upstream) -> None:
    client, home = server.client, server.settings.home
    body = plant(client, upstream)
    spread(client)
    before = shown(client, session_key=KEY)
    assert len(told(before)) > 10
    assert columns_with(home) >= {
        "step.input", "step.output", "step.reply", "step.tail", "session.log", "session.profile", "thread.title",
        "prior.messages", "chunk.text", "claim.quote", "claim.body",
    }  # fmt: skip
    assert files_with(home)
    would = forget(client, {"text": SECRET.swapcase(), "dry_run": True}, session_key=KEY)
    assert shown(client, session_key=KEY) == before, "a dry run changes nothing"
    gone = forget(client, {"text": SECRET.swapcase()}, session_key=KEY)
    assert gone["dry_run"] is False
    assert (len(gone["claims"]), gone["messages"], len(gone["places"])) == (
        len(would["claims"]),
        would["messages"],
        len(would["places"]),
    )
    assert gone["messages"] >= 15
    assert {place["role"] for place in gone["places"]} == {"user", "assistant", "tool"}
    forget(client, {"text": "zyxwomat"}, session_key=KEY)  # the half of it that stood alone, in a name
    assert files_with(home) == []
    after = shown(client, session_key=KEY)
    assert told(after) == []
    assert "I like tea" in after[path("main", "/messages?limit=200")].decode()
    assert "[forgotten]" in after[path("main", "/messages?limit=200")].decode()
    upstream.requests.clear()
    ok(client.say("Where do I live, in which street?", session="main", key=KEY))
    ok(client.say("And where do I live here?", session="fork", key=KEY))
    ok(client.say("And in a new session?", session="newer", key=KEY))
    assert not has(json.dumps(upstream.requests, ensure_ascii=False))

    # the client has it all still, and sends it again
    ok(client.say([*body, {"role": "user", "content": "still there?"}], session="main", key=KEY))
    assert len(client.get(path("main", "/messages?limit=200")).json["data"]) == len(body) + 2
    assert not has(json.dumps(upstream.requests, ensure_ascii=False))
    upstream.answer = lambda _: "Hm."
    for session in ({"session": "again", "key": KEY}, {"session": "unkeyed"}, {}):
        answer = ok(client.say([*body, {"role": "user", "content": "what do you know?"}], **session))
        ok(client.say("and now?", session=answer.hermes["session_id"]))
    assert not has(json.dumps(upstream.requests, ensure_ascii=False)), "not even the body that brought it is told"
    read(client, session_key=KEY)
    assert files_with(home) == []
    assert told(shown(client, session_key=KEY)) == []
    assert client.get(path("again", "/messages?limit=200")).json["data"][0]["content"] == "[forgotten]"
    ok(client.say(f"I live at {SECRET} again.", session="main", key=KEY))
    assert files_with(home), "saying it again is saying it"


def test_it_survives_a_restart(start: Start, upstream: Upstream) -> None:
    server = start(context_budget="2000", server_tools="off")
    body = plant(server.client, upstream)
    forget(server.client, {"text": SECRET}, session_key=KEY)
    forget(server.client, {"text": "zyxwomat"}, session_key=KEY)
    server.stop()
    again = start(home=server.settings.home, context_budget="2000", server_tools="off")
    assert files_with(again.settings.home) == []
    upstream.answer = lambda _: "Hm."
    ok(again.client.say([*body, {"role": "user", "content": "hello?"}], session="again"))
    ok(again.client.say("hello?", session="main"))
    assert files_with(again.settings.home) == []


def test_a_claim_goes_with_its_words_and_what_it_had_replaced_holds_again(
    server: Everthread, upstream: Upstream
) -> None:
    client = server.client
    upstream.answer = lambda _: "I see."
    for text in ("I live in Lisbon. I like tea.", "I moved to Porto, so I no longer live in Lisbon.", "Thanks!"):
        ok(client.say(text, session="s", key=KEY))
    read(client, session_key=KEY)
    listed = client.get(memory(session_key=KEY, limit="200")).json["data"]
    porto = next(claim for claim in listed if "Porto" in claim["quote"])
    gone = forget(client, {"claim": porto["id"]})
    assert porto["id"] in [claim["id"] for claim in gone["claims"]]
    assert "Porto" not in client.get(path("s", "/messages")).body.decode()
    assert "I like tea" in client.get(path("s", "/messages")).body.decode()
    left = client.get(memory(session_key=KEY, limit="200")).json["data"]
    assert "Porto" not in json.dumps(left)
    assert all(claim["superseded_by"] != porto["id"] for claim in left)
    assert any("Lisbon" in claim["quote"] and claim["state"] == "current" for claim in left)
    assert files_with(server.settings.home, "Porto") == []


def test_a_session_goes_with_all_that_others_were_told_of_it(server: Everthread, upstream: Upstream) -> None:
    client, home = server.client, server.settings.home
    upstream.answer = lambda _: "I see."
    body = [
        {"role": "user", "content": f"I am from {SECRET}."},
        {"role": "assistant", "content": "Oh."},
        {"role": "user", "content": f"I live at {SECRET}. Always answer in the style of {SECRET}."},
    ]
    ok(client.say(body, session="doomed", key=KEY))
    read(client, session_key=KEY)
    ok(client.say("Where do I live, at which number of which street?", session="kept", key=KEY))
    ok(client.say("And where am I from? Which street was it?", session="kept", key=KEY))
    assert has(json.dumps(upstream.requests[-1], ensure_ascii=False))
    would = forget(client, {"session_id": "doomed", "dry_run": True})
    assert (would["messages"], would["sessions"]) == (4, 1)
    gone = forget(client, {"session_id": "doomed"})
    assert {**gone, "dry_run": True} == would
    assert len(gone["claims"]) >= 1
    assert files_with(home) == []
    assert told(shown(client, session_key=KEY)) == []
    upstream.requests.clear()
    ok(client.say("And now?", session="kept", key=KEY))
    answer = ok(client.say([*body, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "hi"}],
                           session="doomed", key=KEY))  # fmt: skip
    assert answer.hermes["session_id"] == "doomed"
    ok(client.say([*body, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "hi"},
                   {"role": "assistant", "content": answer.text}, {"role": "user", "content": "so"}],
                  session="doomed", key=KEY))  # fmt: skip
    said = [message["content"] for message in client.get(path("doomed", "/messages")).json["data"]]
    assert said == ["hi", "I see.", "so", "I see."]
    assert not has(json.dumps(upstream.requests, ensure_ascii=False))
    assert files_with(home) == []


def test_a_whole_scope_goes(server: Everthread, upstream: Upstream) -> None:
    client, home = server.client, server.settings.home
    body = plant(client, upstream)
    spread(client)
    ok(client.say("I live in Rome.", session="theirs", key="grace"))
    ok(client.say(f"I live at {SECRET}.", session="alone"))
    assert forget(client, {"scope": True, "dry_run": True}, session_id="alone")["messages"] == 2
    assert forget(client, {"scope": True}, session_id="alone")["sessions"] == 1
    assert client.get(path("alone")).status == 404
    gone = forget(client, {"scope": True}, session_key=KEY)
    assert gone["sessions"] == 3
    assert any("under the mat" in claim["quote"] for claim in gone["claims"])
    assert files_with(home) == []
    assert [session["id"] for session in client.get("/api/sessions").json["data"]] == ["theirs"]
    assert client.get(memory(session_key=KEY)).json["data"] == []
    upstream.requests.clear()
    upstream.answer = lambda _: "Hm."
    for session in ("main", "fork", "other"):
        ok(client.say([*body, {"role": "user", "content": "hello?"}], session=session, key=KEY))
    assert not has(json.dumps(upstream.requests, ensure_ascii=False))
    assert files_with(home) == []


def test_another_key_keeps_its_own_words_and_a_shared_import(server: Everthread, upstream: Upstream) -> None:
    client = server.client
    upstream.answer = lambda _: "I see."
    history = [
        {"role": "user", "content": f"I am from {SECRET}."},
        {"role": "assistant", "content": "Oh."},
        {"role": "user", "content": "And I like tea."},
        {"role": "assistant", "content": "So do I."},
    ]
    for key in ("ada", "grace"):
        ok(client.say([*history, {"role": "user", "content": f"I am {key}."}], session=key, key=key))
        ok(client.say([*history, {"role": "user", "content": "hello"}], session=f"{key}-2", key=key))
    forget(client, {"text": SECRET}, session_key="ada")
    contents = {
        key: [message["content"] for message in client.get(path(key, "/messages")).json["data"]]
        for key in ("ada", "ada-2", "grace", "grace-2")
    }
    assert contents["grace"][:4] == contents["grace-2"][:4] == [message["content"] for message in history]
    assert contents["ada"][:4] == contents["ada-2"][:4]
    assert contents["ada"][0] == "I am from [forgotten]       ."
    assert contents["ada"][1:4] == contents["grace"][1:4]
    ok(client.say("go on", session="ada"))
    ok(client.say([*history, {"role": "user", "content": "I am ada, too."}], session="ada"))  # an edit: a branch
    assert files_with(server.settings.home)
    forget(client, {"text": SECRET}, session_key="grace")
    assert files_with(server.settings.home) == []
    for session in ("ada", "ada-2", "grace", "grace-2"):
        assert client.send("DELETE", path(session)).status == 200


def test_a_turn_that_runs_ends_first_and_a_waiting_one_does_not_see_it(server: Everthread, upstream: Upstream) -> None:
    client = server.client
    upstream.answer = lambda _: "I see."
    ok(client.say(f"I live at {SECRET}.", session="s", key=KEY))
    read(client, session_key=KEY)
    upstream.plan = [falls_silent(0.7), says("Later.")]
    running = threading.Thread(target=client.say, args=(f"Once more: {SECRET}.",), kwargs={"session": "s", "key": KEY})
    running.start()
    time.sleep(0.2)
    forgetting = threading.Thread(target=forget, args=(client, {"text": SECRET}), kwargs={"session_key": KEY})
    forgetting.start()
    time.sleep(0.2)
    ok(client.say("and now?", session="s", key=KEY))
    running.join(20)
    forgetting.join(20)
    assert not has(json.dumps(upstream.requests[-1], ensure_ascii=False))
    assert files_with(server.settings.home) == []


def test_an_idempotent_retry_tells_the_masked_answer(client: Client, name: str) -> None:
    headers = {"Idempotency-Key": name}
    ok(client.say(f"I live at {SECRET}.", session=name, key=name, headers=headers))
    forget(client, {"text": SECRET}, session_key=name)
    again = ok(client.say(f"I live at {SECRET}.", session=name, key=name, headers=headers))
    assert not has(again.body)
