"""How two phrases compare: their stems, what sort of thing a value is, who a subject is."""

from __future__ import annotations

import re
from functools import lru_cache

from everthread.core.sentences import vocabulary

WORD = re.compile(r"[^\W_]+(?:[.+#&'’-][^\W_]+)*[+#]*")
IDLE = vocabulary(
    "a an the my our his her their your its this that these those i we you he she they it is are was were be been",
    "am do",
    "does did have has had will would can could should to of in on at for with by from into as and or but not no",
    "longer",
    "now still just all any some so very really currently also only more most new old current main primary same own",
    "it's",
    "we're i'm don't any more anymore back instead than then there here up out about over again one use using used",
    "before after",
)
# Words that name a choice among others of their sort. Two of one sort can stand for each other; nothing else follows.
SORTS = {
    "database": "postgres postgresql mysql mariadb sqlite oracle mongodb mongo cassandra dynamodb cockroachdb redshift "
    "snowflake bigquery clickhouse db2 firestore couchdb database",
    "cache": "redis memcached valkey dragonfly varnish cache",
    "queue": "kafka rabbitmq nats sqs pulsar activemq celery queue broker",
    "api": "graphql rest grpc soap openapi trpc",
    "architecture": "microservice microservices monolith modulith serverless services",
    "cloud": "aws azure gcp heroku hetzner digitalocean linode cloudflare vercel netlify render fly.io cloud",
    "ci": "jenkins circleci travis teamcity buildkite gitlab-ci drone ci",
    "orchestration": "kubernetes k8s nomad swarm ecs mesos",
    "frontend": "react vue svelte angular ember solid preact jquery frontend",
    "backend": "django flask fastapi express rails laravel spring nestjs gin phoenix",
    "language": "python java kotlin go golang rust ruby typescript javascript c++ c# "
    "scala elixir swift php perl haskell",
    "editor": "vim neovim emacs vscode pycharm intellij sublime zed cursor editor",
    "tracker": "jira linear trello asana shortcut notion basecamp clickup redmine tracker",
    "chat": "slack teams discord mattermost zulip",
    "auth": "oauth saml jwt ldap auth0 okta keycloak cognito",
    "package": "npm yarn pnpm bun poetry pip pipenv conda uv",
    "marriage": "married single divorced engaged widowed separated",
    "diet": "vegan vegetarian pescatarian omnivore keto low-carb gluten-free paleo flexitarian",
}
SORT_OF = {word: sort for sort, words in SORTS.items() for word in words.split()}
AMOUNT = re.compile(
    r"(?:about |around |roughly |~ ?|only |now )*(?:[$€£¥] ?)?\d[\d.,]*\s?(?P<unit>%|[^\W\d_]+)?", re.IGNORECASE
)
NUMERAL = re.compile(
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|no|\d+)\s+(?P<unit>[^\W\d_]+)", re.IGNORECASE
)
TIME = re.compile(
    r"(?:(?:at|on|in|by|from|until|every|each|to) )?(?:the )?(?:\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\d{1,2}:\d\d|"
    r"\d{4}-\d\d|noon|midnight|"
    r"\d{1,2}(?:st|nd|rd|th)\b|(?:\d{1,2} )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w{0,6}\b|q[1-4]\b|"
    r"(?:next |last |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|tomorrow|today|(?:next|this) (?:week|"
    r"month|year))",
    re.IGNORECASE,
)
PREPOSITION = re.compile(r"(?:in|at|on|to|for|with|as|from|by|into|of|the|an?)\s+", re.IGNORECASE)
KINDS = {
    "day": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekends?\b",
    "date": r"\b\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d{1,2}(?:st|nd|rd|th)?\b|\b\d{4}-\d\d-\d\d\b|"
    r"\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})\b|\b\d{1,2}(?:st|nd|rd|th)\b",
    "clock": r"\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\bnoon\b|\bmidnight\b|\b\d{1,2} o['’]clock\b",
    "money": r"[$€£¥] ?\d[\d.,]*\d|[$€£¥] ?\d|\b\d[\d.,]*\s?(?:euros?|dollars?|pounds?|eur|usd|gbp|bucks|k a year)\b",
    "percent": r"\b\d[\d.,]*\s?(?:%|percent\b)",
    "amount": r"\b(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)[ -]?"
    r"(?P<unit>(?!and\b|or\b|of\b|to\b|in\b|on\b|for\b|is\b|at\b|more\b)[^\W\d_]{1,12})\b",
    "number": r"(?<![\w.,])\d[\d.,]*(?![\w.,]*\d)",
}
KIND = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in KINDS.items()), re.IGNORECASE)
MEASURED = re.compile(
    r"\d|day|week|noon|midnight|(?i:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)\b"
)
PASSING = re.compile(
    r"\b(?:as of|since|starting|last|next|this|effective) (?:the )?\Z|^\W*(?:from|on|by|until) (?:the )?\Z",
    re.IGNORECASE,
)  # a day that only says when
AT_HAND = 1024  # texts, each with what was found in it: some kB, and what one question looks at is a few hundred
MINE = re.compile(r"(?:i|me|myself)\Z", re.IGNORECASE)
OWNED = re.compile(r"(?:my|mine)\s+", re.IGNORECASE)
SHARED = re.compile(r"(?:our|the|this|these|that)\s+", re.IGNORECASE)


@lru_cache(maxsize=AT_HAND)
def stems(text: str) -> frozenset[str]:
    """Its words that carry meaning, without their endings."""
    return frozenset(
        map(stem, (word for word in WORD.findall(text[:500].casefold().replace("’", "'")) if word not in IDLE))
    )


def stem(word: str) -> str:
    word = word.removesuffix("'s")
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 4 and (word.endswith("e") or word[-1] == word[-2]) else word


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """What share of the smaller of two sets of stems the other has; "services" is in "microservices"."""
    if not one or not other:
        return 0.0
    small, large = sorted((one, other), key=len)
    shared = sum(
        word in large or any(len(word) > 4 and (a.endswith(word) or word.endswith(a)) for a in large if len(a) > 4)
        for word in small
    )
    return shared / len(small)


def says(text: str, phrase: str) -> bool:
    """Does a text have all the words of a phrase?"""
    wanted = stems(phrase)
    return bool(wanted) and wanted <= stems(text)


def sort_of(value: str) -> str | None:
    """The one sort of choice that a value names."""
    sorts = {SORT_OF[word] for word in WORD.findall(value.casefold()) if word in SORT_OF}
    return next(iter(sorts)) if len(sorts) == 1 else None


def shape(value: str) -> tuple[str, str]:
    """What sort of thing a value is: a time, an amount of something, a choice, a name, a thing, or just words."""
    if TIME.match(value):
        return "time", ""
    amount = AMOUNT.match(value) or NUMERAL.match(value)
    if amount:
        return "amount", stem((amount["unit"] or "").casefold())
    if sort := sort_of(value):
        return "choice", sort
    bare = PREPOSITION.sub("", value, count=1)
    if bare[:1].isupper() or any(map(str.isdigit, bare.split(" ", 1)[0])) or bare[:1] in "\"“'`":
        return "name", ""
    return ("thing" if bare != value else "words"), ""


@lru_cache(maxsize=AT_HAND)
def kinds(text: str) -> frozenset[str]:
    """The kinds of measurable things a text names: days, dates, times of day, money, amounts by their unit, numbers."""
    if MEASURED.search(text) is None:
        return frozenset()
    found = set()
    for match in KIND.finditer(text[:500]):
        kind = match.lastgroup or ""
        kind = "amount" if kind == "unit" else kind
        if kind in {"day", "date"} and PASSING.search(text[: match.start()][-40:]):
            continue
        unit = stem(match["unit"].casefold()) if kind == "amount" else ""
        found.add(f"amount {unit}" if unit else kind)
    return frozenset(found)


@lru_cache(maxsize=AT_HAND)
def subject_key(subject: str | None, speaker: str) -> str | None:
    """Whom or what a subject is, whoever says it: "I" is the speaker, "my dog" theirs, "our" and "the" are shared."""
    if not subject:
        return None
    plain = " ".join(subject.casefold().replace("’", "'").replace("colour", "color").replace("favour", "favor").split())
    if plain.startswith(("his ", "her ", "their ", "its ", "this ", "that ")):
        return None  # whose, only the turns before can say
    if MINE.match(plain):
        return speaker.casefold()
    if plain in {"we", "us", "our team", "the team", "my team", "our company", "my company", "let's"}:
        return "we"
    if owned := OWNED.match(plain):
        return f"{speaker.casefold()}'s {core(plain[owned.end() :])}"
    shared = SHARED.match(plain)
    return core(plain[shared.end() :] if shared else plain)


def core(noun: str) -> str:
    """A noun phrase without what only says that it is the present one."""
    words = [
        word
        for word in noun.split()
        if word not in {"current", "new", "main", "primary", "own", "present", "latest", "actual"}
    ]
    return " ".join(words) or noun
