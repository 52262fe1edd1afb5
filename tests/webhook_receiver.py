"""A webhook's other end, on a real socket."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()


class Receiver:
    """A webhook's other end: checks each signature by itself."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
                expected = base64.b64encode(hmac.new(b"s" * 32, signed, hashlib.sha256).digest()).decode()
                verified = self.headers["webhook-signature"] == f"v1,{expected}"
                code = receiver.answers.pop(0) if receiver.answers else 204
                if verified:
                    receiver.heard.append(json.loads(body))
                    receiver.ids.append(self.headers["webhook-id"])
                self.send_response(code if verified else 401)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def wait(self, count: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + 20
        while len(self.heard) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(self.heard) >= count, self.heard
        return self.heard

    def about(self, run: str) -> dict[str, Any]:
        """What it was told of a run; a parcel may come more than once."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for told in self.heard:
                if told["data"].get("id") == run:
                    return told
            time.sleep(0.02)
        raise AssertionError(self.heard)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
