"""/api/memory, as its clients see it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from everthread import wiring
from everthread.core.ids import Tenant
from front_door import Answer, Client, Everthread
from upstream import Upstream

pytestmark = pytest.mark.slow

ROOT = "/api/memory"


def at(rest: str = "", **query: str) -> str:
    return f"{ROOT}{rest}" + (f"?{urlencode(query)}" if query else "")


def error(answer: Answer) -> tuple[int, str, str | None]:
    assert set(answer.json["error"]) == {"message", "type", "param", "code"}
    return answer.status, answer.json["error"]["code"], answer.json["error"]["param"]


def another_key(server: Everthread, tenant: str = "default", prefix: str | None = None) -> Client:
    assert server.running is not None
    store = server.running.site.store
    secret, key = wiring.new_key(wiring.SystemClock().now(), tenant=Tenant(tenant), session_key_prefix=prefix)
    asyncio.run_coroutine_threadsafe(store.add_key(key), server.loop).result(5)
    return Client(server.url, secret)


def tell(client: Client, *texts: str, session: str, key: str | None = None) -> list[Answer]:
    """Says things, and waits until they have been read."""
    said = [client.say(text, session=session, **({"key": key} if key else {})) for text in texts]
    for answer in said:
        assert answer.status == 200, answer.body
    read(client, **({"session_key": key} if key else {"session_id": session}))
    return said


def read(client: Client, **scope: str) -> None:
    until = time.monotonic() + 30
    while client.get(at("/status", **scope)).json["behind"]:
        assert time.monotonic() < until, "what was said is read within seconds"
        time.sleep(0.02)


def claims(client: Client, **query: str) -> list[dict[str, Any]]:
    answer = client.get(at(**query))
    assert answer.status == 200, answer.body
    return list(answer.json["data"])


def quotes(found: list[dict[str, Any]]) -> list[str]:
    return [claim["quote"] for claim in found]


def one(client: Client, words: str, **query: str) -> dict[str, Any]:
    """The claim that has these words."""
    (found,) = [claim for claim in claims(client, limit="200", **query) if words in claim["quote"]]
    return found


def add(client: Client, text: str, key: str, **more: Any) -> dict[str, Any]:
    answer = client.post(at(session_key=key), {"text": text, **more})
    assert answer.status == 201, answer.body
    return dict(answer.json)


# --- looking ---


def test_a_claim_says_what_it_rests_on(client: Client, name: str) -> None:
    (said,) = tell(client, "We use PostgreSQL 15 on RDS.", session=name, key=name)
    claim = one(client, "PostgreSQL", session_key=name)
    assert set(claim) == {
        "id", "object", "kind", "state", "quote", "subject", "attribute", "value", "negated", "speaker", "voice",
        "said_at", "recorded_at", "valid_from", "valid_to", "closed_at", "when", "because", "cause", "supersedes",
        "superseded_by", "confidence", "author", "pinned", "source",
    }  # fmt: skip
    assert claim["id"].startswith("clm_")
    assert (claim["object"], claim["state"], claim["author"], claim["pinned"]) == (
        "memory.claim",
        "current",
        "rule",
        False,
    )
    assert claim["said_at"].endswith("Z")
    source = claim["source"]
    assert (source["session_id"], source["turn"], source["message"]) == (name, 1, 0)
    assert source["run_id"] == said.hermes["run_id"]
    start, end = source["span"]
    assert "We use PostgreSQL 15 on RDS."[start:end] == claim["quote"]
    for headers in ({"X_Hermes_Session_Key": name}, {}):
        answer = client.get(f"{ROOT}/{claim['id']}", **headers)
        assert (answer.status, answer.json) == (200, claim)


def test_a_session_without_a_key_remembers_itself(client: Client, name: str) -> None:
    tell(client, "My daughter is allergic to peanuts.", session=name)
    assert "peanuts" in one(client, "peanuts", session_id=name)["quote"]
    found = client.get(at("/search", session_id=name, q="peanuts")).json
    assert ("peanuts" in found["data"][0]["text"], "peanuts" in found["claims"][0]["quote"]) == (True, True)
    by_header = client.get(ROOT, X_Hermes_Session_Id=name).json["data"]
    assert by_header == claims(client, session_id=name)


def test_a_keyed_sessions_id_means_its_keys_memory(client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=f"{name}-1", key=name)
    tell(client, "I work at Acme.", session=f"{name}-2", key=name)
    by_key = quotes(claims(client, session_key=name))
    assert (len(by_key) >= 2, any("Lisbon" in q for q in by_key), any("Acme" in q for q in by_key)) == (True,) * 3
    assert quotes(claims(client, session_id=f"{name}-1")) == by_key
    assert quotes(claims(client, session_id=f"{name}-1", session_key=name)) == by_key


def test_claims_come_in_pages_and_by_kind_state_and_pin(client: Client, name: str) -> None:
    for number in range(5):
        add(client, f"Fact number {number} stands alone", name, pinned=number == 3)
    add(client, "Always answer in French", name, kind="instruction")
    gone = one(client, "number 0", session_key=name)
    client.post(at(f"/{gone['id']}/retract"), {})
    everything = claims(client, session_key=name)
    assert len(everything) == 5
    assert quotes(claims(client, session_key=name, kind="instruction")) == ["Always answer in French"]
    assert len(claims(client, session_key=name, kind="instruction, fact")) == 5
    assert quotes(claims(client, session_key=name, pinned="true")) == ["Fact number 3 stands alone"]
    assert len(claims(client, session_key=name, pinned="false")) == 4
    assert quotes(claims(client, session_key=name, state="retracted")) == ["Fact number 0 stands alone"]
    assert len(claims(client, session_key=name, state="current,retracted")) == 6
    found: list[Any] = []
    more, after = True, ""
    while more:
        page = client.get(at(session_key=name, limit="2", after=after)).json
        found += page["data"]
        more, after = page["has_more"], page["data"][-1]["id"]
    assert found == everything
    assert client.get(at(session_key=name, nonsense="1")).status == 200, "unknown parameters are ignored"


def test_under_an_unknown_key_nothing_was_said_yet(client: Client, name: str) -> None:
    assert client.get(at(session_key=name)).json == {"object": "list", "data": [], "has_more": False}
    assert client.get(at("/search", session_key=name, q="x")).json["data"] == []
    assert client.get(at("/timeline", session_key=name)).json["data"] == []
    assert client.get(at("/export", session_key=name)).body == b""
    assert client.get(at("/status", session_key=name)).json["behind"] is None
    gone = client.post(at("/forget", session_key=name), {"scope": True}).json
    assert (gone["claims"], gone["messages"]) == ([], 0)


@pytest.mark.parametrize("rest", ["", "/search?q=x", "/timeline", "/export"])
def test_it_must_be_said_whose_memory_is_meant(client: Client, name: str, rest: str) -> None:
    answer = client.get(f"{ROOT}{rest}")
    assert error(answer) == (400, "invalid_value", "session_key")
    assert "X-Hermes-Session-Key" in answer.json["error"]["message"]
    joiner = "&" if "?" in rest else "?"
    assert error(client.get(f"{ROOT}{rest}{joiner}session_id=nobody-{name}"))[:2] == (404, "not_found")
    assert error(client.get(f"{ROOT}{rest}{joiner}session_id=%40current"))[:2] == (400, "invalid_value")


def test_a_session_of_another_key_is_a_conflict(client: Client, name: str) -> None:
    client.say("hello", session=name, key="one")
    client.say("hello", session=f"{name}-free")
    for session in (name, f"{name}-free"):
        answer = client.get(at(session_id=session, session_key="two"))
        assert error(answer)[:2] == (409, "session_key_mismatch")
    answer = client.get(at(session_key="two"), X_Hermes_Session_Key="one")
    assert error(answer) == (400, "invalid_value", "session_key")
    answer = client.get(at(session_id="two"), X_Hermes_Session_Id=name)
    assert error(answer) == (400, "invalid_value", "session_id")


@pytest.mark.parametrize(
    ("rest", "param"),
    [
        ("?kind=opinion", "kind"),
        ("?state=dead,current", "state"),
        ("?pinned=perhaps", "pinned"),
        ("?limit=0", "limit"),
        ("?limit=-3", "limit"),
        ("?limit=many", "limit"),
        ("?after=clm_nobody", "after"),
        ("/search", "q"),
        ("/search?q=", "q"),
        ("/search?q=a%00b", "q"),
        (f"/search?q={'x' * 2001}", "q"),
        ("/search?q=x&as_of=yesterday", "as_of"),
        ("/search?q=x&as_of=2026-03-02T09:00:00", "as_of"),
        ("/search?q=x&known_at=0001-01-01T00:00:00%2B14:00", "known_at"),
        ("/timeline?since=2026-13-01", "since"),
        ("/timeline?until=x", "until"),
        ("/timeline?after=clm_nobody", "after"),
        ("/export?format=xml", "format"),
    ],
)
def test_a_bad_value_is_named(client: Client, name: str, rest: str, param: str) -> None:
    add(client, "Something is known", name)
    answer = client.get(f"{ROOT}{rest}", X_Hermes_Session_Key=name)
    assert error(answer) == (400, "invalid_value", param)


# --- searching, and what changed ---


def test_a_search_finds_what_was_said_and_what_holds(client: Client, name: str) -> None:
    said = tell(
        client, "We use MySQL for the orders.", "The weather is fine.", "We switched from MySQL to PostgreSQL.",
        session=name, key=name,
    )  # fmt: skip
    found = client.get(at("/search", session_key=name, q="which database do we use, MySQL or PostgreSQL?")).json
    assert (found["object"], found["as_of"]) == ("list", None)
    hits = [hit for hit in found["data"] if hit["role"] == "user"]
    assert {said[0].hermes["run_id"], said[2].hermes["run_id"]} <= {hit["run_id"] for hit in hits}
    assert "weather" not in hits[0]["text"]
    first = next(hit for hit in hits if hit["turn"] == 1)
    assert (first["object"], first["session_id"], first["speaker"]) == ("memory.hit", name, "user")
    assert [claim["state"] for claim in first["claims"]] == ["reversed"]
    assert any("PostgreSQL" in quote for quote in quotes(found["claims"]))
    assert not any(quote == first["claims"][0]["quote"] for quote in quotes(found["claims"]))


def test_a_search_as_of_a_moment_knows_nothing_later(client: Client, name: str) -> None:
    for text, day in (("We use MySQL for the orders.", "01"), ("We switched from MySQL to PostgreSQL.", "20")):
        time_header = {"X-Hermes-Message-Time": f"2026-01-{day}T12:00:00Z"}
        assert client.say(text, session=name, key=name, headers=time_header).status == 200
    read(client, session_key=name)
    asked = {"session_key": name, "q": "MySQL PostgreSQL database"}

    def then(moment: str, **more: str) -> tuple[list[int], list[str]]:
        found = client.get(at("/search", **asked, as_of=moment, **more)).json
        return [hit["turn"] for hit in found["data"] if hit["role"] == "user"], quotes(found["claims"])

    assert then("2025-12-31") == ([], [])
    turns, held = then("2026-01-10")
    assert (turns, len(held)) == ([1], 1)
    assert "MySQL for the orders" in held[0]
    turns, held = then("2026-01-21T00:00:00+01:00")
    assert sorted(turns) == [1, 2]
    assert not any("for the orders" in quote for quote in held)
    assert any("PostgreSQL" in quote for quote in held)
    assert then("2026-01-21", known_at="2026-01-21") == ([2, 1], []) or then("2026-01-21", known_at="2026-01-21") == (
        [1, 2],
        [],
    ), "it was said by then, and recorded only now"


def test_what_is_written_by_hand_is_found_too(client: Client, name: str) -> None:
    add(client, "The office is in Sesame Street", name)
    found = client.get(at("/search", session_key=name, q="where is the office?")).json
    assert quotes(found["claims"]) == ["The office is in Sesame Street"]
    assert client.get(at("/search", session_key=name, q="zebra")).json["claims"] == []


def test_the_timeline_says_what_changed_when_and_why(client: Client, name: str) -> None:
    for text, day in (
        ("We use MySQL for the orders.", "01"),
        ("I like tea.", "05"),
        ("We switched from MySQL to PostgreSQL because MySQL lost writes.", "20"),
    ):
        time_header = {"X-Hermes-Message-Time": f"2026-01-{day}T12:00:00Z"}
        assert client.say(text, session=name, key=name, headers=time_header).status == 200
    read(client, session_key=name)

    def told(**query: str) -> list[dict[str, Any]]:
        answer = client.get(at("/timeline", session_key=name, **query))
        assert answer.status == 200, answer.body
        return [change for change in answer.json["data"] if change["claim"]["voice"] == "user"]

    changes = told()
    assert [change["at"][:10] for change in changes] == sorted(change["at"][:10] for change in changes)
    switched = next(change for change in changes if "switched" in change["claim"]["quote"])
    assert switched["object"] == "memory.change"
    assert any("MySQL for the orders" in quote for quote in quotes(switched["replaced"]))
    assert "lost writes" in switched["because"]
    assert all("MySQL" in change["claim"]["quote"] for change in told(about="mysql"))
    assert len(told(about="mysql")) >= 2
    assert told(about="zebra") == []
    assert {change["at"][:10] for change in told(since="2026-01-02", until="2026-01-10")} <= {"2026-01-05"}
    first = client.get(at("/timeline", session_key=name, limit="1")).json
    assert (len(first["data"]), first["has_more"]) == (1, True)
    rest = client.get(at("/timeline", session_key=name, after=first["data"][0]["claim"]["id"])).json
    whole = client.get(at("/timeline", session_key=name)).json["data"]
    assert first["data"] + rest["data"] == whole


def test_what_was_corrected_by_hand_is_part_of_the_timeline(client: Client, name: str) -> None:
    first = add(client, "The gate code is 1234", name, valid_from="2026-01-01")
    client.post(at(f"/{first['id']}/correct"), {"text": "The code is 9876", "reason": "it leaked"})
    changes = client.get(at("/timeline", session_key=name, about="gate")).json["data"]
    assert [quotes(change["replaced"]) for change in changes] == [[], ["The gate code is 1234"]]
    assert changes[1]["because"] == "it leaked"


def test_sources_lead_from_a_claim_to_its_place_in_the_transcript(client: Client, name: str) -> None:
    said = tell(client, "We use MySQL for the orders.", "We switched from MySQL to PostgreSQL.", session=name, key=name)
    claim = one(client, "switched", session_key=name)
    answer = client.get(at(f"/{claim['id']}/sources")).json
    assert (answer["object"], answer["id"]) == ("memory.sources", claim["id"])
    first, *others = answer["data"]
    source = first["source"]
    assert (first["relation"], first["claim"]["id"]) == ("claim", claim["id"])
    assert (source["run_id"], source["turn"], source["role"]) == (said[1].hermes["run_id"], 2, "user")
    start, end = source["span"]
    assert source["text"][start:end] == claim["quote"]
    transcript = client.get(f"/api/sessions/{quote(name, safe='')}/messages").json["data"]
    assert transcript[source["position"] - 1]["content"] == source["text"]
    (replaced,) = [other for other in others if other["relation"] == "replaced"]
    assert replaced["source"]["run_id"] == said[0].hermes["run_id"]
    by_hand = add(client, "A thing by hand", name)
    (only,) = client.get(at(f"/{by_hand['id']}/sources")).json["data"]
    assert (only["relation"], only["source"]) == ("claim", None)


# --- a person's own hand ---


def test_what_is_added_is_a_persons_claim(client: Client, name: str) -> None:
    claim = add(client, "  The deadline is Friday  ", name, kind="decision", speaker="Ann", valid_from="2026-03-02")
    assert (claim["quote"], claim["kind"], claim["speaker"]) == ("The deadline is Friday", "decision", "Ann")
    assert (claim["author"], claim["source"], claim["state"]) == ("person", None, "current")
    assert claim["valid_from"] == "2026-03-02T00:00:00Z"
    assert claims(client, session_key=name) == [claim]
    same = {"text": "The deadline is Friday", "kind": "decision", "pinned": True, "speaker": "Ann"}
    again = client.post(at(session_key=name), same)
    assert (again.status, again.json) == (200, {**claim, "pinned": True})
    assert len(claims(client, session_key=name)) == 1


def test_the_same_words_from_many_hands_at_once_are_one_claim(client: Client, name: str) -> None:
    add(client, "Something else", name)
    with ThreadPoolExecutor(8) as hands:
        answers = list(
            hands.map(lambda _: client.post(at(session_key=name), {"text": "The deadline is Friday"}), range(8))
        )
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert len(claims(client, session_key=name)) == 2


def test_under_a_new_key_the_first_claim_begins_its_current_session(client: Client, name: str) -> None:
    add(client, "My name is Ada", name)
    answer = client.say("hello", session="@current", key=name)
    sessions = client.get(f"/api/sessions?session_key={quote(name)}").json["data"]
    assert [session["id"] for session in sessions] == [answer.hermes["session_id"]]


def test_what_is_added_replaces_what_it_contradicts(client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=name, key=name)
    before = one(client, "Lisbon", session_key=name)
    claim = add(client, "I live in Porto.", name)
    assert claim["supersedes"] == before["id"]
    after = client.get(f"{ROOT}/{before['id']}").json
    assert (after["state"], after["superseded_by"]) == ("reversed", claim["id"])


def test_a_correction_takes_the_place_of_a_claim(client: Client, name: str) -> None:
    then = {"X-Hermes-Message-Time": "2026-01-01T12:00:00Z"}
    client.say("We use PostgreSQL 15 on RDS.", session=name, key=name, headers=then)
    read(client, session_key=name)
    old = one(client, "PostgreSQL", session_key=name)
    client.post(at(f"/{old['id']}/pin"), {})
    body = {"text": "We use PostgreSQL 16 on RDS", "reason": "upgraded", "valid_from": "2026-05-01T00:00:00Z"}
    answer = client.post(at(f"/{old['id']}/correct"), body)
    new = answer.json
    assert (answer.status, new["author"], new["supersedes"], new["because"]) == (201, "person", old["id"], "upgraded")
    assert (new["kind"], new["pinned"], new["valid_from"]) == (old["kind"], True, "2026-05-01T00:00:00Z")
    closed = client.get(f"{ROOT}/{old['id']}").json
    assert (closed["state"], closed["superseded_by"], closed["pinned"]) == ("reversed", new["id"], False)
    assert closed["valid_to"] == "2026-05-01T00:00:00Z"
    refused = client.post(at(f"/{old['id']}/correct"), {"text": "again"})
    assert error(refused) == (400, "invalid_value", "id")
    assert new["id"] in refused.json["error"]["message"], "it says which one to correct"
    assert error(client.post(at(f"/{old['id']}/pin"), {}))[0] == 400


def test_what_a_retracted_claim_had_replaced_holds_again(client: Client, name: str) -> None:
    tell(client, "We use MySQL for the orders.", "We switched from MySQL to PostgreSQL.", session=name, key=name)
    old, new = one(client, "for the orders", session_key=name), one(client, "switched", session_key=name)
    assert old["state"] == "reversed"
    answer = client.post(at(f"/{new['id']}/retract"), {"reason": "that was a joke"})
    assert (answer.status, answer.json["state"], answer.json["because"]) == (200, "retracted", "that was a joke")
    assert one(client, "for the orders", session_key=name)["state"] == "current"
    assert not any("switched" in quote for quote in quotes(claims(client, session_key=name)))
    assert client.post(at(f"/{new['id']}/retract"), {}).json == answer.json, "twice is as good as once"


def contested(client: Client, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pinned claim, and one that says otherwise."""
    tell(client, "I live in Lisbon.", session=name, key=name)
    client.post(at(f"/{one(client, 'Lisbon', session_key=name)['id']}/pin"), {})
    tell(client, "I live in Porto.", session=name, key=name)
    found = one(client, "Lisbon", session_key=name), one(client, "Porto", session_key=name)
    assert [claim["state"] for claim in found] == ["unresolved", "unresolved"]
    return found


def test_a_correction_settles_a_conflict(client: Client, name: str) -> None:
    lisbon, porto = contested(client, name)
    found = client.get(at("/search", session_key=name, q="where do I live? Lisbon? Porto?")).json["claims"]
    assert {claim["id"] for claim in found} == {lisbon["id"], porto["id"]}, "both sides are shown"
    new = client.post(at(f"/{porto['id']}/correct"), {"text": "I live in Faro."}).json
    assert quotes(claims(client, session_key=name, state="current")) == ["I live in Faro."]
    for claim in (lisbon, porto):
        now = client.get(f"{ROOT}/{claim['id']}").json
        assert (now["state"], now["superseded_by"]) == ("reversed", new["id"])


def test_when_one_side_of_a_conflict_is_retracted_the_other_holds(client: Client, name: str) -> None:
    lisbon, porto = contested(client, name)
    client.post(at(f"/{lisbon['id']}/retract"), {})
    (left,) = claims(client, session_key=name, state="current")
    assert (left["id"], left["supersedes"]) == (porto["id"], None)


def test_what_gave_way_twice_does_not_hold_again_when_the_one_between_is_retracted(client: Client, name: str) -> None:
    first = add(client, "The gate code is 1234", name)
    second = client.post(at(f"/{first['id']}/correct"), {"text": "The gate code is 5678"}).json
    third = client.post(at(f"/{second['id']}/correct"), {"text": "The gate code is 9876"}).json
    client.post(at(f"/{second['id']}/retract"), {})
    left = client.get(f"{ROOT}/{first['id']}").json
    assert (left["state"], left["superseded_by"]) == ("reversed", third["id"])
    assert quotes(claims(client, session_key=name, state="current")) == ["The gate code is 9876"]


def test_a_request_can_wait_until_all_was_read(client: Client, name: str) -> None:
    client.say("I live in Lisbon.", session=name, key=name)
    answer = client.get(at(session_key=name), X_Hermes_Wait_For_Memory="1")
    assert any("Lisbon" in quote for quote in quotes(answer.json["data"]))


def test_a_correction_by_hand_can_be_retracted(client: Client, name: str) -> None:
    first = add(client, "The gate code is 1234", name)
    second = client.post(at(f"/{first['id']}/correct"), {"text": "The gate code is 9876"}).json
    client.post(at(f"/{second['id']}/retract"), {})
    (left,) = claims(client, session_key=name)
    assert (left["id"], left["state"], left["superseded_by"]) == (first["id"], "current", None)


def test_a_claim_is_pinned_and_unpinned(client: Client, name: str) -> None:
    claim = add(client, "The wifi is called lighthouse", name)
    assert client.send("POST", at(f"/{claim['id']}/pin")).json["pinned"] is True
    assert client.get(f"{ROOT}/{claim['id']}").json["pinned"] is True
    assert client.post(at(f"/{claim['id']}/pin"), {"pinned": False}).json["pinned"] is False
    assert client.get(f"{ROOT}/{claim['id'].removeprefix('clm_')}").json["pinned"] is False


def test_a_claim_is_not_deleted_but_it_is_said_what_to_do(client: Client, name: str) -> None:
    claim = add(client, "Something", name)
    answer = client.send("DELETE", f"{ROOT}/{claim['id']}")
    assert error(answer)[:2] == (405, "method_not_allowed")
    assert "retract" in answer.json["error"]["message"]
    assert "forget" in answer.json["error"]["message"]
    assert error(client.send("PUT", f"{ROOT}/{claim['id']}", b"{}"))[0] == 405


@pytest.mark.parametrize(
    ("rest", "body", "param"),
    [
        ("", {}, "text"),
        ("", {"text": ""}, "text"),
        ("", {"text": "   "}, "text"),
        ("", {"text": "x" * 2001}, "text"),
        ("", {"text": 7}, "text"),
        ("", {"text": "x", "kind": "opinion"}, "kind"),
        ("", {"text": "x", "pinned": "yes"}, "pinned"),
        ("", {"text": "x", "valid_from": "soon"}, "valid_from"),
        ("", {"text": "x", "speaker": ""}, "speaker"),
        ("", {"text": "x", "tetx": "y"}, "tetx"),
        ("/{id}/correct", {}, "text"),
        ("/{id}/correct", {"text": "x", "valid_from": "2026-03-02T09:00:00"}, "valid_from"),
        ("/{id}/pin", {"pinned": 1}, "pinned"),
        ("/{id}/retract", {"reason": ""}, "reason"),
        ("/forget", {"text": "ab"}, "text"),
        ("/forget", {"text": "abc", "dryrun": True}, "dryrun"),
        ("/forget", {}, None),
        ("/forget", {"scope": False}, None),
        ("/forget", {"text": "abc", "scope": True}, None),
        ("/forget", {"claim": "clm_1", "session_id": "x"}, None),
    ],
)
def test_a_bad_body_is_named(client: Client, name: str, rest: str, body: dict[str, Any], param: str | None) -> None:
    claim = add(client, "Something is known here", name)
    answer = client.post(at(rest.replace("{id}", claim["id"])), body, X_Hermes_Session_Key=name)
    assert error(answer) == (400, "invalid_value", param), answer.body
    assert len(claims(client, session_key=name)) == 1


def test_no_text_has_a_nul(client: Client, name: str) -> None:
    assert error(client.post(at(session_key=name), {"text": "a\0b"}))[0] == 400


# --- what a reply was given ---


def test_a_reply_can_be_asked_what_it_was_given(client: Client, upstream: Upstream, name: str) -> None:
    tell(client, "My daughter is allergic to peanuts.", session=f"{name}-1", key=name)
    answer = client.say("What is my daughter allergic to? Peanuts?", session=f"{name}-2", key=name)
    for asked in (answer.hermes["run_id"], answer.json["id"], answer.hermes["run_id"].removeprefix("run_")):
        given = client.get(at(f"/turns/{asked}"))
        assert given.status == 200, given.body
        assert (given.json["object"], given.json["run_id"]) == ("memory.given", answer.hermes["run_id"])
    shown = given.json
    assert (shown["session_id"], shown["turn"]) == (f"{name}-2", 1)
    assert set(shown["tail"]) == set(shown["profile"]) == {"text", "tokens", "claims", "turns"}
    assert "peanuts" in shown["tail"]["text"] + shown["profile"]["text"]
    prompt = json.dumps(upstream.requests[-1]["messages"], ensure_ascii=False)
    for block in ("tail", "profile"):
        for line in shown[block]["text"].splitlines():
            assert json.dumps(line, ensure_ascii=False)[1:-1] in prompt, "the very words"
    assert client.get(at("/turns/run_nobody")).status == 404
    assert client.get(at(f"/turns/{answer.hermes['run_id']}", session_key="another")).status == 404
    assert client.get(at(f"/turns/{answer.hermes['run_id']}", session_key=name)).status == 200


# --- all of it ---


def test_an_export_has_everything(client: Client, name: str) -> None:
    first = add(client, "The *gate* code is 1234\n# not a heading", name)
    client.post(at(f"/{first['id']}/correct"), {"text": "The gate code is 9876", "reason": "it was changed"})
    gone = add(client, "Zebras are blue", name)
    client.post(at(f"/{gone['id']}/retract"), {})
    add(client, "Always answer in French", name, kind="instruction", pinned=True)
    answer = client.get(at("/export", session_key=name))
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert "memory.jsonl" in answer.headers["content-disposition"]
    lines = [json.loads(line) for line in answer.body.splitlines()]
    everything = claims(client, session_key=name, state="current,reversed,unresolved,retracted")
    assert lines == everything
    shown = client.get(at("/export", session_key=name, format="markdown"))
    assert shown.headers["content-type"] == "text/markdown; charset=utf-8"
    text = shown.body.decode()
    assert text.startswith("# Memory of ")
    assert text.index("## Instructions") < text.index("## Facts")
    assert "## Decisions" not in text
    assert "- **reversed** “The \\*gate\\* code is 1234 \\# not a heading”" in text
    assert "replaced by: “The gate code is 9876”" in text
    assert "because: “it was changed”" in text
    assert "- **retracted** “Zebras are blue”" in text
    assert "pinned" in text


def test_an_export_of_many_claims_is_whole(client: Client, name: str) -> None:
    for number in range(205):
        add(client, f"Item {number}", name)
    assert len(client.get(at("/export", session_key=name)).body.splitlines()) == 205


def test_the_status_says_how_far_memory_is_behind(client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=name, key=name)
    status = client.get(at("/status", session_key=name)).json
    assert (status["object"], status["behind"], status["dead"]) == ("memory.status", False, [])
    assert status["embedder"]
    assert status["dimensions"] >= 0
    assert (status["waiting"] >= 0, status["lag_seconds"] >= 0) == (True, True)
    assert client.get(at("/status")).json["behind"] is None


# --- forgetting ---


def test_a_dry_run_says_what_would_go_and_changes_nothing(client: Client, name: str) -> None:
    tell(client, "I live at Sesame Street 12.", "I like tea.", session=name, key=name)
    before = claims(client, session_key=name)
    body = {"text": "sesame street", "dry_run": True}
    would = client.post(at("/forget", session_key=name), body)
    assert (would.status, would.json["object"], would.json["dry_run"]) == (200, "memory.forgotten", True)
    assert any("Sesame" in quote for quote in quotes(would.json["claims"]))
    place = would.json["places"][0]
    assert (place["session_id"], place["turn"]) == (name, 1)
    assert would.json["messages"] >= 1
    assert claims(client, session_key=name) == before


def test_what_is_forgotten_is_gone(client: Client, name: str) -> None:
    tell(client, "I live at Sesame Street 12.", "I like tea.", session=name, key=name)
    gone = client.post(at("/forget", session_key=name), {"text": "Sesame Street"}).json
    assert (gone["dry_run"], len(gone["claims"]) >= 1) == (False, True)
    assert "Sesame" not in json.dumps(claims(client, session_key=name))
    assert "Sesame" not in client.get(f"/api/sessions/{quote(name, safe='')}/messages").body.decode()
    assert client.get(at("/search", session_key=name, q="Sesame Street")).json["claims"] == []


def test_a_claim_and_a_session_name_their_scope_themselves(client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=name, key=name)
    claim = one(client, "Lisbon", session_key=name)
    assert client.post(at("/forget"), {"claim": claim["id"], "dry_run": True}).json["claims"][0]["id"] == claim["id"]
    assert client.post(at("/forget"), {"claim": claim["id"]}).status == 200
    assert client.get(f"{ROOT}/{claim['id']}").status == 404
    answer = client.post(at("/forget"), {"session_id": name})
    assert (answer.status, answer.json["sessions"] >= 1) == (200, True)
    assert client.get(f"/api/sessions/{quote(name, safe='')}").status == 404
    assert error(client.post(at("/forget"), {"session_id": name}))[:2] == (404, "not_found")
    assert error(client.post(at("/forget"), {"claim": claim["id"]}))[:2] == (404, "not_found")
    assert error(client.post(at("/forget"), {"text": "Lisbon"})) == (400, "invalid_value", "session_key")


def test_a_whole_scope_can_be_forgotten(client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=name, key=name)
    tell(client, "I live in Porto.", session=f"{name}-other", key=f"{name}-other")
    add(client, "By hand", name)
    gone = client.post(at("/forget", session_key=name), {"scope": True}).json
    assert len(gone["claims"]) >= 2
    assert claims(client, session_key=name) == []
    assert claims(client, session_key=f"{name}-other") != []


# --- nothing crosses ---


def secret_shown(client: Client, claim: str, turn: str, **scope: str) -> list[str]:
    """The endpoints that show the secret to this client under this scope."""
    shown = []
    for path in (
        at(**scope, limit="200", state="current,reversed,unresolved,retracted"),
        at("/search", **scope, q="Xanadu"),
        at("/timeline", **scope),
        at("/timeline", **scope, about="Xanadu"),
        at("/export", **scope),
        at("/export", **scope, format="markdown"),
        at("/status", **scope),
        at(f"/{claim}", **scope),
        at(f"/{claim}/sources", **scope),
        at(f"/turns/{turn}", **scope),
    ):
        answer = client.get(path)
        if "Xanadu" in answer.body.decode().replace('"query":"Xanadu"', ""):
            shown.append(path)
    for rest, body in (
        (f"/{claim}/correct", {"text": "mine now"}),
        (f"/{claim}/pin", {}),
        (f"/{claim}/retract", {}),
        ("/forget", {"claim": claim, "dry_run": True}),
        ("/forget", {"claim": claim}),
    ):
        answer = client.post(at(rest, **scope), body)
        if answer.status < 400:
            shown.append(rest)
    for body in ({"text": "Xanadu", "dry_run": True}, {"scope": True, "dry_run": True}):
        answer = client.post(at("/forget", **scope), body)
        if "Xanadu" in answer.body.decode():
            shown.append("/forget")
    return shown


def test_nothing_is_seen_across_keys_sessions_tenants_and_prefixes(
    server: Everthread, client: Client, name: str
) -> None:
    (said,) = tell(client, "I live in Xanadu.", session=f"{name}-a", key=f"{name}:a")
    tell(client, "I live in Lisbon.", session=f"{name}-b", key=f"{name}:b")
    tell(client, "I live in Porto.", session=f"{name}-free")
    claim = one(client, "Xanadu", session_key=f"{name}:a")
    turn = said.hermes["run_id"]
    assert secret_shown(client, claim["id"], turn, session_key=f"{name}:b") == []
    assert secret_shown(client, claim["id"], turn, session_id=f"{name}-b") == []
    assert secret_shown(client, claim["id"], turn, session_id=f"{name}-free") == []
    assert secret_shown(client, claim["id"], turn, session_key="nobody") == []
    stranger = another_key(server, tenant="stranger")
    for scope in ({}, {"session_key": f"{name}:a"}, {"session_id": f"{name}-a"}):
        assert secret_shown(stranger, claim["id"], turn, **scope) == []
    bound = another_key(server, prefix=f"{name}:b")
    for scope in ({}, {"session_key": f"{name}:a"}, {"session_id": f"{name}-a"}, {"session_key": f"{name}:b"}):
        assert secret_shown(bound, claim["id"], turn, **scope) == []
    assert client.get(f"{ROOT}/{claim['id']}").json == claim, "and nobody changed it"
    refusals = [
        stranger.get(f"{ROOT}/{claim['id']}").json,
        bound.get(f"{ROOT}/{claim['id']}").json,
        client.get(at(f"/{claim['id']}", session_key=f"{name}:b")).json,
        client.get(f"{ROOT}/clm_nobody").json,
    ]
    assert all(refusal == refusals[0] for refusal in refusals), "what may not be seen does not exist"


def test_a_bound_key_sees_its_own(server: Everthread, client: Client, name: str) -> None:
    tell(client, "I live in Lisbon.", session=name, key=f"{name}:mine")
    bound = another_key(server, prefix=f"{name}:")
    claim = one(bound, "Lisbon", session_key=f"{name}:mine")
    assert bound.get(f"{ROOT}/{claim['id']}").status == 200
    assert one(bound, "Lisbon", session_id=name) == claim
    assert error(bound.get(at(session_key="other")))[0] == 404
    assert error(bound.get(ROOT))[0] == 400
    assert bound.get(at("/status")).json["dead"] == []
    tell(client, "I live in Porto.", session=f"{name}-free")
    assert error(bound.get(at(session_id=f"{name}-free")))[0] == 404


def test_what_is_added_under_one_key_stays_there(client: Client, name: str) -> None:
    claim = add(client, "A secret thing", f"{name}:a")
    assert claims(client, session_key=f"{name}:b") == []
    assert error(client.get(at(f"/{claim['id']}", session_key=f"{name}:b")))[0] == 404
    client.post(at(session_key=f"{name}:b"), {"text": "A secret thing"})
    (other,) = claims(client, session_key=f"{name}:b")
    assert other["id"] != claim["id"]


def test_memory_needs_a_key(server: Everthread) -> None:
    nobody = Client(server.url, key=None)
    for path in ("", "/search?q=x", "/status", "/export", "/clm_1", "/turns/run_1"):
        assert nobody.get(f"{ROOT}{path}").status == 401


def test_storage_that_cannot_be_read_is_a_503(start: Callable[..., Everthread]) -> None:
    server = start()
    add(server.client, "Something", "alex")
    server.break_store()
    answer = server.client.get(at(session_key="alex"))
    assert answer.status == 503
