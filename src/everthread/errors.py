"""Every way a request can fail.

    Failure
    ├── Refused                     change the request
    │   ├── Malformed               a field, a header or the body is not what it must be
    │   │   ├── ContextTooLong      one message alone does not fit the budget
    │   │   ├── PreviousNotFound    previous_response_id names no response that is kept
    │   │   ├── UrlRefused          the server does not call that URL
    │   │   └── RejectedUpstream    the model's server said the request is wrong
    │   ├── Unauthenticated         no key, or not a valid one
    │   ├── Forbidden               the key has not the right to do that
    │   ├── HostRefused             the Host header names a host that is not served
    │   ├── OriginRefused           a page of another site asks for a WebSocket
    │   ├── NotFound
    │   │   ├── RouteNotFound
    │   │   └── ModelNotFound
    │   ├── MethodNotAllowed
    │   ├── BodyTooLarge
    │   ├── UnsupportedMediaType
    │   ├── SessionKeyMismatch      the session belongs to another session key
    │   ├── SessionExists           there is a session by that id already
    │   ├── IdempotencyMismatch     the key was used with another request
    │   ├── IdempotencyInProgress   the first request with this key is still running
    │   └── SessionBusy             another turn holds the session and the wait was not wanted, or too long
    ├── Unavailable                 send it again
    │   ├── StoreUnavailable        storage cannot be read or written
    │   │   ├── StoreDamaged        the file is damaged, replaced, gone or not ours: its operator must look at it
    │   │   └── StoreInUse          another server process holds the file
    │   ├── SessionMoved            the session changed while the turn ran
    │   ├── Overloaded              too many requests at once
    │   ├── LimitReached            the key has used what it may for now
    │   ├── Stopping                the server is shutting down
    │   ├── RunTimedOut             a run took longer than it may
    │   └── UpstreamFailure         the model's server
    │       ├── UpstreamUnreachable     no connection
    │       ├── UpstreamUnauthorized    our key was not accepted there
    │       ├── UpstreamRateLimited     it asks us to wait
    │       ├── UpstreamFailed          it answered with an error
    │       ├── UpstreamTimeout         it stayed silent too long
    │       ├── UpstreamDisconnected    it cut the stream
    │       ├── UpstreamIncomplete      its stream ended without a finish reason
    │       └── UpstreamMalformed       it sent what cannot be read
    ├── RunFailed                   what became of a run that came to nothing, told again
    └── Bug                         ours: logged with its trace

A class's docstring is its default message; `code` is part of the API and never changes. Nothing here knows HTTP.
"""

from __future__ import annotations

from typing import ClassVar


class Failure(Exception):
    """Something failed."""

    code: ClassVar[str] = "failure"

    def __init__(
        self, message: str | None = None, *, param: str | None = None, retry_after: float | None = None
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.param = param
        self.retry_after = retry_after
        super().__init__(self.message)


class Bug(Failure):
    """The server failed; this is a bug in Everthread, and its log has the details."""

    code = "internal_error"


class RunFailed(Failure):
    """The run came to nothing."""

    code = "run_failed"

    def __init__(self, status: str = "failed", code: str = "run_failed", message: str | None = None) -> None:
        super().__init__(message)
        self.status = status  # failed, cancelled, interrupted
        self.why = code  # the code of what went wrong


class Refused(Failure):
    """The request cannot be served as it is."""

    code = "refused"


class Malformed(Refused):
    """The request is not valid."""

    code = "invalid_value"


class ContextTooLong(Malformed):
    """The message does not fit the context budget."""

    code = "context_length_exceeded"


class PreviousNotFound(Malformed):
    """There is no such previous response."""

    code = "previous_response_not_found"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, param="previous_response_id")


class UrlRefused(Malformed):
    """This URL is not called: its host is not on the public Internet, or its port is another service's."""

    code = "url_not_allowed"


class RejectedUpstream(Malformed):
    """The model's server rejected the request."""

    code = "upstream_rejected"


class Unauthenticated(Refused):
    """A valid API key is required: send it as "Authorization: Bearer <key>"."""

    code = "invalid_api_key"


class Forbidden(Refused):
    """This API key does not have the right to do that."""

    code = "insufficient_rights"


class HostRefused(Refused):
    """This host name is not served here; add it to EVERTHREAD_ALLOWED_HOSTS if it should be."""

    code = "host_not_allowed"


class OriginRefused(Refused):
    """Pages of this origin may not connect; add it to EVERTHREAD_CORS_ORIGINS if they should."""

    code = "origin_not_allowed"


class NotFound(Refused):
    """There is nothing here by that name."""

    code = "not_found"


class RouteNotFound(NotFound):
    """There is no such endpoint; GET /v1/capabilities lists them all."""

    code = "unknown_url"


class ModelNotFound(NotFound):
    """There is no such model; GET /v1/models lists them."""

    code = "model_not_found"


class MethodNotAllowed(Refused):
    """This endpoint does not take that method."""

    code = "method_not_allowed"

    def __init__(self, message: str | None = None, *, allow: str = "") -> None:
        super().__init__(message)
        self.allow = allow


class BodyTooLarge(Refused):
    """The request body is too large."""

    code = "body_too_large"


class UnsupportedMediaType(Refused):
    """The body must be JSON, sent as "Content-Type: application/json"."""

    code = "unsupported_media_type"


class SessionKeyMismatch(Refused):
    """This session belongs to another session key."""

    code = "session_key_mismatch"


class SessionExists(Refused):
    """There is a session with this id already."""

    code = "session_exists"


class IdempotencyMismatch(Refused):
    """This Idempotency-Key was used with another request; use a new one."""

    code = "idempotency_mismatch"


class IdempotencyInProgress(Refused):
    """The first request with this Idempotency-Key is still running; ask again shortly."""

    code = "idempotency_in_progress"


class SessionBusy(Refused):
    """Another turn of this session is running."""

    code = "session_busy"

    def __init__(
        self,
        message: str | None = None,
        *,
        retry_after: float = 1,
        final: bool = False,
        run: str | None = None,
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.final = final  # the client asked not to wait, so its SDK should not retry by itself
        self.run = run  # the turn that holds the session


class Unavailable(Failure):
    """The server cannot answer now; try again."""

    code = "unavailable"


class StoreUnavailable(Unavailable):
    """Storage cannot be reached; nothing was lost and nothing was changed."""

    code = "storage_unavailable"


class StoreDamaged(StoreUnavailable):
    """The database is damaged, or its file was replaced; who runs this server must look at it."""

    code = "storage_damaged"


class StoreInUse(StoreUnavailable):
    """Another server process is using this data folder."""

    code = "storage_in_use"


class SessionMoved(Unavailable):
    """The session changed while this turn ran, so nothing was kept; send it again."""

    code = "session_moved"


class Overloaded(Unavailable):
    """Too many requests are waiting; try again shortly."""

    code = "overloaded"


class LimitReached(Unavailable):
    """This API key has reached one of its limits; try again later."""

    code = "rate_limit_exceeded"

    def __init__(self, message: str | None = None, *, retry_after: float = 1, final: bool = False) -> None:
        super().__init__(message, retry_after=retry_after)
        self.final = final  # not soon: the client's library should not retry by itself


class Stopping(Unavailable):
    """The server is shutting down; try again shortly."""

    code = "stopping"


class RunTimedOut(Unavailable):
    """The run took longer than it may."""

    code = "run_timed_out"


class UpstreamFailure(Unavailable):
    """The model's server failed."""

    code = "upstream_error"


class UpstreamUnreachable(UpstreamFailure):
    """The model's server cannot be reached."""

    code = "upstream_unreachable"


class UpstreamUnauthorized(UpstreamFailure):
    """The model's server did not accept this server's credentials; check EVERTHREAD_UPSTREAM_KEY."""

    code = "upstream_unauthorized"


class UpstreamRateLimited(UpstreamFailure):
    """The model's server is limiting requests; try again later."""

    code = "upstream_rate_limited"


class UpstreamFailed(UpstreamFailure):
    """The model's server answered with an error."""

    code = "upstream_failed"

    def __init__(self, message: str | None = None, *, retry_after: float | None = None, final: bool = False) -> None:
        super().__init__(message, retry_after=retry_after)
        self.final = final  # asking again would bring the same


class UpstreamTimeout(UpstreamFailure):
    """The model's server did not answer in time."""

    code = "upstream_timeout"


class UpstreamDisconnected(UpstreamFailure):
    """The model's server closed the connection before the answer was complete."""

    code = "upstream_disconnected"


class UpstreamIncomplete(UpstreamFailure):
    """The model's answer ended without a finish reason."""

    code = "upstream_incomplete"


class UpstreamMalformed(UpstreamFailure):
    """The model's server sent something that is not a chat completion stream."""

    code = "upstream_malformed"
