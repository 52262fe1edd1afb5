"""What every store promises of API keys with a webhook: what they are to hear is written with what happened."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.contract.test_memory_port import World, claim, world
from tests.contract.test_store import NOW, A, B, fresh, put

from everthread.core.claim import Claim, ClaimId
from everthread.core.ids import KeyId, SessionId, Tenant
from everthread.core.key import ApiKey
from everthread.core.memory import Forget
from everthread.core.queue import Waiting
from everthread.core.session import Session
from everthread.core.view import Hook
from everthread.storage.parcels import SqliteOutgoing
from everthread.storage.sqlite import SqliteStore

__all__ = ["world"]

LATER = NOW + timedelta(days=1)
replace = msgspec.structs.replace


def key(name: str, tenant: Tenant = A, **more: object) -> ApiKey:
    given: dict[str, object] = {
        "id": KeyId(name),
        "tenant": tenant,
        "name": name,
        "digest": b"1" * 32,
        "created_at": NOW,
        "hook": Hook(f"https://{name}.example.com/hook", "whsec_c2VjcmV0"),
    }
    return ApiKey(**{**given, **more})  # type: ignore[arg-type]


async def told(store: SqliteStore) -> list[Waiting]:
    taken = await SqliteOutgoing(store).take("w", now=LATER, until=LATER + timedelta(minutes=1), limit=99)
    return sorted(taken, key=lambda waiting: (waiting.key or "", waiting.parcel.kind))


async def rotated(store: SqliteStore, name: str = "s", under: str | None = "user:ann") -> Session:
    session = await put(store, await put(store, fresh(name, under), "one"), "two")
    return await store.rotate(
        A, session, session.rotated(SessionId(f"{name}-2"), from_seq=2), log="[]", now=NOW + timedelta(hours=1)
    )


async def turned(world: World, session: Session, **more: object) -> tuple[Claim, Claim]:
    """One claim is written, and then another that takes its place."""
    session = await world.say(session, "we use Redis")
    old = claim("old", await world.last(session), 1, quote="we use Redis")
    await world.remember(session, old)
    session = await world.say(session, "we moved to Valkey")
    new = claim("new", await world.last(session), 2, quote="we moved to Valkey", supersedes=old.id)
    gone = replace(old, state="reversed", superseded_by=new.id, valid_to=NOW, closed_at=NOW)
    await world.remember(session, new, replace(gone, **more))
    return gone, new


# --- keys ---


async def test_a_key_is_kept_with_its_webhook_until_nothing_more_is_wanted_there(world: World) -> None:
    store = world.store
    await store.add_key(key("one"))
    await rotated(store)
    assert await store.key(KeyId("one")) == key("one")
    await store.unhook_key(KeyId("one"), "https://elsewhere.example.com/")
    assert await store.key(KeyId("one")) == key("one"), "it has another by now"
    await store.unhook_key(KeyId("one"), "https://one.example.com/hook")
    assert await store.key(KeyId("one")) == key("one", hook=None)
    assert await told(store) == []


# --- rotations ---


async def test_a_rotation_is_told_to_the_keys_that_may_hear_of_it(world: World) -> None:
    store = world.store
    for one in (
        key("all"),
        key("begins", session_key_prefix="user:"),
        key("foreign", session_key_prefix="team:"),
        key("theirs", B),
        key("expired", expires_at=NOW),
        key("revoked", revoked_at=NOW),
        key("deaf", hook=None),
    ):
        await store.add_key(one)
    called = []
    store.news = lambda: called.append(1)
    await rotated(store)
    first, second = await told(store)
    assert called, "whoever delivers is told"
    assert (first.key, second.key) == ("all", "begins")
    assert (first.tenant, first.run, first.attempts) == (A, None, 0)
    assert (first.parcel.kind, first.parcel.url) == ("session.rotated", "https://all.example.com/hook")
    assert first.parcel.id != second.parcel.id
    assert msgspec.json.decode(first.parcel.body) == {
        "type": "session.rotated",
        "timestamp": "2026-03-02T10:00:00Z",
        "data": {
            "session_id": "s-2",
            "parent_session_id": "s",
            "root_session_id": "s",
            "session_key": "user:ann",
        },
    }


async def test_a_session_without_a_key_is_for_keys_without_a_prefix(world: World) -> None:
    await world.store.add_key(key("all"))
    await world.store.add_key(key("begins", session_key_prefix="user:"))
    await rotated(world.store, under=None)
    assert [waiting.key for waiting in await told(world.store)] == ["all"]


async def test_what_is_written_is_told_even_if_the_server_is_killed_then(world: World, tmp_path: Path) -> None:
    await world.store.add_key(key("all"))
    await rotated(world.store)
    left = tmp_path / "left"
    left.mkdir()
    for file in world.path.parent.glob(f"{world.path.name}*"):
        if file.is_file():
            shutil.copy(file, left / file.name)
    again = SqliteStore(left / world.path.name)
    await again.open()
    try:
        assert [waiting.parcel.kind for waiting in await told(again)] == ["session.rotated"]
    finally:
        await again.close()


async def test_a_revoked_key_is_told_nothing_that_was_waiting(world: World) -> None:
    for name in ("one", "other"):
        await world.store.add_key(key(name))
    await rotated(world.store)
    assert await world.store.revoke_key(KeyId("one"), NOW)
    assert [waiting.key for waiting in await told(world.store)] == ["other"]


async def test_the_rotations_of_a_deleted_session_are_not_told(world: World) -> None:
    await world.store.add_key(key("all"))
    gone = await rotated(world.store, "gone")
    await rotated(world.store, "stays")
    await world.store.delete(A, gone, now=NOW)
    (waiting,) = await told(world.store)
    assert b"stays-2" in waiting.parcel.body


# --- reversals ---


async def test_a_reversal_is_told_once_and_without_words(world: World) -> None:
    await world.store.add_key(key("all"))
    await world.store.add_key(key("foreign", session_key_prefix="team:"))
    called = []
    world.store.news = lambda: called.append(1)
    session = fresh("s", "user:ann")
    gone, new = await turned(world, session)
    await world.memory.remember(A, session.scope, (replace(gone, pinned=True), new))
    (waiting,) = await told(world.store)
    assert called
    assert (waiting.key, waiting.parcel.kind) == ("all", "memory.reversed")
    assert msgspec.json.decode(waiting.parcel.body) == {
        "type": "memory.reversed",
        "timestamp": "2026-03-02T09:00:00Z",
        "data": {"claim_id": "clm_new", "supersedes": "clm_old", "session_key": "user:ann"},
    }


@pytest.mark.parametrize("state", ["current", "unresolved", "retracted"])
async def test_only_a_reversal_is_told(world: World, state: str) -> None:
    await world.store.add_key(key("all"))
    await turned(world, fresh("s"), state=state)
    assert await told(world.store) == []


async def test_what_never_held_is_not_reversed(world: World) -> None:
    await world.store.add_key(key("all"))
    session = await world.say(fresh("s"), "we moved to Valkey")
    late = claim("late", None, 0, state="reversed", superseded_by=ClaimId("new"), closed_at=NOW)
    await world.remember(session, late)
    assert await told(world.store) == []


@pytest.mark.parametrize("what", [Forget(claim=ClaimId("new")), Forget(session=SessionId("s")), Forget(text="Valkey")])
async def test_a_reversal_that_is_forgotten_is_not_told(world: World, what: Forget) -> None:
    await world.store.add_key(key("all"))
    session = fresh("s", "k")
    await turned(world, session)
    known = await world.store.find(A, SessionId("s"))
    assert known is not None
    await world.memory.forget(A, known.scope, what, now=NOW, dry_run=False)
    assert await told(world.store) == []
    assert b"valkey" not in world.path.read_bytes().lower()
