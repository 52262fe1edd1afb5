"""The verbs that statements are made with, and the one form each of them is kept under."""

from __future__ import annotations

from functools import lru_cache

from everthread.core.sentences import vocabulary

STATES = vocabulary(
    "be use run live work have own speak study play meet deploy host store cost weigh measure earn pay drive rely",
    "depend report belong support require contain manage lead teach build call name base drink eat sleep charge",
    "release",
    "ship start begin end take wear rent stay train practice follow serve stand sit expire handle track log publish",
    "target cover open close happen occur commute smoke attend operate keep become total last close",
)
LIKINGS = vocabulary("like love prefer hate dislike enjoy adore favour favor loathe")
CHOICES = vocabulary(
    "decide choose pick settle opt agree adopt approve reject commit select standardise standardize introduce pilot",
    "try",
    "finalise finalize accept sign enable disable",
)
TURNS = vocabulary(
    "switch migrate move replace drop remove revert merge cancel postpone deprecate abandon ditch rename upgrade",
    "downgrade convert retire roll stop quit swap delay reschedule push change leave transition scrap return bump",
    "shift",
    "discontinue trade reverse undo raise increase lower reduce extend shorten",
)
HAPPENINGS = vocabulary(
    "go buy sell join adopt lose win finish launch complete pass fail break fly visit hire fire die marry graduate",
    "move",
    "travel book order install fix add create write read see get make give send receive arrive crash travel celebrate",
    "paint cook run hike camp swim watch attend start learn find talk perform host set register apply submit cut",
    "plan diagnose bear schedule deliver renew volunteer donate throw hold spend bring feel come",
)
OTHERS = vocabulary(
    "need want think say tell mean guess believe hope wish suppose wonder consider ask hear do let look help seem",
    "sound",
    "worry understand remember forget agree thank appreciate suggest claim mention",
)
VERBS = STATES | LIKINGS | CHOICES | TURNS | HAPPENINGS | OTHERS
IRREGULAR = {
    form: base
    for base, forms in {
        "be": "am is are was were been being 's 're 'm", "have": "has had having 've", "do": "does did done",
        "run": "ran", "meet": "met", "speak": "spoke spoken", "pay": "paid", "drive": "drove driven", "lead": "led",
        "teach": "taught", "build": "built", "eat": "ate eaten", "drink": "drank drunk", "sleep": "slept",
        "begin": "began begun", "take": "took taken", "wear": "wore worn", "keep": "kept", "know": "knew known",
        "become": "became", "choose": "chose chosen", "leave": "left", "go": "went gone", "buy": "bought",
        "sell": "sold", "lose": "lost", "win": "won", "break": "broke broken", "fly": "flew flown", "see": "saw seen",
        "get": "got gotten", "make": "made", "give": "gave given", "send": "sent", "write": "wrote written",
        "read": "read", "find": "found", "hold": "held", "spend": "spent", "bring": "brought", "feel": "felt",
        "come": "came", "bear": "born", "stand": "stood", "sit": "sat", "think": "thought", "say": "said",
        "tell": "told", "mean": "meant", "undo": "undid undone", "swim": "swam", "throw": "threw", "forget": "forgot",
        "understand": "understood", "hear": "heard", "die": "dying",
    }.items()
    for form in forms.split()
}  # fmt: skip
PARTICIPLES = vocabulary(
    "been used run lived worked had met built called named based hosted stored written made done gone moved switched",
    "replaced dropped removed reverted merged cancelled canceled postponed deprecated abandoned ditched renamed",
    "upgraded",
    "downgraded converted retired rolled stopped swapped delayed rescheduled pushed changed left scrapped bumped",
    "shifted",
    "discontinued decided chosen picked settled agreed adopted approved rejected committed selected standardised",
    "standardized introduced planned finalised finalized accepted signed born bought sold joined lost won finished",
    "launched",
    "completed passed failed broken taken diagnosed scheduled delivered booked released shipped deployed set installed",
    "fixed added created given sent managed led owned charged migrated enabled disabled reversed traded transitioned",
    "returned returned tried loved hated preferred liked enjoyed spent held found become started begun read seen known",
    "married engaged employed raised increased lowered reduced extended shortened",
)
BE = frozenset({"am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "be"})
HAVE = frozenset({"have", "has", "had", "'ve"})
PAST = frozenset({"was", "were", "had", "did"})


@lru_cache(maxsize=4096)
def lemma(word: str) -> str:
    """The base form of a verb, in lower case."""
    word = word.casefold().replace("’", "'")
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in VERBS:
        return word
    for base in stripped(word):
        if base in VERBS:
            return base
    return next(iter(stripped(word)), word)


def stripped(word: str) -> tuple[str, ...]:
    """What the base form could be, the likeliest first."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return (word[:-3] + "y",)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word[: -len(ending)]
            undoubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            return stem, stem + "e", undoubled
    if word.endswith("es") and len(word) > 4:
        return word[:-1], word[:-2]
    return (word[:-1],) if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else ()


def is_form(word: str) -> bool:
    """Is this a known verb in its third person, its past, or an auxiliary: what follows a noun?"""
    return word in IRREGULAR or (word not in VERBS and lemma(word) in VERBS)


def is_past(word: str) -> bool:
    if word in {"'s", "'re", "'m", "am", "is", "are", "has", "does", "'ve", "being", "having", "read", "dying"}:
        return False
    return word in IRREGULAR or (word.endswith("ed") and word not in VERBS)
