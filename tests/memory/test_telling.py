"""What is shown of what was found: the point first, what changed with both its sides, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.claim import Claim, ClaimId, Kind, Span, State
from everthread.core.ids import LineageId, SessionId, StepId, ThreadId
from everthread.core.memory import Chances, Kin, Kindred, Passage
from everthread.memory.rank import Ranked
from everthread.memory.render import Held, Recalled
from everthread.memory.series import Series
from everthread.memory.telling import Quotes, is_linked, told, unlinked

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


def shown(items: Iterable[Claim | Recalled | Held]) -> list[str]:
    return [name(item) for item in items]


def name(item: Claim | Recalled | Held) -> str:
    if isinstance(item, Held):
        return " over ".join(one.text for one in (item.newest, *item.earlier))
    return item.text if isinstance(item, Recalled) else f"<{item.id}>"


OLD = claim(1, "We rent from Mr. Novak", state="reversed", by=5)
NEW = msgspec.structs.replace(claim(5, "We rent from Mr. Petit"), supersedes=OLD.id)


def test_claims_that_changed_lead_and_stand_for_their_passages() -> None:
    ranked = [Ranked(passage(1, "We rent from Mr. Novak."), 2.0), Ranked(passage(5, "We rent from Mr. Petit."), 1.9)]
    assert shown(told(ranked, [OLD, NEW])) == ["<c1>", "<c5>"]


def test_a_passage_that_says_more_than_its_claim_is_shown_as_well_and_marked() -> None:
    text = "We rent from Mr. Novak. He has a dog, three cats and a parrot that swears in Dutch."
    led, line = told([Ranked(passage(1, text), 2.0)], [OLD, NEW])
    assert led == OLD
    assert isinstance(line, Recalled)
    assert (line.text, line.reversed_by) == (text, 5)


def test_far_from_the_point_only_the_turn_itself_is_shown() -> None:
    ranked = [Ranked(passage(3, "The cat is called Luna."), 2.0), Ranked(passage(1, "We rent from Mr. Novak."), 0.3)]
    first, second = told(ranked, [OLD, NEW])
    assert isinstance(first, Recalled)
    assert isinstance(second, Recalled)
    assert (first.text, second.text) == ("The cat is called Luna.", "We rent from Mr. Novak.")
    assert second.reversed_by == 5


LUNA, PIXEL, OTTO = (
    passage(3, "The cat is called Luna."),
    passage(9, "The cat is called Pixel."),
    passage(6, "We call the cat Otto."),
)
CATS = Series(((PIXEL,), (OTTO,), (LUNA,)))


def test_what_holds_and_what_held_last_stand_together_and_the_rest_is_marked() -> None:
    ranked = [Ranked(one, 2.0 - at / 10) for at, one in enumerate((LUNA, OTTO, PIXEL))]
    first, second = told(ranked, [], [CATS])
    assert name(first) == "The cat is called Pixel. over We call the cat Otto."
    assert isinstance(second, Recalled)
    assert (second.text, second.reversed_by) == ("The cat is called Luna.", 9)


def test_of_the_series_that_fits_best_what_was_not_found_comes_along() -> None:
    whole = "The cat is called Pixel. over We call the cat Otto. over The cat is called Luna."
    assert shown(told([Ranked(OTTO, 2.0)], [], [CATS])) == [whole]


def test_of_other_series_only_what_held_last_comes_along() -> None:
    rex, bello = passage(2, "The dog is called Rex."), passage(4, "The dog is called Bello.")
    dogs = Series(((bello,), (rex,)))
    assert shown(told([Ranked(rex, 2.0), Ranked(OTTO, 1.9)], [], [dogs, CATS])) == [
        "The dog is called Bello. over The dog is called Rex.",
        "The cat is called Pixel. over We call the cat Otto.",
    ]


def test_far_from_the_point_what_held_still_comes_with_what_holds() -> None:
    dog = passage(4, "The dog is called Rex.")
    first, second = told([Ranked(dog, 2.0), Ranked(OTTO, 0.3)], [], [CATS])
    assert name(first) == "The dog is called Rex."
    assert name(second) == "The cat is called Pixel. over We call the cat Otto."


def test_a_doubt_is_told_where_both_sides_were_found_and_brings_nothing_along() -> None:
    doubt = Series(((OTTO,), (LUNA,)), rival=PIXEL)
    first, *_ = told([Ranked(OTTO, 2.0), Ranked(PIXEL, 1.8)], [], [doubt])
    assert isinstance(first, Held)
    assert not first.sure
    assert shown(told([Ranked(OTTO, 2.0)], [], [doubt])) == ["We call the cat Otto. over The cat is called Luna."]


def test_what_was_overtaken_by_what_may_not_hold_any_more_is_told_with_the_doubt() -> None:
    doubt = Series(((OTTO,), (LUNA,)), rival=PIXEL)
    ranked = [Ranked(OTTO, 2.0), Ranked(PIXEL, 1.8)]
    unclear, ended = told(ranked, [], [doubt], overtaken=[StepId("s3")])
    assert isinstance(unclear, Held)
    assert isinstance(ended, Recalled)
    assert (name(unclear), unclear.sure) == (f"{PIXEL.text} over {OTTO.text}", False)
    assert (ended.text, ended.reversed_by) == (LUNA.text, OTTO.seq)


def test_what_may_end_another_thing_s_value_is_still_told_as_what_holds_of_its_own() -> None:
    dog, bello = passage(2, "The dog is called Rex."), passage(4, "Bello barks at the cat.")
    cats, dogs = Series(((OTTO,), (LUNA,)), rival=bello), Series(((bello,), (dog,)))
    doubt, sure = told([Ranked(OTTO, 2.0), Ranked(bello, 1.8)], [], [cats, dogs])
    assert (name(doubt), name(sure)) == (f"{bello.text} over {OTTO.text}", f"{bello.text} over {dog.text}")
    assert (doubt.sure, sure.sure) == (False, True)


def test_what_was_only_said_again_takes_nothing_from_its_claims() -> None:
    ranked = [Ranked(passage(1, "We rent from Mr. Novak."), 2.0), Ranked(passage(5, "We rent from Mr. Petit."), 1.9)]
    again = Series(((ranked[1].passage, passage(7, "Mr. Petit again.")),))
    assert shown(told(ranked, [OLD, NEW], [again])) == ["<c1>", "<c5>"]


def test_claims_do_not_contradict_a_series() -> None:
    ranked = [Ranked(passage(1, "We rent from Mr. Novak."), 2.0), Ranked(passage(5, "We rent from Mr. Petit."), 1.9)]
    back = Series(((ranked[0].passage,), (ranked[1].passage,)))
    assert shown(told(ranked, [OLD, NEW], [back])) == ["We rent from Mr. Novak. over We rent from Mr. Petit."]


def test_an_answer_that_only_repeats_what_is_shown_is_left_out() -> None:
    one = claim(3, "The cat is called Luna")
    ranked = [
        Ranked(LUNA, 2.0),
        Ranked(passage(3, "Understood: the cat is called Luna.", "assistant"), 1.5),
        Ranked(passage(4, "Cats like boxes, high places and other people's keyboards.", "assistant"), 1.0),
    ]
    assert shown(told(ranked, [one]))[1:] == ["Cats like boxes, high places and other people's keyboards."]


def test_what_somebody_took_back_is_marked_wherever_it_stands() -> None:
    gone = claim(3, "The cat is called Luna", state="retracted")
    found = told([Ranked(passage(3, "The cat is called Luna."), 2.0)], [gone])
    assert [item.retracted for item in found if isinstance(item, Recalled)] == [True]


def test_nothing_found_is_nothing_shown() -> None:
    assert list(told([], [OLD, NEW])) == []


WORDS = st.lists(
    st.sampled_from(["we", "use", "the", "new", "old", "car", "bank", "no", "longer"]), min_size=1, max_size=8
).map(" ".join)


@given(st.lists(WORDS, max_size=12), WORDS)
def test_a_text_holds_the_quotes_that_are_literally_in_it(quotes: list[str], text: str) -> None:
    numbered = [(quote, number) for number, quote in enumerate(quotes)]
    assert sorted(Quotes(numbered).inside(text)) == [number for quote, number in numbered if quote in text]


def test_what_a_profile_still_tells_is_told_first_with_what_holds() -> None:
    dog = passage(4, "The dog is called Rex.")
    given = told([Ranked(dog, 2.0)], [], [CATS], overtaken=[LUNA.step or StepId("")])
    assert shown(given) == ["The cat is called Pixel. over The cat is called Luna.", "The dog is called Rex."]


def test_rules_do_not_overrule_what_was_read_together() -> None:
    passages = (earlier, later) = (passage(1, OLD.quote), passage(5, NEW.quote))
    assert is_linked(OLD)
    apart = Kindred(passages, (Kin(earlier.no, later.no, Chances(0.01, 0.01)),))
    assert not any(map(is_linked, unlinked([OLD, NEW], apart)))
    assert unlinked([OLD, NEW], Kindred(passages, ())) == (OLD, NEW), "they were not compared"
    by_hand = msgspec.structs.replace(NEW, author="person")
    assert unlinked([OLD, by_hand], apart) == (OLD, by_hand)


def test_an_answer_to_what_does_not_hold_any_more_says_so() -> None:
    answer = msgspec.structs.replace(passage(6, "A lovely name, Otto!"), no=60, role="assistant")
    *_, last = told([Ranked(PIXEL, 2.0), Ranked(answer, 1.9)], [], [CATS])
    assert isinstance(last, Recalled)
    assert (last.text, last.reversed_by) == ("A lovely name, Otto!", 9)
