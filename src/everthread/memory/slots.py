"""Whether two statements can both hold: what they are about, what they say of it, and whether it has but one value."""

from __future__ import annotations

import re
from typing import Literal

from everthread.core.claim import Claim, Turning
from everthread.memory.wording import likeness, says, shape, sort_of, stems, subject_key

Relation = Literal["repeats", "replaces", "conflicts"]

FAMILIES = {
    attribute: family
    for family, attributes in {
        "live": "live in|live at|base in|is in|is based in|stay in|move to",
        "employer": "work at|work for|is at|join",
        "job": "work as",
        "answer": "answer in|reply in|respond in|speak in|talk in",
        "name": "name|is called|call|go by",
        "use": "use|is on|run|run on|deploy to|"
        "host on|store in|write in|build with|build on|build in|rely on|switch to|"
        "migrate to|switch from|switch|migrate|migrate from|go with|choose|pick|adopt|settle on|decide on|decide to|"
        "go back to|commit to|merge|replace|replace with|replace by|standardise on|standardize on|try|revert to|"
        "roll back to|return to|opt for|is back on|introduce|drop|remove|abandon|ditch|retire|go back|select|stop|roll|"
        "revert",
    }.items()
    for attribute in attributes.split("|")
}
ONE_ONLY = frozenset(
    {
        "live",
        "answer",
        "employer",
        "job",
        "name",
        "report to",
        "lead by",
        "manage by",
        "drive",
        "study at",
        "teach at",
        "play for",
    }
)
HAS_ONE = re.compile(
    r"\b(?:favou?rite|preferred|default|status|colou?r|theme|name|title|password|passcode|pin|code|number|address|"
    r"e-?mail|phone|size|version|plan|owner|"
    r"lead|leader|manager|boss|doctor|dentist|gp|therapist|trainer|teacher|deadline|budget|price|rate|limit|target|"
    r"goal|location|venue|language|currency|"
    r"timezone|zone|brand|model|stack|framework|provider|host|port|branch|policy|schedule|frequency|cadence|"
    r"database|cache|queue|cloud|editor|"
    r"architecture|birthday|salary|rent|weight|height|age|job|car|bank|gym|hotel|flight|seat|gate|room|drink|dish|"
    r"sport|team|hobby|style|tool|"
    r"platform|server|cto|ceo|captain|coach|landlord|dose|dosage|medication|diet|breakfast|day|time|date|start|slot|"
    r"strategy|approach|format|"
    r"supplier|vendor|carrier|airline|school|class|pet|nickname|contact|reviewer|maintainer|on-call|city|country|"
    r"destination|base|head)\b",
    re.IGNORECASE,
)
LONGEST_VALUE = 4  # words of something that can be the only one
PEOPLE_OF = re.compile(r"'s ")


def family(attribute: str | None) -> str:
    if attribute is None:
        return ""
    return FAMILIES.get(attribute, FAMILIES.get(attribute.split(" for ")[0], attribute))


def relation(new: Claim, old: Claim, *, turning: Turning, replaces: str | None) -> Relation | None:
    """What a new statement does to an older one that still holds."""
    if not comparable(new, old):
        return None
    if is_repeat(new, old) and (turning != "hard" or new.quote == old.quote):
        return "repeats"
    if replaces is not None:
        return "replaces" if names_it(new, old, replaces) else None
    if opposite(new, old) or over(new, old):
        return "replaces"
    if new.negated or old.negated or is_past(new):
        return None
    if turning == "hard":
        return turned(new, old)
    if same_slot(new, old) and new.value and old.value:
        return settled(new, old, turning)
    return None


def comparable(new: Claim, old: Claim) -> bool:
    """Can one of two statements speak about the other at all?"""
    if "cause" in (new.kind, old.kind) or is_past(old):
        return False
    return (new.kind == "instruction") == (old.kind == "instruction")


def is_past(claim: Claim) -> bool:
    return claim.valid_to is not None and claim.valid_to <= claim.said_at


def key(claim: Claim) -> str | None:
    return subject_key(claim.subject, claim.speaker)


def same_slot(new: Claim, old: Claim) -> bool:
    """Do both say the same kind of thing about the same subject?"""
    subject, said = key(new), family(new.attribute)
    if subject is None or subject != key(old) or said != family(old.attribute) or not said:
        return False
    return said != "is" or subject not in {"we", new.speaker.casefold()}  # "I'm ..." may go on in many ways


def is_repeat(new: Claim, old: Claim) -> bool:
    """Does it only say again what was said?"""
    if new.negated != old.negated or is_past(new) != is_past(old):
        return False
    if new.quote.casefold() == old.quote.casefold() and new.speaker == old.speaker and old.kind != "event":
        return True
    if new.when != old.when:
        return False
    return bool(new.value and old.value) and same_slot(new, old) and same_value(new, old)


def same_value(new: Claim, old: Claim) -> bool:
    a, b = (" ".join((claim.value or "").casefold().split()) for claim in (new, old))
    return a == b or (bool(stems(a)) and stems(a) == stems(b))


def related(new: Claim, old: Claim) -> bool:
    """Could the subjects be the same, when the words for what changed already match?"""
    a, b = key(new), key(old)
    if a is None or b is None or a == b:
        return True
    ours = {"we", new.speaker.casefold()}
    if a in ours and b in ours:
        return new.speaker == old.speaker or a == b
    if a in ours:
        return PEOPLE_OF.search(b) is None or b.startswith(f"{new.speaker.casefold()}'s ")
    return b in ours and PEOPLE_OF.search(a) is None


def names_it(new: Claim, old: Claim, replaces: str) -> bool:
    """Is this what a new statement says is over?"""
    if old.negated or old.kind == "event":
        return False
    if is_swap(new, old, replaces):
        return True
    if not related(new, old) and not is_it(new, old, replaces):
        return False
    if old.kind == "preference" and new.kind != "preference":
        return False
    if new.value and old.value and same_value(new, old):
        return False
    said = old.value or old.quote
    if says(said, replaces) or (says(replaces, said) and len(stems(said)) > 0):
        return True
    return key(new) == key(old) and likeness(stems(said), stems(replaces)) >= 0.5


def is_swap(new: Claim, old: Claim, replaces: str) -> bool:
    """ "Ben is no longer the CTO" of "the CTO is Ben"."""
    return (
        bool(old.value and old.subject and new.subject)
        and says(new.subject or "", old.value or "")
        and says(replaces, old.subject or "")
    )


def is_it(new: Claim, old: Claim, replaces: str) -> bool:
    """Is the very thing named that somebody spoke of before, in other words and too particular to be a coincidence?"""
    particular = shape(replaces)[0] not in {"time", "amount"} and old.value is not None
    return particular and new.speaker == old.speaker and stems(replaces) == stems(old.value or "") != frozenset()


def opposite(new: Claim, old: Claim) -> bool:
    """The same of the same, once so and once not."""
    return (
        new.negated != old.negated
        and "event" not in (new.kind, old.kind)
        and same_slot(new, old)
        and same_value(new, old)
    )


def over(new: Claim, old: Claim) -> bool:
    """ "I used to ..." of what was known as so."""
    return is_past(new) and not old.negated and same_slot(new, old) and same_value(new, old) and new.kind != "event"


def turned(new: Claim, old: Claim) -> Relation | None:
    """A change that does not say from what: the value that it can only have replaced, or the words that it shares."""
    if new.value is None or old.kind in {"preference", "instruction"} or not related(new, old):
        return None
    value = old.value or ""
    if key(new) == key(old) and key(new) not in {"we", new.speaker.casefold(), None}:
        return "replaces" if shape(value)[0] == shape(new.value)[0] else None
    if old.kind == "event":
        return None
    if sort_of(new.value) and sort_of(new.value) == sort_of(value) and not same_value(new, old):
        return "replaces"
    if same_slot(new, old) and family(new.attribute) == "live" and old.value and not same_value(new, old):
        return "replaces" if key(new) != "we" else "conflicts"
    shared = likeness(stems(new.quote) - stems(new.value), stems(old.quote))
    return (
        "replaces"
        if shared >= 0.6 and family(old.attribute) in {"use", "is"}
        else "conflicts"
        if shared >= 0.6
        else None
    )


def settled(new: Claim, old: Claim, turning: Turning) -> Relation | None:
    """One slot, two values: is there room for both?"""
    if "event" in (new.kind, old.kind) or (new.kind == "preference") != (old.kind == "preference"):
        return None
    if not exclusive(new, old, soft=turning == "soft"):
        return None
    if new.voice == "user" and old.voice == "assistant":
        return "replaces"
    if turning == "none" and (new.speaker != old.speaker and PEOPLE_OF.search(key(new) or "") is None):
        return "conflicts"
    shared = bool(stems(new.value or "") & stems(old.value or ""))
    if family(new.attribute) == "use" and turning == "none" and not shared:
        return "conflicts"
    return "replaces"


def exclusive(new: Claim, old: Claim, *, soft: bool) -> bool:
    a, b = shape(new.value or ""), shape(old.value or "")
    slot = family(new.attribute)
    if slot in ONE_ONLY:
        return True
    if slot == "like":
        return False
    if slot == "prefer":
        return bool(stems(new.value or "") & stems(old.value or "")) or soft
    shared = bool(stems(new.value or "") & stems(old.value or ""))
    if slot == "use":
        one_matter = bool(purpose(new)) and purpose(new) == purpose(old)
        return shared or one_matter or (a == b and a[0] == "choice" and purpose(new) == purpose(old))
    if slot == "have":
        return a == b and a[0] == "amount"
    if a[0] in {"time", "amount", "choice"} and a == b:
        return True
    if HAS_ONE.search(new.subject or "") and slot == "is":
        return max(len((claim.value or "").split()) for claim in (new, old)) <= LONGEST_VALUE
    return a[0] == b[0] and ((soft and (a[0] != "words" or shared)) or (slot == "is" and a[0] == "name"))


def purpose(claim: Claim) -> str:
    return (claim.attribute or "").partition(" for ")[2]
