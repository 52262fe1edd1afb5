"""What a key may do is what the API's description says, for every operation, with names that lead somewhere: one that
only reads changes nothing, one that only talks reads nothing but its own answers, and neither makes keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from neighbours import Town
from probes import Probe, request

from everthread.core.ids import DEFAULT_TENANT
from front_door import Client
from operations import DESCRIPTION, MODEL, OPEN, OPERATIONS, Operation

CLOSED = [operation for operation in OPERATIONS if operation.name not in OPEN]
HARMLESS = {"response_tokens", "job_preview"}  # they are sent with POST, and change nothing
OF_THE_SERVER = {"metrics"}  # not of a tenant
LISTS = ("/api/sessions?include_children=true", "/api/jobs", "/v1/chat/completions", "/api/keys")
each_closed = pytest.mark.parametrize("operation", CLOSED, ids=str)


def rights(operation: Operation) -> list[str]:
    """One of these is needed, by the description."""
    told: list[str] = DESCRIPTION["paths"][operation.path][operation.method.lower()]["x-rights"]
    return told


def good(operation: Operation, town: Town) -> Probe:
    """A request of the owner's that would be served."""
    names = {name: MODEL if name == "model" else town.owner.one(name) for name in operation.leads}
    if "item_id" in names:
        names["item_id"] = town.theirs["item_id"]["an item"]  # one of the conversation
    return request(operation, "", names)


@pytest.fixture(scope="module")
def keys(town: Town) -> dict[str, Client]:
    made = {right: town.keys.make("owner", rights=(right,))[0] for right in ("chat", "read")}
    return {right: Client(town.url, secret) for right, secret in made.items()}


@pytest.fixture(scope="module", autouse=True)
def unchanged(town: Town, keys: dict[str, Client]) -> Iterator[None]:
    """Whoever was refused has changed nothing."""
    before = [town.owner.client.get(path).body for path in LISTS]
    yield
    assert [town.owner.client.get(path).body for path in LISTS] == before


def test_what_only_reads_may_be_read_and_what_changes_something_may_not() -> None:
    for operation in CLOSED:
        reads = operation.method == "GET" or operation.name in HARMLESS
        needed = rights(operation)
        assert needed == ["admin"] if operation.name.startswith("key") else ("read" in needed) == reads, operation


@each_closed
def test_a_key_that_reads_is_let_in_to_read_and_refused_all_else(
    town: Town, keys: dict[str, Client], operation: Operation
) -> None:
    answer = good(operation, town).send(keys["read"])
    if "read" in rights(operation) and operation.name not in OF_THE_SERVER:
        assert answer.status == 200, answer.body
    else:
        assert (answer.status, answer.json["error"]["code"]) == (403, "insufficient_rights")


@each_closed
def test_a_key_that_talks_is_refused_what_only_readers_and_admins_see(
    town: Town, keys: dict[str, Client], operation: Operation
) -> None:
    if "chat" in rights(operation) and operation.method != "GET":
        return  # it would be done
    answer = good(operation, town).send(keys["chat"])
    if "chat" in rights(operation):
        assert answer.status == 200, answer.body
    else:
        assert (answer.status, answer.json["error"]["code"]) == (403, "insufficient_rights")


# --- figures of the whole server ---


def test_figures_of_the_whole_server_are_for_its_operator(town: Town) -> None:
    """How much the server has to do tells of other tenants."""
    (operators,) = town.keys.make(DEFAULT_TENANT, rights=("read",))
    (bound,) = town.keys.make(DEFAULT_TENANT, rights=("read",), prefix="kids:")
    (talks,) = town.keys.make(DEFAULT_TENANT, rights=("chat",))
    (admins,) = town.keys.make("knowing", rights=("admin",))
    for secret in (bound, talks, admins):
        answer = Client(town.url, secret).get("/metrics")
        assert (answer.status, answer.json["error"]["code"]) == (403, "insufficient_rights")
    assert Client(town.url, key=None).get("/metrics").status == 401
    figures = Client(town.url, operators).get("/metrics")
    assert figures.status == 200
    assert 'everthread_requests_total{method="GET",route="/metrics",status="403"} ' in figures.body.decode()
    for secret in (None, bound, admins, talks, "et_0123456789ab_" + "x" * 43):
        ready = Client(town.url, secret).get("/health/ready")
        assert ready.status == 200
        assert ready.json["checks"]["memory"].keys() == {"ok", "detail", "slow"}
    memory = Client(town.url, operators).get("/health/ready").json["checks"]["memory"]
    assert memory.keys() >= {"memory_lag", "memory_waiting", "memory_dead"}


def test_no_figure_names_a_tenant_a_key_or_a_session(town: Town) -> None:
    (operators,) = town.keys.make(DEFAULT_TENANT, rights=("read",))
    figures = Client(town.url, operators).get("/metrics").body.decode()
    assert not [name for name in (*town.owner.names, *town.owner.words, "owner") if name in figures]
    labels = {line.partition("{")[0] for line in figures.splitlines() if "{" in line}
    assert labels == {"everthread_requests_total", "everthread_request_seconds_total"}
