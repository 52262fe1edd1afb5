"""Wording that does not depend on the topic.

Fields: ``{label}`` the thing, ``{v}`` the new value, ``{old}`` the one it ends, ``{x}`` a value that never holds.
A field with a capital starts a sentence. Every change names its thing or the value it ends.
"""

CHANGES_ANY: tuple[str, ...] = (
    "{Label} is {v} now.",
    "{Label} is no longer {old}. It's {v}.",
    "Correction for your notes: {label} is {v}.",
    "Please strike {old} from your notes, {label} is {v}.",
    "As of this week, {label} is {v}.",
    "You probably still have {old} down as {label}. That's out of date, make it {v}.",
    "{Label} used to be {old}. Today it's {v}.",
    "{Label} has changed, it's {v}.",
    "When I told you {label} was {old}, that was true. It has changed to {v}.",
    "{Label}: out with {old}, in with {v}.",
    "It's {v} these days, as far as {label} is concerned.",
    "{Old} is history. {Label} is {v}.",
    "Not {old} but {v}, that's {label} as of today.",
    "If anyone asks you about {label}, the answer is {v} from today on.",
    "There's news about {label}. This week it changed to {v}.",
    "{Label} went from {old} to {v}.",
    "For a few days now {label} has been {v}.",
    "{V} instead of {old}, that's the new state of {label}.",
    "Time to bring {label} up to date: {v}.",
    "You can cross out {old}. {Label} is {v} as of this morning.",
    "Goodbye {old}, hello {v}! I'm talking about {label}, of course.",
    "What I said about {label} doesn't hold any more. The right answer today is {v}.",
    "Overwrite {label} in your memory, would you? {V} is what counts from here on.",
    "Remember {old}? Gone. {Label} is {v}.",
)

CHANGES_BY_KIND: dict[str, tuple[str, ...]] = {
    "tool": (
        "We ripped out {old} over the weekend and put {v} in its place.",
        "We switched from {old} to {v}.",
        "The team voted, {v} won, and {old} got unplugged yesterday.",
        "{Old} has been retired and {v} does that work.",
        "I signed off on the cutover this afternoon: {v} took over from {old} without a hitch.",
        "Nothing of ours has touched {old} since last week. {V} carries the load.",
        "We threw {old} out and adopted {v}.",
        "The last trace of {old} got deleted yesterday. {V} is in full use.",
        "{V} won me over in the trial, and the rollout finished today. {Old} is switched off.",
    ),
    "place": (
        "We swapped {old} for {v}.",
        "{Old} is out. {Label} is {v}.",
        "{Old} was yesterday, {label} is {v}.",
    ),
    "person": (
        "{Old} handed over to {v}.",
        "{Old} is out of the picture and {v} took over as {label}.",
        "{V} took {old}'s place.",
        "{Old} left, and {label} is {v}.",
        "Say hello to {v}, who follows {old} as {label}.",
        "I don't deal with {old} any more, {v} has stepped in for good.",
    ),
    "time": (
        "{Label} got shifted from {old} to {v}.",
        "We moved {label} to {v}.",
        "They rescheduled, {label} is {v}.",
        "{Label} has been bumped to {v}.",
        "{Old} is off the calendar, {label} is {v}.",
        "The {old} slot is free again for others, we've taken {v}.",
    ),
    "amount": (
        "{Label} has been reset to {v}.",
        "{Label} got revised: {v} instead of {old}.",
        "The {old} figure is dead. {Label} stands at {v}.",
        "{V} was signed off as {label}, effective immediately.",
        "We did the sums again and {label} comes out at {v}, already in force.",
        "{Old} was the number I gave you. It has been redone: {v}.",
    ),
    "habit": (
        "I traded {old} for {v}.",
        "I've had enough of {old}. {V} has taken over.",
        "{V} has pushed {old} out of my life.",
        "Haven't touched {old} in two weeks, {v} took its place.",
        "I gave up {old} and took up {v}.",
        "{Old} and I have parted ways, it's all {v} from here on.",
    ),
    "plan": (
        "We cancelled {old} and booked {v}.",
        "{Old} fell through and we've booked {v}.",
        "The booking confirmation says {v}. {Old} got refunded.",
        "We changed our minds about {old}. {V} is booked and paid for.",
        "{Old} is off, {v} is on.",
    ),
    "vendor": (
        "We ended the contract with {old} and signed with {v}.",
        "{Old} has lost us as a customer, {v} gets the work.",
        "I fired {old} last week. {V} has the contract.",
        "{Old} has sent us its last invoice, the bills come from {v}.",
        "Our account at {old} is closed. {V} looks after us.",
        "The handshake with {v} is done and {old} got its notice.",
    ),
    "state": (),
}

RETURNS: tuple[str, ...] = (
    "The time with {old} is over and {label} is {v} again.",
    "Full circle: {label} is {v} once more.",
    "After the detour via {old}, {label} is {v} again.",
    "{Label} is back to being {v}.",
    "So much for {old}. {Label} is {v} again, like before.",
    "You'll laugh, but {label} is {v} all over again.",
    "{V} is back! {Old} didn't last as {label}.",
    "We undid the last change, {label} is {v} again.",
)

RETURNS_TOOL: tuple[str, ...] = (
    "We reverted to {v} and removed {old}.",
    "We're on {v} again and {old} has been removed.",
    "We went back to {v}, it does what {old} did until yesterday.",
)

CAUSE_SAME: tuple[str, ...] = (
    "{change} The reason: {cause}.",
    "{change} {Cause}, that's why.",
    "{change} It came down to this: {cause}.",
    "{Cause}. Hence this news. {change}",
    "{change} {Cause}, and that settled it.",
    "{change} You see, {cause}.",
    "{Cause}, so something had to be done. {change}",
    "{change} All because {cause}.",
    "{change} That was after {cause}.",
)
CAUSE_BEFORE: tuple[str, ...] = (
    "I need to vent about {label}: {cause}.",
    "{Cause}. That puts {label} in question.",
    "A worry about {label}. You see, {cause}.",
    "Not a great week for {label}, {cause}.",
    "{Cause}, and something has to give with {label}.",
)
BEFORE_LINKS: tuple[str, ...] = (
    "",
    "",
    "",
    "It's about what I complained of. ",
    "That trouble I mentioned had consequences. ",
)
CAUSE_AFTER: tuple[str, ...] = (
    "You may wonder why {label} changed. {Cause}.",
    "I never said what was behind the change to {label}: {cause}.",
    "About the latest change to {label}, it happened because {cause}.",
    "For completeness, the story behind the new state of {label} is that {cause}.",
    "I owe you an explanation for {label}. {Cause}, simple as that.",
)

HYPOTHETICALS: tuple[str, ...] = (
    "If {label} ever had to change, {x} could be fun, but nothing of the sort is planned.",
    "In another life {label} would be {x}.",
    "I sometimes daydream about {x}. Only a daydream, {label} stays as it is.",
    "Suppose {label} were {x}. Would that be silly? Purely a thought experiment.",
)
ASIDES: tuple[str, ...] = (
    "Would {x} raise eyebrows, do you think? Idle curiosity about {label}, nothing has changed here.",
    "Somebody at a party kept going on about {x}. No concern of mine, nothing has changed here.",
)
REJECTED: tuple[str, ...] = (
    "Somebody suggested {x} as {label}. I said no.",
    "{X} came up as an option for {label}, but the answer was no.",
    "We considered {x} as {label} and passed on it.",
    "They tried to talk me into {x} as {label}. It's not going to happen.",
)
MISTAKEN: tuple[str, ...] = (
    "My cousin was convinced that {label} is {x}. It isn't and never was.",
    "Funny, an old acquaintance believed {label} was {x}. Completely made up.",
    "There's a rumour going round that {label} is {x}. Don't believe it.",
)
PLANS: tuple[tuple[str, str], ...] = (
    ("I'm toying with the idea of {x} as {label}. Nothing decided.", "The idea of {x} as {label}? Dropped for good."),
    (
        "I may try {x} as {label} at some point, let's see.",
        "Nothing came of {x} in the end, it never got past the idea.",
    ),
    (
        "There's talk of {x} as {label}. I'll believe it when I see it.",
        "The talk about {x} has died down. It was never put into practice.",
    ),
)
PAST: tuple[str, ...] = (
    "Long before I started talking to you, {label} was {x} for a while.",
    "Ages ago, years before we met, {label} was {x}. Feels like another era.",
)
REMINISCENCES: tuple[str, ...] = (
    "I came across a note from the time when {label} was still {old}. How long ago that seems.",
    "Do you remember how {label} was once {old}? A closed chapter.",
)
PEER_INTROS: tuple[str, ...] = (
    "{name} here, on {main}'s account for a minute. About me, not {main}: {said}",
    "This is {name} typing, {main} is out of the room. It's about me only. {said}",
)

OPENERS: tuple[str, ...] = (
    "Small update.",
    "One for your notes.",
    "Hi again.",
    "Morning!",
    "Before I forget.",
    "Oh, by the way.",
    "Me again.",
    "Right, where were we.",
    "Quick one.",
    "Long day.",
)
CLOSERS: tuple[str, ...] = (
    "Just so you know.",
    "Anyway, back to work.",
    "Thought you should hear it.",
    "More tomorrow.",
    "That's all for today.",
    "No need to do anything.",
)
ACKS: tuple[str, ...] = (
    "Noted.",
    "Got it, thanks.",
    "Understood.",
    "Thanks for telling me.",
    "All right.",
    "Okay, I'll keep that in mind.",
    "Thanks for the update.",
    "Good to know.",
    "Sure.",
    "I see.",
    "Thank you, that helps.",
    "Okay!",
    "Makes sense.",
    "Fair enough.",
)
CHATTER: tuple[tuple[str, str], ...] = (
    ("It has been raining since dawn and the gutters are singing.", "Sounds cosy, as long as you're inside."),
    ("Give me another word for 'stubborn', please.", "Obstinate, headstrong or tenacious."),
    ("I watched a documentary about octopuses last night. Astonishing animals.", "They really are remarkable."),
    ("How many ounces are in a pound?", "Sixteen."),
    ("My phone battery died in the middle of a call again.", "How annoying."),
    ("What's a polite way to end an email to somebody I barely know?", "'Kind regards' always works."),
    ("The neighbour's kid is practising drums. Send help.", "My sympathies."),
    ("I lost at chess to a nine-year-old today.", "It happens to the best."),
    ("Is it 'fewer' or 'less' with countable things?", "'Fewer'."),
    ("The moon was huge tonight.", "A lovely sight, I imagine."),
    ("I finally fixed the squeaky door.", "Well done."),
    ("Tell me a short joke.", "I told my plants a joke. They weren't amused, but they grew on it."),
    ("The lift in the building is broken, eight floors on foot.", "That's a workout."),
    ("Somebody left a whole umbrella collection in the cinema.", "A curious find."),
    ("What year did the Titanic sink?", "In 1912."),
    ("I keep misplacing my glasses.", "Check the top of your head."),
    ("The crossword today was brutal, I got four answers.", "Four is better than none."),
    ("How do you spell 'accommodate'?", "Two c's and two m's: accommodate."),
    ("I saw a fox cross the street in broad daylight.", "What a nice encounter."),
    ("The new season of that detective show is a letdown.", "That's a pity."),
    ("I burnt the rice. Again.", "A lower flame may help."),
    ("Could you suggest a title for a talk about patience?", "How about 'The Long Way Is the Way'?"),
    ("There was a power cut for ten minutes, the whole street went dark.", "I hope nothing was lost."),
    ("My left shoelace snapped on the stairs.", "Luckily you're in one piece."),
    ("What's the plural of 'cactus'?", "Cacti, or cactuses."),
    ("The queue at the post office was out of the door.", "Patience is a virtue."),
    ("I've been humming the same tune since yesterday.", "An earworm, then."),
    ("A hailstorm came out of nowhere.", "I hope the windows held."),
    ("How far away is the sun, roughly?", "About 150 million kilometres."),
    ("I found a twenty in an old coat.", "A gift from your past self."),
    ("The bakery round the corner was closed, what a tragedy.", "There's always another day."),
    ("Could you wish me luck? Big presentation in an hour.", "Good luck!"),
    ("The presentation went fine, thanks for asking.", "Glad to hear it."),
    ("I stepped on a piece of plastic brick. You know the pain.", "A pain shared by many."),
    ("There's a spider in the bath and I'm pretending not to know.", "A wise peace treaty."),
    ("What does 'quixotic' mean?", "Idealistic in an impractical way."),
    ("My hair looks ridiculous after that haircut.", "It'll grow out."),
    ("The sunset was all purple.", "That must have been beautiful."),
    ("Somebody parked across two spaces again.", "Some people."),
    ("I can't decide whether to watch a film or go to bed early.", "Sleep rarely disappoints."),
    ("The kettle broke. First world problems.", "A small tragedy all the same."),
    ("How many strings does a violin have?", "Four."),
    ("I'm reading the news less and feel better for it.", "That's understandable."),
    ("A pigeon walked into the shop as if it owned the place.", "Confidence is everything."),
    ("Do you ever get bored?", "Not with you around."),
    ("The wind took my hat and I ran after it like in a cartoon.", "I hope you caught it."),
    ("I need a synonym for 'very important'.", "Crucial, vital or essential."),
    ("Fog so thick I couldn't see the traffic lights.", "Take care out there."),
    ("The printer only works when nobody is looking.", "Printers are like that."),
    ("I promised myself to write more letters this year.", "A fine resolution."),
    ("What's seventeen times six?", "102."),
    ("The heating rattled like a train all night.", "I hope it quietens down."),
    ("Somebody sang in the stairwell and it was gorgeous.", "A nice surprise."),
    ("The museum was packed with school classes.", "Lively, then."),
    ("I've got hiccups that won't stop.", "Try holding your breath for a moment."),
    ("Is a tomato a fruit, botanically?", "Botanically, yes."),
    ("I dropped a whole jar of pickles on the floor.", "Mind the glass."),
    ("We played cards until midnight and nobody kept score.", "The best kind of game."),
    ("My watch stopped and I was confused all day.", "A new battery may do it."),
    ("I think I'm coming down with a cold.", "Get some rest."),
)

MAIN_NAMES: tuple[str, ...] = (
    "Nadia",
    "Robin",
    "Marek",
    "Leonie",
    "Samir",
    "Joan",
    "Petra",
    "Anders",
    "Keiko",
    "Dolores",
)
PEER_NAMES: tuple[str, ...] = ("Wendell", "Zofia", "Bruno", "Harriet", "Ovid", "Tamsin")
PROJECTS: tuple[str, ...] = (
    "Larkspur",
    "Tidepool",
    "Quillfire",
    "Bramble",
    "Northlight",
    "Copperleaf",
    "Skylark",
    "Ferrous",
    "Moonraker",
    "Saltbox",
)
