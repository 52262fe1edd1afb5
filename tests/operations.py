"""Every operation of the API, from its own description, and a good request for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from belongings import OWNERS
from everthread.http import openapi
from everthread.http.app import ENDPOINTS

DESCRIPTION: dict[str, Any] = openapi.describe(ENDPOINTS)
Body = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any] | None  # the schema of what it takes

    def __str__(self) -> str:
        return self.name

    def takes(self, where: str) -> list[str]:
        return [each["name"] for each in self.parameters if each["in"] == where]

    @property
    def takes_body(self) -> bool:
        return self.body is not None

    @property
    def in_path(self) -> list[str]:
        return self.takes("path")

    @property
    def leads(self) -> list[str]:
        """What must be named to get anywhere: a memory is found by its session key."""
        return [*self.in_path, *(["session_key"] if self.name.startswith("memory") else [])]


OPERATIONS = [
    Operation(
        told["operationId"],
        method.upper(),
        path,
        tuple(told["parameters"]),
        told["requestBody"]["content"]["application/json"]["schema"] if "requestBody" in told else None,
    )
    for path, methods in DESCRIPTION["paths"].items()
    for method, told in methods.items()
]
OPEN = {endpoint.name for endpoint in ENDPOINTS if endpoint.open}

# What is sent where nothing else is wanted; every operation with a body has one.
HELLO = "Hello."
JOB = {"name": "n", "prompt": HELLO, "schedule": "0 0 1 1 *"}
BODIES: dict[str, Body] = {
    "chat_completions": {"messages": [{"role": "user", "content": HELLO}]},
    "completion_update": {"metadata": {"stolen": "yes"}},
    "responses": {"input": HELLO},
    "response_tokens": {"input": HELLO},
    "response_compact": {"input": HELLO},
    "conversation_create": {},
    "conversation_update": {"metadata": {"stolen": "yes"}},
    "items_create": {"items": [{"role": "user", "content": HELLO}]},
    "run_create": {"input": HELLO},
    "session_create": {},
    "session_update": {"title": "Stolen."},
    "session_fork": {},
    "session_chat": {"message": HELLO},
    "session_chat_stream": {"message": HELLO},
    "memory_add": {"text": "Nobody likes liquorice."},
    "memory_correct": {"text": "Nobody likes liquorice."},
    "memory_pin": {"pinned": True},
    "memory_retract": {"reason": "stolen"},
    "memory_forget": {"scope": True, "dry_run": True},
    "job_create": JOB,
    "job_preview": {"schedule": "0 0 1 1 *"},
    "job_update": {"name": "Stolen."},
    "key_create": {},
    "key_update": {},
}
QUERIES: dict[str, dict[str, str]] = {"memory_search": {"q": OWNERS[1]}}
MODEL = "fake-model"  # belongs to nobody
