"""The server with less patience for clients that do not read: a test need not wait for half a minute."""

from __future__ import annotations

import sys
from pathlib import Path

from everthread.cli.main import main
from everthread.http import reply, server
from process import Process

STALL = 6.0  # seconds


class Impatient(Process):
    program = (str(Path(__file__)),)


if __name__ == "__main__":
    reply.FIRST_EVENT = reply.KEEP_ALIVE = STALL / 2
    reply.LONGEST_STALL = server.LONGEST_UNREAD = STALL
    sys.exit(main())
