"""/openapi.json tells the truth, and /v1/capabilities lists it all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everthread.http.app import ENDPOINTS
from everthread.http.openapi import ANSWERS, BODIES, HEADERS, OTHER_ANSWERS, QUERIES, SUCCESSES
from everthread.http.reply import STATUS
from front_door import KEY, Client, Everthread
from upstream import Upstream

HERE = Path(__file__).parent
NAMES = {endpoint.name for endpoint in ENDPOINTS}
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)
HAND_MADE = {"name": "look", "description": "Looks it up.", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture
def described(client: Client) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json)


def operations(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for operation in methods.values():
            yield path, operation


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(child)


def test_it_describes_every_endpoint_once(described: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations(described)]
    assert sorted(ids) == sorted(NAMES)
    for table in (ANSWERS, OTHER_ANSWERS, BODIES, HEADERS, QUERIES, SUCCESSES):
        assert not table.keys() - NAMES, "a name that no endpoint has"
    assert not NAMES - ANSWERS.keys() - OTHER_ANSWERS.keys() - {"openapi"}, "an answer without a shape"


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    known = described["components"]["schemas"].keys()
    named = {part["$ref"].rpartition("/")[2] for part in walk(described) if isinstance(part.get("$ref"), str)}
    assert not named - known
    assert not known - named, "a shape that nothing has"


def test_every_parameter_of_a_path_is_described_and_every_link_can_be_followed(described: dict[str, Any]) -> None:
    paths = {operation["operationId"]: path for path, operation in operations(described)}
    for path, operation in operations(described):
        given = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert given == re.findall(r"{(\w+)}", path)
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                assert sorted(link["parameters"]) == sorted(re.findall(r"{(\w+)}", paths[link["operationId"]]))


def test_only_statuses_that_exist_are_described(described: dict[str, Any]) -> None:
    ours = {str(status) for status, _ in STATUS.values()} | {"200", "201", "202"}
    for _, operation in operations(described):
        assert operation["responses"].keys() <= ours
        assert {"400", "421", "503"} <= operation["responses"].keys()
        assert bool(operation["security"]) == ("401" in operation["responses"])


def test_a_response_has_exactly_the_fields_that_are_described(client: Client, described: dict[str, Any]) -> None:
    shape = described["components"]["schemas"]["Response"]
    plain = client.post("/v1/responses", {"input": "Hello."}).json
    assert plain.keys() == {*shape["required"], "hermes"}
    rich = client.post("/v1/responses", {"input": "Hello.", "user": "u", "background": True}).json
    assert rich.keys() == {*shape["required"], "user"}
    assert shape["properties"].keys() == {*shape["required"], "hermes", "user"}


def test_capabilities_are_those_of_the_routes(client: Client) -> None:
    told = client.get("/v1/capabilities").json
    assert told["object"] == "hermes.api_server.capabilities"
    features = {name: value for name, value in told["features"].items() if not name.endswith("_header")}
    assert all(value is True for value in features.values())
    assert {
        "responses",
        "responses_streaming",
        "responses_websocket",
        "conversations",
        "stored_completions",
        "runs",
        "run_events",
        "run_submission",
        "run_status",
        "run_events_sse",
        "run_stop",
    } <= features.keys()
    assert told["endpoints"].keys() == NAMES | {"runs", "run_status"}
    assert told["endpoints"]["runs"] == {"method": "POST", "path": "/v1/runs"}
    assert all(isinstance(limit, int) and limit > 0 for limit in told["limits"].values())
    assert (told["limits"]["input_items"], told["limits"]["page_items"]) == (5000, 100)


# --- against the server ---


def made(client: Client, count: int) -> list[dict[str, str]]:
    """Something of every kind, to be asked for."""
    known: list[dict[str, str]] = []
    for number in range(count):
        session = f"known {number}"
        said = client.say("My name is Ada, and I live in Bern.", session=session, store=True).json
        known.append({"completion_id": said["id"], "turn_id": said["id"]})
        known.append({"session_id": session})
        thought = client.post("/v1/responses", {"input": "Hello.", "background": number % 2 == 0}).json
        known.append({"response_id": thought["id"], "run_id": thought["id"].replace("resp_", "run_")})
        called = client.post("/v1/responses", {"input": "Look!", "tools": [{"type": "function", **HAND_MADE}]}).json
        known.append({"response_id": called["id"]})
        run = client.post("/v1/runs", {"input": "Hello.", "metadata": {"a": "b"}}).json
        known.append({"run_id": run["run_id"]})
        claim = client.post(f"/api/memory?session_key=known{number}", {"text": "Ada likes tea."}).json
        known.append({"claim_id": claim["id"]})
        job = client.post("/api/jobs", {"name": "n", "prompt": "Hello.", "schedule": "@daily"}).json["job"]
        known.append({"job_id": job["id"]})
        known.append({"key_id": client.post("/api/keys", {"name": session}).json["id"]})
        talk = client.post("/v1/conversations", {"metadata": {"a": "b"}}).json["id"]
        given = [
            {"role": "user", "content": [{"type": "input_image", "image_url": "data:,x"}]},
            {"role": "system", "content": "Be brief."},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "42"},
        ]
        items = client.post(f"/v1/conversations/{talk}/items", {"items": given}).json["data"]
        known += [{"conversation_id": talk, "item_id": item["id"]} for item in items]
    return known


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.long
def test_the_server_answers_as_described(start: Callable[..., Everthread], upstream: Upstream, tmp_path: Path) -> None:
    """Longer by hand: SCHEMATHESIS_EXAMPLES=200 make test ARGS="-k answers_as_described --timeout 3600"."""
    upstream.answer = lambda request: "Yes."
    server = start()
    known = made(server.client, 8)
    examples = os.environ.get("SCHEMATHESIS_EXAMPLES", "2")
    done = subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis",
            "run",
            f"{server.url}/openapi.json",
            f"--header=Authorization: Bearer {KEY}",
            f"--checks={','.join(CHECKS)}",
            "--phases=coverage,fuzzing,stateful",
            f"--max-examples={examples}",
            "--seed=1",
            "--generation-database=none",
            "--request-timeout=30",
            "--continue-on-failure",
            "--warnings=off",
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "openapi_hooks",
            "PYTHONPATH": str(HERE),
            "KNOWN_IDS": json.dumps(known),
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    assert f"Tested: {len(ENDPOINTS) - 1}" in done.stdout, "all but the description itself"


# --- what it found ---


def test_a_token_among_too_many_fields_is_a_400(server: Everthread) -> None:
    fields = "&".join(f"f{number}=1" for number in range(101))
    answer = Client(server.url, key=None).get(f"/v1/runs/run_a/events?token=x&{fields}")
    assert (answer.status, answer.json["error"]["code"]) == (400, "invalid_value")


@pytest.mark.parametrize("name", ["@current", "temporary:1", "local:1"])
def test_a_conversation_cannot_have_a_name_that_means_something_else(client: Client, name: str) -> None:
    answer = client.post("/v1/conversations", {}, X_Hermes_Session_Id=name)
    assert (answer.status, answer.json["error"]["code"]) == (400, "invalid_value")


def test_a_conversation_whose_items_are_refused_is_not_made(client: Client, name: str) -> None:
    items = [{"type": "item_reference", "id": "msg_nothing_0"}]
    assert client.post("/v1/conversations", {"items": items}, X_Hermes_Session_Id=name).status == 404
    assert client.get(f"/v1/conversations/{name}").status == 404


def test_a_run_that_is_repeated_shows_no_token_that_opens_nothing(server: Everthread, name: str) -> None:
    first, again = (
        server.client.post("/v1/runs", {"input": "Hello."}, Idempotency_Key=name).json["events_url"] for _ in range(2)
    )
    nobody = Client(server.url, key=None)
    assert nobody.get(first).status == 200
    assert again == first.partition("?")[0]
    assert server.client.get(again).status == 200
