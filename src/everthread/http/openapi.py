"""The API's description, made from the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_args

from everthread import __version__
from everthread.core.usage import By
from everthread.http import items, usage
from everthread.http.schemas import SCHEMAS
from everthread.http.schemas.common import FLAG, LABELS, MOMENT, NAME, TEXT, Schema, ref
from everthread.http.site import Endpoint
from everthread.wire.memory import KINDS, STATES

Described = tuple[str, Schema]  # what a parameter means, and what it may be

# --- headers ---

SWITCH: Schema = {"enum": ["1", "0", "on", "off", "true", "false"]}
BUSY: Described = (
    "What to do while another turn of the session runs: queue (default), reject, or interrupt it.",
    {"enum": ["queue", "reject", "interrupt"]},
)
SESSION_ID: Described = (
    "Names a transcript. With it the conversation goes on where it stopped; without it a fresh"
    " session is made. 1 to 256 printable ASCII characters.",
    NAME,
)
SESSION_KEY: Described = ("Names a memory scope that outlives sessions. Same rules.", NAME)
SESSION_HEADERS: dict[str, Described] = {
    "X-Hermes-Session-Id": SESSION_ID,
    "X-Hermes-Session-Key": SESSION_KEY,
    "X-Hermes-Message-Id": (
        "Your own id of this message: sent again within 24 hours, it gets its recorded reply.",
        NAME,
    ),
    "X-Hermes-Parent-Message-Id": ("The client's own id of the message this one follows.", NAME),
    "X-Hermes-Message-Time": ("When the message was really said: ISO 8601 with a zone; default now.", MOMENT),
    "X-Hermes-Task": (
        "Not blank: an auxiliary request (a title, tags). It reads the session and leaves no trace.",
        TEXT,
    ),
    "X-Hermes-On-Busy": BUSY,
    "X-Hermes-Wait-For-Memory": ("Wait until all that was said before has been read for memory.", SWITCH),
    "X-Hermes-Server-Tools": ("Whether the server's own tools are offered to the model.", SWITCH),
    "Idempotency-Key": ("The same key and request take effect once; a repeat gets the recorded reply.", NAME),
}
EVENT: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999_999_999}
LAST_EVENT: Described = ("The number of the last event that was heard: those after it are told.", EVENT)

# --- what an operation takes ---

BODIES = {
    "chat_completions": "ChatRequest",
    "completion_update": "Labelling",
    "responses": "ResponseRequest",
    "response_tokens": "ResponseRequest",
    "response_compact": "ResponseRequest",
    "conversation_create": "ConversationCreation",
    "conversation_update": "Labelling",
    "items_create": "ItemsAddition",
    "run_create": "RunRequest",
    "session_create": "SessionCreation",
    "session_update": "SessionChange",
    "session_fork": "SessionFork",
    "session_chat": "SessionTurn",
    "session_chat_stream": "SessionTurn",
    "memory_add": "ClaimAddition",
    "memory_correct": "ClaimCorrection",
    "memory_pin": "ClaimPinning",
    "memory_retract": "ClaimRetraction",
    "memory_forget": "Forgetting",
    "job_create": "JobCreation",
    "job_preview": "SchedulePreview",
    "job_update": "JobChange",
    "key_create": "KeyCreation",
}
OPTIONAL_BODIES = {"conversation_create", "session_create", "session_fork", "memory_pin", "memory_retract"}
TURNS = {"chat_completions", "responses", "run_create", "session_chat", "session_chat_stream"}
NAMES = {"X-Hermes-Session-Id": SESSION_ID, "X-Hermes-Session-Key": SESSION_KEY}
WAITS = ("conversation_delete", "item_delete", "items_create", "session_update", "session_delete", "session_compress")
HEADERS: dict[str, dict[str, Described]] = {
    **dict.fromkeys(TURNS, SESSION_HEADERS),
    "response_tokens": NAMES,
    "response_compact": NAMES,
    "job_create": NAMES,
    "job_update": NAMES,
    "conversation_create": {
        "X-Hermes-Session-Id": ("The id it is to have; it must not be taken.", NAME),
        "X-Hermes-Session-Key": SESSION_KEY,
    },
    **{name: {"X-Hermes-On-Busy": BUSY} for name in WAITS},
    "run_events": {"Last-Event-ID": LAST_EVENT},
}


def at_most(most: int, usual: int) -> Described:
    return f"At most so many: 1 to {most}, default {usual}.", {"type": "integer", "minimum": 1, "maximum": most}


def one_of(text: str, *known: str) -> Described:
    return text, {"enum": list(known)}


OLDEST = one_of("asc (default): the oldest first; desc: the newest first.", "asc", "desc")
NEWEST = one_of("desc (default): the newest first; asc: the oldest first.", "asc", "desc")
ITEM_PAGE = {
    "limit": at_most(items.MOST, items.USUAL),
    "after": ("An item's id: those that follow it.", TEXT),
    "order": NEWEST,
}
DAY: Schema = {"type": "string", "format": "date"}
WHEN: Schema = {"anyOf": [MOMENT, {"type": "string", "format": "date"}]}
QUERIES: dict[str, dict[str, Described]] = {
    "completions": {
        "limit": at_most(items.MOST, items.USUAL),
        "after": ("A completion's id: those that follow it.", TEXT),
        "order": OLDEST,
        "model": ("Only those of this model.", TEXT),
        "metadata": ("Only those with these labels: metadata[name]=value.", LABELS),
    },
    "completion_messages": {
        **ITEM_PAGE,
        "after": ("A message's id: those that follow it.", TEXT),
        "order": OLDEST,
    },
    "response": {
        "stream": ("true: its events, from the first on.", FLAG),
        "starting_after": ("With stream: only the events after the one of this sequence_number.", EVENT),
    },
    "response_input": ITEM_PAGE,
    "items": ITEM_PAGE,
    "run_events": {
        "starting_after": LAST_EVENT,
        "last_event_id": LAST_EVENT,
    },
    "sessions": {
        "limit": ("At most so many, default 50; more than 200 is 200.", {"type": "integer", "minimum": 1}),
        "offset": ("Leaves out so many of the newest.", {"type": "integer", "minimum": 0}),
        "session_key": (
            "Only those of this memory scope. The header X-Hermes-Session-Key does the same.",
            NAME,
        ),
        "source": ("Only those that began so: api, job, run or import.", TEXT),
        "include_children": ("true: every session, not only the tip of each thread.", FLAG),
    },
    "session_messages": {
        "limit": ("At most so many, default 200; more than 1000 is 1000.", {"type": "integer", "minimum": 1}),
        "after": ("A message's id: those that follow it.", TEXT),
        "order": OLDEST,
    },
    "memory": {
        "kind": (f"Only these, with commas: {', '.join(KINDS)}.", TEXT),
        "state": (f"Only these, with commas: {', '.join(STATES)}. Default: all but retracted.", TEXT),
        "pinned": ("true or false: only those that are, or are not.", FLAG),
        "limit": ("At most so many, default 50; more than 200 is 200.", {"type": "integer", "minimum": 1}),
        "after": ("A claim's id: those that follow it.", TEXT),
    },
    "memory_search": {
        "q": ("What to look for.", {"type": "string", "minLength": 1, "maxLength": 2000}),
        "as_of": ("A date or a moment: what was said up to then, and what held then.", WHEN),
        "known_at": ("A date or a moment: by what was known then.", WHEN),
        "limit": ("At most so many, default 10; more than 50 is 50.", {"type": "integer", "minimum": 1}),
    },
    "memory_timeline": {
        "about": ("Only changes that have these words.", {"type": "string", "maxLength": 2000}),
        "since": ("A date or a moment: changes from then on.", WHEN),
        "until": ("A date or a moment: changes before it.", WHEN),
        "limit": ("At most so many, default 50; more than 200 is 200.", {"type": "integer", "minimum": 1}),
        "after": ("A claim's id: changes that follow its own.", TEXT),
    },
    "jobs": {
        "limit": at_most(items.MOST, items.USUAL),
        "after": ("A job's id: those that follow it.", TEXT),
    },
    "job_runs": {**ITEM_PAGE, "after": ("A run's id: those that follow it.", TEXT)},
    "job_next": {"count": at_most(100, 5)},
    "keys": {
        "limit": at_most(items.MOST, items.USUAL),
        "after": ("A key's id: those that follow it.", TEXT),
    },
    "usage": {
        "by": one_of("What it is told apart by: day (default), key, session, job or model.", *get_args(By)),
        "since": ("From this day on, UTC. Default: 30 days before the end.", DAY),
        "until": ("Before this day. Default: tomorrow.", DAY),
        "key": ("Only what this API key took, by its id. Other keys than one's own: an admin's only.", TEXT),
        "session_id": ("Only what was said in this conversation: any of its ids.", NAME),
        "job_id": ("Only what the runs of this job took.", TEXT),
        "limit": at_most(usage.MOST, usage.USUAL),
        "after": ("The last name of a page: those that follow it.", TEXT),
    },
    "memory_export": {"format": one_of("jsonl (default) or markdown.", "jsonl", "markdown")},
}
SCOPE: dict[str, Described] = {
    "session_key": ("Whose memory. The header X-Hermes-Session-Key does the same.", NAME),
    "session_id": (
        "A session without a key, whose memory is its own. The header X-Hermes-Session-Id does the same.",
        NAME,
    ),
}
NEEDED = {("memory_search", "q")}

# --- what it answers ---

ANSWERS = {
    "chat_completions": "ChatCompletion",
    "completions": "CompletionList",
    "completion": "StoredCompletion",
    "completion_update": "StoredCompletion",
    "completion_delete": "CompletionDeleted",
    "completion_messages": "CompletionMessages",
    "responses": "Response",
    "response_tokens": "InputTokens",
    "response_compact": "Compaction",
    "response": "Response",
    "response_delete": "ResponseDeleted",
    "response_cancel": "Response",
    "response_input": "ItemList",
    "conversation_create": "Conversation",
    "conversation": "Conversation",
    "conversation_update": "Conversation",
    "conversation_delete": "ConversationDeleted",
    "items": "ItemList",
    "items_create": "ItemList",
    "item": "Item",
    "item_delete": "Conversation",
    "run_create": "RunStarted",
    "run": "Run",
    "run_stop": "Run",
    "sessions": "SessionList",
    "session_create": "OneSession",
    "session": "OneSession",
    "session_update": "OneSession",
    "session_delete": "SessionDeleted",
    "session_messages": "MessageList",
    "session_fork": "OneSession",
    "session_compress": "OneSession",
    "session_lineage": "Lineage",
    "session_chat": "SessionAnswer",
    "memory": "ClaimList",
    "memory_add": "Claim",
    "memory_search": "MemoryHits",
    "memory_timeline": "MemoryTimeline",
    "memory_status": "MemoryStatus",
    "memory_forget": "MemoryForgotten",
    "memory_given": "MemoryGiven",
    "memory_claim": "Claim",
    "memory_correct": "Claim",
    "memory_pin": "Claim",
    "memory_retract": "Claim",
    "memory_sources": "MemorySources",
    "jobs": "JobList",
    **dict.fromkeys(("job", "job_create", "job_update", "job_pause", "job_resume"), "OneJob"),
    "job_preview": "Fires",
    "job_next": "Fires",
    "job_run": "JobStarted",
    "job_runs": "JobRuns",
    "job_delete": "Done",
    "job_redeliver": "Done",
    "keys": "KeyList",
    "key": "Key",
    "key_create": "NewKey",
    "key_revoke": "Key",
    "usage": "UsageList",
    "models": "ModelList",
    "model": "Model",
    "capabilities": "Capabilities",
    "health": "Health",
    "health_ready": "Readiness",
    "version": "Version",
}
OTHER_ANSWERS = {
    "chat_completions": ["application/json", "text/event-stream"],
    "responses": ["application/json", "text/event-stream"],
    "response": ["application/json", "text/event-stream"],
    "run_events": ["text/event-stream"],
    "session_chat_stream": ["text/event-stream"],
    "session_export": ["application/x-ndjson"],
    "memory_export": ["application/x-ndjson", "text/markdown"],
    "metrics": ["text/plain"],
    "docs": ["text/html"],
}
SHAPES: dict[str, Schema] = {
    "text/event-stream": ref("Event"),
    **dict.fromkeys(("application/x-ndjson", "text/markdown", "text/plain", "text/html"), TEXT),
}
SUCCESSES = {
    **dict.fromkeys(("session_create", "session_fork", "memory_correct", "job_create", "key_create"), ("201",)),
    "memory_add": ("200", "201"),  # 200: it was known
    **dict.fromkeys(("run_create", "job_run", "job_redeliver"), ("202",)),
}
TOLD = {  # headers of a turn's answer
    "X-Hermes-Session-Id": "The session in force.",
    "X-Hermes-Run-Id": "The turn as a run: /v1/runs/{run_id}.",
}
NOTES = {
    "responses": "A GET on this path that asks for an upgrade opens a WebSocket: each response.create that is sent"
    " there is one turn, told by the events of a stream.",
    "run_events": "Instead of a key the token in a run's events_url will do.",
}

# Where an operation's answer names what others have in their path.
MAKES = {
    "chat_completions": {"completion_id": "$response.body#/id"},
    "responses": {"response_id": "$response.body#/id"},
    "conversation_create": {"conversation_id": "$response.body#/id"},
    "items_create": {
        "conversation_id": "$request.path.conversation_id",
        "item_id": "$response.body#/data/0/id",
    },
    "run_create": {"run_id": "$response.body#/run_id"},
    "session_create": {"session_id": "$response.body#/session/id"},
    "memory_add": {"claim_id": "$response.body#/id"},
    "job_create": {"job_id": "$response.body#/job/id"},
    "key_create": {"key_id": "$response.body#/id"},
}

# --- how it fails ---

FAILURES = {
    400: "A field, a header or the body is not what it must be.",
    401: "A valid API key is required.",
    403: "The API key does not have the right to do that.",
    404: "There is nothing by that name, or it is not this key's.",
    409: "Another turn runs, or the session belongs to another session key, or is taken.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "This host name is not served here.",
    422: "The Idempotency-Key was used with another request.",
    429: "The API key has reached one of its limits; Retry-After says when to try again.",
    502: "The model's server failed.",
    503: "Storage or the model's server cannot answer now; try again.",
    504: "The model's server did not answer in time.",
}
IN_SESSION = ("conversation", "item", "job_", "memory", "session_")  # such operations go into a session, as turns do
TALKS_TO_MODEL = (TURNS - {"run_create"}) | {"response_compact", "session_compress", "models", "model"}


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    known = [(endpoint, re.sub(r":path}", "}", endpoint.path)) for endpoint in endpoints]
    paths: dict[str, Any] = {}
    for endpoint, path in known:
        paths.setdefault(path, {})[endpoint.method.lower()] = operation(endpoint, path, links(endpoint.name, known))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Everthread",
            "version": __version__,
            "description": "A server for conversations that never end. It speaks the OpenAI API.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "token": {"type": "apiKey", "in": "query", "name": "token"},
            },
            "schemas": SCHEMAS,
        },
    }


def operation(endpoint: Endpoint, path: str, linked: dict[str, Any]) -> dict[str, Any]:
    name = endpoint.name
    described: dict[str, Any] = {
        "operationId": name,
        "summary": endpoint.summary,
        "security": security(endpoint),
        "parameters": [
            {"name": named, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for named in in_path(path)
        ]
        + [parameter("query", query, *told, needed=(name, query) in NEEDED) for query, told in queries(name).items()]
        + [
            parameter("header", header, *told)
            for header, told in HEADERS.get(name, {}).items()
            if header != "X-Hermes-Session-Id" or "{session_id}" not in path
        ],
        "responses": {
            **{status: answer(name, linked) for status in SUCCESSES.get(name, ("200",))},
            **{str(status): failure(name, status) for status in failures(endpoint)},
        },
    }
    notes = [NOTES[name]] if name in NOTES else []
    if not endpoint.open:
        notes.append(f"Needs a key with the right: {' or '.join(endpoint.needs)}.")
        described["x-rights"] = list(endpoint.needs)
    if notes:
        described["description"] = " ".join(notes)
    if name in BODIES:
        body = {"application/json": {"schema": ref(BODIES[name])}}
        described["requestBody"] = {"required": name not in OPTIONAL_BODIES, "content": body}
    return described


def security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    if endpoint.open:
        return []
    return [{"key": []}, {"token": []}] if endpoint.name == "run_events" else [{"key": []}]


def in_path(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)


def queries(name: str) -> dict[str, Described]:
    own = QUERIES.get(name, {})
    return {**SCOPE, **own} if name.startswith("memory") else own


def parameter(where: str, name: str, text: str, schema: Schema, *, needed: bool = False) -> dict[str, Any]:
    described = {"name": name, "in": where, "description": text, "required": needed, "schema": schema}
    return {**described, "style": "deepObject", "explode": True} if schema is LABELS else described


def answer(name: str, linked: dict[str, Any]) -> dict[str, Any]:
    kinds = OTHER_ANSWERS.get(name, ["application/json"])
    known = ref(ANSWERS[name]) if name in ANSWERS else {"type": "object"}
    described: dict[str, Any] = {
        "description": "The answer.",
        "content": {kind: {"schema": SHAPES.get(kind, known)} for kind in kinds},
    }
    if name in TURNS:
        described["headers"] = {header: {"description": text, "schema": TEXT} for header, text in TOLD.items()}
    if linked:
        described["links"] = linked
    return described


def links(name: str, known: Iterable[tuple[Endpoint, str]]) -> dict[str, Any]:
    """The operations that can be asked for what this one has made."""
    made = MAKES.get(name, {})
    return {
        endpoint.name: {"operationId": endpoint.name, "parameters": {named: made[named] for named in in_path(path)}}
        for endpoint, path in known
        if in_path(path) and made.keys() >= set(in_path(path))
    }


def failures(endpoint: Endpoint) -> list[int]:
    """The statuses that an operation can fail with, besides those of a bug."""
    name = endpoint.name
    statuses = {400, 421, 503}
    if not endpoint.open:
        statuses |= {401, 403, 429}
    if endpoint.answer is None or "{" in endpoint.path:
        statuses.add(404)
    if name in TURNS or HEADERS.get(name) == NAMES or name.startswith(IN_SESSION):
        statuses.add(409)
    if name in BODIES:
        statuses |= {413, 415}
    if name in TURNS:
        statuses.add(422)
    if name in TALKS_TO_MODEL:
        statuses |= {502, 504}
    return sorted(statuses)


def failure(name: str, status: int) -> dict[str, Any]:
    schema: Schema = ref("Error")
    if (name, status) == ("health_ready", 503):
        schema = {"anyOf": [ref("Readiness"), schema]}
    return {"description": FAILURES[status], "content": {"application/json": {"schema": schema}}}
