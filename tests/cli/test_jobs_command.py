"""`everthread jobs`, against a server that runs; and what its page says."""

from __future__ import annotations

import base64
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from everthread.cli.jobs import EXAMPLES, spoken, table, upcoming
from everthread.cli.main import main
from everthread.core import signature
from front_door import KEY, Everthread
from upstream import Upstream, sleeps, status

Command = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/jobs.md").read_text()
FRIDAY = datetime(2026, 3, 6, 10, 0, tzinfo=UTC)


@pytest.fixture
def server(start: Callable[..., Everthread], home: Path) -> Everthread:
    return start(home)


@pytest.fixture
def anywhere(run: Command) -> Command:
    return partial(run, "jobs")


@pytest.fixture
def command(anywhere: Command, server: Everthread) -> Command:
    """The same, where a server runs."""
    return partial(anywhere, server=server)


def made(command: Command, name: str = "report", schedule: str = "0 9 * * 1", *more: str) -> dict[str, Any]:
    code, shown, said = command("add", name, "--schedule", schedule, "--prompt", "Report.", "--json", *more)
    assert code == 0, said
    return dict(json.loads(shown))


# --- add and show ---


def test_a_new_job_is_shown_with_its_schedule_in_words_and_its_next_three_fires(command: Command) -> None:
    words = ("--schedule", "0 9 * * 1", "--timezone", "Europe/Berlin", "--prompt", "Report.\nIn two lines.")
    code, shown, said = command("add", "weekly", *words)
    assert (code, said) == (0, "")
    assert "when         every Monday at 09:00 (Europe/Berlin)\n" in shown
    fire = r"^(?:next)? +(in \d+ \w+.*|now), Monday \d+ \w+ 20\d\d at 09:00 Europe/Berlin$"
    fires = re.findall(fire, shown, re.MULTILINE)
    assert len(fires) == 3
    assert shown.endswith("prompt       Report.\n             In two lines.\n")
    assert "secret" not in shown
    assert command("show", "weekly") == (0, shown, "")


def test_every_option_reaches_the_server(command: Command) -> None:
    job = made(
        command,
        "all",
        "@daily",
        *(
            "--timezone",
            "Asia/Tokyo",
            "--session",
            "s1",
            "--session-key",
            "k1",
            "--model",
            "m",
            "--instructions",
            "Be.",
        ),
        *("--on-missed", "run_all", "--catch-up", "6", "--on-overlap", "queue", "--retries", "2", "--timeout", "30"),
        *("--repeat", "7", "--expires", "2099-01-01T00:00:00Z", "--disabled"),
        *("--webhook", "https://example.com/in", "--secret", "whsec_" + base64.b64encode(b"s" * 32).decode()),
    )
    assert {name: job[name] for name in ("timezone", "session_id", "session_key", "model", "instructions")} == {
        "timezone": "Asia/Tokyo",
        "session_id": "s1",
        "session_key": "k1",
        "model": "m",
        "instructions": "Be.",
    }
    assert (job["on_missed"], job["catch_up_hours"], job["on_overlap"]) == ("run_all", 6, "queue")
    assert (job["retries"], job["timeout_seconds"], job["repeat"]["times"]) == (2, 30, 7)
    assert (job["expires_at"], job["enabled"], job["state"]) == ("2099-01-01T00:00:00Z", False, "paused")
    shown = command("show", "all")[1]
    assert "next         paused\n" in shown
    assert "if missed    every time of the last 6 hours is made up for\n" in shown
    assert "attempts     3, up to 30 seconds each\n" in shown
    assert "repeat       0 of 7 times so far\n" in shown
    assert "1 January 2099 at 09:00 Asia/Tokyo\n" in shown
    assert json.loads(command("show", "all", "--json")[1])["id"] == job["id"]


def test_a_webhooks_secret_is_shown_once(command: Command) -> None:
    words = ("--schedule", "@daily", "--prompt", "x", "--webhook", "https://example.com/in")
    _, shown, _ = command("add", "told", *words)
    assert re.search(r"^secret       whsec_\S{40,} \(shown this once", shown, re.MULTILINE)
    again = command("show", "told")[1]
    assert "webhook      https://example.com/in\n" in again
    assert "whsec_" not in again


def test_a_prompt_may_come_from_a_file_or_a_pipe(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompt.txt").write_text("From a file.\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("From a pipe,\nin two lines.\n"))
    words = ("--schedule", "@daily", "--prompt", "-", "--instructions", f"@{tmp_path / 'prompt.txt'}", "--json")
    job = json.loads(command("add", "x", *words)[1])
    assert (job["prompt"], job["instructions"]) == ("From a pipe,\nin two lines.", "From a file.")
    for prompt, why in (("@/no/where", "No such file"), (" ", "--prompt is empty"), ("-", "--prompt is empty")):
        code, _, said = command("add", "y", "--schedule", "@daily", "--prompt", prompt)
        assert (code, why in said) == (1, True), said
    (tmp_path / "prompt.txt").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in command("add", "y", "--schedule", "@daily", "--prompt", f"@{tmp_path / 'prompt.txt'}")[2]
    both = command("add", "y", "--schedule", "@daily", "--prompt", "-", "--instructions", "-")
    assert "Only one of --prompt and --instructions" in both[2]


def test_what_the_server_refuses_is_said_in_its_words(command: Command) -> None:
    code, shown, said = command("add", "x", "--schedule", "sometimes", "--prompt", "x")
    assert (code, shown) == (1, "")
    assert '"0 9 * * 1"' in said
    said = command("add", "x", "--schedule", "@daily", "--timezone", "Europe/Belin", "--prompt", "x")[2]
    assert 'did you mean "Europe/Berlin"?' in said
    said = command("add", "x", "--schedule", "@daily", "--prompt", "x", "--webhook", "http://169.254.169.254/")[2]
    assert said.startswith("everthread: ")
    assert "--webhook URL" in command("add", "x", "--schedule", "@daily", "--prompt", "x", "--secret", "s")[2]
    assert command("list")[1].startswith("There are no jobs yet")


# --- list ---


def test_the_list_says_when_in_words_and_how_it_went_last(command: Command) -> None:
    assert command("list") == (
        0,
        "There are no jobs yet; `everthread jobs add --help` shows how to make one.\n",
        "",
    )
    weekly = made(command, "weekly")
    made(command, "watch", "every 30m")
    made(command, "later", "@daily", "--disabled")
    command("run", "watch", "--wait")
    code, shown, _ = command("list")
    head, *rows = (re.split(r" {2,}", line) for line in shown.splitlines())
    assert (code, head) == (0, ["NAME", "WHEN", "NEXT", "LAST", "ID"])
    assert rows[0][:2] == ["weekly", "every Monday at 09:00 (UTC)"]
    assert re.fullmatch(r"in .+, Mon \d+ \w{3} 09:00", rows[0][2])
    assert rows[0][3:] == ["never ran", weekly["id"]]
    assert rows[1][:4] == ["watch", "every 30 minutes", "in 30 minutes", "completed"]
    assert rows[2][2] == "paused"
    found = [json.loads(line) for line in command("list", "--json")[1].splitlines()]
    assert [job["name"] for job in found] == ["weekly", "watch", "later"]


def test_more_jobs_than_a_page_has_are_all_found(command: Command, server: Everthread) -> None:
    for number in range(101):
        server.client.post("/api/jobs", {"name": f"job {number}", "schedule": "@daily", "prompt": "x"})
    assert len(command("list")[1].splitlines()) == 102
    assert "job          job 100\n" in command("show", "job 100")[1]


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (FRIDAY, "now, Friday 6 March 2026 at 11:00"),
        (FRIDAY + timedelta(seconds=20), "in 20 seconds, Friday 6 March 2026 at 11:00:20"),
        (FRIDAY + timedelta(minutes=1), "in 1 minute, Friday 6 March 2026 at 11:01"),
        (FRIDAY + timedelta(minutes=60), "in 1 hour, Friday 6 March 2026 at 12:00"),
        (FRIDAY + timedelta(minutes=90), "in 1 hour 30 minutes, Friday 6 March 2026 at 12:30"),
        (FRIDAY + timedelta(hours=22), "in 22 hours, Saturday 7 March 2026 at 09:00"),
        (datetime(2026, 3, 9, 8, tzinfo=UTC), "in 3 days, Monday 9 March 2026 at 09:00"),
        (datetime(2026, 3, 30, 7, tzinfo=UTC), "in 24 days, Monday 30 March 2026 at 09:00"),
        (datetime(2026, 12, 24, 17, tzinfo=UTC), "in 10 months, Thursday 24 December 2026 at 18:00"),
        (datetime(2030, 12, 24, 17, tzinfo=UTC), "in 5 years, Tuesday 24 December 2030 at 18:00"),
        (FRIDAY - timedelta(hours=2), "2 hours ago, Friday 6 March 2026 at 09:00"),
    ],
)
def test_a_moment_is_told_in_words_by_the_clock_of_the_jobs_zone(at: datetime, words: str) -> None:
    assert spoken({"timezone": "Europe/Berlin"}, at.isoformat(), FRIDAY) == f"{words} Europe/Berlin"


def test_a_zone_that_is_not_known_here_is_told_in_utc() -> None:
    job = {"timezone": "../../etc/passwd", "next_run_at": "2026-03-09T08:00:00Z", "schedule": {"kind": "cron"}}
    assert spoken(job, "2026-03-09T08:00:00Z", FRIDAY).endswith("at 08:00 UTC")
    assert upcoming(job, FRIDAY) == "in 3 days, Mon 9 Mar 08:00"


def test_a_job_without_a_next_time_is_over() -> None:
    shown = {"name": "a\x1b[2Jb\nc" * 20, "id": "job_1", "last_status": None, "next_run_at": None, "enabled": True}
    line = table([{**shown, "timezone": "UTC", "schedule": {"kind": "once", "display": "once"}}], FRIDAY).splitlines()
    assert len(line) == 2, "a name does not make lines"
    assert line[1].split()[-5:] == ["once", "over", "never", "ran", "job_1"]
    assert "\x1b" not in line[1]


# --- which one ---


def test_a_job_is_named_by_its_name_its_id_or_the_beginning_of_either(command: Command) -> None:
    report, reports, other = (made(command, name) for name in ("report", "reports", "other"))
    for text, job in (
        ("report", report),
        ("reports", reports),
        ("o", other),
        (other["id"], other),
        (reports["id"][:-1], reports),
    ):
        assert json.loads(command("show", text, "--json")[1])["id"] == job["id"]
    code, shown, said = command("show", "rep")
    assert (code, shown) == (1, "")
    assert f"'rep' may mean report ({report['id']}), reports ({reports['id']}). Say more" in said
    assert "There is no job 'nothing'; `everthread jobs list` shows them." in command("show", "nothing")[2]
    assert "JOB is empty" in command("remove", "", "--yes")[2]
    twin = made(command, "report")
    said = command("pause", "report")[2]
    assert all(job["id"] in said for job in (report, twin))
    for number in range(6):
        made(command, f"x{number}")
    assert "x4 (job_" in command("show", "x")[2]
    assert " and 1 more. Say more" in command("show", "x")[2]


# --- run and history ---


def test_run_starts_one_and_with_wait_prints_what_it_said_and_nothing_else(
    command: Command, upstream: Upstream
) -> None:
    made(command)
    upstream.plan.append(sleeps(0.5))
    assert command("run", "report", "--wait") == (0, "too late\n", "")
    upstream.answer = lambda request: "\n\n\x1b[31mFirst line\nsecond line"
    code, shown, said = command("run", "report", "--wait")
    assert (code, shown, said) == (0, "\n\n[31mFirst line\nsecond line\n", ""), "nothing that a terminal would obey"
    code, shown, _ = command("run", "report")
    assert re.fullmatch(r"Started run_\w+\. What comes of it: everthread jobs history report\n", shown), (
        "the next step is said"
    )
    over = json.loads(command("run", "report", "--wait", "--json")[1])
    assert (over["status"], over["output"].strip()[5:10]) == ("completed", "First")
    assert json.loads(command("run", "report", "--json")[1])["status"] == "queued"


def test_a_run_that_fails_is_an_error_and_stands_in_the_history(command: Command, upstream: Upstream) -> None:
    job = made(command, "report", "@daily", "--timezone", "Asia/Tokyo")
    assert command("history", "report") == (
        0,
        "report has not fired yet; run it now with: everthread jobs run report --wait\n",
        "",
    )
    upstream.plan += [status(500)] * 3
    code, shown, said = command("run", "report", "--wait")
    assert (code, shown) == (1, "")
    assert said.startswith("everthread: The run was not completed (failed): ")
    upstream.plan += [status(500)] * 3
    assert command("run", "report", "--wait", "--json")[0] == 1
    upstream.answer = lambda request: "\n \nFirst line\x07\nsecond line"
    command("run", "report", "--wait")
    code, shown, _ = command("history", "report")
    head, newest, *failed = (re.split(r" {2,}", line) for line in shown.splitlines())
    assert (code, head) == (0, ["SCHEDULED (Asia/Tokyo)", "STATUS", "ATTEMPT", "TOOK", "OUTPUT OR ERROR"])
    assert (newest[1:3], newest[4]) == (["completed", "1"], "First line")
    assert [row[1:3] for row in failed] == [["failed", "1"]] * 2
    assert failed[0][4]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", newest[0])
    assert len(command("history", "report", "--limit", "1")[1].splitlines()) == 2
    assert command("history", "report", "--limit", "0")[0] == 1
    found = [json.loads(line) for line in command("history", "report", "--json")[1].splitlines()]
    assert [(run["job_id"], run["status"]) for run in found] == [(job["id"], "completed"), *[(job["id"], "failed")] * 2]
    shown = command("show", "report")[1]
    assert re.search(r"^last         completed, (now|\d+ seconds? ago), ", shown, re.MULTILINE)


# --- pause, resume, remove ---


def test_a_job_is_paused_and_resumed(command: Command, server: Everthread) -> None:
    job = made(command, "my report", "every 30m")
    assert command("pause", "my") == (0, "my report fires no more until: everthread jobs resume 'my report'\n", "")
    assert not server.client.get(f"/api/jobs/{job['id']}").json["job"]["enabled"]
    code, shown, _ = command("resume", "my report")
    assert (code, shown.startswith("my report fires again in ")) == (0, True)
    assert shown.endswith(" UTC\n")
    never = made(
        command, "past", "@yearly", "--expires", f"{datetime.now(UTC) + timedelta(seconds=5):%Y-%m-%dT%H:%M:%S}"
    )
    assert (never["state"], command("show", "past")[1].count("next         over\n")) == ("completed", 1)
    assert command("resume", "past") == (1, "past is over: there is no time left at which it would fire.\n", "")


def test_what_cannot_be_typed_is_suggested_by_its_id(command: Command) -> None:
    job = made(command, "a\x1b[1mb")
    assert command("pause", job["id"])[1] == f"a[1mb fires no more until: everthread jobs resume {job['id']}\n"


def test_removing_needs_a_yes_and_leaves_the_conversation(command: Command, server: Everthread) -> None:
    made(command, "report", "@daily", "--session", "s1")
    command("run", "report", "--wait")
    code, _, said = command("remove", "report")
    assert (code, "Say --yes to remove report, every day at 00:00 (UTC)" in said) == (1, True)
    assert command("remove", "report", "--yes") == (0, "Removed report. What was said in s1 stays.\n", "")
    assert server.client.get("/api/jobs").json["jobs"] == []
    assert len(server.client.get("/api/sessions/s1/messages").json["data"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "left"), [("n\n", 1), ("\x04", 1), ("y\n", 0)])
def test_a_person_is_asked_before_a_job_is_removed(command: Command, server: Everthread, typed: str, left: int) -> None:
    made(command)
    ours, theirs = pty.openpty()
    asking = subprocess.Popen(
        [sys.executable, "-m", "everthread", "jobs", "remove", "report"], stdin=theirs, stdout=subprocess.PIPE
    )
    os.write(ours, typed.encode())
    printed, _ = asking.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"Remove report, every Monday at 09:00 (UTC), and its history? [y/N]" in printed
    assert asking.returncode == left
    assert len(server.client.get("/api/jobs").json["jobs"]) == left


@pytest.mark.slow
def test_whoever_stops_waiting_leaves_the_run_alone(command: Command, server: Everthread, upstream: Upstream) -> None:
    job = made(command)
    upstream.plan.append(sleeps(3))
    waiting = subprocess.Popen(
        [sys.executable, "-m", "everthread", "jobs", "run", "report", "--wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 30
    while not upstream.requests and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    waiting.send_signal(signal.SIGINT)
    printed, said = waiting.communicate(timeout=60)
    assert (waiting.returncode, printed) == (130, b"")
    assert re.search(rb"Stopped waiting; run_\w+ goes on without us\.\n$", said)
    while (run := server.client.get(f"/api/jobs/{job['id']}/runs").json["data"][0])["status"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
    assert run["status"] == "completed"


# --- where ---


def test_without_a_server_it_is_said_what_to_do(anywhere: Command, home: Path) -> None:
    code, shown, said = anywhere("list")
    assert (code, shown) == (1, "")
    assert "Start it with `everthread serve`, or say where it is: --url" in said
    assert not home.exists()


def test_a_server_elsewhere_is_named_by_its_url_and_key(
    anywhere: Command, server: Everthread, upstream: Upstream
) -> None:
    where = ("--url", f"{server.url}/v1")
    assert made(anywhere, "report", "@daily", *where)["name"] == "report"
    assert anywhere("list", *where)[1].splitlines()[1].startswith("report  every day at 00:00 (UTC)")
    code, _, said = anywhere("list", *where, "--key", "et_wrong")
    assert (code, "--key or EVERTHREAD_API_KEY" in said) == (1, True)
    code, _, said = anywhere("list", "--url", "http://127.0.0.1:1")
    assert (code, "does not answer" in said) == (1, True)


# --- what is taught ---


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["jobs", "--help"])
    shown = capsys.readouterr().out
    for word in EXAMPLES:
        assert f"everthread jobs {word}" in shown
        with pytest.raises(SystemExit):
            main(["jobs", word, "--help"])
        assert EXAMPLES[word] in capsys.readouterr().out


def test_the_commands_of_the_help_and_of_the_page_work_as_they_are_written(command: Command, tmp_path: Path) -> None:
    order = ["add", "list", "show", "run", "pause", "resume", "history"]
    ours = [EXAMPLES[word] for word in order] + [EXAMPLES["remove"] + " --yes"]
    (block,) = re.findall(r"```sh\n(everthread jobs.*?)```", PAGE, re.DOTALL)
    for line in [*ours, *block.replace("\\\n", "").splitlines()]:
        words = shlex.split(line.partition(" > ")[0], comments=True)
        assert words[:2] == ["everthread", "jobs"]
        code, _, said = command(*words[2:], *(["--yes"] if words[2] == "remove" and "--yes" not in words else []))
        assert code == 0, (line, said)


def test_the_requests_of_the_page_work_as_they_are_written(server: Everthread, upstream: Upstream) -> None:
    (block,) = re.findall(r"```sh\nAUTH=(.*?)```", PAGE, re.DOTALL)
    defined, *requests = re.split(r"^curl ", block, flags=re.MULTILINE)
    named = {"AUTH": f"Authorization: Bearer {KEY}", "JSON": "Content-Type: application/json"}
    assert defined.replace("$KEY", KEY) == '"{AUTH}" JSON="{JSON}"\n'.format(**named)
    for request in requests:
        words = iter(shlex.split(re.sub(r"\$(\w+)", lambda found: named[found[1]], request)))
        method, url, body, headers = "", "", None, {"Content-Type": "application/x-www-form-urlencoded"}
        for word in words:
            match word:
                case "-H":
                    name, _, text = next(words).partition(": ")
                    headers[name] = text
                case "-X":
                    method = next(words)
                case "-d":
                    body = next(words).encode()
                case _:
                    url = word
        answer = server.client.send(method or ("POST" if body else "GET"), url[url.index("/api") :], body, headers)
        assert answer.status in {200, 201, 202}, (request, answer.body)
        if answer.status == 201:
            named["JOB"] = answer.json["job"]["id"]
    assert "JOB" in named


def test_the_receiver_of_the_page_believes_us_and_nobody_else() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    page: dict[str, Any] = {}
    exec(compile(code, "docs/jobs.md", "exec"), page)
    verified, body, at = page["verified"], b'{"type": "job.run.completed"}', int(time.time())
    for secret in (signature.new_secret(b"s" * 32), signature.secret("a plain secret")):
        headers = signature.headers([signature.new_secret(b"o" * 32), secret], "msg_1", at, body)
        assert verified(secret, headers, body)
        assert not verified(secret, headers, body + b" ")
        assert not verified(signature.new_secret(b"x" * 32), headers, body)
        assert not verified(secret, {**headers, "webhook-id": "msg_2"}, body)
        assert not verified(secret, signature.headers([secret], "msg_1", at - 600, body), body), "too old"
    assert len(code.strip().splitlines()) <= 12
