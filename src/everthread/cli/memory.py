"""`everthread memory`: what is remembered, in a terminal."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.cli.chat import load
from everthread.cli.kept import here
from everthread.cli.remote import Address, refused
from everthread.cli.sessions import carefully, own, write
from everthread.cli.terminal import CONTROLS, one_line
from everthread.core import ids
from everthread.core.ids import SessionId, SessionKey
from everthread.core.turn import Envelope
from everthread.errors import Malformed, NotFound, Refused, StoreInUse
from everthread.http import memory as api
from everthread.wire.memory import KINDS, STATES

T = TypeVar("T")
Shown = dict[str, Any]  # a claim, or whatever the API shows
Query = dict[str, str]

AT_ONCE = 200  # claims
UNSEEN = 160  # columns where nobody looks
SHOWN = 10  # claims and places of what would be forgotten

DESCRIPTION = """\
What is remembered of conversations: claims with the words they rest on. list, search, sources, timeline, turn, export
and status read the database in EVERTHREAD_HOME, whether a server runs or not; the others go through the server that
runs here, if one does. With --url all of them ask that server.

Say whose memory: --session-key for a memory scope, --session for a conversation that has no key.
"""
EXAMPLES = {
    "list": "everthread memory list --session-key alex --kind instruction,preference",
    "search": 'everthread memory search "which database" --session-key alex --as-of 2026-03-01',
    "add": 'everthread memory add "Always answer in French" --kind instruction --pin --session-key alex',
    "correct": 'everthread memory correct clm_0193 "We use PostgreSQL 16" --reason "upgraded in May"',
    "pin": "everthread memory pin clm_0193",
    "unpin": "everthread memory unpin clm_0193",
    "retract": 'everthread memory retract clm_0193 --reason "that was a joke"',
    "sources": "everthread memory sources clm_0193",
    "timeline": 'everthread memory timeline "database" --session-key alex --since 2026-01-01',
    "turn": "everthread memory turn run_0193",
    "export": "everthread memory export --session-key alex --format markdown -o alex.md",
    "forget": 'everthread memory forget --text "Sesame Street 12" --session-key alex',
    "status": "everthread memory status",
}
EPILOG = "examples:\n" + "\n".join(f"  {example}" for example in EXAMPLES.values())


class Action(msgspec.Struct, frozen=True):
    """Something that can be asked of a memory: over HTTP, or of the file."""

    method: str
    path: str
    work: api.Action


LIST = Action("GET", "", api.many)
SEARCH = Action("GET", "/search", api.search)
ADD = Action("POST", "", api.add)
CORRECT = Action("POST", "/{name}/correct", api.correct)
PIN = Action("POST", "/{name}/pin", api.pin)
RETRACT = Action("POST", "/{name}/retract", api.retract)
SOURCES = Action("GET", "/{name}/sources", api.sources)
TIMELINE = Action("GET", "/timeline", api.timeline)
GIVEN = Action("GET", "/turns/{name}", api.given)
FORGET = Action("POST", "/forget", api.forget)
STATUS = Action("GET", "/status", api.status)


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "memory",
        help="see, correct and forget what is remembered",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = action(actions, "list", listed, "show the claims of a scope, in the order they were said")
    listing.add_argument("--kind", metavar="KINDS", help=f"only these, with commas: {', '.join(KINDS)}")
    listing.add_argument("--state", metavar="STATES", help=f"only these: {', '.join(STATES)} (default: not retracted)")
    listing.add_argument("--pinned", action="store_true", help="only what is pinned")
    limited(listing)
    searching = action(actions, "search", searched, "find what was said, and what holds of it")
    searching.add_argument("query", metavar="QUERY", help="what to look for")
    searching.add_argument("--as-of", metavar="DATE", help="what was said up to then, and what held then")
    searching.add_argument("--known-at", metavar="DATE", help="by what was known then")
    limited(searching, 10)
    adding = action(actions, "add", added, "add a claim by hand")
    adding.add_argument("text", metavar="TEXT", help="what is so")
    adding.add_argument("--kind", choices=KINDS, default="fact", help="(default: %(default)s)")
    adding.add_argument("--pin", action="store_true", help="keep it in every prompt")
    adding.add_argument("--since", metavar="DATE", help="since when it is so")
    adding.add_argument("--speaker", metavar="NAME", help="who says so, in a group")
    correcting = action(
        actions,
        "correct",
        corrected,
        "say how it really is; the old claim is kept as reversed",
        name="the claim's id, as list shows it",
    )
    correcting.add_argument("text", metavar="TEXT", help="what is so")
    correcting.add_argument("--since", metavar="DATE", help="since when it is so")
    correcting.add_argument("--reason", metavar="TEXT", help="why it changed")
    action(actions, "pin", pinned, "keep a claim in every prompt", name="the claim's id, as list shows it")
    action(actions, "unpin", unpinned, "no longer keep it in every prompt", name="the claim's id, as list shows it")
    retracting = action(
        actions,
        "retract",
        retracted,
        "say that it was never so; what it replaced holds again",
        name="the claim's id, as list shows it",
    )
    retracting.add_argument("--reason", metavar="TEXT", help="why")
    action(
        actions,
        "sources",
        sourced,
        "show where a claim was said, its cause, and what it replaced",
        name="the claim's id, as list shows it",
    )
    telling = action(actions, "timeline", told, "show what changed, when and why, the oldest first")
    telling.add_argument("about", metavar="ABOUT", nargs="?", default="", help="only changes that have these words")
    telling.add_argument("--since", metavar="DATE", help="from then on")
    telling.add_argument("--until", metavar="DATE", help="before then")
    limited(telling)
    action(
        actions, "turn", given, "show what a reply was given from memory, word for word", name="run_... or chatcmpl-..."
    )
    exporting = action(actions, "export", exported, "write all claims of a scope")
    exporting.add_argument("--format", choices=list(api.FORMATS), default="jsonl", help="(default: %(default)s)")
    exporting.add_argument("-o", "--output", metavar="FILE", help="where to (default: standard output)")
    forgetting = action(actions, "forget", forgotten, "erase words and all that was derived from them, for good")
    what = forgetting.add_mutually_exclusive_group(required=True)
    what.add_argument("--claim", metavar="ID", help="a claim, and the words it was drawn from")
    what.add_argument("--conversation", metavar="ID", help="a whole conversation")
    what.add_argument("--text", help="these words, wherever they stand in the scope")
    what.add_argument("--everything", action="store_true", help="all of the scope")
    forgetting.add_argument("--dry-run", action="store_true", help="only show what would go")
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    action(actions, "status", stated, "show how far memory is behind, and what could not be read")


def action(
    actions: Subparsers, word: str, run: Callable[[argparse.Namespace], int], text: str, *, name: str | None = None
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        word,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"example:\n  {EXAMPLES[word]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if name is not None:
        parser.add_argument("id", metavar="ID", help=name)
    parser.add_argument("--session-key", metavar="KEY", help="whose memory: the memory scope")
    parser.add_argument("--session", metavar="ID", help="whose memory: a conversation without a session key")
    parser.add_argument("--json", action="store_true", help="as the API says it")
    parser.add_argument("--url", help="ask the server there, such as http://127.0.0.1:8642")
    parser.add_argument("--key", help="its API key (default: EVERTHREAD_API_KEY, else the one in EVERTHREAD_HOME)")
    parser.add_argument("--tenant", help=f"whose data in the database (default: {ids.DEFAULT_TENANT})")
    parser.set_defaults(run=lambda args: carefully(run, args))
    return parser


def limited(parser: argparse.ArgumentParser, default: int = 50) -> None:
    parser.add_argument(
        "--limit", metavar="N", type=int, default=default, help="at most so many (default: %(default)s)"
    )


# --- the actions ---


def listed(args: argparse.Namespace) -> int:
    query = {"kind": args.kind, "state": args.state, "pinned": "true" if args.pinned else None}
    claims = pages(args, LIST, query)
    for claim in claims:
        print(as_json(claim) if args.json else line_of(claim))
    if not claims and not args.json:
        print("Nothing is remembered here yet; what is said in a conversation is read soon after the reply.")
    return 0


def searched(args: argparse.Namespace) -> int:
    scoped(args)
    query = {"q": args.query, "as_of": args.as_of, "known_at": args.known_at, "limit": at_most(args)}
    with opened(args) as kept:
        found = kept.ask(SEARCH, query=query)
    if args.json:
        print(as_json(found))
        return 0
    for hit in found["data"]:
        where = f"turn {hit['turn']} of {one_line(hit['session_id'])}"
        print(fitted(f"{day(hit['said_at'])}  {one_line(hit['speaker'])}: {one_line(hit['text'])}"))
        print(f"            {where}")
    if found["claims"]:
        print("\nWhat held then:" if args.as_of else "\nWhat holds:")
    for claim in found["claims"]:
        print(line_of(claim))
    if not found["data"] and not found["claims"]:
        print("Nothing was found; other words may do better.")
    return 0


def added(args: argparse.Namespace) -> int:
    scoped(args)
    body = {
        "text": args.text,
        "kind": args.kind,
        "pinned": args.pin,
        **sent(valid_from=args.since, speaker=args.speaker),
    }
    return changed(args, ADD, body, "Remembered")


def corrected(args: argparse.Namespace) -> int:
    return changed(args, CORRECT, {"text": args.text, **sent(valid_from=args.since, reason=args.reason)}, "Corrected")


def pinned(args: argparse.Namespace) -> int:
    return changed(args, PIN, {"pinned": True}, "Pinned")


def unpinned(args: argparse.Namespace) -> int:
    return changed(args, PIN, {"pinned": False}, "No longer pinned")


def retracted(args: argparse.Namespace) -> int:
    return changed(args, RETRACT, sent(reason=args.reason), "Retracted")


def changed(args: argparse.Namespace, what: Action, body: Shown, done: str) -> int:
    with opened(args, changing=True) as kept:
        claim = kept.ask(what, name=getattr(args, "id", ""), body=body)
    print(as_json(claim) if args.json else f"{done}:\n{line_of(claim)}")
    return 0


def sourced(args: argparse.Namespace) -> int:
    with opened(args) as kept:
        found = kept.ask(SOURCES, name=args.id)
    if args.json:
        print(as_json(found))
        return 0
    words = {"claim": "said", "cause": "because", "replaced": "replaced"}
    for number, one in enumerate(found["data"]):
        source = one["source"]
        print(f"{chr(10) if number else ''}{words[one['relation']]}: {quoted(one['claim']['quote'])}")
        if source is None:
            print(f"  written by hand on {day(one['claim']['said_at'])}")
            continue
        print(f"  {day(source['said_at'])}, {source['role']}, turn {source['turn']} ({source['run_id']})")
        print(f"  message {source['position']} of {one_line(source['root_session_id'])}:")
        print(f"  {fitted(one_line(source['text']), 2)}")
    return 0


def told(args: argparse.Namespace) -> int:
    changes = pages(args, TIMELINE, {"about": args.about, "since": args.since, "until": args.until})
    for change in changes:
        if args.json:
            print(as_json(change))
            continue
        because = f" - because: {quoted(change['because'])}" if change["because"] else ""
        print(fitted(f"{day(change['at'])}  {change['claim']['kind']:11}  {quoted(change['claim']['quote'])}{because}"))
        for old in change["replaced"]:
            print(fitted(f"{'':12}{'replaced':11}  {quoted(old['quote'])} (said {day(old['said_at'])})"))
    if not changes and not args.json:
        print("Nothing changed that is known here.")
    return 0


def given(args: argparse.Namespace) -> int:
    with opened(args) as kept:
        found = kept.ask(GIVEN, name=args.id)
    if args.json:
        print(as_json(found))
        return 0
    print(f"turn {found['turn']} of {one_line(found['session_id'])}, {found['said_at']}")
    for name in ("profile", "tail"):
        block = found[name]
        print(f"\n{name}: {block['tokens']} tokens, {len(block['claims'])} claims, {len(block['turns'])} turns")
        print(block["text"].translate(CONTROLS).rstrip() or "(nothing)")
    return 0


def exported(args: argparse.Namespace) -> int:
    scoped(args)
    with opened(args) as kept:
        pieces = kept.export({"format": args.format})
        if args.output is None:
            write(pieces, sys.stdout.buffer)
        else:
            save(pieces, Path(args.output))
    return 0


def save(pieces: Iterator[bytes], whole: Path) -> None:
    """What is there already stays until the new one is whole."""
    part = whole.with_name(whole.name + ".part")
    try:
        with part.open("wb") as file:
            write(pieces, file)
        part.replace(whole)
    except OSError as error:
        raise Refused(f"{whole} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def forgotten(args: argparse.Namespace) -> int:
    if args.text is not None or args.everything:
        scoped(args)
    body: Shown = sent(claim=args.claim, session_id=args.conversation, text=args.text, scope=args.everything or None)
    with opened(args, changing=not args.dry_run) as kept:
        would = kept.ask(FORGET, body={**body, "dry_run": True})
        if args.dry_run:
            print(as_json(would) if args.json else outlook(would))
            return 0
        if not args.yes and not confirmed(would):
            print("Nothing was forgotten.")
            return 1
        gone = kept.ask(FORGET, body=body)
    print(as_json(gone) if args.json else f"Forgotten: {amount(gone)}.")
    return 0


def confirmed(would: Shown) -> bool:
    if not sys.stdin.isatty():
        raise Refused(f"Say --yes to forget {amount(would)}: there is nobody here to ask.")
    print(outlook(would))
    return input("Erase this for good? [y/N] ").strip().lower() in {"y", "yes"}


def outlook(would: Shown) -> str:
    """What would go, shortened."""
    lines = [f"This would go: {amount(would)}."]
    lines += [line_of(claim) for claim in would["claims"][:SHOWN]]
    lines += [
        fitted(
            f"  turn {place['turn']} of {one_line(place['session_id'])}, {place['role']}: {quoted(place['excerpt'])}"
        )
        for place in would["places"][:SHOWN]
    ]
    more = len(would["claims"]) + len(would["places"]) - len(lines) + 1
    return "\n".join([*lines, *([f"  and {more} more; --json shows them"] if more > 0 else [])])


def amount(gone: Shown) -> str:
    parts = ((len(gone["claims"]), "claim"), (gone["messages"], "message"), (gone["sessions"], "session"))
    return ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in parts)


def stated(args: argparse.Namespace) -> int:
    with opened(args) as kept:
        found = kept.ask(STATUS)
    if args.json:
        print(as_json(found))
        return 0
    print(f"embedder     {found['embedder']}, {found['dimensions']} dimensions")
    print(f"waiting      {found['waiting']}, the oldest for {found['lag_seconds']:.0f} s")
    if found["behind"] is not None:
        print(f"this scope   {'is being read' if found['behind'] else 'is read up to its last turn'}")
    print(f"given up     {len(found['dead'])}")
    for letter in found["dead"]:
        print(fitted(f"  {day(letter['at'])}  {letter['kind']} {letter['name']}: {one_line(letter['failure'])}"))
    return 0


def pages(args: argparse.Namespace, what: Action, query: dict[str, str | None]) -> list[Shown]:
    """As many as are wanted, page by page."""
    scoped(args)
    limit = int(at_most(args))
    found: list[Shown] = []
    more = True
    with opened(args) as kept:
        while more and len(found) < limit:
            last = found[-1] if found else None
            after = (last.get("claim") or last)["id"] if last is not None else None
            page = kept.ask(what, query={**query, "limit": str(min(AT_ONCE, limit - len(found))), "after": after})
            found += page["data"]
            more = page["has_more"]
    return found


def scoped(args: argparse.Namespace) -> None:
    if not args.session_key and not args.session:
        raise Malformed("Say whose memory: --session-key KEY, or --session ID for a conversation that has no key.")


def at_most(args: argparse.Namespace) -> str:
    if args.limit < 1:
        raise Malformed("--limit is a number from 1 on.")
    return str(args.limit)


def sent(**fields: Any) -> Shown:
    return {name: value for name, value in fields.items() if value is not None}


# --- where it is kept ---


class Kept(Protocol):
    def ask(
        self, what: Action, *, name: str = "", query: dict[str, str | None] | None = None, body: Shown | None = None
    ) -> Any: ...

    def export(self, query: Query) -> Iterator[bytes]: ...


@contextmanager
def opened(args: argparse.Namespace, *, changing: bool = False) -> Iterator[Kept]:
    """The server that is named; for changes the one that runs here; else the database itself."""
    chosen = load(args)
    for name, given in (("--session-key", args.session_key), ("--session", args.session)):
        ids.printable(given or "", what=name)
    address = here(args, chosen, only_named=not changing)
    if address is not None:
        yield Server(own(args, address), sent(session_key=args.session_key, session_id=args.session))
        return
    to = Envelope(
        tenant=ids.tenant(args.tenant or ids.DEFAULT_TENANT),
        session_key=SessionKey(args.session_key) if args.session_key else None,
        session_id=SessionId(args.session) if args.session else None,
    )
    with File(chosen, to, alone=changing) as file:
        yield file


class Server:
    """Asks over HTTP."""

    def __init__(self, address: Address, scope: Query) -> None:
        self._address = address
        self._scope = scope

    def ask(
        self, what: Action, *, name: str = "", query: dict[str, str | None] | None = None, body: Shown | None = None
    ) -> Any:
        path = what.path.replace("{name}", quote(name, safe=""))
        asked = urlencode({**self._scope, **sent(**(query or {}))})
        content = msgspec.json.encode(body) if body is not None else None
        headers = [("Content-Type", "application/json")] if body is not None else []
        with self._address.answering(
            what.method, f"/api/memory{path}?{asked}", body=content, headers=headers
        ) as response:
            if response.status not in {200, 201}:
                raise refused(response)
            return msgspec.json.decode(response.read())

    def export(self, query: Query) -> Iterator[bytes]:
        with self._address.answering("GET", f"/api/memory/export?{urlencode({**self._scope, **query})}") as response:
            if response.status != 200:
                raise refused(response)
            while piece := response.read(65536):
                yield piece


class File:
    """Asks the database of this machine; `alone` when no server may be using it."""

    def __init__(self, chosen: settings.Settings, to: Envelope, *, alone: bool) -> None:
        if not chosen.database.exists():
            raise NotFound(f"There is no database at {chosen.database}; the server makes it when it first starts.")
        self._settings = chosen
        self._to = to
        self._store = wiring.open_store(chosen, serving=alone)
        self._stack = AsyncExitStack()
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        try:
            self._await(self._store.open())
        except StoreInUse as failure:
            self._runner.close()
            raise StoreInUse(f"{failure.message} Or say where it listens: --url http://HOST:PORT") from failure
        self._stack.push_async_callback(self._store.close)
        remembered = wiring.memories(self._settings, self._store)
        self._memories = self._await(self._stack.enter_async_context(remembered))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._await(self._stack.aclose())
        self._runner.close()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def ask(
        self, what: Action, *, name: str = "", query: dict[str, str | None] | None = None, body: Shown | None = None
    ) -> Any:
        asked = self._asked(sent(**(query or {})), name, msgspec.json.encode(body) if body is not None else b"")

        async def answer() -> api.Said:
            return await what.work(asked)

        return msgspec.json.decode(self._await(answer()).body)

    def export(self, query: Query) -> Iterator[bytes]:
        pieces = api.exported(self._asked(query))
        while piece := self._await(following(pieces)):
            yield piece

    def _asked(self, query: Query, name: str = "", body: bytes = b"") -> api.Asked:
        return api.Asked(memories=self._memories, to=self._to, query=query, name=name, body=body)


async def following(pieces: AsyncIterator[bytes]) -> bytes:
    """The next piece; nothing after the last."""
    return await anext(pieces, b"")


# --- how it looks ---


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def line_of(claim: Shown) -> str:
    """A claim: when, its state, its kind and its words, cut to the terminal; below it what it is called."""
    since = day(claim["valid_from"] or claim["said_at"])
    source = claim["source"]
    where = f"turn {source['turn']} of {one_line(source['session_id'] or '')}" if source else "by hand"
    mark = ", pinned" if claim["pinned"] else ""
    words = fitted(f"{since}  {claim['state']:10}  {claim['kind']:11}  {quoted(claim['quote'])}")
    return f"{words}\n{'':12}{claim['id']}  {where}{mark}"


def quoted(text: str) -> str:
    return f'"{one_line(text)}"'


def day(moment: str) -> str:
    return moment[:10]


def fitted(line: str, indent: int = 0) -> str:
    wide = (shutil.get_terminal_size().columns if sys.stdout.isatty() else UNSEEN) - indent
    return line if len(line) <= wide else f"{line[: max(wide - 4, 1)]} ..."
