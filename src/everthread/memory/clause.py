"""A clause taken apart: who, what about them, and how sure and how lasting it is said to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from everthread.core.sentences import vocabulary
from everthread.memory.verbs import BE, HAVE, PARTICIPLES, PAST, VERBS, is_form, is_past, lemma

Tense = Literal["present", "past", "future", "modal"]

LONGEST_SUBJECT = 7  # words
WORD = re.compile(r"[^\s,;:!?()\"“”…]+")
CONTRACTION = re.compile(r"(?:n['’]t|['’](?:s|re|ve|m|ll|d))\Z", re.IGNORECASE)
NOT = {"won't": "will", "can't": "can", "cannot": "can", "shan't": "shall", "ain't": "is"}
LEADS = vocabulary(
    "so well and but also ok okay yes yeah yep hi hey hello thanks btw fyi anyway anyways actually now currently then",
    "finally recently unfortunately sadly luckily honestly basically just correction update note oh ah sorry plus",
    "though still meanwhile today yesterday lately instead nowadays originally previously initially turns out remember",
    "that eventually later afterwards",
)
PRONOUNS = vocabulary("i we he she they it this that you there")
DETERMINERS = vocabulary("my our the his her their your its this these those all both a an")
MODALS: dict[str, Tense] = {
    **dict.fromkeys(("will", "'ll", "shall", "gonna"), "future"),
    **dict.fromkeys(("would", "could", "might", "may", "should", "must", "can", "'d", "ought"), "modal"),
}
ADVERBS = vocabulary(
    "now currently still just really already always usually finally recently actually also both all mostly mainly only",
    "even absolutely ever officially definitely much never often generally typically primarily temporarily completely",
    "fully totally quite truly probably originally previously initially normally then almost",
    "successfully simply gradually eventually formally basically later exclusively",
)
PREPOSITIONS = vocabulary("for of in on at with by from to as about like without under over than or not no nor")
STOPS = vocabulary("because since so but although though while whereas when if which who where after before unless")


class Word(msgspec.Struct, frozen=True):
    text: str  # in lower case, with a plain apostrophe
    start: int
    end: int
    after: str  # the punctuation that follows it


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """Places are characters of the text that the clause was taken from."""

    subject: str  # as it was said
    start: int  # where the subject begins
    verb: str  # its base form
    verb_at: int
    rest: tuple[int, int]  # what follows the verb
    tense: Tense
    negated: bool = False
    passive: bool = False
    perfect: bool = False
    used_to: bool = False
    adverbs: frozenset[str] = frozenset()


def words(text: str, start: int, end: int) -> list[Word]:
    """The words of a span; a contraction is two."""
    found: list[Word] = []
    for match in WORD.finditer(text, start, end):
        first, last = match.span()
        bare = text[first:last].rstrip(".'’*`")
        last = first + len(bare)
        skip = len(bare) - len(bare.lstrip("'’*`"))
        first, bare = first + skip, bare[skip:]
        if not bare:
            continue
        low = bare.casefold().replace("’", "'")
        after = text[last : last + 1]
        tail = CONTRACTION.search(bare)
        if low in NOT:
            cut = last - 2 if low == "cannot" else last - 3
            found += [Word(NOT[low], first, last, ""), Word("not", cut, last, after)]
        elif tail and tail.start():
            cut = first + tail.start()
            ending = "not" if tail[0][0] in "nN" else low[tail.start() :]
            found += [Word(low[: tail.start()], first, cut, ""), Word(ending, cut, last, after)]
        else:
            found.append(Word(low, first, last, after))
    return found


def parse(text: str, start: int, end: int, *, subject: str | None = None) -> Clause | None:
    """The clause that this span is, or None; a subject may be given for a clause that goes on without one."""
    found = words(text, start, end)
    at = led(found)
    if subject is None and [word.text for word in found[at : at + 2]] == ["let", "'s"]:
        return predicate(found, at + 2, end, subject=text[found[at].start : found[at + 1].end], begins=found[at].start)
    if subject is None:
        size = subject_size(text, found, at)
        if not size:
            return None
        while size > 1 and found[at + size - 1].text in ADVERBS:
            size -= 1  # "the policy now ..."
        subject = text[found[at].start : found[at + size - 1].end]
        begins = found[at].start
        at += size
    else:
        begins = found[at].start if at < len(found) else start
    return predicate(found, at, end, subject=subject, begins=begins)


def led(found: Sequence[Word]) -> int:
    """How many words lead up to the subject: "So actually, ..."."""
    at = 0
    while at < min(len(found) - 1, 8) and (
        found[at].text in LEADS or (found[at].text == "no" and found[at].after == ",") or opens(found, at)
    ):
        if found[at].text == "that" and is_form(found[at + 1].text):
            break  # a subject
        at += 1
    return at


def opens(found: Sequence[Word], at: int) -> bool:
    """By the way, for now, right now, as of now, in fact."""
    two = (found[at].text, found[at + 1].text)
    if two == ("it", "turns") or two in {("please", "note"), ("fyi", ":")}:
        return True
    before = found[at - 1].text if at else ""
    return two in {("by", "the"), ("for", "now"), ("right", "now"), ("in", "fact"), ("of", "now")} or (
        (before, *two[:1]) in {("by", "the"), ("the", "way"), ("in", "fact")} or two[:1] == ("way",)
    )


def subject_size(text: str, found: Sequence[Word], at: int) -> int:
    """How many words the subject has; 0 if there is none."""
    if at >= len(found) - 1:
        return 0
    first = found[at]
    if first.text in {"i", "we", "you"}:
        return 1
    if first.text in PRONOUNS and (found[at + 1].text == "'s" or verbal(found[at + 1].text)):
        return 1
    if first.text in STOPS | PREPOSITIONS or first.text in MODALS or first.text.endswith("ing"):
        return 0
    if is_form(first.text) and not verbal(found[at + 1].text):
        return 0
    if first.text in VERBS and first.text not in {"support", "log", "run", "target", "ship"}:
        return 0
    limit = min(at + LONGEST_SUBJECT, len(found) - 1)
    for number in range(at, limit):
        word, following = found[number], found[number + 1].text
        if word.text in STOPS or word.after in {",", ";", ":"} or (number > at and word.text in {"i", "we", "you"}):
            return 0
        if following == "'s" and any(verbal(later.text) for later in found[number + 3 : limit + 1]):
            continue  # a possessive
        if number == at and word.text in DETERMINERS and following not in BE | HAVE | MODALS.keys():
            continue  # "the planned ..."
        plural = following in PLURAL and first.text in DETERMINERS and word.text.endswith(("s", "children", "people"))
        if following == "'s" or verbal(following) or following in {"not", "never"} or plural:
            return number - at + 1
    return 0


PLURAL = vocabulary("live work prefer love hate like use need want have run meet start take speak play")


def verbal(word: str) -> bool:
    """Can this follow a noun as its verb?"""
    if word in MODALS or word in {"do", "does", "no"}:
        return True
    return is_form(word) and word != "'s" and (not word.endswith("ing") or word in BE)


def predicate(found: Sequence[Word], at: int, end: int, *, subject: str, begins: int) -> Clause | None:
    """What is said about the subject: signs of tense and doubt first, then the verb."""
    signs = Signs()
    while at < len(found) and (taken := signs.take(found, at)):
        at += taken
    if at >= len(found) or not found[at].text.lstrip("'")[:1].isalpha():
        return None
    verb = found[at]
    last = at
    if verb.text in BE:  # "is not", "is now", "is no longer"
        while last + 1 < len(found) and (taken := signs.take_after(found, last + 1)):
            last += taken
    tense = signs.tense
    if tense == "present" and not signs.perfect and not signs.passive and is_past(verb.text):
        tense = "past"
    return Clause(
        subject=subject,
        start=begins,
        verb=lemma(verb.text),
        verb_at=verb.start,
        rest=(found[last].end, end),
        tense=tense,
        negated=signs.negated and signs.adverbs.isdisjoint({"only", "just", "simply"}),  # "not only"
        passive=signs.passive,
        perfect=signs.perfect,
        used_to=signs.used_to,
        adverbs=frozenset(signs.adverbs),
    )


class Signs:
    """What the words before the verb, and beside "is", say about tense and doubt."""

    def __init__(self) -> None:
        self.tense: Tense = "present"
        self.negated = self.perfect = self.passive = self.used_to = False
        self.adverbs: set[str] = set()

    def take(self, found: Sequence[Word], at: int) -> int:
        """How many words at this place are such signs; 0 where the verb is."""
        word = found[at].text
        following = found[at + 1].text if at + 1 < len(found) else ""
        if taken := self.take_after(found, at):
            return taken
        if word in MODALS:
            self.tense = MODALS[word]
        elif word in {"do", "does", "did"} and (following == "not" or following in VERBS):
            self.tense = "past" if word == "did" else self.tense
        elif word == "used" and following == "to":
            self.used_to, self.tense = True, "past"
            return 2
        elif word in BE | HAVE and helps(found, at):
            self.perfect = self.perfect or word in HAVE
            self.passive = word in BE and not progressive(found, at)
            self.tense = "past" if word in PAST and self.tense == "present" else self.tense
        elif word in {"got", "gets"} and following in PARTICIPLES - {"had", "used"} and following not in BE:
            self.passive, self.tense = True, "past"
        elif word in {"going", "about", "planning"} and following == "to":
            self.tense = "modal" if self.tense == "past" else "future"
            return 2
        else:
            return 0
        return 1

    def take_after(self, found: Sequence[Word], at: int) -> int:
        word = found[at].text
        if word == "no" and at + 1 < len(found) and found[at + 1].text == "longer":
            self.negated = True
            self.adverbs.add("no longer")
            return 2
        if word in {"not", "never"}:
            self.negated = True
        elif word not in ADVERBS:
            return 0
        self.adverbs.add(word)
        return 1


def helps(found: Sequence[Word], at: int) -> bool:
    """Is this "is" or "has" an auxiliary: does a verb in -ing, or a participle, follow?"""
    word = after_adverbs(found, at)
    if word.endswith("ing"):
        return lemma(word) in VERBS or word == "going"
    return word in PARTICIPLES or word == "about" or (found[at].text in HAVE and word == "got")


def progressive(found: Sequence[Word], at: int) -> bool:
    word = after_adverbs(found, at)
    return word.endswith("ing") or word == "about"


def after_adverbs(found: Sequence[Word], at: int) -> str:
    for word in found[at + 1 : at + 5]:
        if word.text not in ADVERBS and word.text not in {"not", "never", "no", "longer"}:
            return word.text
    return ""
