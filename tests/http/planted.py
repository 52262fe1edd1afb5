# ruff: noqa: E501
"""A hundred things that somebody says in half a year, what to ask for each, and what must then be in the prompt."""

from __future__ import annotations

# what is said | what is asked later | what must be there, literally
TABLE = """
My name is Ingrid Solberg. | What is my name? | Ingrid Solberg
I live in a flat on Kirkegata 14 in Bergen. | What is my address? | Kirkegata 14
My daughter Liv is allergic to hazelnuts. | What can Liv not eat? | allergic to hazelnuts
My son Emil plays the cello in the youth orchestra. | Which instrument does Emil play? | plays the cello
Our dog is called Tasso, a six year old spaniel. | What is our dog's name? | Tasso
I work as a bridge inspector for the county. | What do I do for a living? | bridge inspector
My blood type is AB negative. | Which blood type do I have? | AB negative
The wifi password at the cabin is gullfaks-1979. | What's the wifi password at the cabin? | gullfaks-1979
My dentist is Dr. Ravn, third floor of the Galleri. | Who is my dentist? | Dr. Ravn
The car is a grey Skoda with plate EK 40512. | What is our licence plate? | EK 40512
Our insurance policy number is 88-1203-F. | What is the insurance policy number? | 88-1203-F
My shoe size is 39 and a half. | What shoe size do I wear? | 39 and a half
My sister Torunn moved to Lisbon for her studies. | Where does Torunn study? | Lisbon
The piano tuner charges 950 kroner a visit. | How much does the piano tuner cost? | 950 kroner
The spare key is with Mrs. Haugen on the ground floor. | Who has our spare key? | Mrs. Haugen
My passport expires on 4 May 2029. | When does my passport run out? | 4 May 2029
We bought the cabin for 1.9 million in 2014. | What did we pay for the cabin? | 1.9 million
My favourite tea is lapsang souchong. | Which tea do I like best? | lapsang souchong
I can't stand coriander in anything. | Is there a herb I dislike? | coriander
I prefer the window seat on trains. | Where do I like to sit on a train? | window seat
I like my eggs boiled for exactly seven minutes. | How long should my eggs boil? | seven minutes
For holidays I prefer the mountains over the beach. | Mountains or beach for our holiday? | prefer the mountains
I love the films of Agnès Varda. | Which director's films do I love? | Agnès Varda
My preferred airline is Widerøe. | Which airline do I prefer? | Widerøe
I enjoy crosswords, the cryptic ones, on Sundays. | What puzzles do I do on Sundays? | crosswords
I read mostly detective stories set in Iceland. | What kind of books do I read? | detective stories
Always give distances in kilometres. | How far is it to Oslo? | Always give distances in kilometres
Please never use exclamation marks when you answer me. | Write a greeting for my colleague. | never use exclamation marks
From now on, answer in at most three sentences. | Explain photosynthesis. | at most three sentences
Always mention the bus number when you describe a route. | How do I get to the aquarium? | Always mention the bus number
Whenever you list recipes, leave out pork. | Suggest some dinners. | leave out pork
We decided to paint the hall in olive green. | Which colour did we choose for the hall? | olive green
We decided to go with the firm Nordbygg for the roof. | Who did we choose for the roof? | Nordbygg
I have decided to learn Portuguese this winter. | Which language am I learning? | Portuguese
We chose oak for the kitchen counter. | What wood is the kitchen counter? | oak
We agreed that Emil gets 120 kroner pocket money a week. | How much pocket money does Emil get? | 120 kroner
We settled on the second week of July for the reunion. | When is the family reunion? | second week of July
We cancelled the gym membership because nobody went after February. | Why did we cancel the gym? | nobody went after February
I sold the motorbike because my back could not take it any more. | Why did I sell the motorbike? | my back could not take it
We stopped using the tumble dryer because the power bill doubled. | Why don't we use the tumble dryer? | the power bill doubled
The basement flooded because the drain was full of leaves. | What caused the flood in the basement? | full of leaves
I changed to the early shift so that I can fetch Liv from school. | Why do I work the early shift? | fetch Liv from school
We postponed the wedding trip due to my mother's operation. | Why was the wedding trip postponed? | my mother's operation
Yesterday I ran the half marathon in 1:52:07. | How fast did I run the half marathon? | 1:52:07
Last Friday we adopted a kitten from the shelter and called her Pixel. | What is the kitten's name? | Pixel
Today Emil passed his driving test at the second try. | Did Emil get his licence? | passed his driving test
This morning the boiler engineer found a crack in heat exchanger 2. | What was wrong with the boiler? | heat exchanger 2
We visited the stave church at Urnes and Liv drew it. | Which church did we visit? | Urnes
I gave a talk about corrosion at the Trondheim meeting. | Where did I give a talk? | Trondheim
On Tuesday I lost my blue umbrella on line 3 of the tram. | Where did I lose my umbrella? | line 3
We had dinner with the Okafors and they gave us a clay pot. | What did the Okafors give us? | clay pot
My grandmother turned ninety four on the boat to Flåm. | How old did grandmother turn? | ninety four
I repaired the bicycle lamp with a part from the old radio. | How did I mend the bicycle lamp? | old radio
Liv lost her first tooth during the fire drill. | When did Liv lose her first tooth? | fire drill
My doctor put me on 20 mg of ramipril. | Which blood pressure medicine do I take? | ramipril
The choir rehearses in the old cannery at half past six. | Where does the choir rehearse? | old cannery
Our accountant is called Bjarte Lunde. | Who does our accounts? | Bjarte Lunde
The library book about moss is due back on the 21st. | When is the moss book due? | the 21st
The allotment is plot 57, behind the water tower. | Which allotment plot is ours? | plot 57
My locker combination is 31-8-22. | What is the combination of my locker? | 31-8-22
The tax office's case number is ST-2291. | What is the case number at the tax office? | ST-2291
The recipe for the plum cake needs 340 grams of flour. | How much flour goes into the plum cake? | 340 grams
Our neighbours upstairs are Marek and Danuta. | Who lives upstairs? | Marek and Danuta
My bank card is blocked abroad unless I call 91508800. | Which number do I call to use my card abroad? | 91508800
Emil's teacher is Mr. Abebe and he teaches physics too. | Who is Emil's teacher? | Mr. Abebe
The vaccination for Tasso costs 780 at the clinic in Sandviken. | What does Tasso's vaccination cost? | 780
My laptop's serial number ends in K7QX. | How does my laptop's serial number end? | K7QX
The stage play we want to see is called Peer Gynt on Ice. | Which play do we want to see? | Peer Gynt on Ice
I keep the warranty papers in the green tin above the fridge. | Where are the warranty papers? | green tin
My godfather Sverre builds wooden boats in Rosendal. | Who builds boats in Rosendal? | Sverre
The chimney sweep comes every second Wednesday in September. | When does the chimney sweep come? | second Wednesday
We owe the Lindqvists 2,300 for the ferry tickets. | How much do we owe the Lindqvists? | 2,300
My username at the seed shop is moss_and_fern. | What's my username at the seed shop? | moss_and_fern
I measured the window: 118 by 64 centimetres. | How big is the window I measured? | 118 by 64
Liv's swimming badge is the silver one, since last month. | Which swimming badge does Liv have? | silver
The train to Voss leaves from platform 4. | From which platform does the Voss train leave? | platform 4
The mushroom spot is north of the third bend after Kvamskogen. | Where is our mushroom spot? | Kvamskogen
My physiotherapist told me to do the heel raises 15 times twice a day. | How often should I do the heel raises? | 15 times twice a day
Our energy supplier is Fjordkraft, contract until 2028. | Who supplies our electricity? | Fjordkraft
I inherited my uncle's barometer, made in Dundee in 1911. | Where was the barometer made? | Dundee
The cleaning lady, Rosa, comes on Mondays at ten. | When does Rosa come? | Mondays at ten
My colleague Yusuf takes over the Stord bridge in autumn. | Who takes over the Stord bridge? | Yusuf
The crack in pier 6 of the Stord bridge is 0.4 millimetres wide. | How wide is the crack in pier 6? | 0.4 millimetres
The survey drone is limited to winds of 10 metres per second. | In what wind can the drone still fly? | 10 metres per second
Report 7712 must be signed by Halvorsen. | Who has to sign report 7712? | Halvorsen
The concrete at Askøy was class C45. | Which concrete class was used at Askøy? | C45
My boss wants the winter plan before the 30th of October. | By when does my boss want the winter plan? | 30th of October
We use the Leica total station, the Trimble is only a spare. | Which total station do we use? | Leica
The union meets in room B12 of the town hall. | In which room does the union meet? | B12
My pension fund is called Havgard. | What is my pension fund called? | Havgard
The alarm code for the depot is 5520 followed by hash. | What's the alarm code of the depot? | 5520
Tasso is afraid of thunder and hides under the bathtub. | Where does Tasso hide in a thunderstorm? | under the bathtub
My mother's ring size is 54. | What is my mother's ring size? | 54
The Christmas tree comes from the farm of the Myhres. | Where do we get the Christmas tree? | Myhres
My best friend Agathe is a glass blower in Hadeland. | What does Agathe do? | glass blower
I have a season ticket for Brann, seat 212. | Which seat do I have at Brann's stadium? | seat 212
The sourdough starter is named Gunnar and gets fed on Thursdays. | When is the sourdough fed? | Thursdays
Our boat is moored at berth C9 in the guest harbour. | At which berth is our boat? | C9
The tent's left pole is cracked, I taped it with red tape. | What's wrong with the tent? | left pole is cracked
I promised Liv a trip to the planetarium for her birthday. | What did I promise Liv? | planetarium
"""
PLANTED = [tuple(part.strip() for part in line.split(" | ")) for line in TABLE.strip().splitlines()]
assert len(PLANTED) == 100, len(PLANTED)
assert all(len(line) == 3 and line[2] in line[0] for line in PLANTED)

SMALL_TALK = (
    "The {adjective} {thing} by the {place} kept me busy for {n} minutes, and then it was gone.",
    "Somebody on the {place} was arguing about a {adjective} {thing} again; I counted {n} people listening.",
    "I dreamt of a {adjective} {thing} that spoke {n} words and fell asleep near the {place}.",
    "Is it normal that a {thing} looks so {adjective} after {n} days at the {place}?",
    "Another {adjective} day: {n} messages, one {thing}, and a long queue at the {place}.",
    "They talk on the radio about a {adjective} {thing} found at the {place}, number {n} this year.",
    "Tell me something about a {adjective} {thing}, anything will do, I have {n} minutes at the {place}.",
)
ADJECTIVES = [
    "rusty",
    "quiet",
    "purple",
    "enormous",
    "wobbly",
    "ancient",
    "shiny",
    "crooked",
    "damp",
    "cheerful",
    "hollow",
    "spotted",
    "frozen",
    "noisy",
]
THINGS = [
    "kettle",
    "lantern",
    "bucket",
    "pigeon",
    "statue",
    "ladder",
    "bench",
    "curtain",
    "suitcase",
    "fountain",
    "parcel",
    "broom",
    "clock",
    "cloud",
]
PLACES = [
    "market",
    "station",
    "corner",
    "museum",
    "ferry",
    "bakery",
    "crossing",
    "pavilion",
    "stairs",
    "warehouse",
    "square",
    "quay",
    "garage",
]


def small_talk(number: int) -> str:
    return SMALL_TALK[number % len(SMALL_TALK)].format(
        adjective=ADJECTIVES[number * 5 % len(ADJECTIVES)],
        thing=THINGS[number * 3 // 7 % len(THINGS)],
        place=PLACES[number * 11 % len(PLACES)],
        n=number,
    )
