"""What is said in passing: moods, compliments, encouragement, long-winded talk. It is remembered as it was said, and no
claim is made of it; two moods do not contradict each other."""

from __future__ import annotations

import re

from everthread.core.claim import Draft
from everthread.memory import cues

LONGEST, LONGEST_CHANGE = 14, 20  # words of a statement that no rule took apart; of one that tells of a change
MOOD = re.compile(
    r"\b(?:lov(?:e|ed|ing|ely)|amaz\w+|awesome|excit\w+|thank\w*|grateful|happ(?:y|ier|iness)|proud|inspir\w+|special|"
    r"important|fun|enjoy\w*|passion\w*|thrill\w*|bless\w*|gorgeous|beautiful|great|wonderful|feel\w*|felt|nice|cool|"
    r"sweet|stoked|joy|hop(?:e|ing)|wish\w*|agree\w*|incredible|glad|sorry to hear|remind\w*|memor\w+|motivat\w+|"
    r"encourag\w+|worth|reward\w*|tough|easy|support\w*|journey|cute|can['’]t wait|congrat\w*|totally|so much|"
    r"perfect|fantastic|matters? to me|means? a lot|(?:made|makes?|keeps?|helps?) (?:me|us)|up for|difference)\b",
    re.IGNORECASE,
)
ADDRESSED = re.compile(r"^[A-Z]\w+, |,\s+[A-Z]\w+$")  # somebody's name is not what it is about


def in_passing(draft: Draft, ending: str) -> bool:
    """Is a statement that no rule took apart nothing that could be so today and otherwise tomorrow?"""
    said = ADDRESSED.sub("", draft.quote)
    if ending == "!" or said.startswith("(") or MOOD.search(said):
        return True
    return len(said.split()) > (LONGEST_CHANGE if cues.says_change(said) else LONGEST)
