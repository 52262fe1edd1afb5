"""Forty hand-written reversals that use none of the usual cue words.

None says "no longer", "switched from", "reverted", "not X but Y" or "merged back into"; the change shows only in what
the second statement says. Both are said by the same user, the second one later.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A statement, a later one that ends it, and a question whose answer is in the later one."""

    old: str
    new: str
    question: str
    stale: str
    current: str


PARAPHRASES: tuple[Paraphrase, ...] = (
    Paraphrase(
        "We store the invoices in Oracle.",
        "The Oracle box was carried out of the building this morning. Invoices have landed in PostgreSQL all day.",
        "Where are our invoices stored?",
        "Oracle",
        "PostgreSQL",
    ),
    Paraphrase(
        "Our shop runs as fourteen small services.",
        "We glued the fourteen services of the shop together, and what we deploy is a single application.",
        "How many pieces does the shop consist of when we deploy it?",
        "fourteen small services",
        "a single application",
    ),
    Paraphrase(
        "I take the 7:40 train to work.",
        "The commute got so much nicer since I sold my train pass and bought a bicycle to ride to work.",
        "How do I get to work?",
        "train",
        "bicycle",
    ),
    Paraphrase(
        "Elena is the head of our support team.",
        "We said farewell to Elena with a cake on Friday, and Dmitri has inherited the support team.",
        "Who leads support?",
        "Elena",
        "Dmitri",
    ),
    Paraphrase(
        "I live on Chestnut Row.",
        "Our new neighbours on Baker's Hill came over with bread and salt the day the movers left.",
        "On which street is my home?",
        "Chestnut Row",
        "Baker's Hill",
    ),
    Paraphrase(
        "My daughter wants to study medicine and has enrolled in it.",
        "My daughter walked out of medicine in her second term and is happily enrolled in architecture.",
        "What does my daughter study?",
        "medicine",
        "architecture",
    ),
    Paraphrase(
        "I drink four espressos a day.",
        "Two months without a single espresso! All I pour myself is rooibos.",
        "What hot drink should you offer me?",
        "espresso",
        "rooibos",
    ),
    Paraphrase(
        "The offsite is in Prague, the rooms are paid for.",
        "We got our money back from the hotel in Prague and paid a deposit in Krakow for the offsite.",
        "In which city is the offsite?",
        "Prague",
        "Krakow",
    ),
    Paraphrase(
        "We deploy by hand over SSH.",
        "Nobody has typed a deploy command in weeks, a pipeline pushes every commit out on its own.",
        "How does our code get to production?",
        "by hand",
        "a pipeline",
    ),
    Paraphrase(
        "I'm a vegetarian.",
        "Last night I had my third steak this month, and my vegetarian cookbooks are in the donation box.",
        "Do I eat meat?",
        "vegetarian",
        "steak",
    ),
    Paraphrase(
        "Our dentist is Dr Okafor.",
        "Dr Okafor's practice is a bakery these days. The whole family gets its teeth checked by Dr Lund.",
        "Who looks after my teeth?",
        "Dr Okafor",
        "Dr Lund",
    ),
    Paraphrase(
        "The team sync is on Tuesdays.",
        "Tuesdays are gloriously empty since the team sync found a home on Thursdays.",
        "On what day does the team sync take place?",
        "Tuesdays",
        "Thursdays",
    ),
    Paraphrase(
        "We pay Northwind 300 euros a month for monitoring.",
        "After the haggling, the monthly Northwind invoice for monitoring reads 190 euros.",
        "What does monitoring cost us each month?",
        "300 euros",
        "190 euros",
    ),
    Paraphrase(
        "I run marathons.",
        "My running shoes hang on a nail. These days you'll find me in a kayak every weekend.",
        "What sport do I do?",
        "marathons",
        "kayak",
    ),
    Paraphrase(
        "We have a cat called Biscuit and no other animals.",
        "Biscuit went to live with my aunt for good, and a parrot named Admiral has the living room to himself.",
        "What pet is in our home?",
        "Biscuit",
        "Admiral",
    ),
    Paraphrase(
        "I'm paid by a bank; I do risk models there.",
        "My farewell drinks at the bank were lovely. First week at the hospital done, same models, kinder people.",
        "What kind of place do I work at?",
        "bank",
        "hospital",
    ),
    Paraphrase(
        "Everything in our code base is formatted with tabs.",
        "One giant commit later, every indent in our code base is four spaces.",
        "How do we indent our code?",
        "tabs",
        "four spaces",
    ),
    Paraphrase(
        "My son plays the trumpet in the school band.",
        "The trumpet has been returned to the rental shop. In the school band my son sits behind the drums.",
        "What does my son play?",
        "trumpet",
        "drums",
    ),
    Paraphrase(
        "We get our vegetables from the Hofman farm.",
        "The Hofman farm box ended with the harvest. A crate from Greenacre stands on our porch each week.",
        "Where do our vegetables come from?",
        "Hofman farm",
        "Greenacre",
    ),
    Paraphrase(
        "Our logs are kept for ninety days.",
        "Legal had its way: logs vanish after fourteen days.",
        "How long do we keep logs?",
        "ninety days",
        "fourteen days",
    ),
    Paraphrase(
        "The book I'm writing is a thriller.",
        "I burned the thriller manuscript, every page of it, and am forty pages into a cookbook.",
        "What kind of book am I writing?",
        "thriller",
        "cookbook",
    ),
    Paraphrase(
        "My phone is an iPhone.",
        "The iPhone lies at the bottom of the lake. The Fairphone that succeeded it takes decent pictures.",
        "Which phone do I carry?",
        "iPhone",
        "Fairphone",
    ),
    Paraphrase(
        "We're raising money from Alder Capital; the contract is signed.",
        "Alder Capital tore up the contract. The signature that counts came from Juniper Ventures last night.",
        "Who is investing in us?",
        "Alder Capital",
        "Juniper Ventures",
    ),
    Paraphrase(
        "I get up at six.",
        "Since the baby sleeps through, my alarm rings at half past seven, pure luxury.",
        "When does my day begin?",
        "six",
        "half past seven",
    ),
    Paraphrase(
        "Our API speaks XML.",
        "The last XML endpoint answers with an error page by design. Clients get JSON from us, full stop.",
        "What format does our API return?",
        "XML",
        "JSON",
    ),
    Paraphrase(
        "My mother is in the care home on Elm Square.",
        "We brought my mother to live in our guest room, and her bed on Elm Square has gone to someone else.",
        "Where does my mother live?",
        "Elm Square",
        "guest room",
    ),
    Paraphrase(
        "We hold the wedding in the town hall.",
        "The town hall gave our date away, and the invitations that went out yesterday name the botanical garden.",
        "Where will the wedding be?",
        "town hall",
        "botanical garden",
    ),
    Paraphrase(
        "I'm on the night shift at the plant.",
        "I see daylight again! My name is on the early shift for good.",
        "Which shift do I work?",
        "night shift",
        "early shift",
    ),
    Paraphrase(
        "Our customers pay by the seat.",
        "The price list that went live today charges customers by usage. The column with the seats has disappeared.",
        "What do customers pay by?",
        "by the seat",
        "by usage",
    ),
    Paraphrase(
        "I put my savings into a fixed deposit.",
        "The fixed deposit matured, and every cent of my savings sits in an index fund.",
        "Where is my savings money?",
        "fixed deposit",
        "index fund",
    ),
    Paraphrase(
        "The kitchen walls are yellow.",
        "It took two coats of paint to make the yellow in the kitchen disappear, but the sage green is lovely.",
        "What colour is the kitchen?",
        "yellow",
        "sage green",
    ),
    Paraphrase(
        "Ramon coaches the under-twelves.",
        "Ramon hung up his whistle, and the under-twelves listen to Ottilie.",
        "Who trains the under-twelves?",
        "Ramon",
        "Ottilie",
    ),
    Paraphrase(
        "Production runs in Frankfurt.",
        "We flipped the lights off in Frankfurt at midnight. Every production request is answered in Stockholm.",
        "Where is production located?",
        "Frankfurt",
        "Stockholm",
    ),
    Paraphrase(
        "I take ibuprofen when my migraine strikes.",
        "My doctor took the ibuprofen away from me. A migraine gets triptan, on her orders.",
        "What do I take for a migraine?",
        "ibuprofen",
        "triptan",
    ),
    Paraphrase(
        "Our working language is German.",
        "With the Lisbon crew on board, every meeting and every document of ours is in English. German is for lunch.",
        "In which language do we work?",
        "German",
        "English",
    ),
    Paraphrase(
        "I share the car with my brother.",
        "My brother bought me out of our car, and I ride a scooter around town.",
        "What do I drive?",
        "car",
        "scooter",
    ),
    Paraphrase(
        "The newsletter goes out every week.",
        "Readers begged for mercy and we listened: one newsletter a month lands in their inboxes.",
        "How often do we send the newsletter?",
        "every week",
        "one newsletter a month",
    ),
    Paraphrase(
        "The garden fence is made of wood.",
        "Woodworm ate the garden fence. The one that encloses us today is steel, let them try.",
        "What is our fence made of?",
        "wood",
        "steel",
    ),
    Paraphrase(
        "We use Slack to talk to each other.",
        "The Slack workspace got archived last night, the whole crew hangs out on Matrix.",
        "Where does the team chat?",
        "Slack",
        "Matrix",
    ),
    Paraphrase(
        "Uncle Piet is looking after the house while we travel.",
        "Uncle Piet broke his leg and sent our key on to Mrs Adeyemi, who's watering the plants and sleeping there.",
        "Who is house-sitting for us?",
        "Uncle Piet",
        "Mrs Adeyemi",
    ),
)
