"""What a step says that is worth holding on to: typed statements with their literal quotes, by rules.

Better none than a wrong one: the turns themselves are the memory, and this only adds to them. Questions, conditions,
hearsay, doubt and jokes are left alone. A person's own words come first; of the model's only what it says about "us";
of tools, documents and templates nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from everthread.core.claim import Draft, Span, Voice
from everthread.core.messages import Message
from everthread.core.sentences import Sentence, own_span, sentences
from everthread.memory import cues, loose, moods, refuse, turnings, wishes
from everthread.memory.clause import parse
from everthread.memory.parts import BECAUSE, Part, parts, trimmed
from everthread.memory.statement import LIKELY, LOOSE, Passage, classified, drafted
from everthread.memory.when import mentions

MOST = 60  # statements of one message
OPENING, CLOSING = 6000, 2000  # characters of a long message that are read as its writer's own; the middle was pasted
SENTENCE_END = re.compile(r"[.!?]\s|\n")
FAR = 80  # characters before a statement that may belong to it
NEAR = 12  # characters between the end of something and what came instead of it
REMEMBER = re.compile(
    r"\s*(?:please\s+)?(?:remember|note|don['’]t forget|keep in mind)(?:\s+that|:|,)?\s+(?!when\b|to\b|how\b|"
    r"the time\b)",
    re.IGNORECASE,
)
MATTER = re.compile(
    r"(?:and |but |so )?for (?:the |our |my |all )?[\w-]+(?: [\w-]+){0,2},?\s+(?=(?:we|i|our|my)\b)", re.IGNORECASE
)
ABOUT = re.compile(
    r"\s*(?:(?:as )?for|regarding|about|concerning|with|on|in|at|when it comes to|as far as|against|speaking of)\s",
    re.IGNORECASE,
)  # what a statement is about, said before it
BEFORE_A_DATE = frozenset({"", "in", "on", "since", "as of", "by", "from", "starting", "so", "and", "but", "back in"})


def notice(messages: Sequence[Message], said_at: datetime) -> tuple[Draft, ...]:
    """The statements of a step's messages, in the order in which they were made."""
    return tuple(
        draft
        for number, message in enumerate(messages)
        for passage in passages(number, message, said_at)
        for draft in islice(joined(statements(passage), message.text), MOST)
    )


def passages(number: int, message: Message, said_at: datetime) -> Iterator[Passage]:
    """A message's own words: all of them, or of a long message its beginning and its end."""
    if message.role not in {"user", "assistant"}:
        return
    voice: Voice = "user" if message.role == "user" else "assistant"
    start, end = own_span(message.text) if voice == "user" else (0, len(message.text))
    if refuse.is_material(message.text[start : min(end, start + 300)]):
        return
    spans = [(start, end)]
    if end - start > OPENING + CLOSING:
        ends = [*(match.end() for match in SENTENCE_END.finditer(message.text, start, start + OPENING))]
        begins = SENTENCE_END.search(message.text, end - CLOSING, end)
        spans = [(start, ends[-1] if ends else start + OPENING), (begins.end() if begins else end - CLOSING, end)]
    for first, last in spans:
        own = message.text[first:last]
        yield Passage(number, first, own, message.name or message.role, voice, said_at, mentions(own, said_at))


def statements(passage: Passage) -> Iterator[Draft]:
    before: Sentence | None = None
    for sentence in sentences(passage.text):
        if sentence.code or refuse.is_quoted(passage.text, sentence.start):
            before = None
            continue
        yield from stated(passage, sentence, before)
        before = sentence


def stated(passage: Passage, sentence: Sentence, before: Sentence | None) -> Iterator[Draft]:
    """What one sentence states; the one before it may hold its cause."""
    if passage.voice == "user" and (wish := wishes.standing(passage, sentence)):
        yield wish
        return
    if refuse.declines(sentence.text):
        return
    told = REMEMBER.match(passage.text, sentence.start, sentence.end)
    start = told.end() if told else sentence.start
    drafts = list(clauses(passage, start, sentence.end, before))
    if passage.voice == "user" and not drafts:
        if told:
            yield drafted(passage, "fact", *trimmed(passage.text, start, sentence.end), confidence=LIKELY)
        elif (draft := loose.whole(passage, sentence, before, start)) and not is_passing(passage, sentence, draft):
            yield draft
        return
    drafts = [
        draft
        for draft in drafts
        if draft.confidence > LOOSE or not (is_why(draft, drafts) or is_passing(passage, sentence, draft))
    ]
    made = [number for number, draft in enumerate(drafts) if draft.kind != "cause"]
    if made and passage.voice == "user":
        drafts[made[0]] = led(passage, drafts[made[0]], start)
        drafts[made[-1]] = followed(passage, drafts[made[-1]], sentence.end)
    yield from drafts


def is_passing(passage: Passage, sentence: Sentence, draft: Draft) -> bool:
    return moods.in_passing(draft, passage.text[sentence.end - 1 : sentence.end])


def is_why(draft: Draft, others: Sequence[Draft]) -> bool:
    """Is it only the cause of what the same sentence goes on to say?"""
    return any(other.because and draft.quote in other.because for other in others)


def led(passage: Passage, draft: Draft, start: int) -> Draft:
    """With the words before it that say that something is over: "forget X, our ...", "correction: ..."."""
    before = passage.text[start : draft.span.start - passage.offset]
    if draft.turning == "hard" or not before.strip() or (draft.because and draft.because in before):
        return draft
    turning = cues.turning(before)
    if (turning == "none" and not ABOUT.match(before)) or draft.span.start - passage.offset - start > FAR:
        return draft
    first = trimmed(passage.text, start, draft.span.end - passage.offset)[0]
    span = Span(draft.span.message, passage.offset + first, draft.span.end)
    quote = passage.text[first : draft.span.end - passage.offset]
    return msgspec.structs.replace(
        draft, quote=quote, span=span, turning=turning if draft.turning == "none" else draft.turning
    )


def followed(passage: Passage, draft: Draft, end: int) -> Draft:
    """With the words after it that say what came instead, where no rule made anything of them."""
    first, last = draft.span.start - passage.offset, draft.span.end - passage.offset
    cause = BECAUSE.search(passage.text, last, end)
    end = cause.start() if cause else end
    tail = passage.text[last:end].strip(" ,;-–—.!")
    over = draft.valid_to is not None
    if not tail or len(tail) > FAR or not (changes(draft) or over or loose.goes_on(tail)):
        return draft
    last = trimmed(passage.text, first, end)[1]
    span = Span(draft.span.message, draft.span.start, passage.offset + last)
    quote = passage.text[first:last]
    draft = msgspec.structs.replace(
        draft, quote=quote, span=span, turning=cues.turning(quote) if draft.turning == "none" else draft.turning
    )
    if not over or not loose.goes_on(tail):
        return draft
    return msgspec.structs.replace(
        draft, turning="hard", replaces=draft.value, value=None, valid_from=passage.said_at, valid_to=None
    )


def changes(draft: Draft) -> bool:
    return draft.turning == "hard" or cues.says_change(draft.quote)


def clauses(passage: Passage, start: int, end: int, before: Sentence | None) -> Iterator[Draft]:
    subject: str | None = None
    over: Draft | None = None
    begun = start
    for part in parts(passage.text, start, end):
        if refuse.is_another(passage.text[part.start : part.end]):
            continue
        if part.is_cause:
            yield drafted(passage, "cause", part.start, part.end, refers=True, confidence=LIKELY)
            continue
        if not part.inherits:
            subject, begun = None, part.start
        clause = parse(passage.text, after_date(passage, part), part.end, subject=subject)
        if clause is not None and over is not None and clause.subject.casefold() in {"it", "they"}:
            clause = msgspec.structs.replace(clause, subject=over.subject or clause.subject)
        if clause is None or clause.subject.casefold() in {"it", "that"}:
            yield from correction(passage, part)
            continue
        subject = clause.subject
        draft = classified(passage, part, clause, begun if part.inherits else part.start)
        over = draft if draft is not None and draft.negated and draft.replaces else None
        if draft is not None:
            yield with_cause(passage, draft, part, before)


def correction(passage: Passage, part: Part) -> Iterator[Draft]:
    """Of what was said before, in as few words as it takes."""
    turn = turnings.fragment(passage.text, part.start, part.end)
    if turn is not None and turn.old and turn.new and passage.voice == "user":
        yield drafted(
            passage,
            "fact",
            part.start,
            part.end,
            value=turn.new,
            replaces=turn.old,
            turning="hard",
            corrects=True,
            confidence=LIKELY,
        )


def after_date(passage: Passage, part: Part) -> int:
    """Where a clause begins without its date or matter: "Last week we ...", "For CI we ..."."""
    matter = MATTER.match(passage.text, part.start, part.end)
    start = matter.end() if matter else part.start
    at = bisect_left(passage.times, start, key=lambda mention: mention.start)
    if at == len(passage.times) or passage.times[at].end >= part.end:
        return start
    first = passage.times[at]
    if passage.text[start : first.start].strip().casefold() not in BEFORE_A_DATE:
        return start
    return trimmed(passage.text, first.end, part.end)[0]


def with_cause(passage: Passage, draft: Draft, part: Part, before: Sentence | None) -> Draft:
    if part.cause is not None and part.cause[1] > part.cause[0]:
        return msgspec.structs.replace(draft, because=passage.text[slice(*part.cause)])
    if not part.refers or draft.kind not in {"decision", "event", "fact"}:
        return draft
    if before is None:
        return msgspec.structs.replace(draft, refers=True)
    if refuse.declines(before.text):
        return draft
    return msgspec.structs.replace(draft, because=passage.text[slice(*trimmed(passage.text, before.start, before.end))])


def joined(drafts: Iterable[Draft], text: str) -> Iterator[Draft]:
    """The drafts; "we no longer use X; we moved to Y" as one, and "it was X, now it is Y"."""
    last: Draft | None = None
    for draft in drafts:
        if last is None:
            last = draft
        elif takes_over(last, draft, text):
            span = Span(last.span.message, min(last.span.start, draft.span.start), draft.span.end)
            last = msgspec.structs.replace(
                draft,
                quote=text[span.start : span.end],
                span=span,
                replaces=draft.replaces or last.replaces or (last.value if ended(last, draft) else None),
                turning="hard" if last.replaces or ended(last, draft) else draft.turning,
                because=draft.because or last.because,
                subject=draft.subject or last.subject,
            )
        else:
            yield last
            last = draft
    if last is not None:
        yield last


def ended(over: Draft, draft: Draft) -> bool:
    """Is something said to be over that the next statement goes on from?"""
    return over.valid_to is not None and draft.valid_to is None


def takes_over(over: Draft, draft: Draft, text: str) -> bool:
    """Does a statement say what came instead of what the one before it ends, or take up its words?"""
    if draft.kind in {"instruction", "cause"} or over.kind in {"instruction", "cause"} or draft.negated:
        return False
    if over.span.message != draft.span.message:
        return False
    if draft.span.start <= over.span.start and (over.confidence <= LOOSE or over.negated or ended(over, draft)):
        return True
    between = text[over.span.end : draft.span.start]
    if len(between) >= NEAR or not (over.turning == "hard" and over.negated and over.replaces) or draft.replaces:
        return False
    same = draft.turning != "none" or draft.attribute == over.attribute or draft.subject == over.subject
    return draft.value is not None and (same or SENTENCE_END.search(between) is None)
