"""Words by which a statement says that something changed: itself, or only that it speaks of today."""

from __future__ import annotations

import re

from everthread.core.claim import Turning

# Verbs by their stems: to become another, to end, to take or give up a place.
BECOMING = (
    "switch chang replac swapp trad migrat relocat transferr convert renam upgrad downgrad mov shift push bump rais "
    "lower increas reduc cut adjust amend revis updat extend shorten promot demot transition transform exchang "
    "substitut postpon delay advanc correct overrul supersed succeed alter modif adapt port redirect hand pass assign "
    "elect appoint slipp"
)
ENDING = (
    "dropp ditch abandon scrapp retir cancell cancel remov clos discontinu uninstall delet terminat axe shelv phas "
    "stopp quitt ceas unsubscrib dump eliminat resign unravell expir"
)
AGAIN = (
    r"re(?!ceiv|commend|port|member|quir|lat|lax|leas|nt|quest|spond|sult|view|ject|ach|alis|aliz|cord|fus|peat|gard|"
    r"cogni|flect|search|ly|mind|mark|solv|spect|act|ferr|pair|veal|cover|cycl)[a-z]{2,}(?:ed|wrote|built|did|drew)"
)  # rebooked, repainted, rewrote
CHANGE = re.compile(
    rf"\b(?:(?:{'|'.join((BECOMING + ' ' + ENDING).split())})(?:ed|es|ing|s|d)\b|{AGAIN}\b|"
    r"no longer|no more|not (?:[\w-]+ ){0,4}(?:any ?more|any longer)|n['’]t (?:[\w-]+ ){0,5}(?:any ?more|any longer)|"
    r"instead|rather than|in place of|in favou?r of|(?:took?|taken|takes) (?:over|the place|on)|made way|"
    r"stepp?ed (?:down|in)|"
    r"(?:back|return(?:ed)?) (?:to|on|in|into|at)|went back|rolled back|undid|undone|rewr\w+|rebuil\w+|"
    r"got rid|gave up|given up|giv(?:e|ing) up|let go|put off|called off|brought forward|phased out|ripped out|"
    r"sold|quit|left|became|has become|have become|turn(?:ed|s) (?:into|to)|went (?:up|down|from)|"
    r"(?:is|are|was|were|it['’]s|that['’]s) (?:now )?(?:gone|over|history|out|off the table|obsolete|outdated|dead)|"
    r"(?:good)?bye|farewell|used to|before (?:it )?was|to change|change (?:of|in|to)|"
    r"(?:small|slight|big|a|another) change|"
    r"moved away|correction|scratch|strike|(?<!i )forget (?!to\b|about it)|ignore|disregard|mistake|"
    r"(?:was|were|been) wrong|changed my mind|after all|once (?:more|again)|(?:as|like) before|opted|ended up|"
    r"new\b(?=[^.]{0,20}:))",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    r"(?:^|[\s,;:-])not (?!(?:only|just|merely|simply|yet|sure|bad)\b)[^,;.!?]{1,40}(?:,| but)\s|, (?:and )?not "
    r"(?!(?:only|just|yet|sure|bad)\b)|\b(?:is|are|was)(?:n['’]t| not) [^,;.]{1,40}[,;.] |"
    r"^\W*no (?!idea|problem|worries|doubt|need|way\b)[^,;.]{2,40}, |, \S[^,;.]{1,30} it is\b",
    re.IGNORECASE,
)
TODAY = re.compile(
    r"\b(?:(?<!for )(?<!until )(?<!by )(?<!right )now|nowadays|these days|lately|meanwhile|by now|as of|starting|"
    r"from (?:now|next|today|tomorrow|this)|effective|actually|turns? out|update|again|going forward|i mean|i meant|"
    r"sorry|oops|since (?:yesterday|today|this|last (?:night|week)|monday|tuesday|wednesday|thursday|friday|saturday|"
    r"sunday)|for (?:\w+ )?(?:days|weeks|months) now|in the end|eventually|finally|new|another|news|different|"
    r"other)\b",
    re.IGNORECASE,
)
FIXING = re.compile(
    r"^\W*(?:make (?:that|it)|sorry|i mean|i meant|actually|no\b,?|wait|oops|correction|rather|better|strike|"
    r"scratch|typo|wrong|mixed|not|instead|let['’]s say|my mistake|nope|hm+|(?:that|this|it)(?: was|['’]s|"
    r" is) (?:wrong|not right|incorrect|outdated))\b|, not \S|\bi mean|\bi meant",
    re.IGNORECASE,
)
AS_WELL = re.compile(
    r"\b(?:also|too|as well|another|additionally|besides|both|in addition|on top of|sometimes|"
    r"second)\b",
    re.IGNORECASE,
)


def turning(text: str) -> Turning:
    """Does a statement say by itself that something may no longer be as it was?"""
    return "soft" if TODAY.search(text) or says_change(text) else "none"


def says_change(text: str) -> bool:
    return CHANGE.search(text) is not None or CONTRAST.search(text) is not None
