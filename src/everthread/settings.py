"""Every knob: typed, validated, read once from the environment or a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from everthread.core.usage import prices
from everthread.errors import Malformed

PREFIX = "EVERTHREAD_"
FILE = "everthread.toml"
OPENAI_URL = "https://api.openai.com/v1"

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Names = tuple[str, ...]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Each field is EVERTHREAD_<NAME> in the environment and <name> in everthread.toml. docs/settings.md lists them."""

    home: Path
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8642
    api_key: str | None = None
    upstream_url: str | None = None
    upstream_key: str | None = None
    model: str | None = None
    fallback_models: Names = ()
    context_budget: Annotated[int, msgspec.Meta(ge=256)] | None = None
    distil: Literal["auto", "model", "rules"] = "auto"
    memory: Literal["on", "off"] = "on"
    claims: Literal["rules", "model"] = "rules"
    server_tools: Literal["auto", "on", "off"] = "auto"
    commands: Literal["on", "off"] = "on"
    interrupted_runs: Literal["resume", "fail"] = "resume"
    webhook_hosts: Names = ()
    prices: Names = ()
    store: str | None = None
    allowed_hosts: Names = ()
    cors_origins: Names = ()
    unnamed_ttl_hours: Annotated[int, msgspec.Meta(ge=1)] = 168
    answer_without_history: bool = False
    turns_at_once: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2048
    connect_timeout: Seconds = 5.0
    first_byte_timeout: Seconds = 60.0
    silence_timeout: Seconds = 60.0
    hub_url: str = "https://huggingface.co"
    log: Literal["auto", "json", "text"] = "auto"
    log_level: str = "info"

    @property
    def database(self) -> Path:
        """The SQLite file that `store` names."""
        if self.store is None:
            return self.home / "everthread.db"
        return Path(self.store.removeprefix("sqlite:///")).expanduser()

    @property
    def key_file(self) -> Path:
        return self.home / "key"

    @property
    def weights(self) -> Path:
        return self.home / "models"


def load(environ: Mapping[str, str] | None = None, *, file: Path | None = None) -> Settings:
    """The settings: the environment first, then the file, then the defaults. Malformed says which one is wrong."""
    environ = os.environ if environ is None else environ
    given = {
        name.removeprefix(PREFIX).lower(): text.strip()
        for name, text in environ.items()
        if name.startswith(PREFIX) and text.strip()
    }
    home = Path(given.get("home") or Path.home() / ".everthread").expanduser().absolute()
    values: dict[str, Any] = {**from_file(file or found_file(home)), **given}
    values["home"] = str(Path(values.get("home") or home).expanduser().absolute())
    for name in ("fallback_models", "allowed_hosts", "cors_origins", "webhook_hosts", "prices"):
        if isinstance(values.get(name), str):
            values[name] = [item.strip() for item in values[name].split(",") if item.strip()]
    if "upstream_url" not in values:
        values = {**from_openai(environ), **values}
    try:
        settings = msgspec.convert(values, Settings, strict=False, dec_hook=path)
    except msgspec.ValidationError as error:
        raise Malformed(explained(error)) from error
    return checked(settings)


def found_file(home: Path) -> Path | None:
    return next((path for path in (Path.cwd() / FILE, home / FILE) if path.is_file()), None)


def from_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        read = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"{path} cannot be read: {error}") from error
    return {name.removeprefix(PREFIX).lower(): value for name, value in read.items()}


def from_openai(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that OpenAI's own client reads, so that what works there works here."""
    url, key = environ.get("OPENAI_BASE_URL", "").strip(), environ.get("OPENAI_API_KEY", "").strip()
    found = {"upstream_url": url or OPENAI_URL} if url or key else {}
    return {**found, "upstream_key": key} if key else found


def path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)


def explained(error: msgspec.ValidationError) -> str:
    what, _, where = str(error).partition(" - at `$.")
    if where:
        return f"{PREFIX}{where.rstrip('`').upper()} is not valid: {what}."
    if "unknown field" in what:
        name = what.rpartition("`")[0].rpartition("`")[2]
        return f"There is no setting {PREFIX}{name.upper()} ({name} in {FILE}); docs/settings.md lists them all."
    return what


def is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return False


def checked(settings: Settings) -> Settings:
    url = settings.upstream_url
    if url is not None and "@" in url.partition("://")[2].partition("/")[0]:  # not shown: it may be a password
        raise Malformed(
            f"{PREFIX}UPSTREAM_URL has a user or a password in it; a key belongs into {PREFIX}UPSTREAM_KEY."
        )
    if url is not None and not is_http(url):
        raise Malformed(f"{PREFIX}UPSTREAM_URL must be an http or https URL that ends in /v1, not {url!r}.")
    if url is not None and urlsplit(url).hostname == urlsplit(OPENAI_URL).hostname and settings.model is None:
        raise Malformed(f"Say which of OpenAI's models answers: set {PREFIX}MODEL.")
    if settings.store is not None and not settings.store.removeprefix("sqlite:///").strip("/ "):
        raise Malformed(f"{PREFIX}STORE must name a file: sqlite:///path.")
    if settings.store is not None and not settings.store.startswith("sqlite:///"):
        raise Malformed(f"{PREFIX}STORE must be sqlite:///path, not {settings.store.partition(':')[0]}:...")
    try:
        prices(settings.prices)
    except Malformed as wrong:
        raise Malformed(f"{PREFIX}PRICES is not valid: {wrong.message}") from wrong
    if settings.log_level.lower() not in {"debug", "info", "warning", "error"}:
        raise Malformed(f"{PREFIX}LOG_LEVEL is one of debug, info, warning, error.")
    return settings
