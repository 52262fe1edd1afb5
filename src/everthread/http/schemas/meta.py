"""What the server says of itself."""

from __future__ import annotations

from everthread.http.schemas.common import COUNT, FLAG, TEXT, TOKENS, Schemas, const, many, ref, whole

SCHEMAS: Schemas = {
    "Model": whole({"id": TEXT, "object": const("model"), "created": COUNT, "owned_by": TEXT}, context_length=TOKENS),
    "ModelList": whole({"object": const("list"), "data": many(ref("Model"))}),
    "Capabilities": whole(
        {
            "object": const("hermes.api_server.capabilities"),
            "platform": TEXT,
            "version": TEXT,
            "model": TEXT,
            "auth": whole({"type": const("bearer"), "required": FLAG}),
            "features": {"type": "object", "additionalProperties": {"type": ["boolean", "string"]}},
            "limits": {"type": "object", "additionalProperties": TOKENS},
            "endpoints": {"type": "object", "additionalProperties": whole({"method": TEXT, "path": TEXT})},
        }
    ),
    "Health": whole({"status": const("ok"), "version": TEXT}),
    "Readiness": whole(
        {
            "status": {"enum": ["ready", "degraded", "not ready"]},
            "checks": {"type": "object", "additionalProperties": whole({"ok": FLAG, "detail": TEXT})},
        }
    ),
    "Version": whole({"name": TEXT, "version": TEXT}),
}
