"""Rows <-> core values, shared by the engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import SessionId, StepId
from everthread.core.messages import Message, array
from everthread.core.session import Session
from everthread.core.turn import Choice, Context, Cuts, Outcome, Step, ToolCall, Usage
from everthread.wire.chat import MessageIn, stored_messages

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NULL = msgspec.Raw(b"null")
NO_ANSWER = "null"  # the output of a step that nobody answered, or whose answer was removed
UNSAID = Message(role="assistant", raw=b'{"role":"assistant","content":null}')  # how such a step shows its answer
UNFINISHED = "status IN ('queued', 'running', 'stopping')"  # of a run
OURS = "(:fence IS NULL OR fence = :fence)"  # nobody has taken a run since
PIECE = 800  # characters at most of one indexed piece: what an encoder reads of a text
ENDS = ("\n", ". ", "! ", "? ", "\u3002", "\uff01", "\uff1f")
SPACE = re.compile(r"\s+")


def stamp(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def moment(stamp: int) -> datetime:
    return EPOCH + timedelta(microseconds=stamp)


def stamped(moment: datetime | None) -> int | None:
    return stamp(moment) if moment is not None else None


def moment_of(stamp: int | None) -> datetime | None:
    return moment(stamp) if stamp is not None else None


class ReplyRow(msgspec.Struct, omit_defaults=True):
    """What a reply has beside the assistant's message; that one is not kept twice."""

    model: str
    finish: str
    context: Context
    usage: msgspec.Raw = NULL
    fingerprint: str | None = None
    reasoning: str = ""
    logprobs: msgspec.Raw = NULL
    others: tuple[Choice, ...] = ()
    compacted: str = ""
    took: float = 0.0
    asked: SessionId | None = None
    cuts: Cuts = ()


def reply_text(step: Step) -> str:
    first, *others = step.outcome.choices
    row = ReplyRow(
        model=step.outcome.model,
        finish=first.finish,
        context=step.context,
        usage=msgspec.Raw(step.outcome.usage.raw or b"null"),
        fingerprint=step.outcome.fingerprint,
        reasoning=first.reasoning,
        logprobs=msgspec.Raw(first.logprobs or b"null"),
        others=tuple(others),
        compacted=step.compacted,
        took=step.took,
        asked=step.asked,
        cuts=step.cuts,
    )
    return msgspec.json.encode(row).decode()


def input_text(messages: tuple[Message, ...]) -> str:
    return array(messages).decode()


def said(given: str, output: str) -> tuple[Message, ...]:
    """A step's messages as they are kept: its input, and its answer if it has one."""
    if output == NO_ANSWER:
        return stored_messages(given)
    return stored_messages(f"{given[:-1]}{',' if len(given) > 2 else ''}{output}]")


STEP_COLUMNS = (
    "step, turn, seq, source, input, output, reply, said_at, stored_at, tokens, rolling,"
    " message_id, parent_message_id, body, prompt_tokens, completion_tokens, cached_tokens, tail"
)


def step_of(row: tuple[Any, ...]) -> Step:
    """A step from STEP_COLUMNS."""
    (name, turn, seq, source, given, output, reply, said_at, stored_at, tokens, rolling) = row[:11]
    (message_id, parent_message_id, body, prompt, completion, cached, tail) = row[11:]
    kept = msgspec.json.decode(reply, type=ReplyRow)
    answer = stored_messages(f"[{output}]")[0] if output != NO_ANSWER else UNSAID
    read = msgspec.json.decode(answer.raw, type=MessageIn)
    first = Choice(
        content=read.content if isinstance(read.content, str) else None,
        refusal=read.refusal,
        tool_calls=tuple(
            ToolCall(
                call.id,
                call.function.name if call.function else "",
                call.function.arguments if call.function else "",
            )
            for call in read.tool_calls or ()
        ),
        finish=kept.finish,
        reasoning=kept.reasoning,
        logprobs=None if kept.logprobs == NULL else bytes(kept.logprobs),
    )
    return Step(
        id=StepId(name),
        turn=StepId(turn),
        seq=seq,
        source=source,
        input=stored_messages(given),
        outcome=Outcome(
            model=kept.model,
            fingerprint=kept.fingerprint,
            choices=(first, *kept.others),
            usage=Usage(prompt, completion, cached, b"" if kept.usage == NULL else bytes(kept.usage)),
        ),
        answer=answer,
        context=kept.context,
        said_at=moment(said_at),
        stored_at=moment(stored_at),
        tokens=tokens,
        rolling=rolling,
        message_id=message_id,
        parent_message_id=parent_message_id,
        body=body,
        tail=block_of(tail),
        compacted=kept.compacted,
        took=kept.took,
        asked=kept.asked,
        cuts=kept.cuts,
    )


SESSION_COLUMNS = """
    tip.session, thread.root, tip.parent, thread.thread, lineage.lineage, scope.scope, scope.session_key,
    tip.from_seq, lineage.last_seq, lineage.prior, lineage.rolling, thread.named, lineage.messages,
    lineage.fork_lineage, lineage.fork_seq,
    CASE WHEN lineage.messages > tip.began THEN 0 ELSE tip.distilled END, tip.end_reason
"""
FIND = f"""
    SELECT {SESSION_COLUMNS} FROM session
    JOIN thread ON thread.tenant = session.tenant AND thread.thread = session.thread
    JOIN lineage ON lineage.tenant = session.tenant
        AND lineage.lineage = CASE WHEN session.session = thread.root THEN thread.head ELSE session.lineage END
    JOIN session AS tip ON tip.tenant = lineage.tenant AND tip.session = lineage.tip
    JOIN scope ON scope.no = thread.scope
    WHERE session.tenant = ? AND session.session = ?
"""  # noqa: S608
TIP = f"""
    SELECT {SESSION_COLUMNS} FROM lineage
    JOIN thread ON thread.tenant = lineage.tenant AND thread.thread = lineage.thread
    JOIN session AS tip ON tip.tenant = lineage.tenant AND tip.session = lineage.tip
    JOIN scope ON scope.no = thread.scope
    WHERE lineage.tenant = ? AND lineage.lineage = ?
"""  # noqa: S608


def session_of(row: tuple[Any, ...]) -> Session:
    """A session from the columns of `find`."""
    (name, root, parent, thread, lineage, scope, key, from_seq, last_seq, prior, rolling, named) = row[:12]
    (messages, fork, fork_seq, distilled, ended) = row[12:]
    return Session(
        id=name,
        root=root,
        parent=parent,
        thread=thread,
        lineage=lineage,
        scope=scope,
        session_key=key,
        from_seq=from_seq,
        last_seq=last_seq,
        prior=prior,
        rolling=rolling,
        named=bool(named),
        messages=messages,
        fork=fork,
        fork_seq=fork_seq or 0,
        distilled=distilled,
        ended=ended is not None,
    )


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """A text in pieces that end with a line or a sentence where one ends, else between words: where each begins, and
    its characters. All that is no white space is in one of them."""
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= PIECE else ending(text, start)
        piece = text[start:end]
        if not piece.isspace():
            yield start, piece
        start = end


def ending(text: str, start: int) -> int:
    """Where a piece that begins at `start` had best end, in the second half of what it may hold."""
    least, most = start + PIECE // 2, start + PIECE
    best = max(at + len(end) if (at := text.rfind(end, least, most)) >= 0 else 0 for end in ENDS)
    if best:
        return best
    spaces = [match.end() for match in SPACE.finditer(text, least, most)]
    return spaces[-1] if spaces else most


def block_text(block: Block | None) -> str | None:
    return msgspec.json.encode(block).decode() if block is not None else None


def block_of(text: str | None) -> Block | None:
    return msgspec.json.decode(text, type=Block) if text is not None else None
