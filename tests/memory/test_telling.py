"""What is shown of what was found: the point first, nothing twice, and nothing called current that may be overtaken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.claim import Claim, ClaimId, Kind, Span, State
from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Passage
from everthread.memory.rank import Ranked
from everthread.memory.render import Recalled
from everthread.memory.telling import Quotes, Told, told

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def passage(seq: int, text: str, role: str = "user") -> Passage:
    return Passage(
        no=seq * 2 + (role == "assistant"),
        step=StepId(f"s{seq}"),
        session=SessionId("here"),
        thread=ThreadId("t"),
        lineage=LineageId("l"),
        seq=seq,
        message=int(role == "assistant"),
        start=0,
        role=role,
        speaker=role,
        said_at=BEGAN + timedelta(days=seq),
        text=text,
    )


def claim(seq: int, quote: str, *, state: State = "current", by: int | None = None, kind: Kind = "fact") -> Claim:
    return Claim(
        id=ClaimId(f"c{seq}"),
        kind=kind,
        quote=quote,
        step=StepId(f"s{seq}"),
        seq=seq,
        span=Span(0, 0, len(quote)),
        speaker="user",
        said_at=BEGAN + timedelta(days=seq),
        recorded_at=BEGAN,
        state=state,
        superseded_by=ClaimId(f"c{by}") if by is not None else None,
    )


def shown(found: Told) -> list[str]:
    return [item.text if isinstance(item, Recalled) else f"<{item.id}>" for item in found.items]


OLD = claim(1, "We rent from Mr. Novak", state="reversed", by=5)
NEW = msgspec.structs.replace(claim(5, "We rent from Mr. Petit"), supersedes=OLD.id)


def test_claims_that_changed_lead_and_stand_for_their_passages() -> None:
    ranked = [Ranked(passage(1, "We rent from Mr. Novak."), 2.0), Ranked(passage(5, "We rent from Mr. Petit."), 1.9)]
    assert shown(told(ranked, [OLD, NEW])) == ["<c1>", "<c5>"]


def test_a_passage_that_says_more_than_its_claim_is_shown_as_well_and_marked() -> None:
    text = "We rent from Mr. Novak. He has a dog, three cats and a parrot that swears in Dutch."
    led, line = told([Ranked(passage(1, text), 2.0)], [OLD, NEW]).items
    assert led == OLD
    assert isinstance(line, Recalled)
    assert (line.text, line.reversed_by) == (text, 5)


def test_far_from_the_point_only_the_turn_itself_is_shown() -> None:
    ranked = [Ranked(passage(3, "The cat is called Luna."), 2.0), Ranked(passage(1, "We rent from Mr. Novak."), 0.3)]
    first, second = told(ranked, [OLD, NEW]).items
    assert isinstance(first, Recalled)
    assert isinstance(second, Recalled)
    assert (first.text, second.text) == ("The cat is called Luna.", "We rent from Mr. Novak.")
    assert second.reversed_by == 5


def test_the_newest_claim_to_the_point_is_shown_as_one() -> None:
    ranked = [Ranked(passage(3, "The cat is called Luna."), 2.0)]
    assert shown(told(ranked, [claim(3, "The cat is called Luna")])) == ["<c3>"]


def test_what_a_newer_statement_may_have_overtaken_is_named() -> None:
    one, two = claim(3, "The cat is called Luna"), claim(9, "The cat is called Pixel")
    ranked = [Ranked(passage(3, f"{one.quote}."), 2.0), Ranked(passage(9, f"{two.quote}."), 1.9)]
    found = told(ranked, [one, two])
    assert (found.holds(one), found.holds(two)) == (False, True)


def test_what_was_noted_by_hand_holds_though_something_newer_was_said() -> None:
    noted, said = (
        msgspec.structs.replace(claim(3, "The cat is called Luna"), step=None),
        claim(9, "The cat is called Pixel"),
    )
    found = told([Ranked(passage(9, f"{said.quote}."), 2.0)], [noted, said])
    assert found.holds(noted)


def test_statements_about_different_things_do_not_overtake_each_other() -> None:
    one, two = claim(3, "My sister's cat is called Luna"), claim(9, "Our landlord is Mr. Petit")
    ranked = [Ranked(passage(3, f"{one.quote}."), 2.0), Ranked(passage(9, f"{two.quote}."), 1.9)]
    found = told(ranked, [one, two])
    assert found.holds(one)
    assert found.holds(two)


def test_an_answer_that_only_repeats_what_is_shown_is_left_out() -> None:
    one = claim(3, "The cat is called Luna")
    ranked = [
        Ranked(passage(3, "The cat is called Luna."), 2.0),
        Ranked(passage(3, "Understood: the cat is called Luna.", "assistant"), 1.5),
        Ranked(passage(4, "Cats like boxes, high places and other people's keyboards.", "assistant"), 1.0),
    ]
    assert shown(told(ranked, [one]))[1:] == ["Cats like boxes, high places and other people's keyboards."]


def test_what_somebody_took_back_is_marked_wherever_it_stands() -> None:
    gone = claim(3, "The cat is called Luna", state="retracted")
    found = told([Ranked(passage(3, "The cat is called Luna."), 2.0)], [gone])
    assert [item.retracted for item in found.items if isinstance(item, Recalled)] == [True]


def test_nothing_found_is_nothing_shown() -> None:
    assert told([], [OLD, NEW]) == Told()


WORDS = st.lists(
    st.sampled_from(["we", "use", "the", "new", "old", "car", "bank", "no", "longer"]), min_size=1, max_size=8
).map(" ".join)


@given(st.lists(WORDS, max_size=12), WORDS)
def test_a_text_holds_the_quotes_that_are_literally_in_it(quotes: list[str], text: str) -> None:
    numbered = [(quote, number) for number, quote in enumerate(quotes)]
    assert sorted(Quotes(numbered).inside(text)) == [number for quote, number in numbered if quote in text]
