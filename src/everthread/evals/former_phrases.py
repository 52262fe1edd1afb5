"""What is said in a conversation beside its facts: small talk, other requests, and what an assistant answers."""

from collections.abc import Iterator

Exchange = tuple[str, str]


def pairs(lines: str) -> tuple[Exchange, ...]:
    """A line asks, the next one answers."""
    said = lines.strip().splitlines()
    return tuple(zip(said[::2], said[1::2], strict=True))


OFFICE = pairs("""
Could you make this sentence friendlier: "Send me the file today."
How about: "Could you send me the file by the end of the day? Thank you!"
I need a title for a talk about failure that doesn't sound gloomy.
Perhaps "Seven mistakes I'd make again". It promises stories and a smile.
Help me say no to a meeting without sounding rude.
"Thanks for thinking of me. I don't think I can add much here, but I'll gladly read the notes."
Give me a regular expression for a date like 2024-05-17.
A simple one: \\d{4}-\\d{2}-\\d{2}. It doesn't check that the month exists, though.
Can you turn my notes into bullet points? "Talk to printers, order paper, find out who has the key."
1) Talk to the printers. 2) Order paper. 3) Find out who has the key.
Suggest three names for a spreadsheet that nobody wants to open.
"Numbers of Doom", "Do Not Feed", and "Final_final_really".
Please shorten: "Due to the fact that the weather was bad we were not able to go outside."
"The bad weather kept us inside."
How do I make a table of contents in a long document?
Give the headings their styles first, then insert the table from the references menu. It updates by itself.
How do I politely end a mail to someone I have never met?
"Kind regards" always works. "Best wishes" is a touch warmer.
Give me a short warm-up for a workshop with ten people who don't know each other.
Ask everyone for the most useless skill they have. Two minutes each, and laughter is certain.
What does "idempotent" mean?
Doing it twice has the same effect as doing it once, like pressing the button of a lift.
My printer says "paper jam" and there's no paper in it. What now?
Turn it off, open the rear flap and look for a scrap near the rollers. A sensor flag may also be stuck.
Could you proofread this: "Their going to bring there own chairs."
"They're going to bring their own chairs."
What do I write on a card for a colleague who retires?
"Thank you for your patience, your stories and your biscuits. It'll be far too quiet without you."
How many weeks of notice is usual before one asks for days off?
Two to four is common, more in summer. A look into the handbook won't hurt.
I have to present numbers to people who hate numbers. Any advice?
One number per slide, one comparison from daily life, and a sentence on what to do about it.
What's a good question to ask at the end of a job interview?
"What would have to happen in the first half year for you to say that it went really well?"
Write me a reminder for the people who leave their cups in the sink.
"The sink is not a spa. Please let your cups move on to the dishwasher."
What's the rule for commas before "and"?
Between two full sentences, usually yes. In a list it's a matter of taste, as long as you stay consistent.
I can't concentrate this afternoon. One trick, please.
Write down the very next small step, set a timer for ten minutes, and do only that.
How would you explain recursion to a grandmother?
Like nested dolls: to open the doll you open the doll inside, until there is one that doesn't open.
Draft an out-of-office message with some humour.
"I'm away, learning to do nothing. I will answer once I have failed at it."
Is it bad to charge a laptop all the time?
A little. Most of them can stop at 80 percent, which is kinder to the battery.
How do I write a good bug report?
What you did, what you expected, what you saw instead, and the smallest example that shows it.
How do I sort a list of dictionaries by two keys in one go?
Pass a key function that returns both as a tuple. For descending order of a number, negate it.
Please draft a short note to everyone: the lift is out of order until the weekend, and deliveries go to the side door.
"Dear all, the lift is out of order until the weekend. Deliveries go to the side door. Thank you!"
I have an hour with an important client and no agenda yet. What would you put in it?
Ten minutes for what they hoped for, thirty for the two hardest topics, ten for decisions, ten to spare.
What's the difference between a mutex and a semaphore?
A mutex lets one in and belongs to who locked it. A semaphore counts, and lets a given number in.
Could you tell me in plain words what "technical debt" is? My mother asked and I failed.
Like washing up that you leave for tomorrow: you gain an evening, and each later meal takes longer.
The wifi in the meeting room drops whenever we share a screen. Where would you start looking?
Check the signal and the channel there first, then whether a cable makes it go away. Then look at the access point.
How do I find out which process uses a port on Linux?
"ss -ltnp" lists the listening ones with their process. With sudo you see all of them.
Write a polite second reminder for an unpaid invoice, we sent the first one three weeks ago.
"A brief reminder of our invoice, which we may have sent at a busy time. Could you let us know when to expect payment?"
What makes a good commit message?
A short line that says what the change does, then why it was needed. The how is in the diff.
Someone keeps interrupting in calls, and I don't want to embarrass them. What can I say?
"Let me finish this thought, then I'd love to hear yours." Friendly, and it works.
How big should the font on a slide be, at the very least?
24 points for the back row, and if it doesn't fit there's too much on the slide.
I have 140 survey answers in free text. What is the laziest honest way to sum them up?
Read thirty, make up six labels, label the rest, and report counts along with one quote for each label.
I have to give feedback to someone whose work is good but who is always late. I like him and he knows it. We have \
half an hour, and last time I ended up talking about the weather. How do I begin?
With the good work, in one sentence, and then at once with the point: "I need you here when we start. What gets in \
the way?" After that, stay silent until he answers.
Below is the first paragraph of my report, what do you think? "In the past period many things have been done by many \
people. Some of them were good. Others will be described in chapter two."
It's honest, but nobody does anything in it. Name one result and who reached it, and leave out chapter two.
Our script reads a large file line by line, splits each line, looks something up in a dictionary and writes a line. It \
takes twenty minutes. I've tried threads and it got slower. Where would you look first?
At what it does per line that could be done once: opening, compiling, looking up. Measure with a profiler before \
you change a thing. Threads won't help as long as the work is in the interpreter.
I wrote down what was said in the workshop: more light, fewer emails, a quiet room, a loud room, better chairs, and \
someone drew a duck. Could you group that for me?
Space: more light, a quiet room, a loud room, better chairs. Habits: fewer emails. Wildlife: one duck.
""")

EVERYDAY = pairs("""
Explain compound interest as if I were twelve.
You put away ten coins and get one as a thank-you. Next year the thank-you is for eleven coins. That grows and grows.
How long do I have to boil an egg so that the yolk stays soft?
About six minutes from boiling water, then cold water at once.
Write two lines for a birthday card. She likes birds and bad puns.
"Another year older? That's tweet news. May your day be im-peck-able!"
What's the difference between "affect" and "effect"?
"Affect" is mostly the verb, "effect" mostly the noun: rain affects the mood, and the effect is a long nap.
I slept badly. Any tips that don't involve buying things?
Keep the same hours every day, keep the room cool, and leave screens out of the last half hour.
Summarise the plot of Hamlet in two sentences, I have to sound clever tonight.
A prince is told by a ghost to avenge his father and hesitates for four acts. Then nearly everyone dies at once.
My basil keeps dying on the window sill. What am I doing wrong?
Most likely too much water from above and too little light. Water from below and split the pot in two.
How do I get red wine out of a white tablecloth?
Blot, don't rub. Then salt or sparkling water, and into a cold wash as soon as you can.
I'm giving a toast on the weekend and I hate toasts. Three sentences please.
Some people light up a room. You two light up the street. To both of you, and to many more evenings like this!
Is it "fewer people" or "less people"?
"Fewer people", as you can count them. "Less" goes with things you can't count, such as time or soup.
What should I check before I sign a lease?
The notice period, who pays for repairs, how the deposit is held, and whether the heating is included.
What's a quick stretch for a stiff neck?
Let the ear sink to the shoulder, breathe five times, change sides. Slowly, and nothing should hurt.
I have leeks, rice and one lemon. Dinner?
A lemon and leek risotto: soften the leeks, toast the rice, add stock bit by bit and finish with the zest.
Tell me something surprising about octopuses.
They have three hearts, and two of them stop beating while it swims. That may be why they prefer to crawl.
Is there a polite way to ask for money back that I lent someone?
"Hey, a small reminder of the forty from the other day. Whenever it suits you this week would be great!"
Explain to me why the sky is blue, but short.
Air scatters short waves more than long ones, and so blue light reaches us from everywhere.
I want to read more. How do people find the time?
Ten pages before the first look at a screen. It sounds like little, but makes a dozen books a year.
Which plants survive in a dark hallway?
A cast-iron plant, a ZZ plant or a snake plant. They forgive almost everything.
How do I keep brown sugar from going hard?
Keep it airtight with a slice of apple or a bit of damp clay next to it.
Make a checklist for a weekend of camping, short.
Tent, mats, bags, torch, stove, matches, water, rain jackets, first aid, and something sweet.
Is a tomato a fruit?
Botanically a berry, in the kitchen a vegetable. Both camps are right.
Write a limerick about a snail who's in a hurry.
A snail who was late for a date / set off at a furious rate. / At sunrise he'd gone / half the length of a lawn.
Turn this into the passive, it's for a grammar exercise: "The cat chased the mouse."
"The mouse was chased by the cat."
Is it fine to freeze cooked rice?
Yes, if it cools quickly and goes in within an hour or two. Reheat it once, until steaming.
How do I fold a fitted sheet without crying?
Tuck the corners into each other, lay it down as a square, fold in thirds. Then close the cupboard fast.
Please give me a packing order for a rucksack.
Light and bulky at the bottom, heavy things close to the back, and what you need often on top.
Does bread go stale faster in the fridge?
Yes, oddly. Starch hardens fastest a few degrees above freezing. Freeze it or keep it in a box.
I'd like a crossword clue for the word "ladder".
"Steps taken by those who want to get on (6)".
What's the best way to learn people's names at a party?
Say the name back at once, link it with something you see, and use it when you say goodbye.
How do you pronounce "quinoa"?
KEEN-wah, with the weight on the first part.
I'm cleaning out the attic. How do I decide what stays?
Ask whether you'd buy it again today. Things with a story get one box, and the box gets a lid.
What are the three laws of motion, in a line each?
Things keep going unless pushed. A push changes speed, the heavier the less. Every push is pushed back.
Could you invent a riddle for children of eight?
I have a neck but no head, and I wear a cap. What am I? (A bottle.)
Suggest a stretch goal for a reading group that meets on Zoom.
One poem each by heart by the end of the year. It's terrifying and people will love it.
We have eleven people for dinner and only one oven. What can be made the day before?
A lasagne, a big lentil salad and a chocolate mousse. All three are better on the second day.
I found a wallet on the bench in the park, with a card in it but no phone number. What would you do?
Hand it to the police or the lost property office, and leave a note at the bench.
My knees hurt after gardening, any ideas?
A thick mat, changing position every ten minutes, and a break before it hurts. If it stays, ask a doctor.
What's the story behind leap years?
The earth needs about a quarter of a day more than 365 for its round. Every four years we add the quarters up.
Could you recommend a board game for two that takes less than an hour?
Patchwork is quick and kind, Lost Cities is quick and less kind.
How do I descale a kettle without chemicals?
Half vinegar, half water, boil it and let it stand for an hour. Rinse twice.
The smoke alarm chirps once a minute. There's no smoke, and I'm slowly losing my mind.
That's the battery. Put in a fresh one, and press the test button for a few seconds.
Is there a trick to peeling garlic quickly?
Shake the cloves hard between two bowls, or crush them lightly with the flat of a knife.
I want to surprise a friend who's had a hard month, without spending much. Ideas?
Cook for the freezer, write a real letter, or take over one chore that they hate.
How do I take a decent photo of the moon with a phone?
Rest it on something, tap on the moon, drag the brightness down, and use the timer.
My neighbour upstairs walks around in hard shoes at midnight. He's nice otherwise and has watered my plants twice. I \
don't want a quarrel, I just want to sleep. What would you write on a card?
"Dear neighbour, the house carries every step, and I'm a light sleeper. Could you change into slippers after ten? \
The plants and I thank you."
I tried to bake bread again. The crust was fine, the inside was wet, and it had risen to about half of what the \
picture shows. I left it in for forty minutes. The kitchen was rather cold, if that matters.
It does: cold dough needs twice the time to rise. Wait until it has really doubled, and bake it ten minutes longer.
We want to walk for three days with light bags, sleep in huts, and have one of us who's afraid of heights. No \
climbing, lots of views, cake if possible. What should we look for?
A high valley or a plateau path with huts four hours apart. Look for "easy" on the map, and ask the huts about cake.
There's a box with about two thousand photos from my grandparents, no dates, most without names. I'd like to do \
something with it before everyone who could name the faces is gone. Where would I begin?
With fifty faces and one afternoon with the oldest of them. Record what they say, and write numbers on the backs.
""")

CHAT = pairs("""
What a day. I'm having tea and looking out of the window.
That sounds like the right thing to do. I hope the view is good.
It has been raining since breakfast.
A good day for soup and small tasks, then.
Thanks, that worked nicely!
Glad to hear it!
I had the best sandwich of my life today.
Now I'm curious what was in it.
Sorry for the silence, things were busy here.
No need to be sorry. Good to hear from you.
You were right about the sentence, it sounds better short.
Short sentences rarely let you down.
I think I'm getting a cold.
Get some rest and drink something warm. I hope it passes quickly.
The cake turned out well, by the way.
Wonderful. I take it there are no leftovers.
Someone in the street is practising the same song for the fourth time.
By the tenth time you'll know the words.
Long queue at the post office. I'm writing this standing up.
May the queue be swift and your feet forgiving.
I finally cleared my inbox, all of it.
That deserves a small parade.
The talk went fine, people even laughed in the right places.
Congratulations! That's the hardest part.
I've just seen a double rainbow.
Lucky you. That's worth a pause.
My wisdom for today: never trust a quiet toddler.
Words to live by.
It's far too stuffy in here to think.
Then let's keep things simple today.
Just checking in, nothing special.
Nice of you. I'm here if something comes up.
I watched a documentary about glaciers and didn't move for two hours.
That's how glaciers would have wanted it.
Coffee first, then questions.
A sensible order.
""")

SYNONYMS = (
    ("important", "significant"), ("strange", "peculiar"), ("tired", "weary"), ("clever", "shrewd"), ("lazy", "idle"),
)  # fmt: skip
TRANSLATED = (
    ("thank you very much", "merci beaucoup"), ("see you tomorrow", "à demain"), ("good luck", "bonne chance"),
    ("well done", "bien joué"),
)  # fmt: skip
SUMS = ((18, 250), (7, 1300), (15, 840), (8, 975))

BRIDGES = ("By the way: ", "Oh, one more thing. ", "PS: ", "Unrelated: ", "And before I forget: ", "", "", "Also: ")
TURNS_TO = ("", "", "Anyway. ", "Now for something else. ", "Something else: ", "Today's request: ")
REMARKS = (
    "Busy week here.", "I hope you're having a better day than me.", "Only a quick one today.",
    "I'm typing this on my phone, excuse the typos.", "Hello again.", "Lots going on at the moment.", "Hi!",
)  # fmt: skip

NOTED = (
    "Noted.", "Thanks, I'll keep that in mind.", "Got it.", "All right, good to know.", "Understood.", "Okay, noted.",
    "Thanks for telling me.", "Good to know. Anything I can do with that?", "Clear. Let me know if I can help.",
    "Right, thank you.", "I'll take that into account.", "Thanks for the heads-up.",
)  # fmt: skip
ECHOED = ("Got it, {v}.", "Okay: {v}. Noted.", "Understood, {v} it is.", "Noted ({v}), thanks.")
HEARD = (
    "I see.", "Interesting.", "Thanks for mentioning it.", "Ah, okay.", "Fair enough.", "Okay, I see.", "Right.",
    "Thanks for sharing that.", "All right.", "Understood, just for context then.",
)  # fmt: skip
WILLING = (
    "Sure. Tell me a little more and I'll put something together.", "Happy to help. What matters most to you here?",
    "Of course. Send me the details and I'll start.", "Gladly. Give me a moment to think about it.",
)  # fmt: skip
SORRY = ("I see.", "Oh, okay.", "I understand.", "That explains a few things.", "I see, hm.")
UNSURE = (
    "I'm not certain. I'd check an up-to-date source for that.", "I can't say for sure, better look it up.",
    "Hard to say from here.", "Opinions differ on that. Shall I list what I know?",
)  # fmt: skip

# The cause of a change, told in its turn, in one before, or in one after.
WITH_OPEN = (
    "{change} {Cause}.", "{Cause}. {change}", "{change} Reason: {cause}.", "{change} That's because {cause}.",
    "{change} Mainly because {cause}.", "{change} The thing is, {cause}.",
)  # fmt: skip
WITH_PLAIN = (
    "{Cause}. {change}", "{change} Background: {cause}.", "{change} You see, {cause}.", "{Cause}, you know. {change}",
    "{change} All of this because {cause}.",
)  # fmt: skip
BEFORE = ("{Cause}.", "{Cause}.", "{Cause}.", "You won't believe it, {cause}.", "Today's news is that {cause}.")
AFTER = (
    "In case you wondered about {subject}: {cause}.", "I never told you why {subject} changed: {cause}.",
    "The story behind {subject}, by the way: {cause}.", "You may have wondered why. Well, {cause}.",
    "Forgot to say why: {cause}.",
)  # fmt: skip

NAMES = ("Lena", "Tom", "Priya", "Mark", "Sofia", "Ben", "Nadia", "Jonas", "Aisha", "Victor")


def everyday() -> Iterator[Exchange]:
    """What is asked about other matters at home."""
    yield from EVERYDAY
    for english, french in TRANSLATED:
        yield f'How do I say "{english}" in French?', f'"{french.capitalize()}".'


def office() -> Iterator[Exchange]:
    """And at work."""
    yield from OFFICE
    for word, other in SYNONYMS:
        yield f'Another word for "{word}"?', f'You could say "{other}".'
    for percent, amount in SUMS:
        yield f"What's {percent} percent of {amount}?", f"{percent * amount / 100:g}."
