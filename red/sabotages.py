"""What is broken, where, and which test must see it. A text that is replaced stands exactly once in its file."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    file: str  # under src/everthread
    old: str
    new: str


class Sabotage(NamedTuple):
    promise: str  # its number in docs/guarantees.md
    what: str  # as it stands there
    test: str
    edits: tuple[Edit, ...]


EARLY = """\
        else:
            self._commits.put((jobs, later))
"""
EARLY_NOW = """\
        else:
            for waiting in jobs:
                if waiting.failure is None:
                    waiting.future.set_result(waiting.result)
            self._commits.put((jobs, later))
"""
WHOLE = """\
                    finally:
                        await events.aclose()
                    step = self._step(asking)
"""
CUT = """\
                    except Exception:
                        if not asking.folding.text:
                            raise
                        asking.folding.cut()
                    finally:
                        await events.aclose()
                    step = self._step(asking)
"""
RECORDED = """\
            if commit.replay is not None:
                db.execute(
                    "UPDATE replay SET step = ?\
"""
HELD = "        self._name = (tenant, session.root if session else session_id)\n"
TIP = """\
    JOIN session AS tip ON tip.tenant = lineage.tenant AND tip.session = lineage.tip
    JOIN scope ON scope.no = thread.scope
    WHERE session.tenant = ? AND session.session = ?
"""
CHILD = """\
    JOIN session AS tip ON tip.tenant = lineage.tenant AND tip.session = coalesce((SELECT child.session
        FROM session AS child WHERE child.tenant = session.tenant AND child.parent = session.session), session.session)
    JOIN scope ON scope.no = thread.scope
    WHERE session.tenant = ? AND session.session = ?
"""
JOURNALLED = "            some = self._gathered[:]\n"
TOLD = """\
            del self._gathered[: len(some)]
            self._live.tell(some)
"""
LATE = """\
            await self._hold()
        at_work =\
"""
INDEXED = """\
        INSERT INTO chunk_fts (chunk_fts, rowid, terms) VALUES ('delete', old.no, scoped(old.scope, old.text));
    END;
    CREATE TRIGGER chunk_moved AFTER UPDATE OF scope, text ON chunk
            WHEN\
"""
MIGRATED = """\
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE IF NOT EXISTS migration\
"""
MIGRATED_END = """\
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint (TRUNCATE)")
"""
CONNECTED = '        super().connection_made(cast("asyncio.Transport", Corked(transport, self.loop)))\n'

SABOTAGES = (
    Sabotage(
        "1",
        "the reply goes out before the commit",
        "tests/crash/test_restart.py::test_no_acknowledged_turn_is_lost_or_doubled_by_kills_under_load",
        (
            Edit("storage/writer.py", EARLY, EARLY_NOW),
            Edit(
                "storage/writer.py",
                '                self._db.execute("COMMIT")\n',
                '                threading.Event().wait(0.03)\n                self._db.execute("COMMIT")\n',
            ),
        ),
    ),
    Sabotage(
        "1",
        "a commit does not wait for the disk (no `kill -9` shows that: the setting itself is tested)",
        "tests/storage/test_sqlite.py::test_every_commit_waits_for_the_disk",
        (Edit("storage/opening.py", "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF"),),
    ),
    Sabotage(
        "1",
        "a schema is changed statement by statement, without a transaction",
        "tests/crash/test_migration.py::test_a_file_whose_migration_is_killed_is_old_or_new_and_never_between",
        (
            Edit("storage/opening.py", MIGRATED, MIGRATED.partition("\n")[2]),
            Edit("storage/opening.py", MIGRATED_END, MIGRATED_END.partition("\n")[2]),
        ),
    ),
    Sabotage(
        "2",
        "an answer that was cut short is kept as if it were whole",
        "tests/http/test_upstream_faults.py::test_a_fault_upstream_is_the_documented_error_and_the_session_goes_on",
        (Edit("turns/run.py", WHOLE, CUT),),
    ),
    Sabotage(
        "2",
        "an answer is written without its question",
        "tests/contract/test_store.py::test_a_committed_step_comes_back_whole",
        (Edit("storage/ledger.py", "            input_text(step.input),\n", "            input_text(()),\n"),),
    ),
    Sabotage(
        "2",
        "what a turn put off is inserted though the turn failed",
        "tests/storage/test_sqlite.py::test_what_a_failed_job_put_off_is_not_inserted",
        (Edit("storage/writer.py", "            later.back(before)\n", ""),),
    ),
    Sabotage(
        "3",
        "the step does not write its idempotency row",
        "tests/contract/test_store.py::test_a_replay_key_is_ours_then_in_progress_then_recorded",
        (Edit("storage/sqlite.py", RECORDED, RECORDED.replace("if commit.replay is not None", "if False")),),
    ),
    Sabotage(
        "3",
        "a key is given to whoever asks, though its first request still runs",
        "tests/contract/test_store.py::test_a_replay_key_is_ours_then_in_progress_then_recorded",
        (Edit("storage/sqlite.py", " and not self.replaying(tenant, replay.key)\n", "\n"),),
    ),
    Sabotage(
        "3",
        "a key stays taken though its client left while it was written down",
        "tests/faults/test_vanishing_readers.py"
        "::test_a_client_that_leaves_while_its_key_is_written_down_can_send_it_again",
        (
            Edit("storage/sqlite.py", "            step = None if left else job(db)\n", "            step = job(db)\n"),
            Edit("storage/sqlite.py", "            if step is None and not left:\n", "            if step is None:\n"),
        ),
    ),
    Sabotage(
        "4",
        "a session is not held while its turn runs",
        "tests/http/test_sessions.py::test_parallel_turns_of_one_session_are_a_total_order",
        (Edit("storage/line.py", HELD, "        self._name = (tenant, SessionId(self._by))\n"),),
    ),
    Sabotage(
        "4",
        "a late writer is not fenced off: `last_seq` is not compared",
        "tests/contract/test_store.py::test_a_step_from_a_session_that_moved_is_refused_whole",
        (
            Edit(
                "storage/ledger.py",
                "AND thread = ? AND last_seq = ? AND tip",
                "AND thread = ? AND (last_seq = ? OR 1) AND tip",
            ),
        ),
    ),
    Sabotage(
        "4",
        "a worker that lost its run may still write (the run's fence)",
        "tests/contract/test_queue_port.py::test_nobody_writes_for_a_run_that_another_has_taken",
        (Edit("storage/rows.py", "(:fence IS NULL OR fence = :fence)", "(:fence IS NULL OR fence = :fence OR 1)"),),
    ),
    Sabotage(
        "5",
        "an id is followed to its child, and no further",
        "tests/http/test_rotation.py::test_a_rotated_session_survives_a_restart",
        (Edit("storage/rows.py", TIP, CHILD),),
    ),
    Sabotage(
        "5",
        "a rotation does not compare the tip that it found",
        "tests/turns/test_rotate.py::test_the_loser_of_two_rotations_discards_its_block",
        (
            Edit(
                "storage/ledger.py",
                "AND lineage = ? AND tip = ? AND last_seq >= ?",
                "AND lineage = ? AND (tip = ? OR 1) AND last_seq >= ?",
            ),
        ),
    ),
    Sabotage(
        "6",
        "the tenant is left out where a session is looked up",
        "tests/contract/test_store.py::test_tenants_do_not_meet",
        (
            Edit(
                "storage/rows.py",
                "WHERE session.tenant = ? AND session.session",
                "WHERE (session.tenant = ? OR 1) AND session.session",
            ),
        ),
    ),
    Sabotage(
        "6",
        "the tenant is left out where a run is looked up",
        "tests/isolation/test_other_tenants.py::test_a_stranger_gets_what_a_name_gets_that_nobody_has",
        (
            Edit(
                "storage/runs.py",
                "FROM run WHERE tenant = ? AND run = ? AND {THERE}",
                "FROM run WHERE (tenant = ? OR 1) AND run = ? AND {THERE}",
            ),
        ),
    ),
    Sabotage(
        "6",
        "an API key of another tenant costs one question more than none",
        "tests/isolation/test_other_tenants.py::test_a_name_of_another_costs_the_same_statements_as_one_that_nobody_has",
        (
            Edit(
                "http/keys.py",
                "    if key is None or not call.key.governs(key):\n",
                "    if key is None or (await call.site.store.keys(key.tenant) and not call.key.governs(key)):\n",
            ),
        ),
    ),
    Sabotage(
        "6",
        "any key that reads sees the figures of the whole server",
        "tests/isolation/test_rights_everywhere.py::test_figures_of_the_whole_server_are_for_its_operator",
        (Edit("http/auth.py", "return key.tenant == DEFAULT_TENANT and ", "return "),),
    ),
    Sabotage(
        "6",
        "a key that is bound to a prefix may touch any session key",
        "tests/http/test_headers.py::test_a_key_bound_to_a_prefix_reaches_nothing_outside_it",
        (Edit("turns/permit.py", 'if session is not None and not (owned or "").startswith(prefix):', "if False:"),),
    ),
    Sabotage(
        "6",
        "a key that may only read may do everything",
        "tests/isolation/test_rights_everywhere.py::test_a_key_that_reads_is_let_in_to_read_and_refused_all_else",
        (Edit("core/key.py", "        return self.is_admin\n", "        return True\n"),),
    ),
    Sabotage(
        "7",
        "what a decoder refuses is nobody's fault (500)",
        "tests/http/test_bad_requests.py::test_a_bad_request_is_refused_with_the_error_object",
        (Edit("http/reply.py", "errors.Malformed: (400, ", "errors.Malformed: (500, "),),
    ),
    Sabotage(
        "7",
        "a body may be of any size",
        "tests/inputs/test_what_is_not_http.py::test_a_chunked_body_is_counted_as_it_comes",
        (Edit("http/request.py", "        if size > LARGEST_BODY:\n", "        if False:\n"),),
    ),
    Sabotage(
        "8",
        "a job's run has a name by chance",
        "tests/contract/test_jobs_port.py::test_a_run_that_was_made_for_a_time_is_not_made_again",
        (Edit("core/job.py", "{at.timestamp():.6f}", "{at.timestamp():.6f}{object()}"),),
    ),
    Sabotage(
        "8",
        "a time is fired by everyone who finds it due: `next_at` is not compared",
        "tests/contract/test_jobs_port.py::test_a_job_that_is_fired_by_many_at_once_fires_once",
        (Edit("storage/jobs.py", "AND next_at IS ? AND updated_at", "AND (next_at IS ? OR 1) AND updated_at"),),
    ),
    Sabotage(
        "8",
        "what a run says is told before it is recorded",
        "tests/crash/test_runs_restart.py"
        "::test_one_of_which_something_was_told_fails_with_a_reason_and_tells_the_same_again",
        (
            Edit(
                "turns/runs.py",
                JOURNALLED,
                JOURNALLED + "            self._live.tell(some)\n            await asyncio.sleep(1)\n",
            ),
            Edit("turns/runs.py", TOLD, TOLD.partition("\n")[0] + "\n"),
        ),
    ),
    Sabotage(
        "8",
        "a run is taken from the one who does it when the clock is set",
        "tests/faults/test_clock_jumps.py::test_a_run_stays_with_who_does_it",
        (Edit("turns/runs.py", LATE, LATE.replace("await self._hold()", "pass")),),
    ),
    Sabotage(
        "9",
        "any number may wait for a session",
        "tests/contract/test_store.py::test_a_wait_is_bounded_in_time_and_in_number",
        (Edit("storage/line.py", "if len(line.waiting) >= LONGEST_LINE", "if len(line.waiting) >= 10**9"),),
    ),
    Sabotage(
        "9",
        "a prompt's new messages are counted as half of what they weigh",
        "tests/context/test_context.py::test_the_prompt_never_exceeds_its_budget_and_keeps_the_newest",
        (
            Edit(
                "context/assemble.py",
                "    message = weigh(input, counter)\n",
                "    message = weigh(input, counter) // 2\n",
            ),
        ),
    ),
    Sabotage(
        "9",
        "any number of turns may be at work",
        "tests/load/test_overload.py::test_at_four_times_the_load_some_are_refused_and_the_others_are_answered_as_ever",
        (Edit("turns/room.py", "if self.taken >= self.most or of_key >= self.each:", "if False:"),),
    ),
    Sabotage(
        "9",
        "one key may have all places",
        "tests/load/test_overload.py::test_the_flood_of_one_key_does_not_harm_another",
        (Edit("turns/room.py", "return most - most // FOR_OTHERS", "return most"),),
    ),
    Sabotage(
        "9",
        "what a client does not read is kept for it, however much it is",
        "tests/load/test_slow_readers.py::"
        "test_readers_that_do_not_read_cost_little_harm_nobody_and_are_cut_off_in_the_end",
        (Edit("http/server.py", CONNECTED, "        transport.set_write_buffer_limits(high=1 << 30)\n" + CONNECTED),),
    ),
    Sabotage(
        "9",
        "every connection leaves 64 kB behind",
        "tests/load/test_soak.py::test_a_server_under_mixed_load_stays_as_it_is",
        (
            Edit("http/server.py", "LONGEST_HEAD = 128 * 1024\n", "LONGEST_HEAD = 128 * 1024\nLEFT = list[bytes]()\n"),
            Edit("http/server.py", CONNECTED, '        LEFT.append(b"x" * 65536)\n' + CONNECTED),
        ),
    ),
    Sabotage(
        "9",
        "the head of an upstream's answer may be of any length",
        "tests/faults/test_more_upstream_faults.py"
        "::test_a_server_that_is_none_is_the_documented_error_and_the_session_goes_on",
        (Edit("models/http.py", "if self._head > LONGEST_HEAD:", "if False:"),),
    ),
    Sabotage(
        "9",
        "the runs of one key may take every place",
        "tests/load/test_room.py::test_the_runs_of_one_key_leave_room_for_those_of_another",
        (
            Edit("storage/queue.py", "and (each is None or having[key] < each)", ""),
            Edit("storage/queue.py", 'FAIR = "api_key NOT IN', 'FAIR = "1 OR api_key NOT IN'),
            Edit("storage/queue.py", 'WAITS = f"""{FAIR} AND', 'WAITS = f"""({FAIR}) AND'),
        ),
    ),
    Sabotage(
        "9",
        "a key's requests a minute are counted, and it is let in all the same",
        "tests/http/test_quota.py::test_so_many_requests_a_minute_and_each_answer_says_how_many_are_left",
        (Edit("http/quota.py", "            if not enough:\n", "            if False:\n"),),
    ),
    Sabotage(
        "9",
        "a key may have any number of requests at once",
        "tests/http/test_quota.py::test_many_at_once_are_never_more_than_allowed",
        (Edit("http/quota.py", "        if crowded:\n", "        if False:\n"),),
    ),
    Sabotage(
        "9",
        "a key that has used up its tokens goes on",
        "tests/http/test_quota.py::test_tokens_of_a_day_are_counted_over_a_restart_and_come_back_at_midnight",
        (Edit("http/quota.py", "        if used < most:\n", "        if most:\n"),),
    ),
    Sabotage(
        "9",
        "a turn that leaves no trace leaves no tokens either",
        "tests/http/test_api_usage.py::test_a_turn_that_leaves_no_trace_leaves_its_tokens",
        (Edit("turns/run.py", "        self._count(turn, step)\n", ""),),
    ),
    Sabotage(
        "10",
        "a commit that failed is none: all are told that it went well",
        "tests/faults/test_nth_statement.py::test_one_statement_fails",
        (Edit("storage/writer.py", "                failed = error\n", "                failed = None\n"),),
    ),
    Sabotage(
        "10",
        "readiness does not try whether the file can be written to",
        "tests/faults/test_full_disk.py::test_a_full_disk_is_said_nothing_told_is_lost_and_space_is_enough_to_go_on",
        (Edit("storage/sqlite.py", "        if self._watch.trouble:\n", "        if False:\n"),),
    ),
    Sabotage(
        "10",
        "storage that fails is an empty history",
        "tests/http/test_sessions.py::test_storage_that_cannot_be_read_is_a_503_and_never_an_empty_history",
        (Edit("turns/run.py", "if begun or not self._answer_without_history:", "if begun:"),),
    ),
    Sabotage(
        "10",
        "nobody looks whether the file is still the one that was opened",
        "tests/storage/test_backup.py::test_nothing_is_acknowledged_once_the_file_is_another",
        (
            Edit(
                "storage/watch.py",
                "        if self._handle is None:\n            return None\n        if self._identities",
                "        return None\n        if self._identities",
            ),
        ),
    ),
    Sabotage(
        "11",
        "SIGTERM leaves running turns no time",
        "tests/crash/test_restart.py::test_sigterm_lets_a_running_turn_finish",
        (Edit("http/server.py", "DRAIN = 25 ", "DRAIN = 0 "),),
    ),
    Sabotage(
        "11",
        "turns that cannot be finished are cut without a word",
        "tests/faults/test_sigterm.py::test_what_cannot_be_finished_is_told_so_and_leaves_nothing",
        (Edit("http/app.py", "            await reply.dismiss(Stopping(retry_after=1))\n", "            raise\n"),),
    ),
    Sabotage(
        "12",
        "a backup is restored without a look at its checksum",
        "tests/storage/test_backup.py::test_a_backup_that_is_none_is_refused_and_nothing_is_touched",
        (Edit("storage/backup.py", "if head[slice(*SEAL)] != checksum(path):", "if not checksum(path):"),),
    ),
    Sabotage(
        "13",
        "nobody looks for keys that another process revoked",
        "tests/isolation/test_ended_keys.py::test_who_listens_to_a_run_hears_no_more_when_the_key_ends",
        (Edit("http/guests.py", "if not self._inside:\n                continue", "continue"),),
    ),
    Sabotage(
        "13",
        "an open WebSocket outlives its key",
        "tests/isolation/test_ended_keys.py::test_an_open_websocket_closes_with_its_key",
        (Edit("http/sockets.py", "self._site.guests.enter(key.id, socket)", "self._site.guests.enter(key.id, reply)"),),
    ),
    Sabotage(
        "13",
        "a run's token outlives the key that began it",
        "tests/isolation/test_ended_keys.py::test_a_ticket_ends_with_the_key_that_it_was_made_with",
        (Edit("http/runs.py", " or known is None or not known.valid(now)", " or known is None"),),
    ),
    Sabotage(
        "14",
        "the banner shows the key to whoever reads the log",
        "tests/cli/test_serve_command.py::test_a_banner_in_a_file_has_no_key_in_it_and_its_line_works",
        (Edit("cli/serve.py", "    if private:\n", "    if key:\n"),),
    ),
    Sabotage(
        "14",
        "a request is logged by its path",
        "tests/cli/test_serve_command.py::test_each_request_has_one_line_that_says_who_what_and_how_long",
        (Edit("http/app.py", "past.reply.route = endpoint.path", 'past.reply.route = scope["path"]'),),
    ),
    Sabotage(
        "security",
        "a webhook may lead into the network of the server",
        "tests/hooks/test_vetting.py::test_an_address_of_no_public_place_is_refused",
        (Edit("hooks/address.py", "return any(address in network for network in REFUSED_4)", "return False"),),
    ),
    Sabotage(
        "security",
        "a deleted completion can still be seen",
        "tests/http/test_stored_completions.py::test_a_stored_completion_is_looked_at_labelled_and_deleted",
        (
            Edit(
                "storage/shown.py",
                'f"DELETE FROM view WHERE tenant = ? AND kind = ? AND step = ? AND {THERE} RETURNING thread"',
                'f"SELECT thread FROM view WHERE tenant = ? AND kind = ? AND step = ? AND {THERE}"',
            ),
        ),
    ),
    Sabotage(
        "security",
        "what is forgotten stays in the index of words",
        "tests/contract/test_forget_port.py::test_the_index_has_the_masked_words_and_their_vectors_are_made_again",
        (Edit("storage/schema.py", INDEXED, "        SELECT 1;\n" + INDEXED.partition("\n")[2]),),
    ),
)
