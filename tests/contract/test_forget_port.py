"""What every memory promises of forgetting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.contract.test_archive import Counted, branch, fork, known, said
from tests.contract.test_memory_port import MODEL, World, all_of, claim, reversal, vector, world
from tests.contract.test_store import NOW, A, B, fresh, imported, step

from everthread.core.claim import Block, ClaimId, Span
from everthread.core.ids import ScopeId, SessionId, SessionKey, StepId
from everthread.core.job import Firing, Job, JobId, Standing
from everthread.core.memory import Forget, Forgotten, View
from everthread.core.messages import Message, say
from everthread.core.ports import Commit
from everthread.core.schedule import Cron
from everthread.core.session import Exchange, Session
from everthread.core.turn import (
    Choice,
    Cut,
    Envelope,
    Keep,
    Outcome,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Turn,
    Usage,
)
from everthread.core.view import Fault, Run
from everthread.errors import SessionMoved, StoreUnavailable
from everthread.storage import ledger
from everthread.storage.jobs import SqliteJobs
from everthread.storage.queue import SqliteQueue
from everthread.storage.views import SqliteViews

__all__ = ["world"]

SECRET = "Sesame Street"


async def forget(world: World, session: Session, /, *, dry_run: bool = False, **what: Any) -> Forgotten:
    return await world.memory.forget(A, session.scope, Forget(**what), now=NOW, dry_run=dry_run)


def stands(world: World, *words: str) -> list[str]:
    """The files that have one of these words."""
    return [
        f"{file.name}: {word}"
        for file in world.path.parent.iterdir()
        for word in words
        if file.is_file() and word.lower().encode() in file.read_bytes().lower()
    ]


async def sound(world: World, *words: str) -> None:
    """Everything is in order, and these words are nowhere."""
    assert await world.store.check(repair=False) == ()
    assert stands(world, *words) == []


# --- words ---


async def test_words_are_masked_and_what_stands_beside_them_stays(world: World) -> None:
    text = "I live at Sesame Street 12, I like tea, and SESAME street is long."
    session = await world.say(fresh("s", "k"), text, "Sesame\nStreet it is.")
    name = await world.last(session)
    here, like = text.index("I live"), text.index("I like tea")
    address = claim("address", name, 1, quote="I live at Sesame Street 12", span=Span(0, here, here + 26))
    crossing = claim("crossing", name, 1, quote="Street 12, I", span=Span(0, 17, 29))
    tea = claim("tea", name, 1, quote="I like tea", span=Span(0, like, like + 10))
    other = claim("other", None, 0, quote="By hand", because="it is in sesame street")
    await world.remember(session, address, crossing, tea, other)
    await world.read()
    would = await forget(world, session, text="sesame street", dry_run=True)
    assert stands(world, SECRET), "a dry run changes nothing"
    assert [one.id for one in await world.memory.claims(all_of(session), limit=9)] == [
        "other", "address", "crossing", "tea"]  # fmt: skip
    gone = await forget(world, session, text="sesame street")
    assert gone == would
    assert {one.id for one in gone.claims} == {"address", "crossing", "other"}
    assert [one.session for one in gone.claims if one.step] == ["s", "s"]
    assert (gone.messages, gone.sessions) == (2, 0)
    assert [(place.session, place.step, place.seq, place.role) for place in gone.places] == [
        ("s", name, 1, "user"), ("s", name, 1, "user"), ("s", name, 1, "assistant")]  # fmt: skip
    assert gone.places[0].excerpt == text[:63]
    masked = "I live at [forgotten]   12, I like tea, and [forgotten]   is long."
    assert await said(world.store, await known(world.store, "s")) == [masked, "[forgotten]   it is."]
    (kept,) = await world.memory.claims(all_of(session), limit=9)
    assert (kept.id, masked[kept.span.start : kept.span.end]) == ("tea", kept.quote)
    await sound(world, "sesame")


async def test_the_index_has_the_masked_words_and_their_vectors_are_made_again(world: World) -> None:
    session = await world.say(fresh("s", "k"), "the heron lives in Sesame Street")
    session = await world.say(session, "nothing else")
    await world.say(fresh("t", "k"), "another heron")
    await world.read()
    before = await world.memory.search(View(A, session.scope), words=["heron"], vector=None, model=MODEL, limit=9)
    await forget(world, session, text=SECRET)
    found = await world.memory.search(View(A, session.scope), words=["heron"], vector=None, model=MODEL, limit=9)
    assert {hit.passage.text for hit in found} == {"the heron lives in [forgotten]  ", "another heron"}
    assert await world.found(View(A, session.scope), "sesame") == set()
    old = {hit.passage.no for hit in before} - {hit.passage.no for hit in found}
    late = [(no, vector("the heron lives in Sesame Street")) for no in old]
    await world.memory.embedded(late, model=MODEL)  # someone was at it
    (work,) = await world.read()
    assert work.kind == "thread"
    like = await world.memory.search(
        View(A, session.scope), words=(), vector=vector("the heron lives in [forgotten]  "), model=MODEL, limit=1
    )
    assert [(hit.passage.text, round(hit.similar, 3)) for hit in like] == [("the heron lives in [forgotten]  ", 1.0)]
    await sound(world, "sesame")


async def test_all_of_a_reply_is_looked_through(world: World) -> None:
    session = fresh("s")
    outcome = Outcome(
        model="m",
        choices=(
            Choice(
                content=None,
                finish="tool_calls",
                reasoning="was it Sesame Street?",
                tool_calls=(ToolCall("c1", "look", '{"where":"Sesame\\u0020Street","n":1}'),),
                logprobs=b'{"content":[{"token":"Ses"},{"token":"ame"}]}',
            ),
            Choice(content="in sesame street", finish="stop", refusal="no Sesame Street", logprobs=b'{"content":[1]}'),
        ),
        usage=Usage(1, 2, 0),
    )
    given = step(session, "where?", outcome=outcome, message_id="m1", tail=Block("Sesame Street", 3, steps=("x",)))
    await world.store.commit(A, Commit(session=session, step=given, begins=True))
    assert (await forget(world, session, text=SECRET)).messages == 1
    found = await known(world.store, "s")
    kept = await world.store.said(A, found, "m1", since=NOW)
    assert kept is not None
    first, other = kept.outcome.choices
    assert (first.reasoning, first.logprobs, first.finish) == ("was it [forgotten]  ?", None, "tool_calls")
    assert json.loads(first.tool_calls[0].arguments) == {"where": "[forgotten]  ", "n": 1}
    assert (other.content, other.refusal, other.logprobs) == ("in [forgotten]  ", "no [forgotten]  ", None)
    assert kept.answer.calls == ("c1",)
    assert kept.tail == Block("[forgotten]  ", 6, steps=("x",))
    assert (kept.rolling, kept.input) == (given.rolling, given.input)
    await sound(world, "sesame")


async def test_logs_profiles_and_titles_lose_it_on_every_path(world: World) -> None:
    session = await world.say(fresh("s", "k"), "I live in Sesame Street")
    session = await world.say(session, "yes")
    lines = [
        {"lines": ["2026-03-02 (turn 1) user: \"I live in Sesame Street\""], "author": "rules", "tokens": 9},
        {"lines": ["2026-03-02 (turn 1) user told their address", "2026-03-02 (turn 2) user agreed"],
         "author": "model", "tokens": 9},
    ]  # fmt: skip
    child = session.rotated(SessionId("s~child"), from_seq=3)
    profile = Block("- lives in Sesame Street", 5, claims=(ClaimId("c"),))
    child = await world.store.rotate(A, session, child, log=json.dumps(lines), now=NOW, profile=profile)
    await world.store.amend(A, child, now=NOW, title="On Sesame Street")
    for number in range(4):
        child = await world.say(child, f"{number}")
    side = await branch(world.store, child, await world.store.place(A, child), "elsewhere")
    forked = await fork(world.store, child, "forked")
    await forget(world, session, text=SECRET)
    for one in (child, side, forked):
        tip = await known(world.store, one.id)
        epoch = await world.store.epoch(A, tip, tokens=1000)
        assert epoch.log is not None
        assert [line for block in json.loads(epoch.log) for line in block["lines"]] == [
            '2026-03-02 (turn 1) user: "I live in [forgotten]  "',
            "2026-03-02 (turn 2) user agreed",
        ]
        assert epoch.profile is not None
        assert epoch.profile.text == "- lives in [forgotten]  "
    card = await world.store.card(A, SessionId("s"))
    assert card is not None
    assert card.title == "On [forgotten]  "
    await sound(world, "sesame")


async def test_what_stands_beside_responses_and_runs_loses_it_too(world: World) -> None:
    views = SqliteViews(world.store, Counted())
    queue = SqliteQueue(world.store)
    asked = Keep(
        kind="response", request=b'{"instructions":"say Sesame Street","n":1}', metadata={SECRET: "sesame street"}
    )
    session = fresh("s", "k")
    given = step(session, "hi", cuts=(Cut("text", 0, 0, (6,)),))
    session = await world.store.commit(A, Commit(session=session, step=given, begins=True, keep=asked))
    await views.describe(A, session, {"where": "in Sesame Street"})
    turn = Turn(
        envelope=Envelope(tenant=A, session_id=SessionId("s")),
        messages=(say("user", "to Sesame Street"), say("user", "tea")),
        instructions=(say("system", "mind Sesame Street"),),
        options=(("user", b'"sesame street"'), ("n", b"1")),
        keep=asked,
    )
    going = Run(
        id=StepId("going"),
        kind="response",
        session=SessionId("s"),
        status="queued",
        created_at=NOW,
        updated_at=NOW,
        turn=msgspec.json.encode(turn),
        metadata={"a": SECRET},
    )
    await queue.enqueue(A, going, keep=asked, replay=None)
    await queue.journal(A, going.id, [TextDelta("Ses"), TextDelta("ame Str")], fence=0, now=NOW)
    await queue.journal(A, going.id, [TextDelta("eet"), ToolCallDelta(0, "c", "f", "{}")], fence=0, now=NOW)
    broken = msgspec.structs.replace(going, id=StepId("broken"), turn=b'{"text":"sesame street"}', metadata={})
    await queue.enqueue(A, broken, keep=None, replay=None)
    await queue.journal(A, broken.id, [TextDelta("tea"), ReasoningDelta("or coffee")], fence=0, now=NOW)
    failed = msgspec.structs.replace(broken, id=StepId("failed"), turn=b"")
    await queue.enqueue(A, failed, keep=None, replay=None)
    await queue.settle(A, failed.id, "failed", fault=Fault("f", "not in Sesame Street"), now=NOW)
    other = msgspec.structs.replace(failed, id=StepId("other"), session=SessionId("elsewhere"), metadata={"a": "tea"})
    await queue.enqueue(A, other, keep=None, replay=None)
    keyed = msgspec.structs.replace(turn, envelope=Envelope(tenant=A, session_key=SessionKey("k")))
    first = msgspec.structs.replace(
        going, id=StepId("first"), session=SessionId("to be"), turn=msgspec.json.encode(keyed)
    )
    await queue.enqueue(A, first, keep=asked, replay=None)
    await forget(world, session, text=SECRET)
    for name in (given.id, going.id, first.id):
        view = await views.view(A, name, "response")
        assert view is not None
        assert json.loads(view.keep.request) == {"instructions": "say [forgotten]  ", "n": 1}
        assert view.keep.metadata == {"[forgotten]  ": "[forgotten]  "}
    assert (await views.about(A, session))[1] == {"where": "in [forgotten]  "}
    found = await queue.run(A, going.id)
    assert found is not None
    assert (found.metadata, found.told) == ({"a": "[forgotten]  "}, True)
    left = msgspec.json.decode(found.turn, type=Turn)
    assert [message.text for message in (*left.messages, *left.instructions)] == [
        "to [forgotten]  ", "tea", "mind [forgotten]  "]  # fmt: skip
    assert left.options == (("user", b'"[forgotten]  "'), ("n", b"1"))
    assert left.keep is not None
    assert left.keep.metadata == {"[forgotten]  ": "[forgotten]  "}
    assert await queue.journalled(A, going.id) == (), "it cannot be told without them"
    assert await queue.journalled(A, broken.id) == (TextDelta("tea"), ReasoningDelta("or coffee"))
    unread, over = await queue.run(A, broken.id), await queue.run(A, failed.id)
    assert unread is not None
    assert unread.turn == b"", "what cannot be read is not run again"
    assert over is not None
    assert over.fault == Fault("f", "not in [forgotten]  ")
    assert await queue.run(A, other.id) == other
    await sound(world, "sesame")


async def test_what_a_job_is_to_say_loses_it_too_and_the_job_goes_on(world: World) -> None:
    jobs = SqliteJobs(world.store)
    session = await world.say(fresh("s", "k"), "in Sesame Street")
    for name, home, key in (("here", "s", None), ("keyed", "to be", "k"), ("elsewhere", "other", None)):
        job = Job(
            id=JobId(name),
            name="Sesame Street daily",
            schedule=Cron("0 9 * * *"),
            prompt="Walk down Sesame Street.",
            instructions="Mind sesame  street",
            session_id=SessionId(home),
            session_key=SessionKey(key) if key else None,
            created_at=NOW,
            metadata={"a": SECRET},
        )
        await jobs.add(A, Standing(job=job, next_at=NOW, updated_at=NOW))
    before = [await jobs.job(A, JobId(name)) for name in ("here", "keyed", "elsewhere")]
    await forget(world, session, text=SECRET)
    for found in before[:2]:
        assert found is not None
        now = await jobs.job(A, found.job.id)
        assert now is not None
        assert (now.job.name, now.job.prompt) == ("[forgotten]   daily", "Walk down [forgotten]  .")
        assert now.job.instructions is not None
        assert "sesame" not in now.job.instructions
        assert now.job.metadata == {"a": "[forgotten]  "}
        assert (now.next_at, now.job.schedule) == (found.next_at, found.job.schedule)
        assert not await jobs.fire(A, found, Firing((), None), [], now=NOW), "with its old words it is not fired"
        assert await jobs.fire(A, now, Firing((), None), [], now=NOW)
    assert await jobs.job(A, JobId("elsewhere")) == before[2], "another's words"


async def test_an_answer_that_changes_is_told_in_one_piece(world: World) -> None:
    views = SqliteViews(world.store, Counted())
    session = fresh("s")
    given = step(session, "where?", "in Sesame Street", cuts=(Cut("text", 0, 0, (8, 8)),))
    await world.store.commit(A, Commit(session=session, step=given, begins=True))
    await forget(world, session, text=SECRET)
    spot = await views.spot(A, given.id)
    assert spot is not None
    assert (spot.step.answer.text, spot.step.cuts) == ("in [forgotten]  ", ())


async def test_words_that_nobody_answered_are_forgotten_like_others(world: World) -> None:
    views = SqliteViews(world.store, Counted())
    session = await world.store.begin(A, fresh("s", "k"), now=NOW)
    steps = await views.append(
        A, session, [say("user", "I live in Sesame Street"), say("user", "null")], tokens=[5, 1], now=NOW
    )
    await world.remember(session, claim("c", steps[0], 1, quote="I live in Sesame Street", span=Span(0, 0, 23)))
    await world.read()
    session = await known(world.store, "s")
    gone = await forget(world, session, text=SECRET)
    assert ([one.id for one in gone.claims], gone.messages) == (["c"], 1)
    assert (await forget(world, session, text="null")).messages == 1
    assert await said(world.store, session) == ["I live in [forgotten]  ", "****"]
    await sound(world, "sesame")


async def test_an_item_that_is_removed_takes_its_claims_along(world: World) -> None:
    views = SqliteViews(world.store, Counted())
    session = fresh("s", "k")
    given = step(session, "", input=(say("user", "I live in Sesame Street"), say("user", "I like tea")))
    session = await world.store.commit(A, Commit(session=session, step=given, begins=True))
    address = claim("address", given.id, 1, quote="I live in Sesame Street", span=Span(0, 0, 23))
    tea = claim("tea", given.id, 1, quote="I like tea", span=Span(1, 0, 10))
    await world.remember(session, address, tea)
    await world.read()
    assert await views.remove(A, session, given.id, 0, None, weigh=lambda _: 3, now=NOW)
    assert await world.listed(all_of(session)) == []
    with pytest.raises(SessionMoved):
        await world.remember(session, address)  # someone was at it
    works = await world.read()
    assert ("step", given.id) in [(work.kind, work.name) for work in works], "what is left is read again"
    told = await world.memory.told(A, given.id)
    assert told is not None
    assert [message.text for message in told.messages] == ["I like tea", "Noted."]
    await world.remember(session, claim("again", given.id, 1, quote="I like tea", span=Span(0, 0, 10)))
    assert await world.found(View(A, session.scope), "tea") == {("s", 1)}
    assert await world.found(View(A, session.scope), "sesame") == set()
    await sound(world, "sesame")


async def test_a_claim_goes_with_its_quote_wherever_that_stands(world: World) -> None:
    session, old, new = await reversal(world, fresh("s", "k"))
    await world.say(fresh("t", "k"), "so they MERGED back into a  monolith?")
    hand = claim("hand", None, 0, quote="A wish by hand")
    await world.remember(session, hand)
    assert await forget(world, session, claim=ClaimId("nobody")) == Forgotten()
    new = msgspec.structs.replace(new, quote="merged them back into a monolith", span=Span(0, 3, 35))
    await world.remember(session, new)
    gone = await forget(world, session, claim=new.id)
    assert [(one.id, one.session) for one in gone.claims] == [(new.id, "s")]
    (kept,) = [one for one in await world.memory.claims(all_of(session), limit=9) if one.id == old.id]
    assert (kept.state, kept.superseded_by) == ("current", None)
    assert gone.messages == 1
    assert (await forget(world, session, claim=hand.id)).claims == (hand,)
    await sound(world, "merged them", "a wish")


async def test_a_scope_is_forgotten_for_itself(world: World) -> None:
    mine = await world.say(fresh("mine", "k1"), "Sesame Street")
    theirs = await world.say(fresh("theirs", "k2"), "Sesame Street")
    assert (await forget(world, mine, text=SECRET)).messages == 1
    assert await said(world.store, theirs) == ["Sesame Street", "Noted."]
    nowhere = await world.memory.forget(B, mine.scope, Forget(everything=True), now=NOW, dry_run=False)
    assert nowhere == await world.memory.forget(A, ScopeId("?"), Forget(text="x"), now=NOW, dry_run=False)
    assert await forget(world, mine, session=SessionId("theirs")) == Forgotten()
    claimed = claim("c", await world.last(theirs), 1, quote="Sesame Street", span=Span(0, 0, 13))
    await world.remember(theirs, claimed)
    assert await forget(world, mine, claim=claimed.id) == Forgotten()
    assert await world.listed(all_of(theirs)) == [("c", "current")]


async def test_a_fork_that_stayed_without_a_key_loses_what_it_shares(world: World) -> None:
    session = await world.say(fresh("s"), "Sesame Street")
    forked = await fork(world.store, session, "forked")
    await world.say(session, "mine now", bind=SessionKey("k"))
    forked = await known(world.store, "forked")
    assert forked.scope != (await known(world.store, "s")).scope
    assert (await forget(world, forked, text=SECRET)).messages == 1
    assert (await said(world.store, forked))[0] == "[forgotten]  "
    await sound(world, "sesame")


async def test_many_steps_go_in_portions_and_the_first_hundred_places_are_told(world: World) -> None:
    session = fresh("s", "k")
    for number in range(230):
        session = await world.say(session, f"{number} Sesame Street" if number % 2 == 0 else f"{number} tea")
    gone = await forget(world, session, text=SECRET)
    assert (gone.messages, len(gone.places)) == (115, 100)
    assert (await forget(world, session, text=SECRET, dry_run=True)).messages == 0
    await sound(world, "sesame")


async def test_what_was_cut_short_is_done_by_forgetting_again(world: World) -> None:
    session = fresh("s", "k")
    for number in range(40):
        session = await world.say(session, f"{number} Sesame Street")
    child = session.rotated(SessionId("s~1"), from_seq=30)
    lines = [{"lines": ["2026-03-02 (turn 35) a paraphrase"], "author": "model", "tokens": 1}]
    child = await world.store.rotate(A, session, child, log=json.dumps(lines), now=NOW)
    writing, left = world.store.writing, 4

    async def failing(job: Callable[..., Any]) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreUnavailable
        return await writing(job)

    world.store.writing = failing  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await forget(world, session, text=SECRET)
    world.store.writing = writing  # type: ignore[method-assign]
    assert stands(world, SECRET)
    await world.say(child, "turns go on")
    assert 0 < (await forget(world, session, text=SECRET)).messages <= 40
    await sound(world, "sesame", "paraphrase")


async def test_a_deletion_that_was_cut_short_is_finished_first(world: World) -> None:
    session = await world.say(fresh("s", "k"), "tea")
    doomed = await world.say(fresh("doomed", "k"), "Sesame Street")
    await world.store.writing(lambda db: ledger.condemn(db, A, doomed.thread, 1))
    world = await world.restart()
    assert (await forget(world, session, text=SECRET)).messages == 0
    await sound(world, "sesame")
    await world.store.close()


# --- those who began before ---


async def test_a_turn_that_runs_in_the_scope_ends_first(world: World) -> None:
    session = await world.say(fresh("s", "k"), "Sesame Street")
    async with world.store.claim(A, session.id, by=step(session, "x").id):
        forgetting = asyncio.create_task(forget(world, session, text=SECRET))
        await asyncio.sleep(0.1)
        assert not forgetting.done()
        await world.say(session, "Sesame Street once more")
    assert (await forgetting).messages == 2
    await sound(world, "sesame")


async def test_what_is_about_to_be_written_does_not_bring_it_back(world: World) -> None:
    session = await world.say(fresh("s", "k"), "I live in Sesame Street")
    name = await world.last(session)
    drawn = claim("drawn", name, 1, quote="I live in Sesame Street", span=Span(0, 0, 23))
    held = claim("held", name, 1, quote="I live in Sesame Street", span=Span(0, 0, 23))
    fine = claim("fine", name, 1, quote="I live", span=Span(0, 0, 6))
    await world.remember(session, held)
    await forget(world, session, text=SECRET)
    for late in (drawn, msgspec.structs.replace(held, step=None), msgspec.structs.replace(held, state="reversed")):
        with pytest.raises(SessionMoved):
            await world.remember(session, late)
    await world.remember(session, fine)

    block = Block("told: Sesame Street", 4)
    begun = fresh("new", "k")
    given = Commit(session=begun, step=step(begun, "hi", tail=block), begins=True, profile=block)
    begun = await world.store.commit(A, given)
    session = await known(world.store, "s")
    child = session.rotated(SessionId("s~1"), from_seq=2)
    lines = [{"lines": ["(turn 1) a paraphrase", "(turn 1) x"], "author": "model", "tokens": 1},
             {"lines": ["(turn 1) in Sesame Street"], "author": "rules", "tokens": 1}]  # fmt: skip
    child = await world.store.rotate(A, session, child, log=json.dumps(lines), now=NOW, profile=block)
    epoch = await world.store.epoch(A, child, tokens=100)
    assert [line["lines"] for line in json.loads(epoch.log or "")] == [[], ["(turn 1) in [forgotten]  "]]
    epoch = await world.store.epoch(A, begun, tokens=100)
    assert (epoch.profile, epoch.past[0].tail) == (Block("told: [forgotten]  ", 7), "told: [forgotten]  ")
    await sound(world, "sesame")
    other = fresh("other", "k2")
    kept = await world.store.commit(A, Commit(session=other, step=step(other, "hi", tail=block), begins=True))
    assert (await world.store.epoch(A, kept, tokens=100)).past[0].tail == block.text


async def test_it_may_be_said_again(world: World) -> None:
    session = await world.say(fresh("s", "k"), "I live in Sesame Street")
    await forget(world, session, text=SECRET)
    session = await world.say(await known(world.store, "s"), "I live in Sesame Street")
    assert (await said(world.store, session))[2] == "I live in Sesame Street"
    again = claim("again", await world.last(session), 2, quote="I live in Sesame Street", span=Span(0, 0, 23))
    await world.remember(session, again)
    assert await world.listed(all_of(session)) == [("again", "current")]


# --- imported history ---


def exchange(*messages: Message, before: bytes = b"") -> Exchange:
    address = before + b"|" + b"|".join(message.raw for message in messages)
    return Exchange(messages, address, b"rolling " + address[:4], 10)


async def brought(world: World, name: str, key: str | None, *pairs: tuple[str, str]) -> Session:
    exchanges = imported(*pairs)
    session = fresh(name, key, imported=exchanges)
    return await world.say(session, "and now?", imported=exchanges)


async def test_imported_words_go_for_this_scope_and_stay_for_others(world: World) -> None:
    pairs = (("tea", "yes"), ("Sesame Street", "Where?"), ("home", "ok"))
    mine = await brought(world, "mine", "k", *pairs)
    also = await brought(world, "also", "k", *pairs, ("more", "of it"))
    theirs = await brought(world, "theirs", "k2", *pairs)
    early = await brought(world, "early", "k", pairs[0])
    await world.read()
    gone = await forget(world, mine, text=SECRET)
    assert gone.messages == 1
    assert [(place.session in {"mine", "also"}, place.step, place.role) for place in gone.places] == [
        (True, None, "user")
    ]
    assert gone.places[0].seq in {-1, -2}
    mine, also, early = [await known(world.store, name) for name in ("mine", "also", "early")]
    masked = ["tea", "yes", "[forgotten]  ", "Where?", "home", "ok"]
    assert await said(world.store, mine) == [*masked, "and now?", "Noted."]
    assert await said(world.store, also) == [*masked, "more", "of it", "and now?", "Noted."]
    assert (await said(world.store, theirs))[2] == "Sesame Street"
    assert (await said(world.store, early))[:2] == ["tea", "yes"]
    assert await world.found(View(A, mine.scope), "sesame") == set()
    assert await world.found(View(A, mine.scope), "forgotten") == {("mine", -1), ("also", -2)}
    assert {work.kind for work in await world.read()} == {"thread"}
    await forget(world, theirs, text=SECRET)
    await sound(world, "sesame")
    place = await world.store.matching(A, mine, [b"nothing"])
    assert place is None
    side = await branch(world.store, also, await world.store.place(A, also, "msg_import_3_0"), "another way")
    assert await said(world.store, side) == [*masked, "another way", "re another way"]
    for name in ("mine", "also", "early", "theirs"):
        await world.store.delete(A, await known(world.store, name), now=NOW)
    with world.store.reading() as db:
        assert db.execute("SELECT count(*) FROM prior").fetchone() == (0,)
    await sound(world)


async def test_a_history_that_is_brought_along_again_has_lost_it(world: World) -> None:
    session = await world.say(fresh("s", "k"), "I live in\nSesame Street", "<think>Sesame Street?</think>Fine.")
    await brought(world, "old", "k", ("once in Sesame Street", "yes"))
    first = (say("user", "I live in Sesame  Street"), say("assistant", "Fine."), say("user", "tea"))
    assert await world.store.importable(A, SessionId("new"), first) == first
    await forget(world, session, text=SECRET)
    history = (
        *first,
        say("user", "once in Sesame Street"),
        Message("user", b'{"role":"user","content":[{"type":"text","text":"I live in Sesame Street"}]}',
                "I live in Sesame Street"),
    )  # fmt: skip
    kept = await world.store.importable(A, SessionId("new"), history)
    assert [message.text for message in kept] == ["[forgotten]", "[forgotten]", "tea", "[forgotten]", "[forgotten]"]
    assert [message.role for message in kept] == [message.role for message in history]
    assert await world.store.importable(A, SessionId("new"), kept) == kept
    assert await world.store.importable(B, SessionId("new"), history) == history
    exchanges = (Exchange(history[:2], b"address", b"rolling", 10),)
    late = fresh("late", "k", imported=exchanges)
    with pytest.raises(SessionMoved):
        await world.say(late, "hi", imported=exchanges)
    again = await world.restart()
    assert await again.store.importable(A, SessionId("new"), history) == kept
    await sound(again, "sesame")
    await again.store.close()


async def test_calls_and_names_are_known_again_too(world: World) -> None:
    session = fresh("s")
    raw = b'{"role":"user","name":"sesame_street","content":"hello"}'
    call = ToolCall("c1", "look", '{"at": "Sesame Street", "n": 1}')
    given = step(
        session,
        "x",
        input=(Message("user", raw, "hello", "sesame_street"),),
        outcome=Outcome(
            model="m", choices=(Choice(content=None, finish="stop", tool_calls=(call,)),), usage=Usage(1, 1)
        ),
    )
    await world.store.commit(A, Commit(session=session, step=given, begins=True))
    for text in ("Sesame Street", "sesame_street"):
        await forget(world, session, text=text)
    call = ToolCall("c1", "look", '{"n":1,"at":"Sesame Street"}')
    answer = Choice(content=None, finish="stop", tool_calls=(call,)).message()
    one, two = await world.store.importable(A, SessionId("t"), (Message("user", raw, "hello", "sesame_street"), answer))
    assert (one.name, one.text) == (None, "hello")
    assert json.loads(two.raw)["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
    await sound(world, "sesame")


# --- whole threads ---


async def test_a_session_goes_whole_and_is_not_brought_along_again(world: World) -> None:
    session = await brought(world, "s", "k", ("from Sesame Street", "oh"))
    session = await world.say(session, "Sesame Street")
    child = session.rotated(SessionId("s~1"), from_seq=2)
    child = await world.store.rotate(A, session, child, log="Sesame Street", now=NOW)
    name = await world.last(child)
    drawn = claim("drawn", name, 2, quote="Sesame Street", span=Span(0, 0, 13))
    await world.remember(child, drawn, claim("hand", None, 0))
    other = await world.say(fresh("other", "k"), "hi")
    told = Block("Sesame Street", 3, claims=(drawn.id,), steps=(name,))
    other = await world.store.commit(A, Commit(session=other, step=step(other, "where?", tail=told)))
    quoted = Block('(turn 0 of s1): "from Sesame Street"\n(s1 is session "s")', 3)
    other = await world.store.commit(A, Commit(session=other, step=step(other, "from?", tail=quoted)))
    harmless = Block("tea", 1, steps=(await world.last(other),))
    other = await world.store.commit(A, Commit(session=other, step=step(other, "drink?", tail=harmless)))
    after = other.rotated(SessionId("other~1"), from_seq=1)
    await world.store.rotate(A, other, after, log="[]", now=NOW, profile=told)
    would = await forget(world, session, session=SessionId("s~1"), dry_run=True)
    assert (would.messages, would.sessions, [one.id for one in would.claims]) == (6, 1, ["drawn"])
    assert await forget(world, session, session=SessionId("s~1")) == would
    assert await world.store.find(A, SessionId("s")) is None
    assert await world.listed(all_of(session)) == [("hand", "current")]
    tip = await known(world.store, "other")
    epoch = await world.store.epoch(A, tip, tokens=1000)
    assert ([past.tail for past in epoch.past], epoch.profile) == (["", "", "", "tea"], None)
    for name in ("s", "s~1"):
        assert await world.store.importable(A, SessionId(name), (say("user", "from Sesame Street"),)) == ()
    assert len(await world.store.importable(A, SessionId("t"), (say("user", "tea"),))) == 1
    with pytest.raises(SessionMoved):
        await world.remember(other, msgspec.structs.replace(drawn, step=None))
    late = fresh("late", "k")
    given = Commit(session=late, step=step(late, "hi", tail=quoted), begins=True, profile=told)
    late = await world.store.commit(A, given)
    epoch = await world.store.epoch(A, late, tokens=100)
    assert (epoch.profile, epoch.past[0].tail) == (None, "")
    await sound(world, "sesame")


async def test_a_fork_of_a_forgotten_session_keeps_what_it_shares(world: World) -> None:
    session = await world.say(await world.say(fresh("s", "k"), "shared"), "own")
    with world.store.reading() as db:
        first, last = [row[0] for row in db.execute("SELECT step FROM step ORDER BY seq")]
    await world.remember(session, claim("shared", first, 1), claim("own", last, 2))
    forked = await fork(world.store, session, "forked", seq=1)
    would = await forget(world, session, session=SessionId("s"), dry_run=True)
    assert ([one.id for one in would.claims], would.messages) == (["own"], 2)
    assert await forget(world, session, session=SessionId("s")) == would
    assert await said(world.store, await known(world.store, "forked")) == ["shared", "Noted."]
    assert await world.listed(all_of(forked)) == [("shared", "current")]
    await world.remember(forked, claim("shared", first, 1, pinned=True))
    await sound(world)


@pytest.mark.parametrize("key", ["k", None])
async def test_everything_of_a_scope_goes(world: World, key: str | None) -> None:
    session = await brought(world, "s", key, ("Sesame Street", "oh"))
    forked = await fork(world.store, session, "forked")
    forked = await world.say(forked, "Sesame Street, too")
    await world.remember(
        session, claim("hand", None, 0, quote="Sesame Street"), claim("c", await world.last(forked), 1)
    )
    other = await world.say(fresh("other", "k2"), "tea")
    queue = SqliteQueue(world.store)
    kept = Keep(kind="response", request=b'{"instructions":"Sesame Street"}')
    forked = await world.say(forked, "again", begins=False, keep=kept)
    going = Run(
        id=StepId("r"), kind="response", session=SessionId("s"), status="queued", created_at=NOW, updated_at=NOW
    )
    await queue.enqueue(A, going, keep=kept, replay=None)
    await queue.journal(A, going.id, [TextDelta(SECRET)], fence=0, now=NOW)
    if key is not None:
        turn = Turn(envelope=Envelope(tenant=A, session_key=SessionKey(key)), messages=(say("user", SECRET),))
        unborn = msgspec.structs.replace(
            going, id=StepId("r2"), session=SessionId("to be"), turn=msgspec.json.encode(turn)
        )
        await queue.enqueue(A, unborn, keep=kept, replay=None)
    would = await forget(world, session, everything=True, dry_run=True)
    assert (would.sessions, {one.id for one in would.claims}) == (2, {"hand", "c"})
    assert await forget(world, session, everything=True) == would
    for name in ("s", "forked"):
        assert await world.store.find(A, SessionId(name)) is None
        assert await world.store.importable(A, SessionId(name), (say("user", "x"),)) == ()
    with world.store.reading() as db:
        counts = [
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("scope", "thread", "claim", "prior", "vector", "step", "view", "run", "journal")
        ]
    assert counts == [2 if key else 1, 1, 0, 0, 0, 1, 0, 0, 0]
    assert await said(world.store, other) == ["tea", "Noted."]
    await sound(world, "sesame")
