"""Which statements give way to which; what holds, what held, and what a person may do about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.core.claim import Claim, ClaimId, Span
from everthread.core.ids import StepId
from everthread.core.memory import Near
from everthread.core.messages import say
from everthread.core.reversal import restored
from everthread.memory.ledger import as_of, correct, current, in_order, pin, retract, settle, timeline
from everthread.memory.notice import notice

BEGIN = datetime(2025, 11, 4, 9, tzinfo=UTC)
DAY = timedelta(days=1)


class Talk:
    """A conversation whose claims are settled turn by turn, thirty days apart."""

    def __init__(self, *lines: str) -> None:
        self.claims: dict[ClaimId, Claim] = {}
        self.seq = 0
        for line in lines:
            self.say(line)

    def say(self, line: str, *, at: datetime | None = None) -> None:
        self.seq += 1
        speaker, _, text = line.rpartition(" says: ")
        message = say("assistant" if speaker == "assistant" else "user", text)
        if speaker and speaker != "assistant":
            message = msgspec.structs.replace(message, name=speaker)
        said_at = at or BEGIN + DAY * 30 * (self.seq - 1)
        nearest = sorted(self.claims.values(), key=lambda claim: (-claim.seq, -claim.span.start))
        done = settle(
            notice((message,), said_at),
            tuple(Near(claim) for claim in nearest),
            step=StepId(f"s{self.seq}"),
            seq=self.seq,
            said_at=said_at,
            recorded_at=BEGIN + DAY * 30 * (self.seq - 1),
        )
        assert all(claim.id in self.claims for claim in done.changed)
        self.put(*done.inserted, *done.changed)

    def put(self, *claims: Claim) -> None:
        self.claims |= {claim.id: claim for claim in claims}

    def states(self) -> list[tuple[int, str]]:
        return [(claim.seq, claim.state) for claim in in_order(self.claims.values())]

    def claim(self, seq: int) -> Claim:
        return next(claim for claim in in_order(self.claims.values()) if claim.seq == seq)

    def pairs(self) -> set[tuple[int, int]]:
        return {
            (claim.seq, self.claims[claim.superseded_by].seq)
            for claim in self.claims.values()
            if claim.superseded_by and claim.state == "reversed"
        }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("We're committed to microservices.", "We merged all services back into a monolith because deploys were slow."),
        ("We use PostgreSQL 15.", "We switched from PostgreSQL to MySQL 8."),
        ("We switched from PostgreSQL to MySQL 8.", "We're back on PostgreSQL."),
        ("Our database is PostgreSQL.", "Our database is now MySQL."),
        ("We use Kafka.", "Kafka was replaced by NATS."),
        ("We use Redis for caching.", "We removed Redis because it kept crashing."),
        ("We use Redis.", "We don't use Redis."),
        ("We don't use Redis.", "We use Redis now."),
        ("We tried GraphQL in Q1.", "We reverted to REST in Q2."),
        ("We use Jenkins.", "We no longer use Jenkins; we moved to GitHub Actions."),
        ("We're going with AWS.", "We decided to go with Hetzner instead of AWS."),
        ("We chose FastAPI.", "We replaced FastAPI with Django."),
        ("We meet on Tuesdays.", "We meet on Thursdays."),
        ("The deadline is 3 May.", "The deadline is 9 May."),
        ("The launch is on 3 May.", "The launch has been moved to 10 May."),
        ("The launch is on 3 May.", "The launch moved from 3 May to 10 May."),
        ("The meeting is at 10am.", "Not 10am but 11am."),
        ("The budget is $5,000.", "The budget is $7,500."),
        ("The team lead is Bob.", "The team lead is Carol."),
        ("I live in Berlin.", "I moved to Hamburg last week."),
        ("I live in Berlin.", "I live in Hamburg."),
        ("I live in Berlin.", "I used to live in Berlin."),
        ("I work at Google.", "I left Google and joined Meta."),
        ("I'm vegan.", "I'm no longer vegan."),
        ("I like coffee.", "I don't like coffee anymore."),
        ("I like coffee.", "I hate coffee."),
        ("I prefer window seats.", "I prefer aisle seats now."),
        ("I drive a Golf.", "I drive a Tesla now."),
        ("I have two kids.", "I have three kids."),
        ("My favourite colour is blue.", "My favorite color is green."),
        ("My dentist is Dr. Weber.", "Actually, my dentist is Dr. Klein."),
        ("My daughter is 7.", "My daughter is 8."),
        ("The project uses Angular.", "The project no longer uses Angular, it uses Svelte."),
        ("Our CEO is Maria.", "Our CEO is no longer Maria but Tom."),
        ("The CTO is Ben.", "Ben is no longer the CTO, it's Aisha."),
        ("For CI we use CircleCI.", "For CI we now use Buildkite."),
        ("The office is in Munich.", "The office moved from Munich to Vienna."),
        ("My medication is ramipril.", "My doctor switched me from ramipril to losartan."),
        ("I'm staying at the Hilton in Lisbon.", "I'm not staying at the Hilton but at the Ibis."),
        ("We ship releases weekly.", "We ship releases monthly now."),
        ("The mascot is a fox.", "The mascot is an owl now."),
        ("Our email vendor is Mailgun.", "We dropped Mailgun and went with Postmark."),
        ("The timeout is 30 seconds.", "I changed the timeout to 60 seconds."),
        ("The timeout is 30 seconds.", "The timeout was raised to 60 seconds."),
        ("The wedding is in Florence.", "The wedding will be in Siena instead."),
        ("We host on Heroku.", "We migrated off Heroku last week."),
        ("My flight is on Tuesday.", "My flight got moved to Thursday."),
        ("I drink two coffees a day.", "I quit coffee."),
        ("The rate is 3.5%.", "The rate went from 3.5% to 4%."),
        ("We use tabs.", "We use spaces, not tabs."),
        ("The server runs Ubuntu 20.04.", "The server runs Ubuntu 24.04."),
        ("I'm training for a marathon.", "I gave up the marathon because of my knee."),
        ("Always answer in German.", "From now on, answer in English."),
        ("Never use emojis.", "From now on, always use emojis."),
    ],
)
def test_the_later_statement_takes_the_place_of_the_earlier(before: str, after: str) -> None:
    talk = Talk(before, after)
    assert talk.pairs() == {(1, 2)}
    old, new = talk.claim(1), talk.claim(2)
    assert new.supersedes == old.id
    assert new.state == "current"
    assert old.valid_to is not None
    assert old.closed_at == new.recorded_at


def test_make_that_friday_means_what_was_just_said() -> None:
    talk = Talk("The review is on Thursday.", "Make that Friday.")
    assert talk.pairs() == {(1, 2)}
    assert talk.claim(2).subject == "The review"
    assert Talk("The review is on Thursday.", "Hm.", "Hm.", "Make that Friday.").pairs() == set()
    assert Talk("The review is on Thursday.", "The budget is $500.", "Make that Friday.").pairs() == {(1, 3)}


def near(claims: Sequence[Claim], *similar: float) -> tuple[Near, ...]:
    return tuple(Near(claim, one) for claim, one in zip(claims, similar, strict=True))


def settled(text: str, near: Sequence[Near], seq: int) -> tuple[Claim, ...]:
    at = BEGIN + DAY * seq
    done = settle(notice((say("user", text),), at), near, step=StepId(f"s{seq}"), seq=seq, said_at=at, recorded_at=at)
    return (*done.inserted, *done.changed)


def test_similar_words_that_speak_of_a_change_replace_what_no_rule_knows() -> None:
    (old,) = settled("We heat with a gas boiler.", (), 1)
    (unlike,) = settled("My aunt crochets hats.", (), 2)
    claims = settled("We got a heat pump put in instead.", near((old, unlike), 0.6, 0.1), 9)
    assert [(claim.seq, claim.state) for claim in claims] == [(9, "current"), (1, "reversed")]


def test_similar_words_without_a_word_of_change_must_name_something_in_common() -> None:
    (old,) = settled("We heat with a gas boiler.", (), 1)
    for text, states in (
        ("There is a heat pump in the basement.", ["current", "reversed"]),
        ("We cook on an induction stove.", ["current"]),
    ):
        assert [claim.state for claim in settled(text, near((old,), 0.9), 9)] == states
    assert [claim.state for claim in settled("There is a heat pump in the basement.", near((old,), 0.1), 9)] == [
        "current"
    ]


def test_what_resembles_something_reversed_concerns_what_took_its_place() -> None:
    (old,) = settled("Our house is warmed by a gas boiler.", (), 1)
    new, old = settled("Our house is warmed by a heat pump now.", near((old,), 0.9), 3)
    last, *changed = settled("Our house is warmed by district heating now.", near((old, new), 0.9, 0.1), 9)
    assert [(claim.id, claim.superseded_by) for claim in changed] == [(new.id, last.id)]


def test_what_befell_us_just_before_a_change_is_its_cause() -> None:
    (old,) = settled("We're committed to microservices.", (), 1)
    for text, linked in (("Deploys took two hours.", True), ("We went for a long walk.", False)):
        (before,) = settled(text, (), 4)
        new, _ = settled("We merged all services back into a monolith.", near((old, before), 0.5, 0.2), 5)
        assert (new.cause == before.id) is linked


def test_somebody_elses_is_not_mine_however_similar() -> None:
    (old,) = settled("I heat with a gas boiler.", (), 1)
    assert len(settled("My sister heats with a pellet stove now.", near((old,), 0.7), 9)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("We use Python.", "We use Go for the CLI."),
        ("We use Redis.", "Do we use Redis?"),
        ("We use Redis.", "If we switched from Redis to Valkey, it would be cheaper."),
        ("We use Redis.", "Bob said we no longer use Redis."),
        ("I like tea.", "I like coffee."),
        ("I have a dog.", "I have a cat."),
        ("My daughter is 7.", "My daughter is allergic to nuts."),
        ("My daughter is 7.", "My son is 8."),
        ("The deadline is 3 May.", "The launch is on 9 May."),
        ("I speak German.", "I speak French."),
        ("The launch is on 3 May.", "The deadline moved from 3 May to 10 May."),
        ("I live in Berlin.", "I lived in Rome in 2019."),
        ("Our API is written in Go.", "Our API is not only fast but cheap."),
        ("I actually like the design.", "I actually like the logo."),
        ("Her name is Coco.", "Her name is Shadow."),
        ("I went to Rome yesterday.", "I went to Oslo yesterday."),
        ("Always answer in German.", "Always use metric units."),
        ("I love Kafka.", "We switched from Kafka to NATS."),
    ],
)
def test_two_statements_that_can_both_hold_both_hold(before: str, after: str) -> None:
    talk = Talk(before, after)
    assert talk.pairs() == set()
    assert all(state == "current" for _, state in talk.states())


def test_a_value_that_changes_often_leaves_one_that_holds() -> None:
    talk = Talk(*(f"The deadline is {day} May." for day in (3, 9, 12, 20)))
    assert talk.states() == [(1, "reversed"), (2, "reversed"), (3, "reversed"), (4, "current")]
    assert talk.pairs() == {(1, 2), (2, 3), (3, 4)}


def test_said_again_it_is_not_kept_twice() -> None:
    talk = Talk("We use Kafka.", "We use Kafka.", "we use kafka")
    assert talk.states() == [(1, "current")]


def test_a_change_to_what_is_known_already_still_ends_what_was_before() -> None:
    talk = Talk("We use Kafka.", "We use NATS for logs.", "We switched from Kafka to NATS.")
    assert talk.pairs() == {(1, 3)}
    assert talk.claim(2).state == "current"


def test_a_step_that_is_settled_twice_changes_nothing() -> None:
    talk = Talk("We use Kafka.", "We switched from Kafka to NATS.")
    before = dict(talk.claims)
    done = settle(
        notice((say("user", "We switched from Kafka to NATS."),), BEGIN),
        tuple(Near(claim) for claim in talk.claims.values()),
        step=StepId("s2"),
        seq=2,
        said_at=BEGIN,
        recorded_at=BEGIN,
    )
    assert (done.inserted, done.changed) == ((), ())
    assert talk.claims == before


def test_a_tool_of_the_same_sort_without_a_word_about_the_first_is_unresolved() -> None:
    talk = Talk("We use PostgreSQL.", "We use MySQL.")
    assert talk.states() == [(1, "unresolved"), (2, "unresolved")]
    assert talk.claim(2).supersedes == talk.claim(1).id
    assert talk.claim(1).superseded_by == talk.claim(2).id
    assert current(talk.claims.values()) == ()


def test_a_conflict_ends_when_one_side_is_said_again() -> None:
    talk = Talk("We use PostgreSQL.", "We use MySQL.", "We use PostgreSQL.")
    assert talk.states() == [(1, "current"), (2, "reversed")]
    assert talk.claim(2).superseded_by == talk.claim(1).id


def test_a_conflict_ends_when_both_are_replaced() -> None:
    talk = Talk("We use PostgreSQL.", "We use MySQL.", "We switched from MySQL to SQLite.")
    assert talk.states() == [(1, "reversed"), (2, "reversed"), (3, "current")]


def test_undoing_it_means_the_decision_of_the_same_turn() -> None:
    talk = Talk("We tried GraphQL in Q1, reverted in Q2 because it was slow.")
    first, second = in_order(talk.claims.values())
    assert (first.state, second.state) == ("reversed", "current")
    assert second.because == "it was slow"


def test_undoing_it_in_a_later_turn_may_mean_the_last_decision_and_is_unresolved() -> None:
    assert Talk("We chose GraphQL.", "We reverted it.").states() == [(1, "unresolved"), (2, "unresolved")]
    assert Talk("We chose GraphQL.", "Hm.", "Hm.", "Hm.", "Hm.", "We reverted it.").states() == [
        (1, "current"),
        (6, "current"),
    ]


def test_in_a_group_i_is_whoever_spoke() -> None:
    talk = Talk("anna says: I live in Rome.", "bob says: I live in Paris.", "anna says: I live in Oslo.")
    assert talk.pairs() == {(1, 3)}


def test_what_is_said_of_somebody_by_name_is_about_them() -> None:
    talk = Talk("Anna says: I live in Rome.", "Bob says: Anna lives in Paris.")
    assert talk.states() == [(1, "unresolved"), (2, "unresolved")]


def test_two_people_who_disagree_about_us_are_unresolved_until_one_says_that_it_changed() -> None:
    talk = Talk("anna says: Our standup is at 9:30.", "bob says: Our standup is at 10:00.")
    assert talk.states() == [(1, "unresolved"), (2, "unresolved")]
    assert Talk("anna says: Our standup is at 9:30.", "bob says: Our standup is now at 10:00.").pairs() == {(1, 2)}


def test_the_model_does_not_overrule_a_person() -> None:
    talk = Talk("We deploy on Fridays.", "assistant says: We deploy on Mondays.", "assistant says: We meet on Mondays.")
    assert talk.states() == [(1, "current"), (3, "current")]
    talk.say("We meet on Sundays.")
    assert talk.pairs() == {(3, 4)}


def test_what_was_said_earlier_but_comes_later_is_already_reversed() -> None:
    talk = Talk("The deadline is 9 May.")
    talk.say("The deadline is 3 May.", at=BEGIN - DAY * 10)
    assert talk.claim(2).state == "reversed"
    assert talk.claim(2).superseded_by == talk.claim(1).id
    assert talk.claim(1).state == "current"


def test_a_correction_of_nothing_is_not_kept() -> None:
    assert Talk("Not Tuesday but Thursday.").claims == {}
    assert Talk("We use Go.", "Kafka was replaced by NATS.").states() == [(1, "current")]


def test_a_pinned_claim_gives_way_only_to_somebody_who_says_so() -> None:
    talk = Talk("The deadline is 3 May.")
    talk.put(pin(talk.claim(1)))
    talk.say("The deadline is 9 May.")
    assert talk.states() == [(1, "unresolved"), (2, "unresolved")]
    talk = Talk("The deadline is 3 May.")
    talk.put(pin(talk.claim(1)))
    talk.say("The deadline is not 3 May but 9 May.")
    assert talk.pairs() == {(1, 2)}


def test_a_cause_said_before_and_one_said_after_are_linked() -> None:
    before = Talk("Deploys took two hours.", "That's why we merged all services back into a monolith.")
    assert before.claim(2).cause == before.claim(1).id
    after = Talk("We removed Redis.", "It was because it lost data.")
    assert after.claim(1).cause == after.claim(2).id
    assert after.claim(2).kind == "cause"
    late = Talk("We removed Redis.", "Hm.", "Hm.", "Hm.", "Hm.", "It was because it lost data.")
    assert late.claim(1).cause is None
    alone = Talk("That's why we chose Go.")
    assert alone.claim(1).cause is None


def test_what_holds_today_is_what_nobody_ended() -> None:
    talk = Talk("We use Kafka.", "We switched from Kafka to NATS.", "I used to live in Berlin.", "I live in Rome.")
    assert [claim.quote for claim in current(talk.claims.values())] == [
        "We switched from Kafka to NATS",
        "I live in Rome",
    ]


def test_what_held_then_and_what_was_known_then() -> None:
    talk = Talk(
        "We use Kafka.", "In October 2025 we switched from Kafka to NATS.", "I've worked at Siemens since 2019."
    )
    kafka, nats, siemens = (talk.claim(seq) for seq in (1, 2, 3))
    claims = tuple(talk.claims.values())
    assert as_of(claims, BEGIN - DAY * 500) == (siemens,)
    assert as_of(claims, BEGIN, known=BEGIN) == (kafka,)
    assert as_of(claims, BEGIN + DAY, known=BEGIN + DAY * 100) == (nats, siemens)
    assert as_of(claims, BEGIN + DAY) == (nats, siemens)
    assert as_of(claims, BEGIN + DAY, known=BEGIN - DAY) == ()


def test_what_somebody_used_to_do_held_before_they_said_so() -> None:
    talk = Talk("I used to live in Berlin.")
    claims = tuple(talk.claims.values())
    assert as_of(claims, BEGIN - DAY) == claims
    assert as_of(claims, BEGIN + DAY) == ()


def test_a_conflict_is_not_what_held() -> None:
    talk = Talk("We use PostgreSQL.", "We use MySQL.")
    assert as_of(tuple(talk.claims.values()), BEGIN + DAY) == ()
    assert as_of(tuple(talk.claims.values()), BEGIN + DAY, known=BEGIN + DAY) == (talk.claim(1),)


def test_the_timeline_says_what_changed_when_and_why() -> None:
    talk = Talk(
        "We're committed to microservices.",
        "Deploys took two hours.",
        "That's why we merged all services back into a monolith.",
        "We removed Redis because it crashed.",
    )
    changes = timeline(tuple(talk.claims.values()))
    assert [change.at for change in changes] == sorted(change.at for change in changes)
    merged = next(change for change in changes if change.replaced)
    assert [claim.seq for claim in merged.replaced] == [1]
    assert merged.cause == talk.claim(2)
    assert changes[-1].because == "it crashed"


def test_a_person_corrects_retracts_and_restores() -> None:
    talk = Talk("The deadline is 3 May.", "The deadline is 9 May.")
    old, wrong = talk.claim(1), talk.claim(2)
    right = msgspec.structs.replace(
        wrong, id=ClaimId("p1"), quote="The deadline is 12 May.", recorded_at=BEGIN + DAY * 99
    )
    ended, said = correct(pin(wrong), right)
    assert (ended.state, ended.superseded_by, ended.pinned) == ("reversed", "p1", False)
    assert (said.author, said.supersedes, said.pinned) == ("person", wrong.id, True)
    gone, again = retract(wrong, tuple(talk.claims.values()), at=BEGIN + DAY * 99)
    assert (gone.state, gone.closed_at) == ("retracted", BEGIN + DAY * 99)
    assert again == restored(old)
    assert (again.state, again.valid_to, again.superseded_by) == ("current", None, None)
    talk.put(gone, again)
    assert timeline(tuple(talk.claims.values()))[0].claim == again
    assert as_of(tuple(talk.claims.values()), BEGIN + DAY * 200) == (again,)


def test_retracting_one_side_of_a_conflict_leaves_the_other() -> None:
    for gone, left in ((1, 2), (2, 1)):
        talk = Talk("We use PostgreSQL.", "We use MySQL.")
        talk.put(*retract(talk.claim(gone), tuple(talk.claims.values()), at=BEGIN))
        assert [claim.seq for claim in current(talk.claims.values())] == [left]


LINES = st.lists(
    st.sampled_from(
        [
            "We use Kafka.",
            "We use NATS.",
            "We switched from Kafka to NATS.",
            "We switched from NATS to Kafka.",
            "We use PostgreSQL.",
            "We use MySQL.",
            "The deadline is 3 May.",
            "The deadline is 9 May.",
            "I live in Rome.",
            "I moved to Oslo.",
            "I used to live in Rome.",
            "We reverted it.",
            "It was because it crashed.",
            "anna says: I live in Rome.",
            "anna says: We use MySQL.",
            "assistant says: We use MySQL.",
            "That's why we chose Go.",
            "We don't use Kafka.",
            "Not 3 May but 9 May.",
            "I like tea.",
            "I hate tea.",
        ]
    ),
    max_size=14,
)


@pytest.mark.slow
@given(LINES, st.integers(0, 500), st.integers(0, 500))
@settings(max_examples=150)
def test_whatever_is_said_the_links_hold_and_time_only_adds(lines: Sequence[str], a: int, b: int) -> None:
    talk = Talk(*lines)
    assert Talk(*lines).claims == talk.claims
    for claim in talk.claims.values():
        if claim.state == "reversed":
            assert claim.superseded_by in talk.claims
            assert claim.closed_at is not None
            assert claim.valid_to is not None
            assert claim.valid_from is None or claim.valid_from <= claim.valid_to
        if claim.state == "unresolved":
            assert {claim.supersedes, claim.superseded_by} & talk.claims.keys()
        if claim.state == "current":
            assert claim.superseded_by is None
    claims = tuple(talk.claims.values())
    early, late = sorted((BEGIN + DAY * a, BEGIN + DAY * b))
    known_early, known_late = (
        {claim.id for claim in claims if claim.recorded_at <= moment} for moment in (early, late)
    )
    assert known_early <= known_late
    assert {claim.id for claim in as_of(claims, early, known=early)} <= known_early
    ended = {claim.id for claim in claims if claim.state == "reversed" and claim.closed_at and claim.closed_at <= early}
    came_back = {claim.id for claim in as_of(claims, late, known=late)} & ended
    assert all(talk.claims[name].valid_to > late for name in came_back)  # type: ignore[operator]


def test_claims_of_a_person_without_a_turn_can_be_ordered_too() -> None:
    claim = Claim(
        id=ClaimId("p"), kind="fact", quote="x", step=StepId(""), seq=0, span=Span(0, 0, 1), speaker="user",
        said_at=BEGIN, recorded_at=BEGIN, author="person",
    )  # fmt: skip
    assert current((claim,)) == (claim,)
