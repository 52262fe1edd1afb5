"""What every keeper of views promises: responses, stored completions, the items of a conversation."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_archive import Counted, branch, fork, known, more, rotated, said, talk
from tests.contract.test_store import NOW, A, B, fresh, imported, put, step, texts

from everthread.core.claim import Block
from everthread.core.ids import SessionId, StepId, Tenant
from everthread.core.messages import Message, say
from everthread.core.ports import Commit
from everthread.core.session import Session
from everthread.core.turn import (
    Choice,
    Cut,
    Keep,
    Outcome,
    Replay,
    Step,
    TextDelta,
    ToolCall,
    Usage,
    ViewKind,
)
from everthread.core.view import Fault, Items, Run, Sort, Stored, View
from everthread.errors import Malformed, SessionMoved
from everthread.storage import ledger
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore
from everthread.storage.views import SqliteViews
from everthread.wire.chat import stored_messages

SECRET = "Sesame Street"
FAULT = Fault("upstream_failed", "It went wrong.")


@pytest.fixture
def views(store: SqliteStore) -> SqliteViews:
    return SqliteViews(store, Counted())


def keep(kind: ViewKind = "response", **more: object) -> Keep:
    return Keep(**{"kind": kind, "request": b'{"instructions":"be brief"}', **more})  # type: ignore[arg-type]


def run(name: str, session: str = "s", **more: object) -> Run:
    given = {"kind": "run", "status": "queued", "created_at": NOW, "updated_at": NOW, "turn": b'{"say":"hi"}', **more}
    return Run(id=StepId(name), session=SessionId(session), **given)  # type: ignore[arg-type]


async def shown(
    store: SqliteStore, session: Session, question: str, kept: Keep, *, asked: bool = False, **more: object
) -> tuple[Session, Step]:
    """One committed step that is seen as something."""
    given = step(session, question, **more)
    begins = await store.find(A, session.id) is None
    commit = Commit(session=session, step=given, begins=begins, keep=kept, asked=asked)
    return await store.commit(A, commit), given


async def finish(
    store: SqliteStore, session: Session, name: str, outcome: Outcome | None = None, **more: object
) -> Session:
    """The step that completes a run."""
    begins = await store.find(A, session.id) is None
    said = {"outcome": outcome} if outcome else {}
    given = step(session, "asked in the background", id=StepId(name), **said)
    wanted = {"session": session, "step": given, "begins": begins, "fence": 0, "asked": False, **more}
    return await store.commit(A, Commit(**wanted))  # type: ignore[arg-type]


def weigh(messages: tuple[Message, ...]) -> int:
    return sum(len(message.text) for message in messages)


def raw(text: str) -> Message:
    (message,) = stored_messages(f"[{text}]")
    return message


def listed(page: Items) -> list[tuple[str, list[tuple[int | None, str]]]]:
    return [(one.step, [(no, message.text) for no, message in one.messages]) for one in page.steps]


def spoken(page: Items) -> list[str]:
    return [message.text for one in page.steps for _, message in one.messages]


def stands(tmp_path: Path, *words: str) -> list[str]:
    """The files that have one of these words."""
    return [
        f"{file.name}: {word}"
        for file in tmp_path.iterdir()
        for word in words
        if file.is_file() and word.lower().encode() in file.read_bytes().lower()
    ]


# --- steps and where they stand ---


async def test_a_step_is_found_by_its_name_with_its_place_and_the_tip_of_its_path(
    store: SqliteStore, views: SqliteViews
) -> None:
    session = fresh("s", "k")
    given = step(session, "one", cuts=(Cut("text", 0, 0, (2, 4)),))
    session = await store.commit(A, Commit(session=session, step=given, begins=True))
    spot = await views.spot(A, given.id)
    assert spot is not None
    assert (spot.step, spot.session, spot.said_in) == (given, session, "s")
    assert (spot.place.seq, spot.place.last, spot.place.lineage) == (1, True, session.lineage)
    tip = await more(store, await rotated(store, session, 2), 1)
    other = await branch(store, tip, spot.place, "instead")
    spot = await views.spot(A, given.id)
    assert spot is not None
    assert (spot.session, spot.said_in, spot.place.last) == (tip, "s", False), "not the head: its own path"
    assert other.lineage != spot.session.lineage
    assert await views.spot(B, given.id) is None
    assert await views.spot(A, StepId("nothing")) is None


# --- responses and completions ---


async def test_a_view_is_written_with_its_step_and_comes_back_whole(store: SqliteStore, views: SqliteViews) -> None:
    kept = keep(metadata={"a": "1"}, previous=StepId("before"), conversation=SessionId("s"))
    session, given = await shown(store, fresh("s"), "one", kept)
    _, other = await shown(store, session, "two", keep("completion"))
    assert await views.view(A, given.id, "response") == View(id=given.id, keep=kept, created_at=given.stored_at)
    assert await views.view(A, given.id, "completion") is None
    assert await views.view(B, given.id, "response") is None
    found = await views.view(A, other.id, "completion")
    assert found is not None
    assert found.keep.kind == "completion"


async def test_what_a_view_shows_is_not_tidied_away_as_unnamed(store: SqliteStore, views: SqliteViews) -> None:
    before = imported(("the heron", "flew"))
    session = fresh("s", named=False, imported=before)
    given = step(session, "one")
    commit = Commit(session=session, step=given, begins=True, imported=before, keep=keep())
    session = await store.commit(A, commit)
    assert session.named
    assert len(await store.search(A, session.scope, "heron", limit=5)) == 1
    assert await store.tidy(unnamed_before=NOW + timedelta(days=99), replays_before=NOW, limit=9) == 0
    assert await views.spot(A, given.id) is not None


async def test_views_are_listed_by_age_in_pages_and_by_what_they_are(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    session, names = fresh("s"), []
    for at in range(5):
        label = {"n": str(at % 2), "x": "y"}
        later = NOW + timedelta(minutes=at)
        session, given = await shown(
            store, session, str(at), keep("completion", metadata=label), stored_at=later, id=StepId(f"c{at}")
        )
        names.append(given.id)
    _, response = await shown(store, session, "no completion", keep())
    await queue.enqueue(A, run("waits", kind="response"), keep=keep(background=True), replay=None)

    async def page(tenant: Tenant = A, **wanted: object) -> tuple[list[str], bool]:
        asked = {"sort": Sort(), "after": None, "limit": 9, "order": "asc", **wanted}
        found, more = await views.views(tenant, "completion", **asked)  # type: ignore[arg-type]
        return [view.id for view in found], more

    assert await page() == (names, False)
    assert await page(limit=2) == (names[:2], True)
    assert await page(limit=2, after=names[1]) == (names[2:4], True)
    assert await page(limit=2, after=names[3]) == (names[4:], False)
    assert await page(order="desc", limit=2, after=names[3]) == ([names[2], names[1]], True)
    assert await page(sort=Sort(metadata={"n": "1"})) == ([names[1], names[3]], False)
    assert await page(sort=Sort(metadata={"n": "1", "x": "z"})) == ([], False)
    assert await page(sort=Sort(model="m", metadata={"n": "0"}), limit=2) == ([names[0], names[2]], True)
    assert await page(sort=Sort(model="other")) == ([], False)
    assert await page(B) == ([], False)
    for after in (response.id, "nothing"):
        with pytest.raises(Malformed):
            await page(after=after)
    found, _ = await views.views(A, "response", sort=Sort(), after=None, limit=9, order="asc")
    assert [view.id for view in found] == [response.id], "those that are answered"


async def test_a_view_can_be_labelled_anew(store: SqliteStore, views: SqliteViews) -> None:
    _, given = await shown(store, fresh("s"), "one", keep("completion", metadata={"a": "1"}))
    assert await views.label(A, given.id, "completion", {"b": "2"})
    assert not await views.label(A, given.id, "response", {"b": "2"})
    assert not await views.label(B, given.id, "completion", {})
    found = await views.view(A, given.id, "completion")
    assert found is not None
    assert found.keep.metadata == {"b": "2"}


async def test_the_words_of_a_thread_that_nobody_named_go_with_its_last_view(
    store: SqliteStore, views: SqliteViews, tmp_path: Path
) -> None:
    session, first = await shown(store, fresh("s"), f"I live in {SECRET}", keep())
    session, second = await shown(store, session, "and?", keep(request=b'{"instructions":"Heron"}'))
    assert not await views.drop(B, first.id, "response", now=NOW)
    assert await views.drop(A, first.id, "response", now=NOW)
    assert not await views.drop(A, first.id, "response", now=NOW)
    assert await views.view(A, first.id, "response") is None
    assert await texts(store, session) == [f"I live in {SECRET}", "Noted.", "and?", "Noted."], "others go on from it"
    assert await views.drop(A, second.id, "response", now=NOW)
    assert await store.find(A, SessionId("s")) is None
    assert await views.spot(A, first.id) is None
    assert stands(tmp_path, SECRET, "heron") == []


async def test_a_thread_that_a_client_named_outlives_its_views(store: SqliteStore, views: SqliteViews) -> None:
    session, given = await shown(store, fresh("named"), "one", keep(), asked=True)
    assert await views.drop(A, given.id, "response", now=NOW)
    assert await store.find(A, session.id) == session
    later, one = await shown(store, fresh("later"), "one", keep())
    later = await put(store, later, "by name", begins=False)
    assert await views.drop(A, one.id, "response", now=NOW)
    assert await store.find(A, later.id) == later


async def test_a_thread_that_a_run_is_about_to_answer_outlives_its_last_view(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    session, given = await shown(store, fresh("s"), "one", keep())
    await queue.enqueue(A, run("r", kind="response"), keep=keep(background=True), replay=None)
    assert await views.drop(A, given.id, "response", now=NOW)
    await finish(store, session, "r")
    assert await views.drop(A, StepId("r"), "response", now=NOW)
    assert await store.find(A, session.id) is None


async def test_views_go_with_their_thread_and_those_of_inherited_steps_stay(
    store: SqliteStore, queue: SqliteQueue, views: SqliteViews
) -> None:
    session, first = await shown(store, fresh("s"), "one", keep(), asked=True)
    await queue.enqueue(A, run("r2", kind="response"), keep=keep(background=True), replay=Replay("k", b"f"))
    session = await finish(store, session, "r2")
    heir = await fork(store, session, "heir")
    session, third = await shown(store, session, "three", keep())
    await queue.enqueue(A, run("r4", kind="response"), keep=keep(background=True), replay=None)
    await queue.journal(A, StepId("r4"), [TextDelta("so")], fence=0, now=NOW)
    await store.delete(A, session, now=NOW)
    assert await views.view(A, third.id, "response") is None
    assert await views.view(A, StepId("r4"), "response") is None
    assert await queue.run(A, StepId("r4")) is None
    assert await queue.journalled(A, StepId("r4")) == ()
    for name in (first.id, StepId("r2")):
        spot = await views.spot(A, name)
        assert spot is not None
        assert (spot.session.thread, await views.view(A, name, "response") is not None) == (heir.thread, True)
    inherited = await queue.run(A, StepId("r2"))
    assert inherited is not None
    assert inherited.session == "heir"
    await store.delete(A, await known(store, "heir"), now=NOW)
    assert await views.view(A, first.id, "response") is None
    assert await queue.run(A, StepId("r2")) is None


async def test_what_is_being_erased_is_not_seen(store: SqliteStore, queue: SqliteQueue, views: SqliteViews) -> None:
    session, given = await shown(store, fresh("s"), "one", keep())
    await queue.enqueue(A, run("r", kind="response"), keep=keep(background=True), replay=None)
    await finish(store, session, "r")
    await store.writing(lambda db: ledger.condemn(db, A, session.thread, 0))
    store.let_go()
    assert await views.view(A, given.id, "response") is None
    assert await views.views(A, "response", sort=Sort(), after=None, limit=9, order="asc") == ((), False)
    assert not await views.label(A, given.id, "response", {})
    assert not await views.drop(A, given.id, "response", now=NOW)
    assert await queue.run(A, StepId("r")) is None
    assert await views.spot(A, given.id) is None


# --- items ---


async def test_messages_that_nobody_answered_are_part_of_the_conversation(
    store: SqliteStore, views: SqliteViews
) -> None:
    session = await store.begin(A, fresh("s", "k"), now=NOW)
    first = await views.append(A, session, [say("user", "the heron"), say("assistant", "flew")], tokens=[3, 4], now=NOW)
    session = await known(store, "s")
    assert (session.last_seq, session.messages, session.rolling) == (2, 2, b"")
    assert await texts(store, session) == ["the heron", "flew"]
    assert [past.tokens for past in (await store.epoch(A, session, tokens=99)).past] == [3, 4]
    assert await said(store, session) == ["the heron", "flew"]
    assert [hit.seq for hit in await store.search(A, session.scope, "heron", limit=5)] == [1]
    session = await put(store, session, "and then?", begins=False)
    assert (session.messages, await texts(store, session)) == (4, ["the heron", "flew", "and then?", "Noted."])
    card = await store.card(A, SessionId("s"))
    assert card is not None
    assert (card.messages, card.model) == (4, "m")
    after = await views.append(A, session, [say("user", "again")], tokens=[1], now=NOW + timedelta(hours=1))
    session = await known(store, "s")
    assert (session.rolling, session.messages) == (b"rolling", 5), "what was said so far compares as before"
    card = await store.card(A, SessionId("s"))
    assert card is not None
    assert (card.model, card.updated_at) == ("m", NOW + timedelta(hours=1))
    spot = await views.spot(A, after[0])
    assert spot is not None
    assert (spot.step.source, spot.step.answer.text, spot.place.messages) == ("import", "", 5)
    assert len({*first, *after}) == 3
    picture = raw('{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}}]}')
    await views.append(A, session, [picture], tokens=[1], now=NOW)
    await store.writing(lambda db: db.execute("DELETE FROM chunk WHERE seq = 1"))
    assert [problem.what for problem in await store.check(repair=True)] == ["1 steps were not in the index"]
    assert await views.append(A, session, [], tokens=[], now=NOW) == ()


async def test_an_item_for_a_session_that_moved_is_refused(store: SqliteStore, views: SqliteViews) -> None:
    old = await talk(store, "s", 1)
    await more(store, old, 1)
    with pytest.raises(SessionMoved):
        await views.append(A, old, [say("user", "late")], tokens=[1], now=NOW)
    with pytest.raises(SessionMoved):
        await views.append(B, await known(store, "s"), [say("user", "not mine")], tokens=[1], now=NOW)
    assert await said(store, await known(store, "s")) == ["s 1", "re s 1", "s 2", "re s 2"]


async def test_an_item_makes_its_path_the_one_the_thread_means(store: SqliteStore, views: SqliteViews) -> None:
    session = await talk(store, "s", 2)
    spot = await views.spot(A, (await views.items(A, session, after=None, limit=1, order="asc")).steps[0].step)
    assert spot is not None
    other = await branch(store, session, spot.place, "instead")
    assert (await known(store, "s")).lineage == other.lineage
    await views.append(A, session, [say("user", "back here")], tokens=[1], now=NOW)
    assert (await known(store, "s")).lineage == session.lineage
    assert (await known(store, other.id)).lineage == other.lineage
    assert (await said(store, await known(store, "s")))[-1] == "back here"


CALL = '{"role":"assistant","content":"I look","tool_calls":[%s]}'
ONE = '{"id":"c%d","type":"function","function":{"name":"look","arguments":"{\\"n\\":%d}"}}'


async def test_a_result_belongs_to_the_turn_that_asked_for_it(store: SqliteStore, views: SqliteViews) -> None:
    session = await store.begin(A, fresh("s"), now=NOW)
    result = '{"role":"tool","tool_call_id":"%s","content":"found"}'
    calls = raw(CALL % ",".join((ONE % (1, 1), ONE % (2, 2))))
    await views.append(A, session, [calls, raw(result % "c1")], tokens=[1, 1], now=NOW)
    await views.append(A, await known(store, "s"), [say("user", "so?")], tokens=[1], now=NOW)
    past = (await store.epoch(A, await known(store, "s"), tokens=99)).past
    assert (past[0].turn == past[1].turn, past[1].turn == past[2].turn) == (True, False)
    session = fresh("t")
    outcome = Outcome(
        model="m",
        choices=(Choice(content=None, finish="tool_calls", tool_calls=(ToolCall("c9", "look", "{}"),)),),
        usage=Usage(1, 1),
    )
    given = step(session, "look", outcome=outcome)
    session = await store.commit(A, Commit(session=session, step=given, begins=True))
    await views.append(A, session, [raw(result % "c9")], tokens=[1], now=NOW)
    past = (await store.epoch(A, await known(store, "t"), tokens=99)).past
    assert [one.turn for one in past] == [given.turn, given.turn]


async def test_items_are_the_whole_path_in_either_order_and_in_any_pages(
    store: SqliteStore, views: SqliteViews
) -> None:
    before = imported(("a", "re a"), ("b", "re b"))
    session = await put(store, fresh("s", imported=before), "one", imported=before)
    session = await put(store, session, "two")
    page = await views.items(A, session, after=None, limit=9, order="asc")
    spot = await views.spot(A, page.steps[2].step)
    assert spot is not None
    session = await rotated(store, session, 2)
    (left_out,) = (await views.items(A, session, after=None, limit=1, order="desc")).steps
    session = await branch(store, session, spot.place, "instead")
    assert await views.stored(A, session, left_out.step) is None, "it is on another path"
    whole = await views.items(A, session, after=None, limit=9, order="asc")
    assert not whole.more
    assert [one.step for one in whole.steps[:2]] == ["import1", "import2"]
    assert [no for no, _ in whole.steps[0].messages] == [0, 1]
    assert [no for no, _ in whole.steps[2].messages] == [0, None]
    assert [message.text for _, message in whole.steps[3].messages] == ["instead", "re instead"]
    assert whole.steps[3].reasoning == "thinking"
    for order in ("asc", "desc"):
        wanted = list(whole.steps) if order == "asc" else list(reversed(whole.steps))
        seen: list[Stored] = []
        after = None
        while True:
            page = await views.items(A, session, after=after, limit=2, order=order)  # type: ignore[arg-type]
            assert after is None or page.steps[0].step == after, "a page may begin inside of it"
            seen += page.steps[0 if after is None else 1 :]
            if not page.more:
                break
            after = page.steps[-1].step
        assert seen == wanted
    for one in whole.steps:
        assert await views.stored(A, session, one.step) == one
    for nothing in ("import3", "import0", "nothing", "importx"):
        assert await views.stored(A, session, StepId(nothing)) is None
        with pytest.raises(Malformed):
            await views.items(A, session, after=StepId(nothing), limit=2, order="asc")
    with pytest.raises(SessionMoved):
        await views.items(B, session, after=None, limit=9, order="asc")


async def test_an_item_is_taken_out_for_good(store: SqliteStore, views: SqliteViews, tmp_path: Path) -> None:
    session = fresh("s", "k")
    given = step(
        session,
        "ignored",
        f"You live in {SECRET}.",
        input=(say("user", "first"), say("user", f"I live in {SECRET}"), say("user", "third heron")),
        tokens=100,
    )
    session = await store.commit(A, Commit(session=session, step=given, begins=True))
    later = step(session, "later", tail=Block(f"once: {SECRET}", 3, steps=(given.id,)))
    session = await store.commit(A, Commit(session=session, step=later))
    child = session.rotated(SessionId("s~1"), from_seq=2)
    lines = [f"2026-03-02 (turn 1) user: I live in {SECRET}", "2026-03-02 (turn 2) user: later"]
    stored_log = msgspec.json.encode([{"lines": lines, "tokens": 9, "author": "rules"}]).decode()
    session = await store.rotate(
        A, session, child, log=stored_log, now=NOW, profile=Block(SECRET, 1, steps=(given.id,))
    )
    assert not await views.remove(A, session, given.id, 7, None, weigh=weigh, now=NOW)
    assert not await views.remove(A, session, StepId("nothing"), 0, None, weigh=weigh, now=NOW)
    assert not await views.remove(B, session, given.id, 0, None, weigh=weigh, now=NOW)
    assert await views.remove(A, session, given.id, 1, None, weigh=weigh, now=NOW)
    assert not await views.remove(A, session, given.id, 1, None, weigh=weigh, now=NOW)
    page = await views.items(A, session, after=None, limit=1, order="asc")
    answer = f"You live in {SECRET}."
    assert listed(page) == [(given.id, [(0, "first"), (2, "third heron"), (None, answer)])], "the others' numbers stay"
    assert await views.remove(A, session, given.id, 0, None, weigh=weigh, now=NOW)
    assert await views.remove(A, session, given.id, None, None, weigh=weigh, now=NOW)
    page = await views.items(A, session, after=None, limit=1, order="asc")
    assert listed(page) == [(given.id, [(2, "third heron")])]
    assert page.steps[0].reasoning == ""
    spot = await views.spot(A, given.id)
    assert spot is not None
    assert (spot.step.tokens, spot.step.answer.text, spot.step.rolling) == (len("third heron"), "", b"rolling")
    assert await said(store, session) == ["third heron", "later", "Noted."]
    assert [hit.text for hit in await store.search(A, session.scope, "heron", limit=5)] == ["third heron"]
    epoch = await store.epoch(A, session, tokens=99)
    assert (epoch.log, epoch.profile) == (stored_log.replace(f'"{lines[0]}",', ""), None)
    assert stands(tmp_path, "sesame") == []
    assert await views.remove(A, session, given.id, 2, None, weigh=weigh, now=NOW)
    assert spoken(await views.items(A, session, after=None, limit=9, order="asc")) == ["later", "Noted."]
    assert listed(await views.items(A, session, after=given.id, limit=1, order="asc")) == [(given.id, [])]
    whole = msgspec.structs.replace(session, from_seq=1)
    assert [past.seq for past in (await store.epoch(A, whole, tokens=99)).past] == [2]


async def test_a_call_is_taken_out_of_a_message_and_its_words_stay(store: SqliteStore, views: SqliteViews) -> None:
    session = await store.begin(A, fresh("s"), now=NOW)
    calls = raw(CALL % ",".join((ONE % (1, 1), ONE % (2, 2))))
    (name,) = await views.append(A, session, [calls], tokens=[9], now=NOW)
    session = await known(store, "s")

    async def message() -> Message | None:
        found = await views.stored(A, session, name)
        assert found is not None
        return found.messages[0][1] if found.messages else None

    assert not await views.remove(A, session, name, 0, "c3", weigh=weigh, now=NOW)
    assert not await views.remove(A, session, name, None, "c1", weigh=weigh, now=NOW)
    assert await views.remove(A, session, name, 0, "c1", weigh=weigh, now=NOW)
    left = await message()
    assert left is not None
    assert (left.calls, left.text) == (("c2",), "I look")
    assert await views.remove(A, session, name, 0, None, weigh=weigh, now=NOW)
    left = await message()
    assert left is not None
    assert (left.calls, left.text) == (("c2",), "")
    assert not await views.remove(A, session, name, 0, None, weigh=weigh, now=NOW), "it has no words"
    assert await views.remove(A, session, name, 0, "c2", weigh=weigh, now=NOW)
    assert await message() is None


async def test_what_was_imported_is_not_taken_out_piece_by_piece(store: SqliteStore, views: SqliteViews) -> None:
    before = imported(("a", "re a"))
    session = await put(store, fresh("s", imported=before), "one", imported=before)
    with pytest.raises(Malformed, match="/api/memory/forget"):
        await views.remove(A, session, StepId("import1"), 0, None, weigh=weigh, now=NOW)


async def test_a_conversation_has_an_age_and_metadata(store: SqliteStore, views: SqliteViews) -> None:
    session = await store.begin(A, fresh("s"), now=NOW)
    assert await views.about(A, session) == (NOW, {})
    await views.describe(A, session, {"topic": "herons"})
    assert await views.about(A, session) == (NOW, {"topic": "herons"})
    await views.describe(A, session, {})
    assert await views.about(A, session) == (NOW, {})
    with pytest.raises(SessionMoved):
        await views.describe(B, session, {"not": "mine"})
    await store.delete(A, session, now=NOW)
    with pytest.raises(SessionMoved):
        await views.about(A, session)
