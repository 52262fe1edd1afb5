"""The shapes of what is asked and answered, by name."""

from __future__ import annotations

from everthread.http.schemas import chat, common, jobs, keys, memory, meta, responses, runs, sessions

SCHEMAS: common.Schemas = {
    **common.SCHEMAS,
    **chat.SCHEMAS,
    **responses.SCHEMAS,
    **runs.SCHEMAS,
    **sessions.SCHEMAS,
    **memory.SCHEMAS,
    **jobs.SCHEMAS,
    **keys.SCHEMAS,
    **meta.SCHEMAS,
}
