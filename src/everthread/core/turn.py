"""A turn, the stream of events it is, and what the stream folds to.

A request is a `Turn`. Running it yields `Event`s; the last one is `Finished`. A JSON reply is the outcome that
`Finished` carries; a streamed reply is the events one by one. Events that arrived together travel together: an item
of an event stream is a few of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from everthread.core.claim import Block
from everthread.core.ids import KeyId, SessionId, SessionKey, StepId, Tenant
from everthread.core.messages import Message
from everthread.core.session import Session

Source = Literal["api", "job", "run", "import"]
ViewKind = Literal["response", "completion"]
OnBusy = Literal["queue", "reject", "interrupt"]

INTERRUPTED = "[interrupted]"  # the whole answer of a turn that was ended before its first word

Options = tuple[tuple[str, bytes], ...]  # further request fields and their JSON, passed upstream as they came


class Replay(msgspec.Struct, frozen=True):
    """A request that must take effect once: its key, and what tells it from another request with that key."""

    key: str
    fingerprint: bytes


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asking, in which session, under which memory scope: what a request's headers say."""

    tenant: Tenant
    session_id: SessionId | None = None  # None: a fresh session, its id made by the server
    session_key: SessionKey | None = None
    auxiliary: bool = False  # a UI's own request (title, tags): reads the session, leaves no trace
    on_busy: OnBusy = "queue"
    said_at: datetime | None = None  # when the message was really said; None: now
    message_id: str | None = None
    parent_message_id: str | None = None  # "": it said that there is none
    body: bytes | None = None  # hash of the request's body
    again: bool = False  # the client's library says that it is trying again
    replay: Replay | None = None
    key_prefix: str | None = None  # the API key may only touch session keys that begin so
    wait_for_memory: bool = False  # until all that was said before has been read
    server_tools: bool = True  # the server's own tools may be offered to the model
    found: bool = False  # the session id is what something else led to: the client did not name it
    key: KeyId | None = None  # the API key that asks: what it takes is counted there

    @property
    def asked(self) -> SessionId | None:
        """The session id that the client itself sent."""
        return None if self.found else self.session_id


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """That a step is also to be seen as one of OpenAI's objects, and what the client asked for."""

    kind: ViewKind
    request: bytes  # JSON object: what the object shows again
    metadata: Mapping[str, str] = {}
    previous: StepId | None = None  # the response it went on from
    conversation: SessionId | None = None
    background: bool = False


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks for: new words, in a session."""

    envelope: Envelope
    messages: tuple[Message, ...]  # the body's conversation, without instructions
    instructions: tuple[Message, ...] = ()  # system and developer messages: they apply to this turn
    model: str | None = None  # None: the default model answers
    options: Options = ()
    source: Source = "api"
    carried: tuple[Message, ...] = ()  # those of the instructions that later turns are given as well
    store: bool = True  # False: it reads, and leaves nothing behind
    after: StepId | None = None  # it goes on after this very step, and all its messages are new
    appends: bool = False  # all its messages are new, whatever they are: there is no history among them
    keep: Keep | None = None
    name: StepId | None = None  # known beforehand: somebody was told so
    fence: int | None = None  # of the run that it is: the number of the taking that it runs under
    compact_at: int | None = None  # tokens of a prompt at which the client wants to hear what was said in short
    searches: int | None = None  # how often the model may look things up by itself; None: as usual
    job: str | None = None  # that it is a run of


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent to a model."""

    model: str  # the upstream's own name for it
    messages: tuple[Message, ...]
    options: Options = ()
    auxiliary: bool = False  # people's turns go first where there is a queue


# --- what a model says ---


class Opened(msgspec.Struct, frozen=True, gc=False):
    """The model's server has begun to answer."""

    model: str
    fingerprint: str | None = None


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    text: str
    choice: int = 0
    logprobs: bytes | None = None


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False):
    text: str
    choice: int = 0


class RefusalDelta(msgspec.Struct, frozen=True, gc=False):
    text: str
    choice: int = 0


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call; the first piece of each `index` has its id and name."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    choice: int = 0


class ChoiceEnded(msgspec.Struct, frozen=True, gc=False):
    reason: str  # stop, length, tool_calls, content_filter ...
    choice: int = 0


class Usage(msgspec.Struct, frozen=True, gc=False):
    prompt: int
    completion: int
    cached: int = 0
    raw: bytes = b""  # the upstream's own usage object, when it gave one


ModelEvent = Opened | TextDelta | ReasoningDelta | RefusalDelta | ToolCallDelta | ChoiceEnded | Usage
ModelEvents = AsyncGenerator[Sequence[ModelEvent], None]

# --- what it adds up to ---


class Cut(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a part of an answer was cut when it was streamed: the lengths of pieces that followed each other."""

    what: Literal["text", "thought", "refusal", "call"]
    choice: int
    call: int  # which of its tool calls
    lengths: tuple[int, ...]


Cuts = tuple[Cut, ...]


class ToolCall(msgspec.Struct, frozen=True):
    id: str
    name: str
    arguments: str

    def body(self) -> dict[str, object]:
        """As OpenAI writes it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    content: str | None
    finish: str
    reasoning: str = ""
    refusal: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    logprobs: bytes | None = None

    def message(self) -> Message:
        """The assistant's message as it is kept and sent to the model later on; reasoning is not part of it."""
        body: dict[str, object] = {"role": "assistant", "content": self.content}
        if self.refusal is not None:
            body["refusal"] = self.refusal
        if self.tool_calls:
            body["tool_calls"] = [call.body() for call in self.tool_calls]
        return Message(
            role="assistant",
            raw=msgspec.json.encode(body),
            text=self.content or self.refusal or "",
            calls=tuple(call.id for call in self.tool_calls),
        )


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer."""

    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    fingerprint: str | None = None


class Context(msgspec.Struct, frozen=True, gc=False):
    """How the prompt was made, in tokens."""

    prompt_tokens: int
    budget: int
    prefix: int  # instructions, tools and log
    window: int
    tail: int = 0
    log: int = 0  # of the prefix
    distilled: int = 0  # what writing the log took, told once
    searching: int = 0  # what the model used to look things up by itself, before the request that answered

    def with_tools(self, weight: int, searching: int) -> Context:
        """The same prompt with our tools in it."""
        return msgspec.structs.replace(
            self, prompt_tokens=self.prompt_tokens + weight, prefix=self.prefix + weight, searching=searching
        )

    @property
    def message(self) -> int:
        return self.prompt_tokens - self.prefix - self.window - self.tail


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of commit: new input and the assistant's message, whole."""

    id: StepId
    turn: StepId  # the first step of the turn; several steps share it when the client runs tools
    seq: int
    source: Source
    input: tuple[Message, ...]
    outcome: Outcome
    answer: Message  # the first choice's, as later prompts see it
    context: Context
    said_at: datetime
    stored_at: datetime
    tokens: int  # what input and answer weigh in a later prompt
    rolling: bytes = b""
    message_id: str | None = None
    parent_message_id: str | None = None
    body: bytes | None = None  # hash of the request's body
    tail: Block | None = None  # what it was given from memory
    cuts: Cuts = ()  # how it was streamed, if it can be asked for again piece by piece
    compacted: str = ""  # what was said before it, in short, if the client asked for that
    took: float = 0.0  # seconds from the question to the answer, where somebody may ask
    asked: SessionId | None = None  # the id that the client sent, if its session had moved on

    def messages(self) -> tuple[Message, ...]:
        return (*self.input, self.answer)


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """Always the last event, and the one place that names the effective session."""

    session: Session
    asked: SessionId | None  # the id the client sent
    step: Step
    degraded: bool = False  # answered without its history

    @property
    def rotated(self) -> bool:
        return self.asked is not None and self.asked != self.session.id


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """Always the first event: the session is ours and the step has its name. Nothing is promised yet."""

    session: Session
    step: StepId
    at: datetime
    replayed: bool = False  # recorded earlier; nothing runs now
    compacted: str = ""  # what was said before, in short, if the client asked for that


Event = Started | ModelEvent | Finished
Events = AsyncGenerator[Sequence[Event], None]


class Folding:
    """Adds a model's events up to an `Outcome`."""

    def __init__(self) -> None:
        self.model = ""
        self.fingerprint: str | None = None
        self.usage: Usage | None = None
        self._text: dict[int, list[str]] = {}
        self._reasoning: dict[int, list[str]] = {}
        self._refusal: dict[int, list[str]] = {}
        self._logprobs: dict[int, list[bytes]] = {}
        self._calls: dict[int, dict[int, list[str]]] = {}  # choice -> index -> [id, name, arguments...]
        self._finish: dict[int, str] = {}

    def add(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text=text, choice=choice, logprobs=logprobs):
                self._text.setdefault(choice, []).append(text)
                if logprobs is not None:
                    self._logprobs.setdefault(choice, []).append(logprobs)
            case ReasoningDelta(text=text, choice=choice):
                self._reasoning.setdefault(choice, []).append(text)
            case ToolCallDelta(choice=choice, index=index):
                call = self._calls.setdefault(choice, {}).setdefault(index, ["", ""])
                call[0] = call[0] or event.id or ""
                call[1] = call[1] or event.name or ""
                call.append(event.arguments)
            case RefusalDelta(text=text, choice=choice):
                self._refusal.setdefault(choice, []).append(text)
            case ChoiceEnded(reason=reason, choice=choice):
                self._finish[choice] = reason
            case Opened(model=model, fingerprint=fingerprint):
                self.model, self.fingerprint = model, fingerprint
            case Usage():
                self.usage = event

    @property
    def complete(self) -> bool:
        """Every choice that began has a finish reason."""
        begun = self._text.keys() | self._reasoning.keys() | self._refusal.keys() | self._calls.keys()
        return bool(self._finish) and begun <= self._finish.keys()

    def cut(self) -> list[ModelEvent]:
        """Ends every choice as it stands, without the tool calls that it may not have finished; the events that say
        so."""
        self._calls = {}
        begun = self._text.keys() | self._reasoning.keys() | self._refusal.keys() | {0}
        said = [] if self._text.get(0) or self._refusal.get(0) else [TextDelta(INTERRUPTED)]
        events: list[ModelEvent] = [
            *said,
            *(ChoiceEnded("stop", choice) for choice in sorted(begun - self._finish.keys())),
        ]
        for event in events:
            self.add(event)
        return events

    @property
    def text(self) -> str:
        """The words of the first choice so far."""
        return "".join(self._text.get(0, ()))

    def outcome(self, estimate: Callable[[], Usage]) -> Outcome:
        """The whole answer; `estimate` tells its usage when the model's server told none."""
        return Outcome(
            model=self.model,
            fingerprint=self.fingerprint,
            choices=tuple(self._choice(number) for number in sorted(self._finish)),
            usage=self.usage or estimate(),
        )

    def _choice(self, number: int) -> Choice:
        calls = self._calls.get(number, {})
        text = self._text.get(number)
        refusal = self._refusal.get(number)
        return Choice(
            content="".join(text) if text else (None if calls or refusal else ""),
            finish=self._finish[number],
            reasoning="".join(self._reasoning.get(number, ())),
            refusal="".join(refusal) if refusal else None,
            tool_calls=tuple(
                ToolCall(id=calls[index][0], name=calls[index][1], arguments="".join(calls[index][2:]))
                for index in sorted(calls)
            ),
            logprobs=merged_logprobs(self._logprobs.get(number, [])),
        )


def merged_logprobs(pieces: list[bytes]) -> bytes | None:
    """The logprobs of a stream's chunks as one object: lists of the same name are joined."""
    if not pieces:
        return None
    merged: dict[str, object] = {}
    for piece in pieces:
        for name, value in (msgspec.json.decode(piece) or {}).items():
            known = merged.get(name)
            merged[name] = [*known, *value] if isinstance(known, list) and isinstance(value, list) else value
    return msgspec.json.encode(merged)


def unfold(outcome: Outcome) -> Iterator[ModelEvent]:
    """Events that fold to this outcome: how a recorded answer is streamed again."""
    yield Opened(outcome.model, outcome.fingerprint)
    for number, choice in enumerate(outcome.choices):
        if choice.reasoning:
            yield ReasoningDelta(choice.reasoning, number)
        if choice.content:
            yield TextDelta(choice.content, number, choice.logprobs)
        if choice.refusal is not None:
            yield RefusalDelta(choice.refusal, number)
        for index, call in enumerate(choice.tool_calls):
            yield ToolCallDelta(index, call.id, call.name, call.arguments, number)
        yield ChoiceEnded(choice.finish, number)
    yield outcome.usage
