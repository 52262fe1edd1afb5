"""What a server prints, at its most talkative, has no secret in it, and none of the words that were said."""

from __future__ import annotations

import re
import socket
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from neighbours import ENDLESS, settle
from probes import probes

from belongings import OWNERS, STRANGERS, Keyring
from everthread import settings
from everthread.errors import Malformed
from front_door import KEY, Client
from operations import OPERATIONS
from process import Process
from upstream import Upstream, cuts, garbage, status
from webhook_receiver import SECRET, Receiver

MOST = 8  # requests for each operation
UPSTREAM_KEY = "sk-upstream-0123456789"
BODY_SECRET = "whsec_" + "TWFyemlwYW4gaW4gdGhlIGN1cGJvYXJkLCBiZWhpbmQgdGhlIGphbQ=="
SHAPES = [  # of what is secret, whoever it belongs to
    re.compile(r"\bet_[0-9a-zA-Z]+_[\w-]{20,}"),
    re.compile(r"whsec_[\w+/=]{8,}"),
    re.compile(r"Bearer\s+\S+", re.IGNORECASE),
    re.compile(r"authorization", re.IGNORECASE),
    re.compile(r"token=[\w.%-]+"),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """All that a process printed while everything was made and was asked for by strangers; and what is secret."""
    home: Path = tmp_path_factory.mktemp("talkative")
    upstream, receiver = Upstream(), Receiver()
    process = Process(
        home,
        upstream_url=upstream.url,
        upstream_key=UPSTREAM_KEY,
        webhook_hosts="127.0.0.1",
        context_budget="2000",
        distil="model",
        claims="model",
        log_level="debug",
    )
    try:
        keys = Keyring(settings.load({"EVERTHREAD_HOME": str(home), "EVERTHREAD_UPSTREAM_URL": upstream.url}))
        town = settle(process.client.url, keys, upstream, receiver)
        strangers = [next(town.newcomers) for _ in range(3)]
        (bound,) = keys.make("owner", prefix="kids:")
        for operation in OPERATIONS:
            away = (probe for probe in probes(operation, town.theirs, town.owner) if not probe.at_home)
            for number, probe in enumerate(islice(away, MOST)):
                probe.send((*strangers, Client(town.url, bound))[number % 4])
        troubled(town.owner.client, upstream)
        client = town.owner.client
        client.send("POST", f"/v1/runs/{town.theirs['run_id'][ENDLESS]}/stop", b"")
        client.get(f"/v1/runs/{town.theirs['run_id']['a run']}/events?token={town.owner.one('token')}")
        secrets = [*town.owner.secrets, *town.knowing.secrets, *(each.key or "" for each in strangers), bound]
    finally:
        assert process.stop() == 0
        receiver.close()
        upstream.close()
    return process.printed, [*secrets, KEY, UPSTREAM_KEY, SECRET, BODY_SECRET]


def troubled(client: Client, upstream: Upstream) -> None:
    """What goes wrong is what is told most of."""
    echo = {"error": {"message": f"{OWNERS[1]} was asked of me with {UPSTREAM_KEY}", "type": "x", "code": OWNERS[2]}}
    for fault in (status(500), status(500, echo), status(401, echo), status(400, echo), cuts, garbage):
        upstream.plan += [fault] * 3
        client.say(f"My name is {OWNERS[0]}.", session="troubled")
        upstream.plan.clear()
    hook = {"type": "webhook", "url": "http://10.1.2.3/x", "secret": BODY_SECRET}
    client.post("/v1/runs", {"input": OWNERS[1], "webhook": hook})
    client.send("POST", "/v1/chat/completions", b'{"messages": "%s"}' % OWNERS[1].encode())
    with socket.create_connection((urlsplit(client.url).hostname, urlsplit(client.url).port)) as leaving:
        given = f"Host: localhost\r\nAuthorization: Bearer {client.key}\r\nContent-Length: 1000"
        leaving.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{given}\r\n\r\n{OWNERS[1]}".encode())
    Client(client.url, "et_0123456789ab_" + "x" * 43).get(f"/api/sessions?session_key={OWNERS[2]}")


@pytest.mark.slow
def test_no_secret_is_printed(printed: tuple[str, list[str]]) -> None:
    text, secrets = printed
    assert not [secret for secret in secrets if secret and secret in text]
    text = text.partition("or talk to it with")[2]
    assert '"level":"debug"' in text, "it said all that it can say"
    assert '"message":"a hidden call"' in text
    assert '"message":"request"' in text
    for shape in SHAPES:
        assert not shape.findall(text), shape.pattern


@pytest.mark.slow
def test_none_of_the_words_that_were_said_are_printed(printed: tuple[str, list[str]]) -> None:
    text, _ = printed
    said = [line for line in text.splitlines() if any(word in line for word in (*OWNERS, *STRANGERS))]
    assert not said, said[:10]


@pytest.mark.slow
def test_a_server_that_is_asked_for_what_is_not_there_has_nothing_to_complain_of(
    printed: tuple[str, list[str]],
) -> None:
    text, _ = printed
    assert not [line for line in text.splitlines() if '"level":"error"' in line or "Traceback" in line]


def test_a_password_in_the_address_of_the_upstream_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="EVERTHREAD_UPSTREAM_KEY") as refused:
        settings.load(
            {"EVERTHREAD_HOME": str(tmp_path), "EVERTHREAD_UPSTREAM_URL": "https://alex:hunter2@models.example/v1"}
        )
    assert "hunter2" not in refused.value.message
