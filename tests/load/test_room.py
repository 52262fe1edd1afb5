"""How many turns there is room for: places, shares and files."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from crowd import Serve, is_refused
from trickle import Trickle

from belongings import until
from everthread.core.ids import KeyId
from everthread.errors import Overloaded
from everthread.turns import runs
from everthread.turns.room import Room
from front_door import Client, Everthread
from process import Process

ONE, OTHER = KeyId("one"), KeyId("other")


def entered(room: Room, key: KeyId, times: int) -> int:
    """How many of so many get in."""
    inside = 0
    for _ in range(times):
        try:
            room.enter(key)
        except Overloaded:
            continue
        inside += 1
    return inside


def test_one_key_never_has_all_places_and_two_can() -> None:
    room = Room(16)
    assert entered(room, ONE, 20) == 14
    assert entered(room, OTHER, 20) == 2
    assert (room.taken, room.refused) == (16, 24)
    room.leave(ONE)
    assert entered(room, OTHER, 20) == 1


def test_a_single_place_is_anybodys() -> None:
    room = Room(1)
    for key in (ONE, OTHER):
        with room.place(key), pytest.raises(Overloaded), room.place(ONE):
            pass
    assert room.taken == 0


def test_so_many_runs_may_be_begun_and_not_be_over(
    start: Callable[..., Everthread], trickle: Trickle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_BEGUN", 2)
    client = start(upstream_url=trickle.url).client
    trickle.hold()
    begun = [client.post("/v1/runs", {"input": f"[run{n}]", "session_id": "runs"}) for n in range(3)]
    assert [answer.status for answer in begun] == [202, 202, 503]
    assert is_refused(begun[-1], 503, "overloaded")
    trickle.release()
    for answer in begun[:2]:
        assert client.get(f"{answer.json['events_url']}").status == 200
    assert client.post("/v1/runs", {"input": "[run3]", "session_id": "runs"}).status == 202


def test_the_runs_of_one_key_leave_room_for_those_of_another(
    start: Callable[..., Everthread], trickle: Trickle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_BEGUN", 16)
    monkeypatch.setattr(runs, "MOST_AT_ONCE", 8)
    server = start(upstream_url=trickle.url)
    one, other = (Client(server.url, server.client.post("/api/keys", {}).json["key"]) for _ in range(2))
    trickle.hold()
    begun = [one.post("/v1/runs", {"input": f"[run{n}]"}) for n in range(16)]
    assert [answer.status for answer in begun] == [202] * 14 + [503] * 2
    waiting = other.post("/v1/runs", {"input": "[other]"})
    assert waiting.status == 202
    until(lambda: trickle.talking == 8)  # seven of the one, and that of the other
    assert other.get(f"/v1/runs/{waiting.json['run_id']}").json["status"] == "running"
    trickle.release()
    assert other.get(waiting.json["events_url"]).status == 200


@pytest.mark.slow
def test_the_server_raises_its_limit_of_open_files_for_its_turns(serve: Serve) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        process = serve(turns_at_once="900")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    limits = Path(f"/proc/{process.running.pid}/limits").read_text()
    found = re.search(r"Max open files\s+(\d+)", limits)
    assert found is not None
    assert int(found[1]) >= 2 * 900


@pytest.mark.slow
def test_where_few_files_may_be_open_there_is_room_for_fewer_turns(trickle: Trickle, tmp_path: Path) -> None:
    class Poor(Process):
        program = (
            "-c",
            "import resource, sys; from everthread.cli.main import main;"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (700, 700)); sys.exit(main())",
        )

    process = Poor(tmp_path / "home", upstream_url=trickle.url)
    try:
        assert process.client.get("/v1/capabilities").json["limits"]["turns_at_once"] == 94
        assert "only 94 turns at once instead of 2048" in process.printed
    finally:
        assert process.stop() == 0
