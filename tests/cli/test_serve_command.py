"""`everthread serve`: what it prints. A banner that shows the key to a person and to nobody else; a log with one line
for each request."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from belongings import until
from front_door import KEY, Client
from process import Process
from upstream import Upstream

pytestmark = pytest.mark.slow
LONG = " Some more words about nothing at all." * 16
SHAPE = re.compile(r"\bet_[0-9a-zA-Z]+_[\w-]{20,}")

Start = Callable[..., Process]


@pytest.fixture
def serve(upstream: Upstream, tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []

    def start(**environ: str) -> Process:
        process = Process(tmp_path / "home", upstream_url=upstream.url, **environ)
        running.append(process)
        return process

    yield start
    for process in running:
        if process.running.poll() is None:
            process.stop()


def lines(process: Process) -> list[dict[str, Any]]:
    return [json.loads(line) for line in process.printed.splitlines() if line.startswith("{")]


def requests(process: Process) -> list[dict[str, Any]]:
    return [line for line in lines(process) if line["message"] == "request"]


# --- the banner ---


def pasted(printed: str, **environ: str) -> Any:
    """What the line answers that is there to be tried."""
    command = printed.partition("Try it:")[2].partition("or talk to it")[0].strip()
    given = {**{name: value for name, value in os.environ.items() if not name.startswith("EVERTHREAD_")}, **environ}
    done = subprocess.run(["sh", "-c", f"{command} -s"], env=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("given", [KEY, ""], ids=["a key that is set", "a key that is made"])
def test_a_banner_in_a_file_has_no_key_in_it_and_its_line_works(serve: Start, tmp_path: Path, given: str) -> None:
    process = serve(api_key=given)
    assert not SHAPE.findall(process.printed)
    if given:
        assert "key      $EVERTHREAD_API_KEY\n" in process.printed
    else:
        assert f"key      in {tmp_path}/home/key\n" in process.printed
    answer = pasted(process.printed, **({"EVERTHREAD_API_KEY": given} if given else {}))
    assert answer["hermes"]["session_id"] == "hello"


def test_a_banner_on_a_terminal_shows_the_key(upstream: Upstream, tmp_path: Path) -> None:
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))},
        "EVERTHREAD_HOME": str(tmp_path / "home"),
        "EVERTHREAD_UPSTREAM_URL": upstream.url,
    }
    ours, theirs = pty.openpty()
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "everthread", "serve", "--port", "0"]
        running = subprocess.Popen(command, env=environ, stdout=theirs, stderr=log)
    try:
        printed = b""
        while b"talk to it" not in printed:
            printed += os.read(ours, 4096)
    finally:
        running.send_signal(signal.SIGTERM)
        assert running.wait(40) == 0
        os.close(theirs)
        os.close(ours)
    made = (tmp_path / "home" / "key").read_text().strip()
    assert printed.decode().count(made) == 2, "once to be read, once to be pasted"


# --- the log ---


def test_each_request_has_one_line_that_says_who_what_and_how_long(serve: Start) -> None:
    process = serve()
    client = process.client
    said = client.say("Hello.", session="a session", headers={"X-Request-Id": "of my own"})
    streamed = client.say("Hello.", stream=True)
    client.get("/api/sessions/a%20session")
    unknown = client.get("/api/sessions/a%20secret?session_key=hush")
    Client(client.url, "et_0123456789ab_" + "x" * 43).say("Hello.")
    client.get("/nowhere")
    client.get("/health")
    assert process.stop() == 0
    talk, stream, one, missing, refused, lost = requests(process)
    assert talk.pop("ms") >= talk.pop("upstream_ms") > 0
    assert {name: talk[name] for name in talk if name not in {"time", "level", "logger", "message"}} == {
        "request_id": "of my own",
        "method": "POST",
        "route": "/v1/chat/completions",
        "status": 200,
        "key": "env",
        "tenant": "default",
        "run": said.headers["x-hermes-run-id"],
        "prompt_tokens": 11,
        "completion_tokens": 7,
    }
    assert stream["request_id"] == streamed.headers["x-request-id"]
    assert (stream["status"], stream["prompt_tokens"]) == (200, 11)
    assert (one["route"], one["status"]) == ("/api/sessions/{session_id}", 200)
    assert (missing["status"], missing["code"]) == (404, unknown.json["error"]["code"])
    assert (refused["route"], refused["status"], refused["code"]) == ("/v1/chat/completions", 401, "invalid_api_key")
    assert "key" not in refused
    assert (lost["method"], lost["route"], lost["status"]) == ("", "", 404)
    assert "secret" not in process.printed
    assert "hush" not in process.printed


def test_what_goes_on_behind_a_request_is_logged_with_what_caused_it(serve: Start) -> None:
    process = serve(context_budget="2000", distil="model")
    client = process.client
    asked = []
    while not [line for line in lines(process) if line["message"] == "a hidden call"]:
        asked.append(client.say(f"{len(asked)}: {LONG}", session="long").headers["x-request-id"])
        assert len(asked) < 20
    run = client.post("/v1/runs", {"input": "Hello."}, X_Request_Id="begins a run").json["run_id"]
    until(lambda: client.get(f"/v1/runs/{run}").json["status"] == "completed")
    assert process.stop() == 0
    hidden = [line for line in lines(process) if line["message"] == "a hidden call"]
    assert {line["cause"] for line in hidden} <= set(asked)
    (began,) = [line for line in requests(process) if line["request_id"] == "begins a run"]
    (ran,) = [line for line in lines(process) if line["message"] == "run"]
    assert (began["run"], ran["cause"], ran["completion_tokens"]) == (run, run, 7)


def test_a_log_is_text_where_that_is_wanted_and_nobody_can_forge_a_line(serve: Start) -> None:
    process = serve(log="text")
    process.client.get("/v1/models", X_Request_Id='x" status=200 tenant=other')
    assert process.stop() == 0
    (line,) = [line for line in process.printed.splitlines() if "/v1/models" in line]
    assert re.match(r"\d{4}-\d\d-\d\d [\d:,]+ INFO everthread.requests: request request_id=", line)
    assert 'request_id="x\\" status=200 tenant=other" method=GET route=/v1/models status=200 ms=' in line


def test_a_level_of_warning_has_no_line_for_what_went_well(serve: Start) -> None:
    process = serve(log_level="warning")
    assert process.client.say("Hello.").status == 200
    assert process.stop() == 0
    assert lines(process) == []


def test_a_log_that_nobody_reads_stops_nobody(upstream: Upstream, tmp_path: Path) -> None:
    """A pipe holds some 64 kB; a server that waited for its reader would stand still then."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("EVERTHREAD_", "OPENAI_"))},
        "EVERTHREAD_HOME": str(tmp_path / "home"),
        "EVERTHREAD_API_KEY": KEY,
        "EVERTHREAD_UPSTREAM_URL": upstream.url,
    }
    command = [sys.executable, "-m", "everthread", "serve", "--port", "0"]
    running = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    try:
        for printed in running.stdout:
            if found := re.search(rb"address\s+(http://\S+)/v1", printed):
                break
        client = Client(found[1].decode()) if found else Client("")
        for _ in range(600):
            assert client.get("/v1/models", X_Request_Id="x" * 200).status == 200
    finally:
        running.send_signal(signal.SIGTERM)
        code = running.wait(40)
        running.communicate()
    assert code == 0
