"""/api/keys: an organisation's own keys. Only an admin comes here, and sees the keys of its tenant."""

from __future__ import annotations

from everthread.core.ids import KeyId
from everthread.core.key import ApiKey
from everthread.errors import Forbidden, Malformed, NotFound
from everthread.http import auth
from everthread.http.hooks import vetted
from everthread.http.items import limit
from everthread.http.request import read_json
from everthread.http.site import Call
from everthread.wire import keys


async def create(call: Call) -> None:
    """201: the key itself is in this answer, and nowhere else ever again."""
    now = call.site.clock.now()
    given = keys.decode(await read_json(call.receive, call.headers), now)
    secret, key = auth.new_key(
        now,
        tenant=call.key.tenant,
        name=given.name,
        rights=given.rights,
        session_key_prefix=within(call.key, given.session_key_prefix),
        expires_at=given.expires_at,
        limits=given.limits,
        hook=vetted(given.hook, call.site.courier),
    )
    await call.site.store.add_key(key)
    await call.reply.json(keys.encode(key, now, secret=secret), 201, [(b"cache-control", b"no-store")])


async def many(call: Call) -> None:
    """The oldest first, those that are not valid any more among them."""
    known = [key for key in await call.site.store.keys(call.key.tenant) if call.key.governs(key)]
    if after := call.query.get("after"):
        place = next((number for number, key in enumerate(known, start=1) if key.id == after), None)
        if place is None:
            raise Malformed(f"after names no key: {after[:100]!r}.", param="after")
        known = known[place:]
    most = limit(call)
    await call.reply.json(keys.many(known[:most], call.site.clock.now(), more=len(known) > most))


async def one(call: Call) -> None:
    await call.reply.json(keys.encode(await found(call), call.site.clock.now()))


async def revoke(call: Call) -> None:
    """It is not valid any more, from this moment on, nor is what is open for it; it stays in the list."""
    key = await found(call)
    now = call.site.clock.now()
    await call.site.store.revoke_key(key.id, now)
    await call.site.guests.dismiss(key.id, but=call.reply)
    await call.reply.json(keys.encode(await call.site.store.key(key.id) or key, now))


async def found(call: Call) -> ApiKey:
    """The key that the path names, if it is one of the caller's tenant, within its prefix."""
    key = await call.site.store.key(KeyId(call.parameters["key_id"]))
    if key is None or not call.key.governs(key):
        raise NotFound("There is no such key; GET /api/keys lists them.")
    return key


def within(maker: ApiKey, prefix: str | None) -> str | None:
    """The prefix of a new key: who is bound to one makes no key that reaches further."""
    if maker.session_key_prefix is None:
        return prefix
    if prefix is not None and not prefix.startswith(maker.session_key_prefix):
        raise Forbidden(
            f"This API key is bound to {maker.session_key_prefix!r}, and so are the keys that it makes.",
            param="session_key_prefix",
        )
    return prefix or maker.session_key_prefix
