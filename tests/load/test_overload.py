"""Four times what the server takes: who is refused is told when to come again, who is let in is answered as ever."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from time import perf_counter

import pytest
from crowd import Crowd, Record, Serve, Times, Told, is_complete, is_refused, together
from trickle import Trickle

pytestmark = pytest.mark.slow

ROOM = 32  # turns that may be at work
FLOOD = 4 * ROOM  # clients, each with a turn under way or on its way
SECONDS = 3.0
NOTICED = 0.1  # seconds after which a client of the flood comes again, whatever it was told


class Flood:
    """Clients that ask again and again, each thing once; what they were told, by its mark."""

    def __init__(self, crowd: Crowd, name: str) -> None:
        self.crowd = crowd
        self.name = name
        self.marks = count()
        self.told: dict[str, Told] = {}

    async def pour(self, clients: int, seconds: float) -> None:
        until = perf_counter() + seconds
        await asyncio.gather(*(self._client(number, until) for number in range(clients)))

    async def _client(self, number: int, until: float) -> None:
        while perf_counter() < until:
            mark = f"{self.name}:{number}:{next(self.marks)}"
            self.told[mark] = told = await self.crowd.say(f"[{mark}]", f"{self.name}:{number}", stream=number % 2 == 0)
            if told.answer.status != 200:
                await asyncio.sleep(NOTICED)

    @property
    def admitted(self) -> dict[str, Told]:
        return {mark: told for mark, told in self.told.items() if told.answer.status == 200}

    @property
    def refused(self) -> list[Told]:
        return [told for told in self.told.values() if told.answer.status != 200]

    @property
    def times(self) -> Times:
        return Times([told.took for told in self.admitted.values()])

    def __str__(self) -> str:
        p50, p99 = (self.times.share(share) * 1000 for share in (0.5, 0.99))
        return f"{len(self.admitted)} admitted, {len(self.refused)} refused, p50 {p50:.0f} ms, p99 {p99:.0f} ms"

    async def check(self, trickle: Trickle) -> None:
        """Every turn that was acknowledged is kept, whole and in order; of what was refused there is no trace."""
        kept: dict[str, list[str]] = {}
        for mark, told in self.admitted.items():
            answer = told.answer
            assert answer.text == trickle.said(mark)
            assert is_complete(answer) if "event-stream" in answer.headers["content-type"] else answer.json
            kept.setdefault(mark.rpartition(":")[0], []).extend((f"[{mark}]", answer.text))
        found = await together([partial(self.crowd.transcript, session) for session in kept], most=16)
        assert dict(zip(kept, found, strict=True)) == kept
        for session in {mark.rpartition(":")[0] for mark in self.told} - kept.keys():
            told = await self.crowd.send("GET", f"/api/sessions/{session}")
            assert told.answer.status == 404, "what was refused began nothing"


async def test_at_four_times_the_load_some_are_refused_and_the_others_are_answered_as_ever(
    serve: Serve, trickle: Trickle, record_testsuite_property: Record
) -> None:
    crowd = Crowd.of(serve(turns_at_once=str(ROOM)))
    trickle.words, trickle.pause = 4, 0.05
    at_ease = ROOM - ROOM // 8  # the share of one key
    before, flood, after = (Flood(crowd, name) for name in ("before", "flood", "after"))
    await before.pour(at_ease, SECONDS / 2)
    trickle.most_talking = 0
    await flood.pour(FLOOD, SECONDS)
    assert trickle.most_talking == at_ease, "no more than may be at work"
    assert trickle.talking == 0
    await after.pour(at_ease, SECONDS / 2)

    for pouring in (before, flood, after):
        record_testsuite_property(pouring.name, str(pouring))
    assert not before.refused
    assert not after.refused
    assert len(flood.refused) > len(flood.admitted) / 2, "it was a flood"
    assert all(is_refused(told.answer, 503, "overloaded") for told in flood.refused)
    for pouring in (before, flood, after):
        await pouring.check(trickle)
    assert len(flood.admitted) / SECONDS > len(before.admitted) / (SECONDS / 2) / 3, "the work goes on"
    assert flood.times.share(0.99) < 3 * before.times.share(0.99) + 0.5, "who is let in does not wait"
    assert after.times.share(0.5) < 2 * before.times.share(0.5) + 0.05, "afterwards all is as it was"


@pytest.mark.parametrize(
    ("limits", "refusal"),
    [({"concurrent": 8}, (429, "rate_limit_exceeded")), ({}, (503, "overloaded"))],
    ids=["limits", "no limits"],
)
async def test_the_flood_of_one_key_does_not_harm_another(
    serve: Serve, trickle: Trickle, record_testsuite_property: Record, limits: dict[str, int], refusal: tuple[int, str]
) -> None:
    process = serve(turns_at_once=str(ROOM))
    made = process.client.post("/api/keys", {"limits": limits}).json["key"]
    heavy, light = Flood(Crowd.of(process, made), "heavy"), Flood(Crowd.of(process), "light")
    alone = Flood(Crowd.of(process), "alone")
    trickle.words, trickle.pause = 4, 0.05
    await alone.pour(3, SECONDS / 2)
    await asyncio.gather(heavy.pour(FLOOD, SECONDS), light.pour(3, SECONDS))

    for pouring in (alone, light, heavy):
        record_testsuite_property(pouring.name, str(pouring))
    assert not light.refused
    assert len(heavy.refused) > len(heavy.admitted) / 2, "it was a flood"
    assert all(is_refused(told.answer, *refusal) for told in heavy.refused)
    assert light.times.share(0.99) < 3 * alone.times.share(0.99) + 0.5
    heavy.crowd = Crowd.of(process)
    for pouring in (alone, light, heavy):
        await pouring.check(trickle)


async def test_whatever_asks_for_a_turn_is_refused_when_there_is_no_room(serve: Serve, trickle: Trickle) -> None:
    process = serve(turns_at_once="1")
    crowd = Crowd.of(process)
    assert process.client.get("/v1/capabilities").json["limits"]["turns_at_once"] == 1
    trickle.hold()
    async with asyncio.TaskGroup() as group:
        holding = group.create_task(crowd.say("[holder]", "holder", stream=True))
        while trickle.talking == 0:
            await asyncio.sleep(0.01)
        for path, body in (
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "[late]"}]}),
            ("/v1/responses", {"input": "[late]"}),
            ("/v1/runs", {"input": "[late]"}),
            ("/api/sessions/holder/chat", {"message": "[late]"}),
            ("/api/sessions/holder/chat/stream", {"message": "[late]"}),
        ):
            answer = await asyncio.to_thread(process.client.post, path, body)
            assert is_refused(answer, 503, "overloaded"), path
        figures = (await crowd.send("GET", "/metrics")).answer.body.decode()
        assert "everthread_turns_at_work 1\n" in figures
        assert "everthread_turns_refused 5\n" in figures
        trickle.release()
    assert is_complete(holding.result().answer)
    assert (await crowd.say("[then]", "holder")).answer.text == trickle.said("then")
