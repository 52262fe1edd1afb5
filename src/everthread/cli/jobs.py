"""`everthread jobs`: prompts that fire on a schedule, at a server that runs."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from everthread import wiring
from everthread.cli import Subparsers
from everthread.cli.chat import authority, load
from everthread.cli.kept import here
from everthread.cli.memory import as_json, fitted, sent
from everthread.cli.remote import Address, refused
from everthread.cli.sessions import carefully, clean
from everthread.cli.terminal import one_line
from everthread.core import schedule
from everthread.core.view import OVER
from everthread.errors import Malformed, NotFound, Refused, RunFailed, Unavailable
from everthread.wire.hooks import HIDDEN

Shown = dict[str, Any]  # a job or a run, as the API shows it

PATH = "/api/jobs"
AT_ONCE = 100  # jobs or runs
COMING = 3  # fires that are shown
EXACT_HOURS = 6  # below, minutes are told too
NAMED = 5  # jobs that a prefix may mean
LONGEST_NAME = 32
LONGEST_WHEN = 56
LONG = {"next", "instructions", "prompt"}  # what is shown with its lines
FIRST_LOOK, LONGEST_PAUSE = 0.1, 1.0  # seconds, while a run is waited for

DESCRIPTION = """\
Prompts that fire on a schedule, inside a conversation that remembers. They live in a server: these commands ask the one
that runs here, or the one at --url. A JOB is a name or an id, or the beginning of one that no other job has.
"""
EXAMPLES = {
    "list": "everthread jobs list",
    "add": 'everthread jobs add weekly --schedule "0 9 * * 1" --timezone Europe/Berlin'
    ' --prompt "What did we decide this week?"',
    "show": "everthread jobs show weekly",
    "run": "everthread jobs run weekly --wait > report.md",
    "pause": "everthread jobs pause weekly",
    "resume": "everthread jobs resume weekly",
    "remove": "everthread jobs remove weekly",
    "history": "everthread jobs history weekly --limit 5",
}
MORE_TO_ADD = """
  everthread jobs add standup --schedule "30 9 * * MON-FRI" --session repo:acme/backend --prompt @standup.txt
  everthread jobs add watch --schedule "every 30m" --repeat 48 --prompt "Anything new?" --webhook https://example.com/in
  git log --since=1.day | everthread jobs add once --schedule 2030-12-24T18:00:00 --prompt -

schedules:
  "0 9 * * 1"              minute, hour, day of month, month, day of week: Mondays at nine, by the zone's clock
  @hourly @daily @weekly @monthly @yearly
  "every 1h30m"            counted from now, whatever clocks show; at least 10s
  2030-12-24T18:00:00      once, by the zone's clock"""
EPILOG = "examples:\n" + "\n".join(f"  {example}" for example in EXAMPLES.values())

MISSED = {
    "run_once": "runs once, when the server is back",
    "skip": "that time is left out",
    "run_all": "every time of the last {hours:g} hours is made up for",
}
OVERLAP = {"skip": "that time is left out", "queue": "waits until the run before it is over"}


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "jobs",
        help="prompts that fire on a schedule",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    as_it_is(action(actions, "list", listed, "show the jobs, when they fire next and how they went last"))
    adding = action(actions, "add", added, "make a job", more=MORE_TO_ADD)
    fields(adding)
    as_it_is(adding)
    as_it_is(action(actions, "show", shown, "show one job and when it fires next", job=True))
    running = action(actions, "run", ran, "run one now, whatever its schedule says", job=True)
    running.add_argument("--wait", action="store_true", help="until it is over, and print what it said")
    as_it_is(running)
    action(actions, "pause", paused, "let one fire no more for now", job=True)
    action(actions, "resume", resumed, "let one fire again; what it missed meanwhile is left out", job=True)
    removing = action(actions, "remove", removed, "remove one and its history; its conversation stays", job=True)
    removing.add_argument("--yes", action="store_true", help="do not ask")
    telling = action(actions, "history", told, "show what came of one, the newest first", job=True)
    telling.add_argument("--limit", metavar="N", type=int, default=20, help="at most so many (default: %(default)s)")
    as_it_is(telling)


def action(
    actions: Subparsers,
    word: str,
    run: Callable[[argparse.Namespace], int],
    text: str,
    *,
    job: bool = False,
    more: str = "",
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        word,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"example{'s' if more else ''}:\n  {EXAMPLES[word]}{more}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if job:
        parser.add_argument("job", metavar="JOB", help="its name or id, or how no other's begins")
    parser.add_argument("--url", help="ask the server there, such as http://127.0.0.1:8642")
    parser.add_argument("--key", help="its API key (default: EVERTHREAD_API_KEY, else the one in EVERTHREAD_HOME)")
    parser.set_defaults(run=lambda args: carefully(run, args))
    return parser


def fields(adding: argparse.ArgumentParser) -> None:
    """What a job is made of."""
    add = adding.add_argument
    add("name", metavar="NAME", help="what to call it")
    add("--schedule", metavar="WHEN", required=True, help='"0 9 * * 1", @daily, "every 30m" or a time; see below')
    add("--timezone", metavar="ZONE", help="whose clock that is, such as Europe/Berlin (default: UTC)")
    add("--prompt", metavar="TEXT", required=True, help="what is said then; @FILE reads it from there, - from a pipe")
    add("--instructions", metavar="TEXT", help="how to answer, for these turns only; @FILE and - as above")
    add("--session", metavar="ID", help="the conversation to say it in (default: one of the job's own)")
    add("--session-key", metavar="KEY", help="the memory scope (default: none)")
    add("--model", metavar="NAME", help="the model that answers (default: the server's)")
    add("--on-missed", choices=list(MISSED), help="what to do about times when no server ran (default: run_once)")
    add("--catch-up", metavar="HOURS", type=float, help="how far back run_all goes (default: 24)")
    add("--on-overlap", choices=list(OVERLAP), help="when its last run is not over yet (default: skip)")
    add("--retries", metavar="N", type=int, help="more attempts after a failure that may pass (default: 0)")
    add("--timeout", metavar="SECONDS", type=float, help="for one attempt (default: 600)")
    add("--repeat", metavar="N", type=int, help="fire so often in all (default: for ever)")
    add("--expires", metavar="TIME", help="fire no more after that: ISO 8601, in UTC unless it has an offset")
    add("--webhook", metavar="URL", help="where each result is sent, signed")
    add("--secret", metavar="SECRET", help="what signs it (default: a new one, shown once)")
    add("--disabled", action="store_true", help="make it, but let it fire only after: everthread jobs resume")


def as_it_is(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as the API says it, one object to a line")


# --- the actions ---


def listed(args: argparse.Namespace) -> int:
    jobs = reached(args).many()
    if args.json:
        for job in jobs:
            print(as_json(job))
    elif jobs:
        print(table(jobs, now()))
    else:
        print("There are no jobs yet; `everthread jobs add --help` shows how to make one.")
    return 0


def added(args: argparse.Namespace) -> int:
    body = wanted(args)
    server = reached(args)
    job = server.ask("POST", PATH, body)["job"]
    print(as_json(job) if args.json else described(job, server.fires(job), now()))
    return 0


def shown(args: argparse.Namespace) -> int:
    server = reached(args)
    job = server.named(args.job)
    print(as_json(job) if args.json else described(job, server.fires(job), now()))
    return 0


def ran(args: argparse.Namespace) -> int:
    server = reached(args)
    job = server.named(args.job)
    run = server.ask("POST", path(job, "/run"))["run"]
    if not args.wait:
        print(as_json(run) if args.json else f"Started {run['id']}. What comes of it: {suggested('history', job)}")
        return 0
    over = server.outcome(run["id"])
    if args.json:
        print(as_json(over))
        return 0 if over["status"] == "completed" else 1
    if over["status"] != "completed":
        why = one_line(over["error"]["message"]) if over["error"] else "It is not said why."
        raise RunFailed(over["status"], message=f"The run was not completed ({one_line(over['status'])}): {why}")
    print(clean(over["output"] or ""))
    return 0


def paused(args: argparse.Namespace) -> int:
    server = reached(args)
    job = server.ask("POST", path(server.named(args.job), "/pause"))["job"]
    print(f"{one_line(job['name'])} fires no more until: {suggested('resume', job)}")
    return 0


def resumed(args: argparse.Namespace) -> int:
    server = reached(args)
    job = server.ask("POST", path(server.named(args.job), "/resume"))["job"]
    if job["next_run_at"] is None:
        print(f"{one_line(job['name'])} is over: there is no time left at which it would fire.")
        return 1
    print(f"{one_line(job['name'])} fires again {spoken(job, job['next_run_at'], now())}")
    return 0


def removed(args: argparse.Namespace) -> int:
    server = reached(args)
    job = server.named(args.job)
    if not args.yes and not confirmed(job):
        print("Nothing was removed.")
        return 1
    server.ask("DELETE", path(job))
    print(f"Removed {one_line(job['name'])}. What was said in {one_line(job['session_id'])} stays.")
    return 0


def confirmed(job: Shown) -> bool:
    about = f"{one_line(job['name'])}, {one_line(job['schedule']['display'])}"
    if not sys.stdin.isatty():
        raise Refused(f"Say --yes to remove {about}: there is nobody here to ask.")
    try:
        return input(f"Remove {about}, and its history? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False


def told(args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise Malformed("--limit is a number from 1 on.")
    server = reached(args)
    job = server.named(args.job)
    runs = server.history(job, args.limit)
    if args.json:
        for run in runs:
            print(as_json(run))
    elif runs:
        print(chronicle(job, runs))
    else:
        print(f"{one_line(job['name'])} has not fired yet; run it now with: {suggested('run', job)} --wait")
    return 0


# --- what a job is made of ---


def wanted(args: argparse.Namespace) -> Shown:
    if args.secret is not None and args.webhook is None:
        raise Malformed("--secret signs what is sent to a webhook: say --webhook URL too.")
    if args.prompt == args.instructions == "-":
        raise Malformed("Only one of --prompt and --instructions can be read from a pipe.")
    return sent(
        name=args.name,
        schedule=args.schedule,
        timezone=args.timezone,
        prompt=given(args.prompt, "--prompt"),
        instructions=given(args.instructions, "--instructions") if args.instructions is not None else None,
        session_id=args.session,
        session_key=args.session_key,
        model=args.model,
        on_missed=args.on_missed,
        catch_up_hours=args.catch_up,
        on_overlap=args.on_overlap,
        retries=args.retries,
        timeout_seconds=args.timeout,
        repeat=args.repeat,
        expires_at=args.expires,
        enabled=False if args.disabled else None,
        deliver=sent(type="webhook", url=args.webhook, secret=args.secret) if args.webhook is not None else None,
    )


def given(text: str, option: str) -> str:
    """The text itself, or what a file or a pipe has."""
    if text == "-":
        text = sys.stdin.read().strip()
    elif text.startswith("@"):
        try:
            text = Path(text[1:]).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise Refused(
                f"{option} {one_line(text[:100])} cannot be read: {why}. A text that begins with @ itself can be piped"
                f" in, with {option} -"
            ) from error
    if not text.strip():
        raise Malformed(f"{option} is empty.")
    return text


# --- where jobs are ---


def reached(args: argparse.Namespace) -> Server:
    """The server that is named, or the one that runs here."""
    chosen = load(args)
    address = here(args, chosen, only_named=False)
    if address is None:
        raise Unavailable(
            f"No server answers at http://{authority(chosen)}, and jobs need one that runs. Start it with"
            " `everthread serve`, or say where it is: --url http://HOST:PORT"
        )
    return Server(address)


class Server:
    """Asks over HTTP."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def ask(self, method: str, what: str, body: Shown | None = None) -> Any:
        content = json.dumps(body, ensure_ascii=False).encode(errors="replace") if body is not None else None
        headers = [("Content-Type", "application/json")] if body is not None else []
        with self._address.answering(method, what, body=content, headers=headers) as response:
            if not 200 <= response.status < 300:
                raise refused(response)
            try:
                return msgspec.json.decode(response.read())
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise Unavailable(f"{self._address.url} sent something that is not JSON.") from error

    def many(self) -> list[Shown]:
        return self._pages(PATH, "jobs")

    def history(self, job: Shown, limit: int) -> list[Shown]:
        return self._pages(path(job, "/runs"), "data", limit)

    def _pages(self, what: str, name: str, limit: int | None = None) -> list[Shown]:
        found: list[Shown] = []
        more = True
        while more and (limit is None or len(found) < limit):
            query = {"limit": AT_ONCE if limit is None else min(AT_ONCE, limit - len(found))}
            after = {"after": found[-1]["id"]} if found else {}
            page = self.ask("GET", f"{what}?{urlencode({**query, **after})}")
            found += page[name]
            more = page["has_more"] and bool(page[name])
        return found

    def named(self, text: str) -> Shown:
        return meant(text, self.many())

    def fires(self, job: Shown) -> list[str]:
        return list(self.ask("GET", path(job, f"/next?count={COMING}"))["next"])

    def outcome(self, run: str) -> Shown:
        """What became of a run, when it is over."""
        pause = FIRST_LOOK
        try:
            while (found := self.ask("GET", f"/v1/runs/{quote(run, safe='')}"))["status"] not in OVER:
                time.sleep(pause)
                pause = min(pause * 1.5, LONGEST_PAUSE)
        except KeyboardInterrupt:
            print(f"\nStopped waiting; {run} goes on without us.", file=sys.stderr, end="")
            raise
        return dict(found)


def path(job: Shown, rest: str = "") -> str:
    return f"{PATH}/{quote(job['id'], safe='')}{rest}"


def meant(text: str, jobs: Sequence[Shown]) -> Shown:
    """The job of that id, of that name, or the only one whose id or name begins so."""
    if not text.strip():
        raise Malformed("JOB is empty: say a name or an id, as `everthread jobs list` shows them.")
    for found in (
        [job for job in jobs if job["id"] == text],
        [job for job in jobs if job["name"] == text],
        [job for job in jobs if job["id"].startswith(text) or job["name"].startswith(text)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(f"{one_line(job['name'])} ({one_line(job['id'])})" for job in found[:NAMED])
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            raise Malformed(f"{one_line(text)!r} may mean {some}{more}. Say more of its name, or of its id.")
    raise NotFound(f"There is no job {one_line(text)!r}; `everthread jobs list` shows them.")


# --- how it looks ---


def table(jobs: Iterable[Shown], at: datetime) -> str:
    """Cut to the terminal; the ids are last, for a name does as well."""
    rows = [
        (
            textwrap.shorten(one_line(job["name"]), LONGEST_NAME, placeholder=" ..."),
            textwrap.shorten(one_line(job["schedule"]["display"]), LONGEST_WHEN, placeholder=" ..."),
            upcoming(job, at),
            one_line(job["last_status"] or "never ran"),
            one_line(job["id"]),
        )
        for job in jobs
    ]
    return aligned([("NAME", "WHEN", "NEXT", "LAST", "ID"), *rows])


def chronicle(job: Shown, runs: Iterable[Shown]) -> str:
    zone = zone_of(job)
    rows = [
        (
            f"{read(run['scheduled_at']).astimezone(zone):%Y-%m-%d %H:%M:%S}",
            one_line(run["status"]),
            str(run["attempt"]),
            lasted(run),
            one_line(run["error"]["message"]) if run["error"] else first_line(run["output"] or ""),
        )
        for run in runs
    ]
    return aligned([(f"SCHEDULED ({zone})", "STATUS", "ATTEMPT", "TOOK", "OUTPUT OR ERROR"), *rows])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    *wide, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        fitted("  ".join([*(f"{cell:{width}}" for cell, width in zip(row, wide, strict=False)), row[-1]]).rstrip())
        for row in rows
    )


def described(job: Shown, fires: Sequence[str], at: datetime) -> str:
    repeat, deliver = job["repeat"], job["deliver"]
    missed, overlap, secret = str(job["on_missed"]), str(job["on_overlap"]), str(deliver.get("secret", ""))
    facts = {
        "job": job["name"],
        "id": job["id"],
        "when": job["schedule"]["display"],
        "next": "\n".join(spoken(job, fire, at) for fire in fires) or standstill(job),
        "last": f"{job['last_status']}, {spoken(job, job['last_run_at'], at)}" if job["last_run_at"] else None,
        "last error": job["last_error"],
        "session": job["session_id"],
        "session key": job["session_key"],
        "model": job["model"],
        "if missed": MISSED.get(missed, missed).format(hours=job["catch_up_hours"]),
        "if busy": OVERLAP.get(overlap, overlap),
        "attempts": f"{job['retries'] + 1}, up to {job['timeout_seconds']:g} seconds each",
        "repeat": f"{repeat['completed']} of {repeat['times']} times so far" if repeat["times"] else None,
        "expires": spoken(job, job["expires_at"], at) if job["expires_at"] else None,
        "webhook": deliver.get("url"),
        "secret": f"{secret} (shown this once; keep it for the receiver)" if secret not in {"", HIDDEN} else None,
        "instructions": job["instructions"],
        "prompt": job["prompt"],
    }
    return "\n".join(
        f"{name:13}{textwrap.indent(clean(fact) if name in LONG else one_line(fact), ' ' * 13).strip()}"
        for name, fact in facts.items()
        if fact
    )


def standstill(job: Shown) -> str:
    """Why it does not fire."""
    return "paused" if not job["enabled"] else "over"


def suggested(word: str, job: Shown) -> str:
    """The command that does something to it; by its name, where that can be typed."""
    name = job["name"] if job["name"] == one_line(job["name"]) and not job["name"].startswith("-") else job["id"]
    return shlex.join(["everthread", "jobs", word, name])


def first_line(text: str) -> str:
    return next((line for line in map(one_line, text.splitlines()) if line), "")


# --- times in words ---


def now() -> datetime:
    return wiring.SystemClock().now()


def read(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def zone_of(job: Shown) -> tzinfo:
    """The job's zone; UTC where that is not known here."""
    known = schedule.zone_names().get(job["timezone"].lower())
    return schedule.zone_named(known) if known is not None else UTC


def spoken(job: Shown, stamp: str, at: datetime) -> str:
    """`in 3 days, Monday 9 March 2026 at 09:00 Europe/Berlin`."""
    zone = zone_of(job)
    local = read(stamp).astimezone(zone)
    return f"{away(local, at)}, {local:%A} {local.day} {local:%B} {local.year} at {clock(local)} {zone}"


def upcoming(job: Shown, at: datetime) -> str:
    """`in 3 days, Mon 9 Mar 09:00`: shorter, for a table. Intervals go by no clock."""
    if job["next_run_at"] is None:
        return standstill(job)
    local = read(job["next_run_at"]).astimezone(zone_of(job))
    if job["schedule"]["kind"] == "interval":
        return away(local, at)
    return f"{away(local, at)}, {local:%a} {local.day} {local:%b} {clock(local)}"


def clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def away(local: datetime, at: datetime) -> str:
    """How far a moment is from another; days are counted as a calendar in the moment's zone does."""
    seconds = (local - at).total_seconds()
    size = distance(abs(seconds), abs((local.date() - at.astimezone(local.tzinfo).date()).days))
    if not size:
        return "now"
    return f"in {size}" if seconds > 0 else f"{size} ago"


def distance(seconds: float, dates: int) -> str:
    minutes = round(seconds / 60)
    if round(seconds) < 60:
        return counted(round(seconds), "second")
    if minutes < EXACT_HOURS * 60:
        return f"{counted(minutes // 60, 'hour')} {counted(minutes % 60, 'minute')}".strip()
    if (hours := round(seconds / 3600)) < 24:
        return counted(hours, "hour")
    if dates < 60:
        return counted(max(dates, 1), "day")
    if (months := round(dates / 30.44)) < 24:
        return counted(months, "month")
    return counted(round(dates / 365.25), "year")


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""


def lasted(run: Shown) -> str:
    if not run["started_at"] or not run["ended_at"]:
        return ""
    seconds = (read(run["ended_at"]) - read(run["started_at"])).total_seconds()
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
