"""Words by which a statement says that something changed: itself, or only that it speaks of today."""

from __future__ import annotations

import re

from everthread.core.claim import Turning

CHANGE = re.compile(
    r"\b(?:no longer|no more|not (?:\w+ ){0,4}(?:any ?more|any longer)|n['’]t (?:[\w-]+ ){0,5}(?:any ?more|any longer)|"
    r"instead|rather than|in place of|took? (?:over|the place)|taken (?:over|the place)|takes over|made way|stepped down|"
    r"back (?:to|on|in|into|at)|went back|reverted|returned to|undid|rolled back|"
    r"(?:switch|chang|replac|swapp?|trad|migrat|relocat|transferr?|convert|renam|upgrad|downgrad|rebook|reschedul|"
    r"postpon|repaint|rewr|rebuil|port|mov|shift|push|bump|rais|lower|increas|reduc|adjust|extend|shorten|promot|"
    r"transition)(?:ed|es|ing|s|ote|itten|t)\b|"
    r"(?:dropp|ditch|abandon|scrapp|retir|cancell?|remov|quit|clos|sold|unravell|uninstall|discontinu)(?:ed)?\b|"
    r"got rid|gave up|given up|is (?:gone|over|history|out)|are (?:gone|over|out)|stopped|left|over with|"
    r"used to|before (?:it )?was|became|has become|turned into|correction|(?:small |of )change\b|to change|change of|"
    r"moved away|correction|scratch|(?<!i )forget (?!to\b|about it)|ignore|mistake|outdated|"
    r"was wrong|changed my mind|after all|once more|new\b(?=[^.]{0,20}:))",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    r"(?:^|[\s,;:-])not (?!(?:only|just|merely|simply|yet|sure|bad|my idea)\b)[^,;.!?]{1,40}(?:,| but)\s|, (?:and )?not "
    r"(?!(?:only|just|yet|sure|bad)\b)|\b(?:is|are|was)(?:n['’]t| not) [^,;.]{1,40}[,;.] |"
    r"^\W*no (?!idea|problem|worries|doubt|need|way\b)[^,;.]{2,40}, |, \S[^,;.]{1,30} it is\b",
    re.IGNORECASE,
)
TODAY = re.compile(
    r"\b(?:(?<!for )(?<!until )(?<!by )(?<!right )now|nowadays|these days|lately|meanwhile|by now|from (?:now|next|today|"
    r"tomorrow)|as of|starting|actually|turns? out|update[ds]?|again|going forward|i mean|i meant|sorry|oops|since "
    r"(?:yesterday|today|this|last|monday|tuesday|wednesday|thursday|friday|saturday|sunday|the)|"
    r"for (?:\w+ )?(?:days|weeks|months) now|in the end|finally|ended up|new|another|news|different|other)\b",
    re.IGNORECASE,
)
FIXING = re.compile(
    r"^\W*(?:make (?:that|it)|sorry|i mean|i meant|actually|no\b,?|wait|oops|correction|rather|better|strike|"
    r"scratch|typo|wrong|mixed|not|instead|let['’]s say|my mistake|nope|hm+|(?:that|this|it)(?: was|['’]s| is) (?:wrong|not right|incorrect|outdated))\b|, not \S|\bi mean|\bi meant",
    re.IGNORECASE,
)
AS_WELL = re.compile(
    r"\b(?:also|too|as well|another|additionally|besides|both|in addition|on top of|sometimes|second)\b", re.IGNORECASE
)


def turning(text: str) -> Turning:
    """Does a statement say by itself that something may no longer be as it was?"""
    return "soft" if TODAY.search(text) or says_change(text) else "none"


def says_change(text: str) -> bool:
    return CHANGE.search(text) is not None or CONTRAST.search(text) is not None
