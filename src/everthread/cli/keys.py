"""`everthread keys`: who may use the server. Works while it runs; a revoked key stops at once."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.core import ids
from everthread.core.courier import origin
from everthread.core.key import Limits, rights
from everthread.core.ports import Store
from everthread.errors import Malformed, NotFound
from everthread.wire.keys import future

LIMITS = {
    "requests_per_minute": "at most so many requests a minute",
    "tokens_per_day": "at most so many tokens a day (UTC)",
    "concurrent": "at most so many requests at once, streams included",
}


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def register(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "keys",
        help="create, list and revoke API keys",
        description="API keys. Each belongs to a tenant: keys of one tenant share its sessions, and nothing crosses"
        " tenants. A key is shown once, when it is made; only its digest is kept.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a key and print it, alone on its line")
    create.add_argument("--tenant", default=ids.DEFAULT_TENANT, help="whose key it is (default: %(default)s)")
    create.add_argument("--name", default="", help="what it is for, shown by list")
    create.add_argument(
        "--session-key-prefix", metavar="P", help="bind it: it may only use session keys that begin with P"
    )
    create.add_argument(
        "--rights", default="chat,read", help="some of chat, read and admin, with commas (default: %(default)s)"
    )
    create.add_argument("--expires", metavar="WHEN", help="a date or a moment, in UTC if it does not say where")
    for name, what in LIMITS.items():
        create.add_argument(f"--{name.replace('_', '-')}", metavar="N", type=positive, help=what)
    create.add_argument(
        "--webhook", metavar="URL", help="where the key is told when a session rotates, and when a claim is reversed"
    )
    create.add_argument(
        "--webhook-secret", metavar="S", help="what signs it (default: one is made, and printed once, below the key)"
    )
    create.set_defaults(run=lambda args: with_store(lambda store: created(store, args)))
    listing = actions.add_parser("list", help="show the keys that exist, without their secrets")
    listing.add_argument("--tenant", help="only this tenant's")
    listing.set_defaults(run=lambda args: with_store(lambda store: listed(store, args)))
    revoke = actions.add_parser("revoke", help="make a key invalid, at once and for good")
    revoke.add_argument("id", help="the key's id, as list shows it (the part after et_)")
    revoke.set_defaults(run=lambda args: with_store(lambda store: revoked(store, args)))


def with_store(work: Callable[[Store], Awaitable[int]]) -> int:
    async def working() -> int:
        chosen = settings.load()
        wiring.make_home(chosen)
        store = wiring.open_store(chosen, serving=False)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(working())


async def created(store: Store, args: argparse.Namespace) -> int:
    prefix = args.session_key_prefix
    if args.webhook_secret and not args.webhook:
        raise Malformed("--webhook-secret signs what --webhook is told: give its URL too.")
    hook = await wiring.webhook(settings.load(), args.webhook, args.webhook_secret) if args.webhook else None
    now = wiring.SystemClock().now()
    secret, key = wiring.new_key(
        now,
        tenant=ids.tenant(args.tenant),
        name=args.name,
        rights=rights(args.rights.split(","), param="--rights"),
        expires_at=future(args.expires, "--expires", now),
        limits=Limits(**{name: getattr(args, name) for name in LIMITS}),
        session_key_prefix=ids.printable(prefix, what="--session-key-prefix") if prefix else None,
        hook=hook,
    )
    await store.add_key(key)
    print(secret)
    if hook is not None and not args.webhook_secret:
        print(f"webhook secret: {hook.secret}")
    return 0


async def listed(store: Store, args: argparse.Namespace) -> int:
    found = await store.keys(ids.tenant(args.tenant) if args.tenant else None)
    if not found:
        print("There are no keys yet; make one with: everthread keys create")
        return 0
    print(
        f"{'ID':14} {'TENANT':16} {'STATE':9} {'CREATED':17} {'EXPIRES':17} {'RIGHTS':16} {'LIMITS':26}"
        f" {'SESSION KEYS':16} {'WEBHOOK':30} NAME"
    )
    now = wiring.SystemClock().now()
    for key in found:
        expires = f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else ""
        print(
            f"{key.id:14} {key.tenant:16} {key.state(now):9} {key.created_at:%Y-%m-%d %H:%M}  {expires:16}  "
            f"{','.join(key.rights):16} {limits(key.limits):26} "
            f"{(key.session_key_prefix or '') + '*':16} {origin(key.hook.url) if key.hook else '':30} {key.name}"
        )
    return 0


def limits(most: Limits | None) -> str:
    """In few characters: 60/min 100000t/day 4x."""
    if most is None:
        return ""
    shown = (
        f"{most.requests_per_minute}/min" if most.requests_per_minute else "",
        f"{most.tokens_per_day}t/day" if most.tokens_per_day else "",
        f"{most.concurrent}x" if most.concurrent else "",
    )
    return " ".join(each for each in shown if each)


async def revoked(store: Store, args: argparse.Namespace) -> int:
    name = args.id.removeprefix("et_").partition("_")[0]
    if not await store.revoke_key(ids.KeyId(name), wiring.SystemClock().now()):
        raise NotFound(f"There is no valid key {name}; `everthread keys list` shows them.")
    print(f"Key {name} is revoked.")
    return 0
