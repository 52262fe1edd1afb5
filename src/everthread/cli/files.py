"""How many turns the system lets a server open files for."""

from __future__ import annotations

import logging
import resource

log = logging.getLogger("everthread.serve")

FILES_OF_A_TURN = 2  # its client's connection, and the one to the model's server
OTHER_FILES = 512  # the database's, idle connections, requests that are no turns


def enough_for(turns: int) -> int:
    """As many of these turns as files may be open; the limit is raised as far as we may."""
    needed = FILES_OF_A_TURN * turns + OTHER_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY or now >= needed:
        return turns
    allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
    if allowed > now:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    fit = max(1, (allowed - OTHER_FILES) // FILES_OF_A_TURN)
    if fit < turns:
        log.warning("%d open files are allowed: only %d turns at once instead of %d (ulimit -n)", allowed, fit, turns)
    return fit
