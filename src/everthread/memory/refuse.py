"""What is not a statement, however much it looks like one: questions, conditions, hearsay, doubt, jokes, tasks."""

from __future__ import annotations

import re

from everthread.core.sentences import vocabulary

EMPTY = vocabulary(
    "everyone everything nothing someone something anyone people who what which here there all both none most"
)
ASKING = re.compile(
    r"\s*(?:(?:so|and|but|ok|okay|hey|hi|well|also)[, ]+)*(?:(?:do|does|did|is|are|was|were|can|could|should|would|"
    r"will|have|has|had|am|shall|may)\s+"
    r"(?:i|we|you|he|she|they|it|the|my|our|your|this|that|there|anyone|anybody)\b|(?:what|why|how|who|whose|which|"
    r"where|when)\s+"
    r"(?:do|does|did|is|are|was|were|can|could|should|would|will|have|has|about|if|much|many|long|often|come)\b|"
    r"what\b(?! (?:i|we|you|changed|matters|counts)\b[^?]*(?::|,| is | was ))|why\b|how\b|who\b|which\b)",
    re.IGNORECASE,
)
SUPPOSING = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|assuming|imagine|pretend|hypothetically|what if|let['’]s say|say we|"
    r"^in case|^whenever|wish|as if|"
    r"picture (?:this|yourself|it)|in theory|theoretically|in another life|if only|had (?:i|we|they|he|"
    r"she)\b(?= \w+)(?=[^.]*,)|"
    r"were (?:i|we|they) to|for the sake of argument|just an idea|thinking out loud|one day|some ?day|"
    r"daydream\w*|fantas\w+|"
    r"for example|e\.g\.|for instance|once upon|should we|would|could|might|otherwise)\b",
    re.IGNORECASE,
)
REPORTED = re.compile(
    r"\b(?:said|says|saying|told|tells|thinks|claims|claimed|claiming|believes|swears?|reckons|recommends|"
    r"recommended|advised us|suggested|suggests|insists|insisted|argued|argues|"
    r"mentioned|wrote that|writes that|heard|read that|according to|apparently|allegedly|supposedly|rumou?r|"
    r"the (?:docs|article|paper|report|book) says?)\b",
    re.IGNORECASE,
)
DOUBTED = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|i think|i guess|i believe|i suppose|i assume|i bet|not sure|unsure|"
    r"no idea|i hope|hopefully|"
    r"seems?|sounds like|looks like|wonder(?:ing)?|consider(?:ing|ed)?|thinking (?:about|of)|thought about|"
    r"debating|toying with|on the fence|undecided|not decided|nothing decided|"
    r"tempted|leaning|"
    r"i['’]d (?:love|like)|would (?:love|like)|dream(?:t|ed)?)\b",
    re.IGNORECASE,
)
JOKED = re.compile(
    r"\b(?:yeah,? right|oh,? (?:great|sure|joy|wonderful|perfect)|as if|sure,? (?:because|and)|of course,? because|"
    r"just kidding|kidding|jk|lol|"
    r"haha+|not!|said no one|totally not|what could (?:possibly )?go wrong)\b|(?:^|\s)/s\b|🙄|😂|🤣",
    re.IGNORECASE,
)
TASK = re.compile(
    r"\s*(?:please\s+|now\s+|can you\s+|could you\s+)?(?:write|draft|translate|summari[sz]e|explain|fix|create|"
    r"generate|rewrite|rephrase|proofread|"
    r"correct|convert|describe|list|compare|analy[sz]e|review|refactor|implement|compose|complete|continue|edit|"
    r"improve|show|give|tell|help|"
    r"let me know|imagine|act as|roleplay|play|pretend)\b",
    re.IGNORECASE,
)
MATERIAL = re.compile(
    r"\s*(?:(?:please|can you|could you|would you|hi|hello|hey)[, ]+)*(?:translate|summari[sz]e|proofread|rewrite|"
    r"rephrase|paraphrase|correct|edit|"
    r"improve|shorten|analy[sz]e|review|act as|you are|roleplay|pretend|write|draft|compose|classify|extract)\b"
    r"[^\n]{0,160}(?::\s*(?:\n|[\"“'])|\n\s*\n|:\s+\S|\b(?:following|below)\b)",
    re.IGNORECASE,
)
PERSONAL = re.compile(r"^\s*(?:i|we|he|she|they|my|our)\b(?!['’]d)", re.IGNORECASE)
OPINION = re.compile(
    r"(?:an? )?(?:(?:so|very|really|pretty|quite|such|just|super|always|a bit|too|also|truly) )*(?:awesome|cute|"
    r"wild|big|huge|real|one|great|amazing|"
    r"incredible|good|"
    r"nice|cool|fun|fine|ok|okay|wonderful|beautiful|perfect|important|happy|proud|excited|ready|done|sure|true|"
    r"right|wrong|"
    r"hard|tough|easy|crazy|bad|terrible|horrible|funny|lovely|fantastic|inspiring|everything|worth|tired|busy|glad|"
    r"sorry|"
    r"sad|grateful|lucky|better|best|worse|much|well)\b",
    re.IGNORECASE,
)
OWN = re.compile(r"\b(?:what |as |like )?i (?:just |already |once )?(?:said|told you|mentioned|wrote)\b", re.IGNORECASE)
QUOTED = re.compile(r"[\"“][^\"”]{1,400}[\"”]")
IDLE = re.compile(
    r"(?:an?|some|no|the|my|our)?\s*(?:\w+\s+)?(?:question|problem|issue|idea|meeting|look|chat|talk|doubt|feeling|"
    r"moment|minute|second|break|clue|"
    r"point|choice|chance|good|great|nice|blast|fun|time|lot|bit|few|concern|worry|trouble|hard|hunch|way|guess|"
    r"plan|favou?r|walk|nap|shower|"
    r"picture|photo|pic|step|care|part|place|role|advantage|note|deep)s?\b",
    re.IGNORECASE,
)


def is_question(text: str) -> bool:
    return text.rstrip("\"'”’)» ").endswith(("?", "？", "?!")) or ASKING.match(text) is not None


def is_hearsay(text: str) -> bool:
    """Is it what others say, or mostly between quotation marks?"""
    quoted = sum(map(len, QUOTED.findall(text)))
    return REPORTED.search(OWN.sub("", text)) is not None or quoted * 2 > len(text)


def declines(text: str) -> bool:
    """Is a sentence as a whole no statement of its speaker's?"""
    return (
        is_question(text)
        or is_hearsay(text)
        or SUPPOSING.search(text) is not None
        or JOKED.search(text) is not None
        or TASK.match(text) is not None
    )


def is_another(clause: str) -> bool:
    """Is a clause empty, in doubt, or does it begin with somebody else's words?"""
    return not clause or clause[0] in "\"“'‘«" or DOUBTED.search(clause) is not None


def is_material(text: str) -> bool:
    """Does a message bring a text to work on, which is not its sender speaking?"""
    return MATERIAL.match(text) is not None


def is_personal(text: str) -> bool:
    """A habit of the speaker's ("I always ..."), not a wish."""
    return PERSONAL.match(text) is not None


def is_opinion(value: str) -> bool:
    return OPINION.match(value) is not None


def is_idle(value: str) -> bool:
    return IDLE.match(value) is not None


def is_quoted(text: str, at: int) -> bool:
    """Does the line begin with the sign of a quotation?"""
    line = text[text.rfind("\n", max(0, at - 500), at) + 1 : at + 1].lstrip()
    return line.startswith((">", "|"))
