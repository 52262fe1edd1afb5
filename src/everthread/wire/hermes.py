"""The `hermes` object: what a reply says about its session."""

from __future__ import annotations

from everthread.core.claim import claim_id
from everthread.core.ids import run_id
from everthread.core.turn import Finished


def encode(finished: Finished) -> dict[str, object]:
    session, step = finished.session, finished.step
    usage = step.outcome.usage
    return {
        "session_id": session.id,
        "parent_session_id": session.parent,
        "root_session_id": session.root,
        "rotated": finished.rotated,
        "session_key": session.session_key,
        "run_id": run_id(step.id),
        "context": {
            "prompt_tokens": step.context.prompt_tokens,
            "budget": step.context.budget,
            "prefix": step.context.prefix,
            "window": step.context.window,
            "tail": step.context.tail,
            "message": step.context.message,
            "log": step.context.log,
            "cached": usage.cached,
        },
        "memory": [claim_id(claim) for claim in step.tail.claims] if step.tail else [],
        "usage": {
            "answer": usage.prompt + usage.completion,
            "distilling": step.context.distilled,
            "searching": step.context.searching,
        },
        "model": step.outcome.model,
        "degraded": finished.degraded,
    }
