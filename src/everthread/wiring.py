"""The one place where concrete parts meet."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from everthread.context.tokens import O200k
from everthread.context.tokens import Remembering as CountingOnce
from everthread.core import backoff
from everthread.core.embedding import Embedder
from everthread.core.job import JobId
from everthread.core.key import RIGHTS, id_in
from everthread.core.memory import Lag, Memory
from everthread.core.ports import Clock, Model, Store, TokenCounter
from everthread.core.queue import Jobs, Queue, Waiting
from everthread.core.signature import new_secret
from everthread.core.signature import secret as checked
from everthread.core.usage import prices
from everthread.core.view import Hook, Views
from everthread.embed import choose as embedders
from everthread.embed import heap, together
from everthread.errors import Failure, Malformed, StoreUnavailable, UpstreamUnreachable
from everthread.hooks.courier import HttpCourier
from everthread.http import auth, request
from everthread.http.auth import Gate, new_key
from everthread.http.guests import Guests
from everthread.http.site import Check, Finding, Site
from everthread.http.visits import Visits
from everthread.models.embedded import gguf, vocabulary, weights
from everthread.models.embedded.local import Local
from everthread.models.openai import OpenAI, Timeouts
from everthread.models.pool import Pool
from everthread.models.scripted import Scripted
from everthread.scheduler import Scheduler
from everthread.settings import Settings
from everthread.storage import backup
from everthread.storage.jobs import SqliteJobs
from everthread.storage.memory import SqliteMemory
from everthread.storage.parcels import SqliteOutgoing
from everthread.storage.queue import SqliteQueue
from everthread.storage.sqlite import SqliteStore
from everthread.storage.usage import SqliteAccounts
from everthread.storage.views import SqliteViews
from everthread.turns.items import Items
from everthread.turns.jobs import Timetable
from everthread.turns.memories import Memories
from everthread.turns.post import Post
from everthread.turns.recall import Recall
from everthread.turns.remember import Remembering
from everthread.turns.room import Room
from everthread.turns.rotate import Rotations
from everthread.turns.run import Turns
from everthread.turns.runs import Runs
from everthread.wire import chat, parcels

log = logging.getLogger("everthread")

__all__ = [
    "SqliteStore",
    "SystemClock",
    "backup",
    "heap",
    "make_home",
    "memories",
    "new_key",
    "open_store",
    "rotations",
    "running",
    "webhook",
    "weights",
]

DEFAULT_BUDGET = 12_000
FAILED_RUNS_KEPT = timedelta(days=7)
PARCELS_KEPT = timedelta(days=30)
TIDY_EVERY = 600.0  # seconds
TIDY_AT_ONCE = 10  # threads: a small portion, so that nobody waits
REPLAYS_KEPT = timedelta(hours=48)
LEAST_DISK = 100 * 1024 * 1024
SHORTEST_STRONG_KEY = 24
LAST_WORDS = 1.0  # seconds that runs get to finish when all else has ended; the next process takes up the others
SLOW_READING = 60.0  # seconds behind


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class RandomIds:
    """Milliseconds, then chance: they sort by time and cannot be guessed."""

    def __init__(self) -> None:
        self._chance: list[str] = []  # the system is asked for many ids' worth at once

    def new(self) -> str:
        if not self._chance:
            digits = os.urandom(8 * 512).hex()
            self._chance = [digits[start : start + 16] for start in range(0, len(digits), 16)]
        return f"{time.time_ns() // 1_000_000:011x}{self._chance.pop()}"


class Choice(msgspec.Struct, frozen=True):
    """Which model answers, and in which words to say so."""

    model: Model
    about: str
    local: Local | None = None


def choose(settings: Settings) -> Choice:
    """The upstream that is configured, else the embedded model, whose weights must be there."""
    if settings.upstream_url is not None:
        upstream = OpenAI(
            settings.upstream_url,
            settings.upstream_key,
            timeouts=Timeouts(settings.connect_timeout, settings.first_byte_timeout, settings.silence_timeout),
        )
        pool = Pool(upstream, clock=SystemClock(), default=settings.model, fallbacks=settings.fallback_models)
        return Choice(pool, f"{settings.model or 'the first model'} at {settings.upstream_url}")
    known = weights.find(embedded_name(settings))
    local = Local(weights=settings.weights / known.file, name=known.name)
    pool = Pool(local, clock=SystemClock(), default=known.name, fallbacks=settings.fallback_models)
    return Choice(pool, f"{known.name}, embedded", local)


def embedded_name(settings: Settings) -> str:
    """The embedded model's name: the one that is set, else what the machine's free memory allows."""
    return settings.model or weights.default_name(weights.free_memory())


def make_home(settings: Settings) -> None:
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreUnavailable(f"EVERTHREAD_HOME={settings.home} cannot be made: {error.strerror or error}.") from error


def open_store(settings: Settings, *, serving: bool) -> SqliteStore:
    return SqliteStore(settings.database, serving=serving)


async def webhook(settings: Settings, url: str, secret: str | None) -> Hook:
    """A webhook as the server would take it, with a secret made for it if there is none; else Malformed."""
    courier = HttpCourier(settings.webhook_hosts)
    try:
        courier.vet(url)
    finally:
        await courier.close()
    return Hook(url, checked(secret) if secret else new_secret(secrets.token_bytes(32)))


async def first_key(store: Store, settings: Settings) -> str:
    """The key in the home folder; made, and readable only by its owner, when there is none that is valid."""
    file = settings.key_file
    now = SystemClock().now()
    if file.exists():
        secret = file.read_text().strip()
        name = id_in(secret)
        known = await store.key(name) if name else None
        if known is not None and known.valid(now) and known.digest == auth.digest(secret):
            return secret
    secret, key = new_key(now, name="first key", rights=RIGHTS)
    await store.add_key(key)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(secret + "\n")
    file.chmod(0o600)
    return secret


def gate(settings: Settings) -> Gate:
    """The rules at the door; Malformed when the server would stand open."""
    loopback = auth.is_loopback(settings.host)
    if settings.api_key is not None and not loopback and is_weak(settings.api_key):
        raise Malformed(
            f"EVERTHREAD_API_KEY is too weak to listen on {settings.host}: others can reach it."
            f" Use at least {SHORTEST_STRONG_KEY} characters, or leave it out and let the server make a key."
        )
    hosts = frozenset({settings.host.lower(), *(host.lower() for host in settings.allowed_hosts)})
    return Gate(
        given_key=auth.digest(settings.api_key) if settings.api_key else None,
        hosts=hosts if loopback or settings.allowed_hosts else None,
        origins=frozenset(settings.cors_origins),
    )


def is_weak(key: str) -> bool:
    return len(key) < SHORTEST_STRONG_KEY or len(set(key)) < 10


class Running(msgspec.Struct, frozen=True):
    """A site whose parts are open, with what the banner says of it."""

    site: Site
    key: str
    about: str


@asynccontextmanager
async def running(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Running]:
    """Opens every part, and closes each again in the opposite order."""
    clock = clock or SystemClock()
    rules = gate(settings)
    make_home(settings)
    store = open_store(settings, serving=True)
    await store.open()
    try:
        key = settings.api_key or await first_key(store, settings)
        chosen = choose(settings)
        if chosen.local is not None:
            await chosen.local.start()
        tidying = asyncio.create_task(tidy(store, settings))
        try:
            counter = await asyncio.to_thread(counting, chosen)  # some 0.3 s, while the embedded model loads
            counting_once = CountingOnce(counter)
            async with site(settings, store, chosen, rules=rules, counter=counting_once, clock=clock) as opened:
                yield Running(opened, key, chosen.about)
        finally:
            tidying.cancel()
            await chosen.model.close()
    finally:
        await store.close()


def counting(chosen: Choice) -> TokenCounter:
    """Counts as the embedded model does; for any other, and if its vocabulary is unknown, an estimate."""
    if chosen.local is not None:
        try:
            return vocabulary.load(chosen.local.weights)
        except gguf.Unreadable as failure:
            log.warning("tokens will be counted by estimate: %s", failure.message)
    return O200k()


def embedding(settings: Settings) -> Embedder:
    """What makes vectors: the best there is, or none where memory is off."""
    return embedders.best() if settings.memory == "on" else embedders.best(embedders.NONE)


@asynccontextmanager
async def site(
    settings: Settings, store: SqliteStore, chosen: Choice, *, rules: Gate, counter: TokenCounter, clock: Clock
) -> AsyncIterator[Site]:
    budget = settings.context_budget or default_budget(chosen.local.context if chosen.local else None)
    ids = RandomIds()
    embedder = embedding(settings)
    memory = SqliteMemory(store, embedder.similarities)
    views = SqliteViews(store, ids)
    accounts = SqliteAccounts(store)
    recall = Recall(memory=memory, embedder=embedder, counter=counter)
    pairing = together.best() if settings.memory == "on" else None
    remembering = Remembering(
        memory=memory,
        embedder=embedder,
        pairing=pairing,
        clock=clock,
        resting=lambda: time.monotonic() - turns.stirred,
        model=chosen.model if settings.claims == "model" else None,
        counter=counter,
        accounts=accounts,
    )
    on = settings.memory == "on"
    turns = Turns(
        store=store,
        views=views,
        archive=store,
        model=chosen.model,
        clock=clock,
        ids=ids,
        counter=counter,
        budget=budget,
        distil=settings.distil == "model" or (settings.distil == "auto" and chosen.local is None),
        commands=settings.commands == "on",
        answer_without_history=settings.answer_without_history,
        recall=recall if on else None,
        remembering=remembering if on else None,
        server_tools=settings.server_tools == "on" or (settings.server_tools == "auto" and chosen.local is None),
        accounts=accounts,
    )
    queue = SqliteQueue(store)
    runs = Runs(
        turns=turns,
        views=views,
        queue=queue,
        store=store,
        clock=clock,
        ids=ids,
        worker=ids.new(),
        resume=settings.interrupted_runs == "resume",
    )
    jobs, outgoing = SqliteJobs(store), SqliteOutgoing(store)
    timetable = Timetable(jobs=jobs, queue=queue, clock=clock, ids=ids, wake=runs.wake)
    scheduler = Scheduler(timetable=timetable, clock=clock)
    courier = HttpCourier(settings.webhook_hosts)
    post = Post(
        outgoing=outgoing,
        courier=courier,
        clock=clock,
        worker=ids.new(),
        written=lambda waiting: (
            news(waiting, store, memory, clock.now()) if waiting.key is not None else written(waiting, queue, views)
        ),
        pause=backoff.pause,
        unhook=lambda waiting: unhook(waiting, store, queue, jobs, timetable),
    )
    runs.over = post.wake
    store.news = post.wake
    await queue.abandoned()  # there is one server process per file
    await outgoing.abandoned()
    guests, visits = Guests(store, clock), Visits()
    runs.spent = visits.spent
    working = [asyncio.create_task(work) for work in (runs.work(), scheduler.run(), post.work(), guests.watch())]
    reading = asyncio.create_task(remembering.run()) if on else None
    room = Room(settings.turns_at_once)
    try:
        yield Site(
            turns=turns,
            runs=runs,
            items=Items(
                store=store,
                views=views,
                clock=clock,
                ids=ids,
                counter=counter,
                budget=budget,
                changed=remembering.nudge,
            ),
            views=views,
            queue=queue,
            jobs=jobs,
            timetable=timetable,
            post=post,
            courier=courier,
            memories=Memories(memory=memory, store=store, archive=store, clock=clock, ids=ids, embedder=embedder),
            store=store,
            archive=store,
            accounts=accounts,
            prices=prices(settings.prices),
            model=chosen.model,
            clock=clock,
            ids=ids,
            gate=rules,
            room=room,
            guests=guests,
            visits=visits,
            checks=checks(settings, store, chosen, memory, embedder),
            figures=lambda: figures(memory, store, clock, room),
            limits={
                "body_bytes": request.LARGEST_BODY,
                "messages": chat.MOST_MESSAGES,
                "session_id_length": 256,
                "session_key_length": 256,
                "context_budget": budget,
                "turns_at_once": room.most,
            },
        )
    finally:
        await runs.finish(within=LAST_WORDS)
        for work in working:
            work.cancel()
        await asyncio.wait(working)
        await runs.close()
        await courier.close()
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])
        await turns.rotations.close()
        if pairing is not None:
            await pairing.close()
        await embedder.close()


async def written(waiting: Waiting, queue: Queue, views: Views) -> bytes | None:
    """What a webhook is told of a run: what became of it, as it is kept now; None when it is not kept any more."""
    run = await queue.run(waiting.tenant, waiting.run) if waiting.run is not None else None
    if run is None:
        return None
    spot = await views.spot(waiting.tenant, run.id)
    return parcels.body(waiting.parcel.kind, run, spot.step if spot else None, run.ended_at or run.updated_at)


async def news(waiting: Waiting, store: Store, memory: Memory, now: datetime) -> bytes | None:
    """What an API key is told, in words that are kept still; None when they are not, or the key is not valid."""
    key = await store.key(waiting.key) if waiting.key is not None else None
    if key is None or not key.valid(now):
        return None
    if waiting.parcel.kind != parcels.REVERSED:
        return waiting.parcel.body
    told = parcels.decode_reversal(waiting.parcel.body)
    new, old = [await memory.claim(waiting.tenant, claim) for claim in told.claims]
    if new is None or old is None or not key.allows(new.session_key):
        return None
    cause = await memory.claim(waiting.tenant, new.claim.cause) if new.claim.cause is not None else None
    return parcels.quoted(told, new.claim, old.claim, cause.claim if cause is not None else None)


async def unhook(waiting: Waiting, store: Store, queue: Queue, jobs: Jobs, timetable: Timetable) -> None:
    """A receiver said that it is gone for good: its job, or its API key, delivers nothing there any more."""
    if waiting.key is not None:
        await store.unhook_key(waiting.key, waiting.parcel.url)
        return
    run = await queue.run(waiting.tenant, waiting.run) if waiting.run is not None else None
    standing = await jobs.job(waiting.tenant, JobId(run.job)) if run is not None and run.job is not None else None
    if standing is not None and standing.job.hook is not None and standing.job.hook.url == waiting.parcel.url:
        await timetable.change(waiting.tenant, standing, msgspec.structs.replace(standing.job, hook=None))


def rotations(settings: Settings, store: Store) -> Rotations:
    """Rotates by hand, without a model and without a server."""
    return Rotations(
        store=store,
        model=Scripted(),
        clock=SystemClock(),
        ids=RandomIds(),
        counter=O200k(),
        budget=settings.context_budget or DEFAULT_BUDGET,
        distil=False,
    )


@asynccontextmanager
async def memories(settings: Settings, store: SqliteStore) -> AsyncIterator[Memories]:
    """A person's hand on the memory of an open store, without a server."""
    embedder = embedding(settings)
    try:
        yield Memories(
            memory=SqliteMemory(store, embedder.similarities),
            store=store,
            archive=store,
            clock=SystemClock(),
            ids=RandomIds(),
            embedder=embedder,
        )
    finally:
        await embedder.close()


def default_budget(context_length: int | None) -> int:
    """12,000 tokens when the model's context allows twice that, else 60 % of it."""
    if context_length is None or context_length >= 2 * DEFAULT_BUDGET:
        return DEFAULT_BUDGET
    return context_length * 6 // 10


def checks(settings: Settings, store: Store, chosen: Choice, memory: Memory, embedder: Embedder) -> dict[str, Check]:
    async def stored() -> str:
        await store.ping()
        return "writable"

    async def upstream() -> str:
        if chosen.local is not None:
            if chosen.local.state != "ready":
                raise UpstreamUnreachable(f"The embedded model is {chosen.local.state}.")
            return "ready"
        return f"{len(await chosen.model.cards())} models"

    async def disk() -> str:
        free = free_space(settings.database)
        if free < LEAST_DISK:
            raise StoreUnavailable(f"Only {free // 1024 // 1024} MB are free where the database lies.")
        return f"{free // 1024 // 1024} MB free"

    async def remembered() -> Finding:
        if settings.memory == "off":
            return Finding("off", {"memory_lag": 0.0, "memory_waiting": 0, "memory_dead": 0})
        lag = await memory.lag()
        behind = seconds_behind(lag, SystemClock().now())
        return Finding(
            f"vectors: {embedder.name}",
            {"memory_lag": behind, "memory_waiting": lag.waiting, "memory_dead": lag.dead},
            slow=behind > SLOW_READING,
        )

    return {"store": stored, "upstream": upstream, "disk": disk, "memory": remembered}


async def figures(memory: Memory, store: SqliteStore, clock: Clock, room: Room) -> dict[str, float]:
    lag = await memory.lag()
    return {
        "everthread_turns_at_work": room.taken,
        "everthread_turns_refused": room.refused,
        "everthread_tasks": len(asyncio.all_tasks()),
        "everthread_at_hand_bytes": store.at_hand,
        "everthread_memory_lag_seconds": seconds_behind(lag, clock.now()),
        "everthread_memory_waiting": lag.waiting,
        "everthread_memory_dead_letters": lag.dead,
    }


def seconds_behind(lag: Lag, now: datetime) -> float:
    """How long the oldest thing that is to be read has waited."""
    return max(0.0, (now - lag.oldest).total_seconds()) if lag.oldest else 0.0


def free_space(path: Path) -> int:
    return shutil.disk_usage(path.parent).free


async def tidy(store: Store, settings: Settings) -> None:
    """Drops what has outlived its time, in small portions, for as long as the server runs; and gives back memory that
    is not used any more."""
    while True:
        now = SystemClock().now()
        try:
            dropped = await store.tidy(
                unnamed_before=now - timedelta(hours=settings.unnamed_ttl_hours),
                replays_before=now - REPLAYS_KEPT,
                runs_before=now - FAILED_RUNS_KEPT,
                parcels_before=now - PARCELS_KEPT,
                limit=TIDY_AT_ONCE,
            )
        except Failure as failure:
            log.warning("tidying was put off: %s", failure.code)
            dropped = 0
        await asyncio.to_thread(heap.give_back)
        await asyncio.sleep(0.5 if dropped >= TIDY_AT_ONCE else TIDY_EVERY)
