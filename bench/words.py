"""What is said in a long conversation: the same on every run, short mostly, sometimes long."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

SEED = 20261116
ANSWERS = 1024

# How many sentences a message has: a share of the messages, the least, the most. A guess at a chat, not taken from
# data: question and answer together make about 275 tokens on average.
ASKED = ((0.60, 1, 1), (0.20, 2, 3), (0.13, 4, 10), (0.06, 15, 40), (0.01, 100, 300))
ANSWERED = ((0.35, 1, 3), (0.40, 4, 12), (0.20, 13, 30), (0.05, 31, 60))


def listed(text: str) -> list[str]:
    return text.split(", ")


PEOPLE = listed(
    "Marek, Aisha, Tomasz, Ingrid, Rafael, Yuki, Priya, Oskar, Leila, Bruno, Hanna, Diego, Noor, Viktor, Maya"
)
PLACES = listed("Lisbon, Gdansk, Leeds, Porto, Tromso, Nantes, Bergen, Turin, Ghent, Malaga, Riga, Split, Cork, Aarhus")
THINGS = listed(
    "harbour lights, supplier contract, night train, heating pump, index rebuild, payment gateway, garden fence, "
    "translation draft, backup rotation, kitchen order, sensor firmware, travel budget, reading list, school form, "
    "staging cluster, winter tyres, release notes, insurance claim, choir rehearsal, parking permit, seed catalogue"
)
QUALITIES = listed("slow, loud, early, fragile, expensive, quiet, late, heavy, uneven, reliable, warm, thin, bright")
MONTHS = listed("January, February, March, April, June, July, August, September, October, November, December")

SENTENCES = (
    "{person} moved the {thing} to {day} {month} because {place} could not deliver before.",
    "We decided to keep the {thing} at {number} euros a month.",
    "The {thing} in {place} is {quality} again, and nobody has looked at it since {month}.",
    "{person} says that ticket {code} is about the {thing}, not about the {other}.",
    "I would rather take the {thing} apart first than guess why it is {quality}.",
    "It took {number} minutes on the first try and {small} on the second.",
    "Let us go with {place} instead of {elsewhere} for the {thing}.",
    "What did {person} say about the {thing} when you met in {place}?",
    "Could you write down why the {thing} was so {quality} last week?",
    "That sounds good to me, and I think the others will see it the same way.",
    "There is nothing wrong with it as far as I can tell from here.",
    "The second {thing} looks {quality} next to the first one, which was {other_quality}.",
    "Please remember that {person} is away until {day} {month}.",
    "One way is to start with the {thing} and to leave the {other} for later.",
    "In most places a {thing} like this lasts about {small} years before it gets {quality}.",
    "You can check it with order number {code}; the answer should be close to {number}.",
)


class Voice:
    """Says one thing after another."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def sentence(self) -> str:
        pick = self.chance.choice
        thing, other = self.chance.sample(THINGS, 2)
        place, elsewhere = self.chance.sample(PLACES, 2)
        return pick(SENTENCES).format(
            person=pick(PEOPLE),
            place=place,
            elsewhere=elsewhere,
            thing=thing,
            other=other,
            quality=pick(QUALITIES),
            other_quality=pick(QUALITIES),
            month=pick(MONTHS),
            day=self.chance.randint(1, 28),
            small=self.chance.randint(2, 29),
            number=self.chance.randint(30, 9_999),
            code=f"{pick('ABCDEFGH')}{pick('KLMNPQRS')}-{self.chance.randint(1_000, 99_999)}",
        )

    def message(self, lengths: tuple[tuple[float, int, int], ...]) -> list[str]:
        _, least, most = self.chance.choices(lengths, [share for share, _, _ in lengths])[0]
        return [self.sentence() for _ in range(self.chance.randint(least, most))]


def messages(seed: int = SEED) -> Iterator[str]:
    """What one person says, for ever."""
    voice = Voice(seed)
    while True:
        yield " ".join(voice.message(ASKED))


@cache
def answers() -> list[list[str]]:
    """What the upstream can answer, each in the pieces it is streamed in: a sentence at a time."""
    voice = Voice(~SEED)
    return [[f"{sentence} " for sentence in voice.message(ANSWERED)] for _ in range(ANSWERS)]
