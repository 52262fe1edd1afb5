"""Conversations that are kept, as the command line sees them: in a database of this machine, or at a server."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from everthread import settings, wiring
from everthread.cli.chat import authority, checked_url, key_of
from everthread.cli.remote import Address, refused
from everthread.core.ids import SessionId, SessionKey, Tenant
from everthread.core.session import Session
from everthread.core.transcript import Page
from everthread.errors import NotFound, StoreInUse
from everthread.wire import sessions

T = TypeVar("T")
Shown = dict[str, Any]  # a session or a message, as the API shows it

AT_ONCE = 200  # sessions or messages


class Conversations(Protocol):
    def sessions(self, limit: int, *, session_key: str | None, children: bool) -> list[Shown]: ...

    def session(self, session_id: str) -> Shown: ...

    def messages(self, session_id: str) -> Iterator[Shown]:
        """Everything, the oldest first."""
        ...

    def last(self, session_id: str, number: int) -> list[Shown]:
        """The newest messages, in the order they were said."""
        ...

    def export(self, session_id: str) -> Iterator[bytes]: ...

    def compress(self, session_id: str) -> Shown: ...

    def delete(self, session_id: str) -> None: ...


def here(args: argparse.Namespace, chosen: settings.Settings, *, only_named: bool) -> Address | None:
    """The server that is named, or the one that runs on this machine."""
    if args.url is not None:
        url = checked_url(args.url)
        return Address(url, key_of(args, chosen), url)
    url = f"http://{authority(chosen)}"
    if only_named or not chosen.port or not Address(url, "", url).is_alive():
        return None
    return Address(url, key_of(args, chosen), url)


class Server:
    """Asks over HTTP."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def sessions(self, limit: int, *, session_key: str | None, children: bool) -> list[Shown]:
        found: list[Shown] = []
        more = True
        while more and len(found) < limit:
            query = {
                "limit": min(AT_ONCE, limit - len(found)),
                "offset": len(found),
                "include_children": "true" if children else "false",
                **({"session_key": session_key} if session_key else {}),
            }
            page = self._ask("GET", f"/api/sessions?{urlencode(query)}")
            found += page["data"]
            more = page["has_more"]
        return found

    def session(self, session_id: str) -> Shown:
        return dict(self._ask("GET", path(session_id))["session"])

    def messages(self, session_id: str) -> Iterator[Shown]:
        after: dict[str, str] = {}
        while True:
            page = self._ask("GET", path(session_id, f"/messages?{urlencode({'limit': AT_ONCE, **after})}"))
            yield from page["data"]
            if not page["has_more"]:
                return
            after = {"after": page["data"][-1]["id"]}

    def last(self, session_id: str, number: int) -> list[Shown]:
        page = self._ask("GET", path(session_id, f"/messages?limit={number}&order=desc"))
        return list(reversed(page["data"]))

    def export(self, session_id: str) -> Iterator[bytes]:
        with self._address.answering("GET", path(session_id, "/export")) as response:
            if response.status != 200:
                raise refused(response)
            while piece := response.read(65536):
                yield piece

    def delete(self, session_id: str) -> None:
        self._ask("DELETE", path(session_id))

    def compress(self, session_id: str) -> Shown:
        return dict(self._ask("POST", path(session_id, "/compress"))["session"])

    def _ask(self, method: str, what: str) -> Any:
        with self._address.answering(method, what) as response:
            if response.status != 200:
                raise refused(response)
            return msgspec.json.decode(response.read())


def path(session_id: str, rest: str = "") -> str:
    return f"/api/sessions/{quote(session_id, safe='')}{rest}"


class Database:
    """Reads the file itself; `alone` when no server may be using it."""

    def __init__(self, chosen: settings.Settings, tenant: Tenant, *, alone: bool) -> None:
        if not chosen.database.exists():
            raise NotFound(f"There is no database at {chosen.database}; the server makes it when it first starts.")
        self._settings = chosen
        self._store = wiring.open_store(chosen, serving=alone)
        self._tenant = tenant
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        try:
            self._await(self._store.open())
        except StoreInUse as failure:
            self._runner.close()
            raise StoreInUse(f"{failure.message} Or say where it listens: --url http://HOST:PORT") from failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._await(self._store.close())
        self._runner.close()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def sessions(self, limit: int, *, session_key: str | None, children: bool) -> list[Shown]:
        key = SessionKey(session_key) if session_key else None
        cards = self._await(self._store.cards(self._tenant, session_key=key, include_children=children, limit=limit))
        return [sessions.encode(card) for card in cards]

    def session(self, session_id: str) -> Shown:
        card = self._await(self._store.card(self._tenant, SessionId(session_id)))
        if card is None:
            raise NotFound("There is no such session; `everthread sessions list` shows them.")
        return sessions.encode(card)

    def messages(self, session_id: str) -> Iterator[Shown]:
        session = self._found(session_id)
        for page in self._pages(session):
            yield from self._shown(session, page)

    def last(self, session_id: str, number: int) -> list[Shown]:
        session = self._found(session_id)
        page = self._await(self._store.transcript(self._tenant, session, limit=number, order="desc"))
        return self._shown(session, page)[::-1]

    def export(self, session_id: str) -> Iterator[bytes]:
        session = self._found(session_id)
        card = self._await(self._store.card(self._tenant, session.id))
        assert card is not None, "a session that was found has a card"
        yield sessions.one(card) + b"\n"
        for page in self._pages(session):
            yield sessions.lines(session.root, page.entries)

    def compress(self, session_id: str) -> Shown:
        rotations = wiring.rotations(self._settings, self._store)
        return self.session(self._await(rotations.now(self._tenant, self._found(session_id).id)).id)

    def delete(self, session_id: str) -> None:
        now = wiring.SystemClock().now()
        self._await(self._store.delete(self._tenant, self._found(session_id), now=now))

    def _found(self, session_id: str) -> Session:
        session = self._await(self._store.find(self._tenant, SessionId(session_id)))
        if session is None:
            raise NotFound("There is no such session; `everthread sessions list` shows them.")
        return session

    def _pages(self, session: Session) -> Iterator[Page]:
        page = self._await(self._store.transcript(self._tenant, session, limit=AT_ONCE))
        yield page
        while page.more:
            after = page.entries[-1].id
            page = self._await(self._store.transcript(self._tenant, session, after=after, limit=AT_ONCE))
            yield page

    @staticmethod
    def _shown(session: Session, page: Page) -> list[Shown]:
        """Messages as they come over HTTP."""
        data = [sessions.encode_entry(entry, session.root) for entry in page.entries]
        return list(msgspec.json.decode(msgspec.json.encode(data)))
