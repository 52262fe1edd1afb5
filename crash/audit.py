"""Holds what the server says against the clients' ledger."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from crash.book import Book, Transcript
from crash.speakers import PATIENCE, Chained, Rotating, Runner, Speaker
from front_door import Client
from process import Process

ENDS = {"completed", "failed", "cancelled", "interrupted"}
UNFINISHED = {"queued", "running", "stopping", "in_progress"}
SOME_IDS = 12


class Audit:
    def __init__(self, book: Book, speakers: Sequence[Speaker], jobs: Sequence[str]) -> None:
        self.book = book
        self.speakers = speakers
        self.jobs = jobs
        self._heard: dict[str, Transcript] = {}

    def quick(self, client: Client) -> None:
        """What is new since the last time."""
        self._settle(client)
        for session in self._sessions():
            self._compare(client, session, self._heard.setdefault(session, Transcript()))
        for speaker in self.speakers:
            if isinstance(speaker, Chained) and speaker.at is not None:
                self._chain(client, speaker.at, speaker.told)
            if isinstance(speaker, Rotating):
                self._one_tip(client, [speaker.ids[0], *speaker.ids[-SOME_IDS:]])

    def full(self, client: Client) -> None:
        """Everything, from the first word on."""
        self.quick(client)
        for session in self._sessions():
            heard = Transcript()
            self._compare(client, session, heard)
            self.book.count("turns in the transcripts", heard.questions)
            self._rotations(client, session)
        for speaker in self.speakers:
            if isinstance(speaker, Chained):
                for at, told in (*speaker.done, *([(speaker.at, speaker.told)] if speaker.at else [])):
                    self._chain(client, at, told)
            if isinstance(speaker, Runner):
                self._runs(speaker)
        for job in self.jobs:
            self._job(client, job)

    def check(self, process: Process) -> None:
        """`everthread check` beside the running server."""
        command = [sys.executable, "-m", "everthread", "check"]
        done = subprocess.run(command, env=process._environ, capture_output=True, text=True, check=False)
        self.book.count("checks of the whole database")
        if done.returncode != 0:
            self.book.wrong("unsound", (done.stdout + done.stderr)[-2000:])

    # --- transcripts ---

    def _sessions(self) -> list[str]:
        return list(dict.fromkeys(s.session for s in self.speakers if not isinstance(s, Chained)))

    def _compare(self, client: Client, session: str, heard: Transcript) -> None:
        heard.read(messages(client, session, heard.last))
        heard.over()
        self.book.compare(session, heard)

    def _chain(self, client: Client, at: str, told: list[tuple[str, str]]) -> None:
        """The path of a chain's last response: all that was acknowledged, and after it at most what nobody was told."""
        heard = Transcript()
        heard.read(messages(client, at))
        heard.over()
        for kind, what in heard.wrongs:
            self.book.wrong(kind, f"{at}: {what}")
        said = [(mark, answer) for mark, (_, answer) in heard.said.items()]
        if said[: len(told)] != told:
            missing = [mark for mark, _ in told if mark not in heard.said]
            self.book.wrong("lost" if missing else "altered", f"the chain of {at}: {missing or said} of {told}")

    # --- lineage ---

    def _rotations(self, client: Client, session: str) -> None:
        answer = client.get(f"/api/sessions/{quote(session, safe='')}/lineage")
        if answer.status != 200:
            return
        for branch in answer.json["branches"]:
            ids = [each["id"] for each in branch["sessions"]]
            self.book.count("rotations", len(ids) - 1)
            self._one_tip(client, ids)

    def _one_tip(self, client: Client, ids: Sequence[str]) -> None:
        tips = set()
        for each in dict.fromkeys(ids):
            answer = client.get(f"/api/sessions/{quote(each, safe='')}")
            if answer.status == 200:
                tips.add(answer.json["session"]["tip_session_id"])
            elif self.book.acknowledged.get(ids[0]):
                self.book.wrong("tips", f"{each}: {answer.status}")
        if len(tips) > 1:
            self.book.wrong("tips", f"{ids[0]}: {tips}")

    # --- runs and jobs ---

    def _settle(self, client: Client) -> None:
        """Every run that was begun comes to an end."""
        for speaker in self.speakers:
            if isinstance(speaker, Runner):
                for mark, run in list(speaker.begun.items()):
                    speaker.ended[mark] = status = ended(client, f"/v1/runs/{run}")
                    del speaker.begun[mark]
                    self.book.count(f"runs {status}")
                    if status not in ENDS:
                        self.book.wrong("endless", f"{run}: {status}")

    def _runs(self, speaker: Runner) -> None:
        """What is completed stands in its session, once; what is not does not."""
        heard = self._heard[speaker.session]
        for mark, status in speaker.ended.items():
            if status == "completed" and mark not in heard.said:
                self.book.wrong("lost", f"the run {mark}")
            if status != "completed" and mark in heard.said:
                self.book.wrong("half", f"the run {mark} is {status}, and in the transcript")

    def _job(self, client: Client, job: str) -> None:
        client.send("POST", f"/api/jobs/{job}/pause")
        deadline = time.monotonic() + PATIENCE
        while any(run["status"] in UNFINISHED for run in runs(client, job)) and time.monotonic() < deadline:
            time.sleep(0.05)
        found = list(runs(client, job))
        times = [run["scheduled_at"] for run in found]
        done = sum(run["status"] == "completed" for run in found)
        self.book.count("times of jobs", len(found))
        self.book.count("times of jobs, answered", done)
        if len(set(times)) != len(times):
            self.book.wrong("times", f"{job}: {len(times)} runs for {len(set(times))} times")
        heard = Transcript()
        heard.read(messages(client, f"job:{job}"))
        heard.over()
        for kind, what in heard.wrongs:
            self.book.wrong(kind, f"{job}: {what}")
        if heard.questions != done:
            self.book.wrong("times", f"{job}: {heard.questions} turns for {done} answered times")
        for run in found:
            if run["status"] in UNFINISHED:
                self.book.wrong("endless", f"{job}: {run['id']} is {run['status']}")


def messages(client: Client, session: str, after: str | None = None) -> Iterator[dict[str, Any]]:
    """All of a session's path, page by page; nothing of one that nobody has spoken in."""
    while True:
        path = f"/api/sessions/{quote(session, safe='')}/messages?limit=1000"
        answer = client.get(path + (f"&after={after}" if after else ""))
        if answer.status == 404:
            return
        page = answer.json
        yield from page["data"]
        if not page["has_more"]:
            return
        after = page["data"][-1]["id"]


def runs(client: Client, job: str) -> Iterator[dict[str, Any]]:
    after = ""
    while True:
        page = client.get(f"/api/jobs/{job}/runs?order=asc&limit=100{after}").json
        yield from page["data"]
        if not page["has_more"]:
            return
        after = f"&after={page['data'][-1]['id']}"


def ended(client: Client, path: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = client.get(path)
        status = str(answer.json["status"]) if answer.status == 200 else str(answer.status)
        if status not in UNFINISHED or time.monotonic() > deadline:
            return status
        time.sleep(0.02)
