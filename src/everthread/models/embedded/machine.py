"""What this machine has to give: cores and memory, as the operating system and its container allow."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")


def cores(*, cgroup: Path = CGROUP) -> int:
    """The cores this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        allowed = min(allowed, int(quota) // int(period))
    return max(1, allowed)


def free_memory(*, meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int:
    """Bytes of memory that can be taken without swapping."""
    limit, used = _read(cgroup / "memory.max").strip(), _read(cgroup / "memory.current").strip()
    room = int(limit) - int(used) if limit.isdigit() and used.isdigit() else None
    for line in _read(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
            return available if room is None else max(0, min(available, room))
    return _physical_memory() // 2  # nothing better is known: half of what is built in


def _physical_memory() -> int:
    if not hasattr(os, "sysconf"):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _read(path: Path) -> str:
    """The text of a file of the kernel's; nothing where the kernel has no such file."""
    try:
        return path.read_text()
    except OSError:
        return ""
