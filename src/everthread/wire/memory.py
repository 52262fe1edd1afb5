"""Claims and what was said of them as JSON and as Markdown; what a person may ask of a memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeVar, get_args

import msgspec

from everthread.core.claim import Block, Claim, ClaimId, Interval, Kind, State, claim_id
from everthread.core.ids import SessionId, StepId, run_id
from everthread.core.memory import Dead, Forget, Forgotten, Given, Passage, Source
from everthread.core.memory import Place as Spot
from everthread.core.sentences import squeezed
from everthread.errors import Malformed
from everthread.wire import json

T = TypeVar("T")

KINDS: tuple[Kind, ...] = get_args(Kind)
STATES: tuple[State, ...] = get_args(State)
LONGEST_TEXT = 2000
SHORTEST_FORGOTTEN = 3

Shown = dict[str, object]

# --- what is shown ---


def named(claim: ClaimId | None) -> str | None:
    return claim_id(claim) if claim is not None else None


def decode_id(text: str) -> ClaimId:
    return ClaimId(text.removeprefix("clm_"))


def decode_turn(text: str) -> StepId:
    """A turn by its run's id, its completion's or its own."""
    return StepId(text.removeprefix("run_").removeprefix("chatcmpl-"))


def moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at is not None else None


def encode(claim: Claim) -> Shown:
    return {
        "id": claim_id(claim.id),
        "object": "memory.claim",
        "kind": claim.kind,
        "state": claim.state,
        "quote": claim.quote,
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "negated": claim.negated,
        "speaker": claim.speaker,
        "voice": claim.voice,
        "said_at": moment(claim.said_at),
        "recorded_at": moment(claim.recorded_at),
        "valid_from": moment(claim.valid_from),
        "valid_to": moment(claim.valid_to),
        "closed_at": moment(claim.closed_at),
        "when": interval(claim.when),
        "because": claim.because,
        "cause": named(claim.cause),
        "supersedes": named(claim.supersedes),
        "superseded_by": named(claim.superseded_by),
        "confidence": claim.confidence,
        "author": claim.author,
        "pinned": claim.pinned,
        "source": place(claim),
    }


def interval(when: Interval | None) -> Shown | None:
    return {"since": moment(when.since), "until": moment(when.until)} if when is not None else None


def place(claim: Claim) -> Shown | None:
    if claim.step is None:
        return None
    return {
        "session_id": claim.session,
        "turn": claim.seq,
        "run_id": run_id(claim.step),
        "message": claim.span.message,
        "span": [claim.span.start, claim.span.end],
    }


def one(claim: Claim) -> bytes:
    return msgspec.json.encode(encode(claim))


def many(claims: Iterable[Claim], *, more: bool) -> bytes:
    return listed([encode(claim) for claim in claims], has_more=more)


def listed(data: list[Shown], **more: object) -> bytes:
    return msgspec.json.encode({"object": "list", "data": data, **more})


def lines(claims: Iterable[Claim]) -> bytes:
    """Claims as they are exported: one to a line."""
    return b"".join(one(claim) + b"\n" for claim in claims)


def hit(passage: Passage, score: float, claims: Iterable[Claim]) -> Shown:
    return {
        "object": "memory.hit",
        "score": round(score, 6),
        "session_id": passage.session,
        "turn": passage.seq,
        "run_id": run_id(passage.step) if passage.step is not None else None,
        "role": passage.role,
        "speaker": passage.speaker,
        "said_at": moment(passage.said_at),
        "text": passage.text,
        "claims": [encode(claim) for claim in claims],
    }


def change(at: datetime, claim: Claim, replaced: Iterable[Claim], because: str | None, cause: Claim | None) -> Shown:
    return {
        "object": "memory.change",
        "at": moment(at),
        "claim": encode(claim),
        "replaced": [encode(old) for old in replaced],
        "because": because or (cause.quote if cause is not None else None),
        "cause": encode(cause) if cause is not None else None,
    }


def sourced(relation: str, claim: Claim, source: Source | None) -> Shown:
    """Where a claim was said: turn, transcript, place in it; null for what was written by hand."""
    return {
        "relation": relation,
        "claim": encode(claim),
        "source": None
        if source is None
        else {
            "session_id": source.session,
            "root_session_id": source.root,
            "run_id": run_id(source.step),
            "turn": source.seq,
            "turn_id": run_id(source.turn),
            "position": source.place,
            "role": source.role,
            "said_at": moment(source.said_at),
            "span": [claim.span.start, claim.span.end],
            "text": source.text,
        },
    }


def sources(claim: ClaimId, found: list[Shown]) -> bytes:
    return msgspec.json.encode({"object": "memory.sources", "id": claim_id(claim), "data": found})


def given(given: Given) -> bytes:
    return msgspec.json.encode(
        {
            "object": "memory.given",
            "run_id": run_id(given.step),
            "session_id": given.session,
            "root_session_id": given.root,
            "session_key": given.session_key,
            "turn": given.seq,
            "said_at": moment(given.said_at),
            "tail": block(given.tail),
            "profile": block(given.profile),
        }
    )


def block(shown: Block) -> Shown:
    return {
        "text": shown.text,
        "tokens": shown.tokens,
        "claims": [claim_id(claim) for claim in shown.claims],
        "turns": [run_id(step) for step in shown.steps],
    }


def status(
    *, embedder: str, dimensions: int, lag_seconds: float, waiting: int, behind: bool | None, dead: Iterable[Dead]
) -> bytes:
    return msgspec.json.encode(
        {
            "object": "memory.status",
            "embedder": embedder,
            "dimensions": dimensions,
            "lag_seconds": round(lag_seconds, 3),
            "waiting": waiting,
            "behind": behind,
            "dead": [
                {
                    "kind": letter.work.kind,
                    "name": letter.work.name,
                    "attempts": letter.work.attempts,
                    "failure": letter.failure,
                    "at": moment(letter.at),
                }
                for letter in dead
            ],
        }
    )


def forgotten(gone: Forgotten, *, dry_run: bool) -> bytes:
    return msgspec.json.encode(
        {
            "object": "memory.forgotten",
            "dry_run": dry_run,
            "claims": [encode(claim) for claim in gone.claims],
            "places": [spot(where) for where in gone.places],
            "messages": gone.messages,
            "sessions": gone.sessions,
        }
    )


def spot(where: Spot) -> Shown:
    return {
        "session_id": where.session,
        "run_id": run_id(where.step) if where.step is not None else None,
        "turn": where.seq,
        "role": where.role,
        "excerpt": where.excerpt,
    }


# --- for people ---

TITLES: dict[Kind, str] = {
    "instruction": "Instructions",
    "preference": "Preferences",
    "fact": "Facts",
    "decision": "Decisions",
    "event": "Events",
    "cause": "Causes",
}
MARKS = re.compile(r"([\\`*_<>\[\]#|~])")


def heading(about: str, at: datetime) -> bytes:
    asked = moment(at.replace(microsecond=0))
    return f"# Memory of {plain(about)}\n\nAs of {asked}. Quotes are literal; times are UTC.\n".encode()


def title(kind: Kind) -> bytes:
    return f"\n## {TITLES[kind]}\n\n".encode()


def item(claim: Claim, successor: Claim | None) -> bytes:
    """One claim as a line of a list: its state, its words, its dates, its turn, its reasons."""
    told = [dates(claim)]
    if claim.speaker != "user":
        told.append(f"said by {plain(claim.speaker)}")
    told.append(f"turn {claim.seq} of `{tick(claim.session)}`" if claim.step is not None else "written by hand")
    if claim.pinned:
        told.append("pinned")
    if claim.because:
        told.append(f"because: “{plain(claim.because)}”")
    if successor is not None:
        word = "in conflict with" if claim.state == "unresolved" else "replaced by"
        told.append(f"{word}: “{plain(successor.quote)}”")
    return f"- **{claim.state}** “{plain(claim.quote)}” ({'; '.join(told)}) `{claim_id(claim.id)}`\n".encode()


def dates(claim: Claim) -> str:
    said = f"said {day(claim.said_at)}"
    if claim.valid_from is not None and claim.valid_to is not None:
        return f"{said}, from {day(claim.valid_from)} to {day(claim.valid_to)}"
    if claim.valid_to is not None:
        return f"{said}, until {day(claim.valid_to)}"
    since = day(claim.valid_from) if claim.valid_from is not None else None
    return f"{said}, since {since}" if since is not None and since != day(claim.said_at) else said


def day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def plain(text: str) -> str:
    """On one line, and nothing in it is formatting."""
    return MARKS.sub(r"\\\1", squeezed(text))


def tick(session: SessionId | None) -> str:
    return (session or "").replace("`", "'")


# --- what is asked for ---

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class Addition(msgspec.Struct, forbid_unknown_fields=True):
    text: Text
    kind: Kind = "fact"
    pinned: bool = False
    valid_from: str | None = None
    speaker: Name | None = None


class Correction(msgspec.Struct, forbid_unknown_fields=True):
    text: Text
    valid_from: str | None = None
    reason: Text | None = None


class Pinning(msgspec.Struct, forbid_unknown_fields=True):
    pinned: bool = True


class Retraction(msgspec.Struct, forbid_unknown_fields=True):
    reason: Text | None = None


class Forgetting(msgspec.Struct, forbid_unknown_fields=True):
    claim: str | None = None
    session_id: str | None = None
    text: Text | None = None
    scope: bool = False
    dry_run: bool = False

    @property
    def what(self) -> Forget:
        return Forget(
            claim=decode_id(self.claim) if self.claim is not None else None,
            session=SessionId(self.session_id) if self.session_id is not None else None,
            text=self.text,
            everything=self.scope,
        )


ADDITION = msgspec.json.Decoder(Addition)
CORRECTION = msgspec.json.Decoder(Correction)
PINNING = msgspec.json.Decoder(Pinning)
RETRACTION = msgspec.json.Decoder(Retraction)
FORGETTING = msgspec.json.Decoder(Forgetting)


def decode_addition(body: bytes) -> Addition:
    addition = decoded(body, ADDITION)
    return msgspec.structs.replace(
        addition,
        text=worded(addition.text, "text"),
        speaker=worded(addition.speaker, "speaker") if addition.speaker is not None else None,
    )


def decode_correction(body: bytes) -> Correction:
    correction = decoded(body, CORRECTION)
    return msgspec.structs.replace(correction, text=worded(correction.text, "text"))


def decode_pinning(body: bytes) -> Pinning:
    return decoded(body, PINNING)


def decode_retraction(body: bytes) -> Retraction:
    return decoded(body, RETRACTION)


def decode_forgetting(body: bytes) -> Forgetting:
    """Exactly one thing to forget."""
    wanted = decoded(body, FORGETTING)
    named = sum((wanted.claim is not None, wanted.session_id is not None, wanted.text is not None, wanted.scope))
    if named != 1:
        raise Malformed(
            'Say one thing to forget, and only one: "claim", "session_id", "text", or "scope": true for all of it.'
        )
    if wanted.text is not None and len(wanted.text.strip()) < SHORTEST_FORGOTTEN:
        raise Malformed(
            f"text must have at least {SHORTEST_FORGOTTEN} characters: less stands nearly everywhere.", param="text"
        )
    return wanted


def decoded(body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """A JSON object; none at all is an empty one."""
    if not body.strip():
        body = b"{}"
    json.fields(body)
    try:
        return json.value(body, decoder, "body")
    except Malformed as failure:  # the field alone is what a client sent
        field = (failure.param or "").removeprefix("body.").removeprefix("body") or unknown(failure.message)
        said = failure.message.replace("body.", "", 1) if failure.message.startswith("body.") else failure.message
        raise Malformed(said, param=field) from failure


def unknown(message: str) -> str | None:
    """The field that a message is about."""
    found = re.search(r"field `([^`]+)`", message)
    return found[1] if found else None


def worded(text: str, param: str) -> str:
    text = text.strip()
    if not text:
        raise Malformed(f"{param} has no words in it.", param=param)
    return text


# --- what a query says ---


def decode_moment(text: str, param: str) -> datetime:
    """A moment as ISO 8601 with a zone; a date alone is its first moment in UTC."""
    example = "2026-03-02 or 2026-03-02T09:00:00Z"
    shown = text[:100]
    if "T" in text:
        text = text.replace(" ", "+")  # what a plus sign in a query becomes
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None and len(text) > 10:
            raise Malformed(f"{param} needs a zone, as in 2026-03-02T09:00:00Z, not {shown!r}.", param=param)
        return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"{param} must be a date or a moment, as {example}, not {shown!r}.", param=param) from error


def optional_moment(text: str | None, param: str) -> datetime | None:
    return decode_moment(text, param) if text else None


def decode_kinds(query: Mapping[str, str]) -> tuple[Kind, ...]:
    return chosen(query.get("kind"), KINDS, "kind")


def decode_states(query: Mapping[str, str]) -> tuple[State, ...]:
    """By default all but what was taken back."""
    return chosen(query.get("state"), STATES, "state") or tuple(state for state in STATES if state != "retracted")


def chosen(text: str | None, known: Sequence[T], param: str) -> tuple[T, ...]:
    words = [word.strip() for word in text.split(",")] if text else []
    by_name = {str(one): one for one in known}
    for word in words:
        if word not in by_name:
            names = ", ".join(by_name)
            raise Malformed(f"{param} is one or more of {names}, with commas, not {word[:100]!r}.", param=param)
    return tuple(by_name[word] for word in dict.fromkeys(words))
