"""`everthread keys`: who may use the server. Works while it runs; a revoked key stops at once."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable

from everthread import settings, wiring
from everthread.cli import Subparsers
from everthread.core import ids
from everthread.core.key import ApiKey
from everthread.core.ports import Store
from everthread.errors import NotFound


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
    secret, key = wiring.new_key(
        wiring.SystemClock().now(),
        tenant=ids.tenant(args.tenant),
        name=args.name,
        session_key_prefix=ids.printable(prefix, what="--session-key-prefix") if prefix else None,
    )
    await store.add_key(key)
    print(secret)
    return 0


async def listed(store: Store, args: argparse.Namespace) -> int:
    found = await store.keys(ids.tenant(args.tenant) if args.tenant else None)
    if not found:
        print("There are no keys yet; make one with: everthread keys create")
        return 0
    print(f"{'ID':14} {'TENANT':16} {'STATE':9} {'CREATED':17} {'SESSION KEYS':16} NAME")
    for key in found:
        print(
            f"{key.id:14} {key.tenant:16} {state(key):9} {key.created_at:%Y-%m-%d %H:%M}  "
            f"{(key.session_key_prefix or '') + '*':16} {key.name}"
        )
    return 0


def state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.valid(wiring.SystemClock().now()) else "expired"


async def revoked(store: Store, args: argparse.Namespace) -> int:
    name = args.id.removeprefix("et_").partition("_")[0]
    if not await store.revoke_key(ids.KeyId(name), wiring.SystemClock().now()):
        raise NotFound(f"There is no valid key {name}; `everthread keys list` shows them.")
    print(f"Key {name} is revoked.")
    return 0
