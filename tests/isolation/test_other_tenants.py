"""Nothing of one tenant can be read, continued, changed or detected by another: whoever asks for it, in whatever way
the API has, gets exactly what a name gets that nobody ever had."""

from __future__ import annotations

import http.client
import json
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from neighbours import Town
from probes import REFERENCES, Probe, asked, masked, probes
from websockets.sync.client import connect

from belongings import Belongings, once
from everthread.http.app import ENDPOINTS
from front_door import Client
from operations import BODIES, DESCRIPTION, OPERATIONS, Operation

ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}
LISTS = ("/api/sessions?include_children=true", "/v1/chat/completions", "/api/jobs", "/api/memory?session_key=k")
LISTED = {"sessions", "completions", "jobs", "keys"}
ELSEWHERE = {"run_events", "model", "memory_status", "session_messages"}  # endless, or seen in what else is asked
SCORE = re.compile(r'"score":[\d.]+')
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


def paired(town: Town, operation: Operation) -> Iterator[tuple[Probe, Probe]]:
    """The same request twice: with the owner's names, and with names that nobody has."""
    known = probes(operation, town.theirs, town.knowing)
    made_up = probes(operation, town.nobodys, town.guessing)
    yield from zip(known, made_up, strict=True)


def everything(owner: Belongings) -> dict[str, str]:
    """All that the owner can see of its own things."""
    found = {}
    for operation in OPERATIONS:
        if (
            operation.method != "GET"
            or not (operation.leads or operation.name in LISTED)
            or operation.name in ELSEWHERE
        ):
            continue
        for probe in probes(operation, owner.named, owner):
            if not probe.headers and not probe.at_home and "after=" not in probe.path:
                answer = probe.send(owner.client)
                found[f"{operation} {probe.path}"] = f"{answer.status} {SCORE.sub('', answer.body.decode())}"
    return found


@pytest.fixture(scope="module")
def before(town: Town) -> dict[str, str]:
    return everything(town.owner)


# --- every operation ---


def test_every_operation_that_is_served_is_probed(town: Town) -> None:
    assert town.owner.client.get("/openapi.json").json == json.loads(json.dumps(DESCRIPTION))
    assert {operation.name for operation in OPERATIONS} == {endpoint.name for endpoint in ENDPOINTS}
    for operation in OPERATIONS:
        assert not operation.takes_body or operation.name in BODIES, f"{operation}: what is a good body?"
        unknown = set(operation.in_path) - {*town.theirs, "model"}
        assert not unknown, f"{operation}: belongings.py makes nothing that {unknown} could name"
    assert not REFERENCES.keys() - BODIES.keys()


@each_operation
def test_a_stranger_gets_what_a_name_gets_that_nobody_has(
    town: Town, before: dict[str, str], operation: Operation
) -> None:
    for known, made_up in paired(town, operation):
        knowing, guessing = next(town.newcomers), next(town.newcomers)
        if known.at_home:
            knowing, guessing = town.knowing.client, town.guessing.client
        ours = asked(operation, known, knowing, town.theirs, town.knowing.named)
        expected = asked(operation, made_up, guessing, town.nobodys, town.guessing.named)
        if known.at_home and ours[0] == expected[0] < 300:  # what is one's own differs; nothing of the owner is in it
            leaked = [text for text in town.secrets if text in ours[2] and text not in str(known)]
            assert not leaked, known
        else:
            assert ours == expected, known
        assert expected[0] < 500, made_up
        assert not known.astray or expected[0] == 404, (known, expected)
    if operation.method != "GET":
        assert everything(town.owner) == before, "and the owner's things are as they were"


def test_the_owner_itself_finds_what_the_strangers_were_refused(town: Town) -> None:
    """Else all of the above would be true of an empty house."""
    for operation in OPERATIONS:
        if operation.method == "GET" and operation.leads and operation.name not in {"model", "run_events"}:
            asking = probes(operation, town.theirs, town.owner)
            assert any(probe.send(town.owner.client).status == 200 for probe in asking if not probe.at_home), operation


def test_a_newcomer_has_nothing(town: Town) -> None:
    newcomer = next(town.newcomers)
    for path in LISTS:
        listed = newcomer.get(path).json
        assert not listed.get("data", listed.get("jobs")), path
        assert listed["has_more"] is False, path
    status = newcomer.get("/api/memory/status").json
    assert (status["waiting"], status["lag_seconds"], status["dead"]) == (0, 0.0, [])


def test_how_far_memory_is_behind_is_told_of_ones_own_turns_only(town: Town) -> None:
    newcomer = next(town.newcomers)
    for number in range(10):
        town.owner.client.say(f"Turn {number}, which takes a moment to be read.", session="a heap of work")
        assert newcomer.get("/api/memory/status").json["waiting"] == 0


def test_what_others_say_does_not_change_what_a_search_finds_or_how_well(town: Town) -> None:
    at = f"/api/memory/search?q=marzipan&session_key={quote(town.owner.one('session_key'), safe='')}"
    before = town.owner.client.get(at).json
    newcomer = next(town.newcomers)
    for number in range(5):
        assert newcomer.say("Quite a lot of other words. " * 100, session=f"{number}").status == 200
    assert town.owner.client.get(at).json == before


def test_the_same_idempotency_key_is_two_requests_for_two_tenants(town: Town) -> None:
    replayed = once(town.owner.client, town.owner, "something else entirely")
    assert (replayed.status, replayed.json["error"]["code"]) == (422, "idempotency_mismatch")
    fresh = once(next(town.newcomers), town.owner, "something else entirely")
    assert fresh.status == 200
    assert "idempotent-replayed" not in fresh.headers
    assert fresh.text == "You said 'something else entirely'. I know nobody. I see 1 messages."


# --- the WebSocket ---


def told(client: Client, **asked: Any) -> list[dict[str, Any]]:
    url = client.url.replace("http", "ws", 1) + "/v1/responses"
    with connect(url, additional_headers={"Authorization": f"Bearer {client.key}"}, proxy=None) as socket:
        socket.send(json.dumps({"type": "response.create", "input": "Hello.", **asked}))
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] not in ENDS:
            events.append(json.loads(socket.recv(timeout=20)))
        return events


@pytest.mark.parametrize(("field", "parameter"), REFERENCES["responses"])
def test_over_a_websocket_names_of_others_are_names_that_nobody_has(town: Town, field: str, parameter: str) -> None:
    for kind, name in town.theirs[parameter].items():
        answers = []
        for named in (name, town.nobodys[parameter][kind]):
            given: Any = [{"type": "item_reference", "id": named}] if field == "input" else named
            answers.append(json.dumps(told(next(town.newcomers), **{field: given})))
        assert masked(answers[0], town.theirs) == masked(answers[1], town.nobodys), kind


# --- the ticket of a run ---


def test_a_ticket_opens_one_run_and_nothing_else(town: Town) -> None:
    nobody = Client(town.url, key=None)
    token = town.owner.one("token")
    runs = town.theirs["run_id"]
    assert nobody.get(f"/v1/runs/{runs['a run']}/events?token={token}").status == 200
    for run in (runs["a turn"], runs["a job's run"], town.nobodys["run_id"]["a run"], town.knowing.one("run_id")):
        assert nobody.get(f"/v1/runs/{run}/events?token={token}").status == 401
    for path in (f"/v1/runs/{runs['a run']}", "/api/sessions", f"/v1/runs/{runs['a run']}/events/x"):
        assert nobody.get(f"{path}?token={token}").status == 401
    assert nobody.send("POST", f"/v1/runs/{runs['a run']}/stop?token={token}", b"").status == 401


def test_a_ticket_says_the_same_of_every_run_that_it_does_not_open(town: Town) -> None:
    nobody = Client(town.url, key=None)
    secret = town.owner.one("token").partition(".")[2]
    tickets = [town.knowing.one("token"), f"owner.{secret[::-1]}", f"nobody.{secret}"]
    for kind, run in town.theirs["run_id"].items():
        for token in tickets:
            ours = nobody.get(f"/v1/runs/{run}/events?token={token}")
            expected = nobody.get(f"/v1/runs/{town.nobodys['run_id'][kind]}/events?token={token}")
            assert (ours.status, ours.body) == (expected.status, expected.body) == (401, ours.body), kind


# --- how much work it is, and how long it takes ---


def statements_of(probe: Probe, town: Town) -> list[str]:
    newcomer = next(town.newcomers)
    return town.statements.of("counted", lambda: probe.send(newcomer, {"X-Request-Id": "counted"}))


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.in_path and each.name != "model"], ids=str)
def test_a_name_of_another_costs_the_same_statements_as_one_that_nobody_has(town: Town, operation: Operation) -> None:
    for known, made_up in paired(town, operation):
        if not known.astray:
            continue
        ours, expected = statements_of(known, town), statements_of(made_up, town)
        assert ours == expected, known
        assert ours, "at least the key was looked for"


ROUNDS, CALLS = 4, 7
SLOWER, SLACK = 2.0, 0.0015  # what is the same work may differ so much: as a factor, and in seconds


def durations(client: Client, *some: Probe) -> list[list[float]]:
    """Of requests that are sent in turn over one connection."""
    address = urlsplit(client.url)
    taken: list[list[float]] = [[] for _ in some]
    given = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)) as connection:
        for _ in range(CALLS):
            for times, probe in zip(taken, some, strict=True):
                began = time.perf_counter()
                connection.request(probe.method, probe.path, probe.body, {**given, **dict(probe.headers)})
                connection.getresponse().read()
                times.append(time.perf_counter() - began)
    return taken


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.in_path and each.name != "model"], ids=str)
def test_a_name_of_another_takes_as_long_as_one_that_nobody_has(town: Town, operation: Operation) -> None:
    pairs = [pair for pair in paired(town, operation) if pair[0].astray]
    known, made_up = pairs[0]
    stranger = town.knowing.client
    for _ in range(ROUNDS):
        ours, expected = (statistics.median(times) for times in durations(stranger, known, made_up))
        if max(ours, expected) <= min(ours, expected) * SLOWER + SLACK:
            return
    same, again = (statistics.median(times) for times in durations(stranger, made_up, made_up))
    if max(same, again) > min(same, again) * SLOWER:
        pytest.skip("this machine is too busy: the very same request takes now this long, now that long")
    raise AssertionError(f"{operation}: {ours * 1000:.2f} ms, where a name that nobody has takes {expected * 1000:.2f}")
