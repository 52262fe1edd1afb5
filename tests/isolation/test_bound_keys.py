"""A key that is bound to a prefix lives in a tenant of its own, as far as it can tell: what other session keys have is
not found, not listed, not counted."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from neighbours import Town
from probes import asked, masked, probes

from front_door import Client
from operations import OPERATIONS, Operation

PREFIX = "kids:"
NAMES = {"X-Hermes-Session-Key": f"{PREFIX}tom"}
TAKEN = {"session_create", "conversation_create", "session_fork"}  # they cannot make what there is already
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


@pytest.fixture(scope="module")
def bound(town: Town) -> Client:
    (secret,) = town.keys.make("owner", prefix=PREFIX)
    return Client(town.url, secret)


@each_operation
def test_what_is_outside_the_prefix_is_not_there(town: Town, bound: Client, operation: Operation) -> None:
    """It is as a name that nobody has; where such a name would be made, the taken one is a 404."""
    known = probes(operation, town.theirs, town.knowing)
    made_up = probes(operation, town.nobodys, town.knowing)
    for probe, another in zip(known, made_up, strict=True):
        if probe.at_home:  # somebody else's home
            continue
        ours = asked(operation, probe, bound, town.theirs)
        expected = asked(operation, another, bound, town.nobodys)
        if ours[0] == 422 and "Idempotency-Key" in dict(probe.headers):  # whose scope is the tenant
            continue
        if expected[0] == 404 or ours[0] not in ({404, 409} if operation.name in TAKEN else {404}):
            assert ours == expected, probe
        leaked = [text for text in town.secrets if text in ours[2] and text not in str(probe)]
        assert not leaked, probe


@each_operation
def test_an_allowed_session_key_opens_nothing_that_is_outside_the_prefix(
    town: Town, bound: Client, operation: Operation
) -> None:
    for probe in probes(operation, town.theirs, town.knowing):
        if probe.at_home or probe.headers or "session_key=" in probe.path:
            continue
        answer = bound.send(probe.method, probe.path, probe.body, {**dict(probe.headers), **NAMES})
        assert not probe.astray or answer.status == 404, (probe, answer.body)
        assert answer.status < 500, probe
        told = answer.body.decode()
        assert not [text for text in town.secrets if text in told and text not in str(probe)], (probe, told)


def test_lists_counts_and_searches_hold_nothing_but_what_is_within(town: Town) -> None:
    (secret,) = town.keys.make("owner", prefix="teens:")
    bound, key = Client(town.url, secret), {"X-Hermes-Session-Key": "teens:tim"}
    lists = (("/api/sessions?limit=1", "data"), ("/v1/chat/completions?limit=1", "data"), ("/api/jobs?limit=1", "jobs"))
    for path, field in lists:
        listed = bound.get(path).json
        assert (listed[field], listed["has_more"]) == ([], False), path
    made = bound.say("I keep a hamster.", session="teens diary", headers=key, store=True)
    assert made.status == 200
    body = {"name": "n", "prompt": "Hello.", "schedule": "@daily"}
    job = bound.send("POST", "/api/jobs", json.dumps(body).encode(), key).json["job"]["id"]
    for (path, field), name in zip(lists, ("teens diary", made.json["id"], job), strict=True):
        listed = bound.get(path).json
        assert ([one["id"] for one in listed[field]], listed["has_more"]) == ([name], False), path
    found = bound.get(f"/api/memory/search?q={town.owner.words[1]}&session_key=teens:tim").json
    assert not [text for text in town.owner.words[1:] if text in json.dumps(found["data"])]


def test_a_page_after_something_outside_the_prefix_is_a_page_after_nothing_known(town: Town, bound: Client) -> None:
    for path, parameter in (("/v1/chat/completions", "completion_id"), ("/api/jobs", "job_id")):
        for kind, name in town.theirs[parameter].items():
            ours = bound.get(f"{path}?after={quote(name)}")
            expected = bound.get(f"{path}?after={quote(town.nobodys[parameter][kind])}")
            assert ours.status == expected.status, kind
            assert masked(ours.body.decode(), town.theirs) == masked(expected.body.decode(), town.nobodys), kind


def test_an_idempotency_key_that_another_used_is_not_replayed_to_a_bound_key(town: Town, bound: Client) -> None:
    """The very same request: its session is outside the prefix, so it is not even begun."""
    (chat,) = (operation for operation in OPERATIONS if operation.name == "chat_completions")
    (again,) = (probe for probe in probes(chat, town.theirs, town.knowing) if probe.what.startswith("a request that"))
    answer = again.send(bound)
    assert answer.status == 404
    assert "idempotent-replayed" not in answer.headers
