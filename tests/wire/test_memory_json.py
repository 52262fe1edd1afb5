"""Claims as JSON and as Markdown; moments, kinds and bodies at the door."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.claim import Claim, ClaimId, Interval, Span
from everthread.core.ids import SessionId, StepId
from everthread.errors import Malformed
from everthread.wire import memory

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def claim(quote: str = "we use Rust", **more: object) -> Claim:
    fields = {
        "id": ClaimId("0193.0.0-11.fact"),
        "kind": "fact",
        "step": StepId("0193"),
        "seq": 7,
        "span": Span(0, 0, 11),
        "speaker": "user",
        "said_at": NOON,
        "recorded_at": NOON,
        "session": SessionId("trip"),
        **more,
    }
    return Claim(quote=quote, **fields)  # type: ignore[arg-type]


def test_ids_carry_their_prefix_on_the_wire_only() -> None:
    shown = json.loads(memory.one(claim(cause=ClaimId("c"), supersedes=ClaimId("s"))))
    assert (shown["id"], shown["cause"], shown["supersedes"]) == ("clm_0193.0.0-11.fact", "clm_c", "clm_s")
    assert memory.decode_id(shown["id"]) == memory.decode_id("0193.0.0-11.fact") == "0193.0.0-11.fact"


@pytest.mark.parametrize("name", ["run_0193", "chatcmpl-0193", "0193"])
def test_a_turn_has_three_names(name: str) -> None:
    assert memory.decode_turn(name) == "0193"


def test_a_claim_by_hand_has_no_source() -> None:
    assert memory.encode(claim(step=None))["source"] is None
    assert memory.encode(claim())["source"] == {
        "session_id": "trip",
        "turn": 7,
        "run_id": "run_0193",
        "message": 0,
        "span": [0, 11],
    }


def test_times_are_utc() -> None:
    east = datetime(2026, 3, 2, 12, tzinfo=timezone(timedelta(hours=5)))
    shown = memory.encode(claim(when=Interval(east, east + timedelta(days=1))))
    assert shown["when"] == {"since": "2026-03-02T07:00:00Z", "until": "2026-03-03T07:00:00Z"}


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_is_read_as_it_is_written(at: datetime) -> None:
    shown = memory.moment(at)
    assert shown is not None
    assert memory.decode_moment(shown, "as_of") == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-02", NOON - timedelta(hours=12)),
        ("2026-03-02T13:00:00+01:00", NOON),
        ("2026-03-02T13:00:00 01:00", NOON),
        ("2026-03-02T12:00Z", NOON),
    ],
)
def test_a_moment_may_be_a_date_or_have_a_zone(text: str, at: datetime) -> None:
    assert memory.decode_moment(text, "as_of") == at


@given(st.text(max_size=40))
def test_any_text_is_a_moment_or_malformed(text: str) -> None:
    with suppress(Malformed):
        assert memory.decode_moment(text, "as_of").tzinfo is UTC


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: json.dumps({"text": text}).encode()))
def test_any_body_is_an_addition_or_malformed(body: bytes) -> None:
    with suppress(Malformed):
        assert 1 <= len(memory.decode_addition(body).text) <= memory.LONGEST_TEXT


def test_kinds_and_states_are_lists_with_commas() -> None:
    assert memory.decode_kinds({"kind": "fact, event,fact"}) == ("fact", "event")
    assert memory.decode_kinds({}) == ()
    assert memory.decode_states({}) == ("current", "reversed", "unresolved")
    with pytest.raises(Malformed, match="one or more of fact, preference"):
        memory.decode_kinds({"kind": "fact,"})


@given(st.text())
def test_no_quote_breaks_out_of_its_line(quote: str) -> None:
    shown = memory.item(claim(quote), None).decode()
    assert shown.startswith("- **current** “")
    assert len(shown.splitlines()) == 1
    assert shown.endswith("`clm_0193.0.0-11.fact`\n")


def test_a_line_for_people_says_state_dates_turn_and_reason() -> None:
    old = claim(
        state="reversed", valid_from=NOON, valid_to=NOON + timedelta(days=2), because="it is fast", speaker="Ann"
    )
    assert memory.item(old, claim("we use *Go*")).decode() == (
        "- **reversed** “we use Rust” (said 2026-03-02, from 2026-03-02 to 2026-03-04; said by Ann; turn 7 of `trip`;"
        " because: “it is fast”; replaced by: “we use \\*Go\\*”) `clm_0193.0.0-11.fact`\n"
    )
    assert (
        "until 2026-03-02; written by hand; pinned)"
        in memory.item(claim(step=None, pinned=True, valid_to=NOON), None).decode()
    )
    contested = memory.item(claim(state="unresolved", valid_from=NOON - timedelta(days=1)), claim("we use Go")).decode()
    assert "said 2026-03-02, since 2026-03-01;" in contested
    assert "in conflict with: “we use Go”" in contested
