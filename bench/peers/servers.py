"""How each server is started: its own command, its defaults, an empty home, and the same upstream."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from bench import server, upstream
from bench.load import Target
from bench.peers import install
from bench.server import Process, folder, free_port, running
from everthread import __version__

MODELS = ("bench-4", "bench-250")
INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")  # nothing else: no key, no proxy, no setting of somebody's own

Start = Callable[[Target, str | None], AbstractContextManager[Process]]


class About(msgspec.Struct, frozen=True):
    """What a table says of a server."""

    name: str
    title: str
    version: str
    stateless: bool = False  # keeps no conversation: its clients send all of it with each message
    part: bool = False  # is there to show what a setting does: it has no session
    brief: bool = False  # takes part in a few plans only


class Contender(msgspec.Struct, frozen=True):
    about: About
    start: Start


def session_model(name: str) -> str:
    return upstream.SESSION + name


def clean(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return kept | {"HOME": str(home)}


# --- everthread -----------------------------------------------------------------------------------


def everthread(*, lean: bool = False) -> Contender:
    """Lean: without its memory, which the others do not have; with it comes a model of sentences."""
    name, title = ("everthread-lean", "Everthread, memory off") if lean else ("everthread", "Everthread")

    def start(source: Target, parent: str | None) -> AbstractContextManager[Process]:
        return server.everthread(source, parent, memory="off" if lean else "on", name=name)

    return Contender(About(name, title, __version__, part=lean), start)


# --- hermes agent ---------------------------------------------------------------------------------


def hermes(env: Path, *, lean: bool = False) -> Contender:
    """Its API server. Its default refuses an eleventh request at a time (429): that limit is off.

    Lean: without a tool, and without its own memory."""
    name = "hermes-lean" if lean else "hermes"
    title = "Hermes, no tools" if lean else "Hermes Agent"
    about = About(name, title, install.version(env, "hermes-agent"), part=lean, brief=lean)

    @contextmanager
    def start(source: Target, parent: str | None) -> Iterator[Process]:
        target = Target(name=name, port=free_port(), key=secrets.token_urlsafe(32))
        with folder(parent) as home:
            config = hermes_config(target, source, lean=lean)
            (home / "config.yaml").write_bytes(msgspec.json.encode(config))  # JSON is YAML
            command = [str(env / "bin" / "hermes"), "gateway", "run"]
            surroundings = clean(home) | {"HERMES_HOME": str(home)}
            with running(target, command, surroundings, home, health="/health", cwd=home) as process:
                yield process

    return Contender(about, start)


def hermes_config(target: Target, source: Target, *, lean: bool) -> dict[str, object]:
    routes = {name: {"model": name} for name in (*MODELS, session_model(target.name))}
    config: dict[str, object] = {
        "model": {
            "provider": "custom",
            "base_url": f"http://127.0.0.1:{source.port}/v1",
            "api_key": source.key,
            "default": MODELS[0],
        },
        "gateway": {"api_server": {"max_concurrent_runs": 0}},
        "platforms": {
            "api_server": {
                "enabled": True,
                "extra": {"host": "127.0.0.1", "port": target.port, "key": target.key, "model_routes": routes},
            }
        },
    }
    if lean:
        config["platform_toolsets"] = {"api_server": []}
        config["memory"] = {"memory_enabled": False, "user_profile_enabled": False}
    return config


# --- litellm --------------------------------------------------------------------------------------


def litellm(env: Path) -> Contender:
    """One worker, as the others are one process; no database; logging as its page on production says."""
    about = About("litellm", "LiteLLM proxy", install.version(env, "litellm"), stateless=True)

    @contextmanager
    def start(source: Target, parent: str | None) -> Iterator[Process]:
        target = Target(name=about.name, port=free_port(), key=f"sk-{secrets.token_urlsafe(32)}")
        with folder(parent) as home:
            config = home / "config.yaml"
            config.write_bytes(msgspec.json.encode(litellm_config(target, source)))
            place = ["--config", str(config), "--host", "127.0.0.1", "--port", str(target.port)]
            command = [str(env / "bin" / "litellm"), *place, "--num_workers", "1", "--telemetry", "False"]
            surroundings = clean(home) | {
                "LITELLM_MODE": "PRODUCTION",
                "LITELLM_LOG": "ERROR",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks for one elsewhere
                "REPEATED_STREAMING_CHUNK_LIMIT": "1000000",  # else it takes the fake model for one that is stuck
            }
            with running(target, command, surroundings, home, health="/health/readiness", cwd=home) as process:
                yield process

    return Contender(about, start)


def litellm_config(target: Target, source: Target) -> dict[str, object]:
    at = {"api_base": f"http://127.0.0.1:{source.port}/v1", "api_key": source.key}
    models = (*MODELS, session_model(target.name))
    return {
        "model_list": [{"model_name": name, "litellm_params": {"model": f"openai/{name}"} | at} for name in models],
        "general_settings": {"master_key": target.key},
        "litellm_settings": {"set_verbose": False, "request_timeout": 600},
    }
