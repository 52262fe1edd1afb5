"""Small talk with answers, acknowledgements and the small words around a message."""

# One exchange per line: what the user writes, ">>", what the assistant answers.
EXCHANGES = """
Can you give me a word for "happy" that doesn't sound childish? >> "Content" is calm, "delighted" is warmer.
How long do I boil an egg so that the yolk stays soft? >> Six minutes from boiling water, then cold water.
What's the capital of Mongolia again? >> Ulaanbaatar.
Tell me something nice, I need it. >> Somewhere a toddler is seeing snow for the very first time right at this minute.
It's raining sideways here. >> Then it's a good day for soup and staying in.
Could you translate "see you soon" into Italian? >> "A presto."
How many millilitres are in a cup? >> About 240 in the American sense.
I can't decide what to watch. Something short please. >> Try a nature documentary of half an hour, it always ends well.
Write me a birthday wish for a colleague I hardly know.
  >> "Happy birthday! I hope the day brings you cake and no meetings."
What do you call the fear of long words? >> Hippopotomonstrosesquippedaliophobia, which is rather mean.
thanks for being so patient with me >> With pleasure!
Can you explain inflation to my nine-year-old? >> The same coin buys fewer sweets than last year.
What's 17 percent of 260? >> 44.2.
I burnt the rice again. >> It happens. Soak the pot with baking soda, it comes off by itself.
How do I remove a wine stain from a tablecloth? >> Salt first, then cold water, then the wash.
Why is the sky red in the evening? >> Low light travels through more air, and the blue is scattered away.
Could you make this friendlier: "Send me the file." >> "Could you send me the file when you have a minute? Thanks!"
I saw a fox on the pavement, just like that. >> Lovely. They're bolder in town than one would think.
What rhymes with "orange"? >> Almost nothing; "door hinge" comes close if you say it quickly.
How far is the moon? >> About 384,000 kilometres on average.
ok this is embarrassing but is it "its" or "it's" in "its tail" >> "Its tail", without an apostrophe.
Can you suggest three names for a goldfish? >> Admiral, Noodle, and Gregory.
I slept badly, the wind was howling. >> I'm sorry. Be gentle with yourself today.
What can I cook with leeks and potatoes? >> A soup: soften the leeks in butter, add both, simmer, blend.
How do I fold a fitted sheet? >> Tuck one corner into another, lay it flat, fold in thirds, and forgive the result.
Please shorten: "Due to the fact that we were late". >> "Because we were late".
What's the time difference between London and Tokyo? >> Nine hours in winter, eight in summer.
My tomatoes all ripened in the same week. >> Roast them with garlic and freeze the sauce.
How does noise cancelling work? >> It plays the opposite wave, so that both waves cancel out.
Do penguins have knees? >> They do, hidden under the feathers.
Can you write a two-line poem about laundry?
  >> "The socks went in as perfect pairs / and one returned, and no one cares."
How do I politely refuse an invitation?
  >> "Thank you for thinking of me; I can't come, but I hope it's a lovely evening."
i have hiccups since lunch >> Small sips of cold water, slowly, often help.
What is the plural of octopus? >> "Octopuses" is the safe one.
My neighbour's rooster starts at four. >> Earplugs, and perhaps a friendly word over the fence.
What's a good gift for someone who has everything? >> Something that's used up: good oil, a candle, or time together.
How many steps are ten kilometres? >> Around thirteen thousand for most adults.
Could you turn "we have a problem" into something calmer? >> "There's a point we should look at together."
Who invented the zip? >> Several people; Gideon Sundback's version from 1913 is the one in use.
I dropped a whole jar of pickles. >> Oh dear. Newspaper first, then vinegar won't be needed.
What can I do with stale bread? >> Croutons, dumplings, or breadcrumbs for the freezer.
Is a tomato a fruit? >> Botanically yes, in the kitchen no.
How do I get my spreadsheet to show two decimals?
  >> Select the cells, open the number format, and set the decimals there.
Give me a tongue twister. >> "Which witch watched which watch?"
The birds in our street are having a concert. >> That's worth an open window.
How do I start a letter when I don't know the name? >> "Dear Sir or Madam" is formal, "Hello" works nearly everywhere.
What does "per se" mean? >> "In itself".
I need a word for someone who talks a lot, but nicely. >> "Chatty", or "a born storyteller".
Can cats see in the dark? >> In very little light yes, in total darkness no.
What's the difference between weather and climate? >> Weather is the mood of a day, climate the character over decades.
my keyboard has crumbs in it, ideas? >> Turn it over, tap it gently, then use compressed air.
How do you spell "rhythm"? >> R-h-y-t-h-m.
Long queue at the post office, I'm bored. >> Count the coats by colour; the winner gets your next stamp.
Would you rather fly or be invisible? >> Fly. Being overlooked is easy enough.
What's a healthy snack for the afternoon? >> An apple with a handful of nuts.
How do I keep basil alive? >> Water it from below, and cut whole stems rather than leaves.
Can you write a toast for a silver wedding, one line? >> "To twenty-five years of finding each other's glasses."
What was the first computer bug? >> A moth in a relay, taped into a logbook in 1947.
I finally finished my tax papers. >> Congratulations, that deserves a piece of chocolate.
How hot is the surface of the sun? >> About 5,500 degrees Celsius.
What does "TLDR" stand for? >> "Too long, didn't read".
Please list five things for a picnic. >> A blanket, bread, cheese, fruit, and a knife that you'll forget anyway.
My brother got engaged! >> How lovely, congratulations to both!
Is it "less" or "fewer" people? >> "Fewer", since people can be counted.
Which month has the most sunlight in the north? >> June, around the solstice.
Why do onions make me cry? >> Cutting sets free a gas that stings; a cold onion and a sharp knife help.
How do I descale a kettle? >> Boil it with vinegar and water, wait half an hour, rinse twice.
Draft a note to the people upstairs, the washing machine shakes at midnight.
  >> "Could you run it a little earlier? The floor
  shakes at midnight. Many thanks!"
I've had the same song in my head for two days. >> Sing it to the end once, then hum something slow.
What do I do against fruit flies? >> A glass with vinegar and a drop of soap.
What's the longest river in Europe? >> The Volga.
Tell me a fact about bees. >> They dance to tell each other where flowers are.
How do I tie a bow tie? >> Like a shoelace, but around your neck and in front of a mirror.
The heat in this kitchen is unbearable. >> Open a window and keep a bottle of water near.
What's a synonym for "important"? >> "Essential", or "crucial" if it's urgent.
Is it rude to leave a party without saying goodbye? >> Not at a large one, if you thank the hosts the next day.
Can I freeze cheese? >> Hard cheese yes, grated is best.
How many bones does a human have? >> 206 as an adult.
I'm so behind with everything. >> Choose one small thing and finish it; the rest looks smaller afterwards.
Which side of the road do they drive on in Japan? >> On the left.
Can you write a limerick about a goat?
  >> "A goat who had eaten a hat / said: it's dry, but it's better than that / old boot which I tried..."
What's the best way to learn poems by heart? >> Line by line, aloud, and again before sleep.
What's a palindrome? >> A word that reads the same both ways, like "level".
My plant has yellow leaves. >> Mostly too much water. Let the soil dry out between.
We had a power cut for ten minutes. Candles everywhere. >> Sounds cosy, as long as it was only ten minutes.
How do I say "no" to a telephone seller? >> "No, thank you, goodbye", and hang up without feeling bad.
Explain "opportunity cost" in a sentence. >> It's what you give up by choosing something else.
What was the weather like on Mars last year? >> Cold, dusty, and dry, as every year.
Could you check this sentence: "Me and him was there." >> "He and I were there."
I found a four-leaf clover! >> Press it in a thick book, it keeps for years.
What does a notary do? >> A notary witnesses and certifies contracts and signatures.
Give me three adjectives for a lake in the morning. >> Still, silver, expectant.
How long does it take to walk five kilometres? >> About an hour at an easy pace.
Sorry, I wrote that in a hurry. >> No problem at all.
Is the dark spot on a banana bad? >> No, it's only riper and sweeter there.
Why do we yawn? >> Nobody is sure; it may cool the brain.
What do you give a friend after an operation? >> Soup, a puzzle book, and short visits.
"""

ACKS = """
Noted.
Thanks, I'll keep that in mind.
Good to know.
Got it.
Okay, thanks for telling me.
All right, noted.
Understood.
I see, thank you.
Thanks for the information.
I've made a note of it.
Okay!
Duly noted, thanks.
Great, I'll remember.
Alright.
Clear, thank you.
Thank you, that helps.
Perfect, I have that.
Fine, I'll go by that.
"""

ECHOES = """
Got it: {v}.
Okay, {v}. Noted.
Noted, {v}.
Understood, so it's {v}.
{V}, all right.
Thanks. I've noted {v}.
"""

NEUTRAL = """
I see.
That's understandable.
Ha, I can imagine.
Thanks for sharing.
I hear you.
Fair enough.
That sounds familiar.
Okay.
Such is life.
Nice to hear from you.
Alright. Anything I can do?
Let me know if I can help.
Mhm, I understand.
That's how it goes sometimes.
Right.
"""

OPENERS = """
Hi!
Good morning.
Hello again.
Hey.
Evening!
Me again.
Hi, hope all is well.
Quick one.
Sorry for the silence.
Back from lunch.
Okay, next thing.
"""

PRELUDES = """
It has been one of those weeks, so I'm only getting to this now.
I'm sitting on a bench with five minutes to spare and thought that I'd write to you.
Before I forget it again, since my head is like a sieve.
The washing machine is running, the radio is on, and I have a moment.
You're probably the most patient one I talk to, so here goes.
I've had three coffees and talk too much, you've been warned.
Let me tell you something while the water boils.
It's late and I should really be asleep, but one more thing.
There was so much going on that I lost track of what I had told you.
"""

CLOSERS = """
That's all for today.
Anyway, talk later.
Just so you know.
Bye for now!
No need to answer.
Have a good one.
Thanks!
:)
Phew.
"""

LINKS = """
Other question:
And something else:
By the way,
Totally different thing:
While I'm here:
One more thing.
"""
