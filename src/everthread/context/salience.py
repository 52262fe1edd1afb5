"""What a sentence is worth to somebody who reads it a year later, by rules."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from everthread.core.marks import Marks, marks
from everthread.core.sentences import vocabulary

# What a sentence says, what that is worth, and the cues of it: words, and signs of scripts without spaces.
Cue = tuple[float, str, str]
CUES: Mapping[str, Cue] = {
    "instruction": (
        2.5,
        r"from now on|in future|going forward|(?:i|we) prefer|(?:i|we)(?:'d| would) rather|call me|"
        r"remember (?:that|to)|must(?:n't| not)|bitte (?:immer|nie|nicht|nur)|ab jetzt|bevorzuge|désormais|je préfère|"
        r"(?:please|you (?:should|must)|should|and|but) "
        r"(?:always|never|don't|do not|use|keep|avoid|stop|answer|reply)|il faut",
        r"^(?:always|never|do not|immer|niemals|toujours|ne jamais)\b|总是|从不|以后|不要|必须|喜欢",
    ),
    "decision": (
        2.5,
        r"(?:we|i|they)(?: have|'ve)? (?:decided|chose|chosen|agreed|settled|picked|opted|approved|committed)|"
        r"decisions?|let's (?:go|use|keep|switch|stick)|go(?:ing)? with|deadline|"
        r"entschieden|beschlossen|wir nehmen|décidé|choisi|on va",
        "决定|选择|计划|采用",
    ),
    "reversal": (
        2.5,
        r"no longer|not any ?more|instead of|revert(?:ed|ing)?|switch(?:ed|ing)? (?:from|to|back)|rolled back|"
        r"chang(?:ed|ing) (?:my|our|from|to)|replac(?:ed|ing)|migrat(?:ed|ing)|moved (?:from|to|back)|used to|"
        r"cancell?ed|correction|merged back|rather than|nicht mehr|stattdessen|statt|gewechselt|doch nicht|"
        r"umgestellt|ne plus|n'\w+ plus|au lieu|finalement",
        "不再|改为|换成|取消|而不是",
    ),
    "cause": (
        1.0,
        r"because|due to|so that|since|therefore|that's why|reason|caused?|in order to|as a result|"
        r"weil|wegen|damit|deshalb|daher|parce que|car|à cause|afin|donc",
        "因为|由于|所以|原因|为了",
    ),
    "plan": (
        0.5,
        r"(?:i|we)(?:'ll| will)|going to|plan(?:s|ning)?|want to|need to|always|never|usually|every \w+|immer|nie|"
        r"jamais|toujours",
        "打算|想要|需要|每",
    ),
    "profile": (
        1.0,
        r"my name|i(?:'m| am) (?:an?|the|from|allergic|vegan|vegetarian|married)|(?:live|lives|lived|based|born|"
        r"grew up) in|(?:work|works|worked) (?:at|as|for|on|in)|allergic|birthday|diagnosed|"
        r"my (?:wife|husband|partner|son|daughter|kids?|mom|mum|dad|mother|father|brother|sister|dog|cat|boss|"
        r"team|job)|ich (?:heiße|wohne|arbeite|bin)|je (?:m'appelle|suis|travaille|vis)",
        "我叫|我是|我住|过敏|生日",
    ),
    "self": (
        0.5,
        r"i|i'm|i've|i'd|my|mine|we|we're|we've|our|us|me|ich|wir|mein\w{0,2}|unser\w{0,2}|je|j'|nous|mon|ma|mes|notre|nos",
        "我",
    ),
    "time": (
        0.8,
        r"today|yesterday|tomorrow|tonight|(?:last|next|this) (?:\w+ )?(?:week|month|year|night|weekend|summer|winter|"
        r"spring|fall|autumn|mon|tues|wednes|thurs|fri|satur|sun)\w*|(?:mon|tues|wednes|thurs|fri|satur|sun)day|ago|"
        r"january|february|march|april|june|july|august|september|october|november|december|"
        r"heute|gestern|morgen|montag|dienstag|mittwoch|donnerstag|freitag|demain|hier|aujourd'hui|"
        r"lundi|mardi|mercredi|jeudi|vendredi",
        "今天|昨天|明天|上周|下周|星期|月",
    ),
    "unit": (
        0.7,
        r"(?<![\d.,])\d[\d.,]{0,12}(?:k|m|gb|mb|kb|tb|ms|s|h|hrs?|hours?|min|minutes?|days?|weeks?|months?|years?|km|kg|%|usd|eur|euros?|"
        r"dollars?|people|users|requests|tokens)|[$€£¥] ?\d",
        r"\d(?:元|个|年|天|小时|分钟|公斤)",
    ),
}
NO_WORTH = 0.0
STOP = vocabulary(
    "a about after again all also am an and any are as at be been before being but by can can't could did didn't do",
    "does doesn't doing don't down for from get gets getting go going got had has have having he he's her here hers",
    "him his how i i'd i'll i'm i've if in into is isn't it it's its just let let's like ll made make makes many",
    "maybe me more most much my no not now of off on one only or other our out over own re really right said same",
    "say she so some such than that that's the their them then there there's these they they're thing things this",
    "those through to too up us ve very want was wasn't way we we'll we're we've well were what what's when where",
    "which while who why will with won't would yes you you'd you'll you're you've your der die das und oder ist",
    "sind ein eine einen ich du er sie es wir ihr nicht mit auf für von zu im den dem le la les un une des et ou",
    "est sont je tu il elle nous vous ils de en au aux ne pas que qui",
)
CHATTER = vocabulary(
    "absolutely amazing anyway awesome awww beautiful bye care chat cheers congrats congratulations cool day",
    "definitely enjoy exactly excited fantastic feel feeling fun glad good goodbye great guess haha happy hear",
    "hello help helpful hey hi hope how's inspiring interesting keep know lol look looking looks lot love lovely",
    "luck mean morning nice night ok okay oh perfect please pleasure problem see seems share sharing sorry sound",
    "sounds super sure take talk thank thanks think thx time true ugh understand welcome wish wonderful wow ya yay",
    "yeah yep yup danke hallo gut gern gerne tschüss morgen guten tag merci bonjour salut bien",
)
BOILERPLATE = re.compile(
    r"let me know|happy to help|feel free|hope (?:this|that) helps|anything else|great question|you're welcome|"
    r"here(?:'s| is| are) (?:a|an|the|some)\b.{0,60}:$|is there anything",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"(?:please|can you|could you|would you|will you|remind me|i need you to|i'd like you to|help me|todo|"
    r"bitte|kannst du|können sie|erinnere mich|peux-tu|pouvez-vous|rappelle-moi)\b|请|帮我|提醒我",
    re.IGNORECASE,
)
POSTPONED = re.compile(
    r"\b(?:remind me|todo|to do|don't (?:let me )?forget|later|follow up|when you have time|some ?day|next time|"
    r"erinnere mich|später|rappelle-moi|plus tard)\b|提醒我|以后|稍后",
    re.IGNORECASE,
)
DEFERRED = re.compile(
    r"\b(?:i(?:'ll| will) (?:look into|get back|check|find out|let you know)|i(?: don't| do not) know|not sure|"
    r"(?:can't|cannot|couldn't|unable to) (?:\w+ )?(?:yet|now|access|find|tell|answer|do)|not yet|need more|"
    r"weiß (?:ich )?nicht|noch nicht|je ne sais pas|pas encore)\b|不知道|还没有",
    re.IGNORECASE,
)
DISMISSED = re.compile(
    r"\s*(?:never ?mind|forget (?:it|that)|scratch that|vergiss es|laisse tomber|算了)\b", re.IGNORECASE
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NEGATION = re.compile(r"\b(?:not|no|never|n't|nicht|kein\w{0,2}|pas|jamais)\b|n['’]t\b|不|没", re.IGNORECASE)
PATTERNS = {
    kind: (worth, re.compile(rf"(?<!\w)(?:{words})(?![\w'’])|{signs}", re.IGNORECASE))
    for kind, (worth, words, signs) in CUES.items()
}


class Salience(msgspec.Struct, frozen=True):
    worth: float
    marks: Marks
    words: frozenset[str]
    negated: bool

    @property
    def says_something(self) -> bool:
        """Is there more to it than small talk?"""
        return bool(self.words - CHATTER or self.marks.numbers or self.marks.identifiers)

    def repeats(self, other: Salience) -> bool:
        """Do both say the same: the same marks, and nearly the same words?"""
        if self.marks != other.marks or self.negated != other.negated:
            return False
        return len(self.words & other.words) >= 0.8 * len(self.words | other.words)


def salience(text: str, *, code: bool = False) -> Salience:
    """What a sentence is worth by itself, whoever said it."""
    found = marks(text)
    words = frozenset(word for word in WORD.findall(text.replace("’", "'").casefold()) if word not in STOP)
    return Salience(worth(text, found, words) * (0.2 if code else 1), found, words, bool(NEGATION.search(text)))


def worth(text: str, found: Marks, words: frozenset[str]) -> float:
    content = len(words - CHATTER)
    marked = min(len(found.numbers), 2) * 0.7 + min(len(found.identifiers), 3) * 0.8 + min(len(found.names), 3) * 0.6
    if BOILERPLATE.search(text) or (not marked and content < 2):
        return NO_WORTH
    said = sum(worth for worth, cue in PATTERNS.values() if cue.search(text))
    if not said and not marked:
        return 0.1 * content if content > 3 else NO_WORTH
    value = said + marked + min(content, 15) * 0.25
    return value * 0.3 if asks(text) and not PATTERNS["instruction"][1].search(text) else value


def asks(text: str) -> bool:
    """Is this a question or a request?"""
    return text.rstrip("\"'”’)» ").endswith(("?", "？")) or ASKS.match(text) is not None


def postponed(request: str) -> bool:
    """Is this asked for later, whatever is answered now?"""
    return POSTPONED.search(request) is not None


def deferred(answer: str) -> bool:
    """Does an answer leave the question open, or do nothing but ask back?"""
    asks_back = (
        len(answer) < 200 and answer.rstrip().endswith(("?", "？")) and len(re.findall(r"[.!?。！？]", answer)) == 1
    )
    return DEFERRED.search(answer[:2000]) is not None or asks_back


def dismissed(text: str) -> bool:
    """Does somebody say that a question is settled?"""
    return DISMISSED.match(text) is not None
