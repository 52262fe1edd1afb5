"""`everthread sessions`: the conversations that are kept."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from everthread.cli import Subparsers
from everthread.cli.chat import load, take_any_bytes
from everthread.cli.kept import Conversations, Database, Server, here
from everthread.cli.remote import Address
from everthread.cli.terminal import CONTROLS, one_line
from everthread.core import ids
from everthread.errors import Malformed, Refused

LAST = 20  # messages that `show` shows
LONGEST_TITLE = 40

DESCRIPTION = """\
The conversations that are kept. list, show and export read the database in EVERTHREAD_HOME, whether a server runs or
not; delete and compress go through the server that runs here, if one does. With --url all of them ask that server.
"""
EPILOG = """\
examples:
  everthread sessions list                       the conversations, those used last first
  everthread sessions list --session-key alex    those of one memory scope
  everthread sessions show trip                  what a conversation is, and the last that was said in it
  everthread sessions show trip --all            everything that was said in it
  everthread sessions export trip > trip.jsonl   all of it, one JSON object to a line
  everthread sessions compress trip              begin a new epoch of it now
  everthread sessions delete trip                delete it for good; asks first, unless --yes is given

Any id that a conversation ever had will do.
"""


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "sessions",
        help="list, show, export, compress and delete conversations",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = action(actions, "list", listed, "show the conversations, those used last first")
    listing.add_argument("--session-key", metavar="KEY", help="only those of this memory scope")
    listing.add_argument("--limit", metavar="N", type=int, default=50, help="at most so many (default: %(default)s)")
    listing.add_argument("--children", action="store_true", help="every session, not only each conversation's newest")
    listing.add_argument("--json", action="store_true", help="one JSON object to a line")
    showing = action(actions, "show", shown, "show one conversation and what was said last", session=True)
    showing.add_argument("--all", action="store_true", help=f"everything that was said, not the last {LAST} messages")
    exporting = action(actions, "export", exported, "write all of one as JSON lines", session=True)
    exporting.add_argument("-o", "--output", metavar="FILE", help="where to (default: standard output)")
    action(actions, "compress", compressed, "begin a new epoch of one now", session=True)
    deleting = action(actions, "delete", deleted, "delete one for good, and all that was derived from it", session=True)
    deleting.add_argument("--yes", action="store_true", help="do not ask")


def action(
    actions: Subparsers, name: str, run: Callable[[argparse.Namespace], int], text: str, *, session: bool = False
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    if session:
        parser.add_argument("id", metavar="ID", help="the session's id, or any other that it had")
    parser.add_argument("--url", help="ask the server there, such as http://127.0.0.1:8642")
    parser.add_argument("--key", help="its API key (default: EVERTHREAD_API_KEY, else the one in EVERTHREAD_HOME)")
    parser.add_argument("--tenant", help=f"whose sessions in the database (default: {ids.DEFAULT_TENANT})")
    parser.set_defaults(run=lambda args: carefully(run, args))
    return parser


def carefully(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    take_any_bytes()
    try:
        return run(args)
    except BrokenPipeError:  # a reader that has seen enough, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


# --- the actions ---


def listed(args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise Malformed("--limit is a number from 1 on.")
    with opened(args) as kept:
        found = kept.sessions(args.limit, session_key=args.session_key, children=args.children)
    if args.json:
        for session in found:
            print(msgspec.json.encode(session).decode())
    elif found:
        print(table(found, children=args.children))
    else:
        print("There are no sessions yet; begin one with: everthread chat")
    return 0


def shown(args: argparse.Namespace) -> int:
    with opened(args) as kept:
        print(described(kept.session(args.id)))
        for message in kept.messages(args.id) if args.all else kept.last(args.id, LAST):
            print(f"\n{said_by(message)}\n{textwrap.indent(clean(words(message)), '  ')}")
    return 0


def exported(args: argparse.Namespace) -> int:
    with opened(args) as kept:
        lines = kept.export(args.id)
        if args.output is None:
            write(lines, sys.stdout.buffer)
            return 0
        whole = Path(args.output)
        part = whole.with_name(whole.name + ".part")  # what is there already stays until the new one is whole
        try:
            with part.open("wb") as file:
                write(lines, file)
            part.replace(whole)
        except OSError as error:
            raise Refused(f"{args.output} cannot be written: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
    return 0


def write(pieces: Iterator[bytes], out: BinaryIO) -> None:
    out.writelines(pieces)
    out.flush()


def compressed(args: argparse.Namespace) -> int:
    with opened(args, changing=True) as kept:
        before = kept.session(args.id)["tip_session_id"]
        after = kept.compress(args.id)["id"]
    if after == before:
        print("There is nothing to compress now.")
    else:
        print(f"The conversation goes on as {one_line(after)}; every id it had leads there.")
    return 0


def deleted(args: argparse.Namespace) -> int:
    with opened(args, changing=True) as kept:
        session = kept.session(kept.session(args.id)["tip_session_id"])
        if not args.yes and not confirmed(session):
            print("Nothing was deleted.")
            return 1
        kept.delete(args.id)
    print(f"Deleted {one_line(session['root_session_id'])}.")
    return 0


def confirmed(session: dict[str, Any]) -> bool:
    about = f"{one_line(session['title'] or session['root_session_id'])}, {session['message_count']} messages"
    if not sys.stdin.isatty():
        raise Refused(f"Say --yes to delete {about}: there is nobody here to ask.")
    return input(f"Delete {about}, for good? [y/N] ").strip().lower() in {"y", "yes"}


@contextmanager
def opened(args: argparse.Namespace, *, changing: bool = False) -> Iterator[Conversations]:
    """The server that is named; for changes the one that runs here; else the database itself."""
    chosen = load(args)
    address = here(args, chosen, only_named=not changing)
    if address is not None:
        yield Server(own(args, address))
        return
    with Database(chosen, ids.tenant(args.tenant or ids.DEFAULT_TENANT), alone=changing) as database:
        yield database


def own(args: argparse.Namespace, address: Address) -> Address:
    """A server tells tenants by their keys: what would be another tenant's is not asked for with the wrong one."""
    if args.tenant is not None and args.key is None:
        raise Malformed(f"{address.url} knows tenants by their keys: say --key with one of {args.tenant}'s.")
    return address


# --- how it looks ---


def table(sessions: list[dict[str, Any]], *, children: bool) -> str:
    name = "id" if children else "root_session_id"
    rows = [("ID", "TITLE", "MESSAGES", "LAST ACTIVE", "SESSION KEY")] + [
        (
            one_line(session[name]),
            textwrap.shorten(one_line(session["title"] or ""), LONGEST_TITLE, placeholder=" ..."),
            str(session["message_count"]),
            moment(session["last_active"]),
            one_line(session["session_key"] or ""),
        )
        for session in sessions
    ]
    wide = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(
        f"{a:{wide[0]}}  {b:{wide[1]}}  {c:>{wide[2]}}  {d:{wide[3]}}  {e}".rstrip() for a, b, c, d, e in rows
    )


def described(session: dict[str, Any]) -> str:
    facts = {
        "session": session["id"],
        "goes on as": session["tip_session_id"] if session["tip_session_id"] != session["id"] else None,
        "title": session["title"],
        "session key": session["session_key"],
        "model": session["model"],
        "messages": session["message_count"],
        "tokens": "{input_tokens} in ({cache_read_tokens} cached), {output_tokens} out".format(**session),
        "began": moment(session["created_at"]),
        "last active": moment(session["last_active"]),
        "ended": session["end_reason"],
        "parent": session["parent_session_id"],
    }
    return "\n".join(f"{name:12} {one_line(str(fact))}" for name, fact in facts.items() if fact is not None)


def said_by(message: dict[str, Any]) -> str:
    when = f", {moment(message['timestamp'])}" if message["timestamp"] is not None else ", imported"
    return f"{one_line(message['name'] or message['role'])}{when}"


def words(message: dict[str, Any]) -> str:
    """What was said, as text; what is no text is named."""
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part.get("text") or f"[{part.get('type')}]" for part in content)
    calls = [f"[calls {call.get('function', {}).get('name')}]" for call in message["tool_calls"] or ()]
    return "\n".join([*([content] if content else []), *calls]) or "[nothing]"


def clean(text: str) -> str:
    return text.translate(CONTROLS)


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"
