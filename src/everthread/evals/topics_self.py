"""Wording of the topics of a single person: health, money, travel, hobbies, study (tags: see topics.py)."""

SELF = """
== dentist | me | any | teeth | dentist
V Dr. Halvorsen; Dr. Okafor; Dr. Pellegrini; Dr. Wren; Dr. Sorensen; Dr. Achterberg; Dr. Lakshmi
F My dentist is {v}.
F I go to {v} for my teeth, twice a year, trembling.
F dentist = {v}, in case i ask for reminders
F I'm a coward when it comes to teeth, so I want you to nag me. My dentist is {v} and I should call there every spring.
C I have a new dentist, {v}.
C I changed dentists, from {old} to {v}.
C {old} isn't my dentist any longer, I go to {v} now.
C I finally had my file sent from {old} to {v}, so that's my dentist from here on.
S My dentist, {v}, says that I grind my teeth at night. What do people do about it?
  >> Mostly a splint made to measure, and less screen time before sleep.
S Can you write a mail to my dentist {v}? I need another slot for the check-up, mornings are best.
  >> "Dear team, could I have another slot for my check-up, preferably in the morning? Thank you."
S I see {v} for my teeth and the waiting room has those awful fish posters.
S {v} is my dentist and also the only person i'm truly afraid of
R I'm back with {v} for my teeth.
R My dentist is {v} again.
Q Who is my dentist?
Q Which dentist do I go to?
Q Who looks after my teeth?
N Who is {name}'s dentist?
N Which dentist does {name} go to?
B a filling fell out for the second time
B the practice only takes private patients these days
B I had to wait two hours with an appointment
B the stairs there are too much for my knee
W Why I wanted another dentist: {c}.
P Tooth story. {C}.
D My partner goes to {o} and comes home smiling, weird man.
D {o} has an advert on the bus, with a beaver.
D A colleague gave me the number of {o}, just in case. It sits in a drawer.
D Is an electric toothbrush really better? >> A little, mostly because it keeps you brushing for two minutes.
D As a child I was sent to {o}, a giant with cold hands.
D My wisdom tooth hurts when it rains. Is that even possible?
  >> Pressure changes can be felt in teeth, so yes; but show it to someone.
D Had a nightmare in which {past} and a drill chased me, long after my last visit there.

== medicine | me | any | blood | blood pressure tablet
V ramipril; amlodipine; candesartan; bisoprolol; losartan; enalapril; telmisartan
F I take {v} for my blood pressure.
F My blood pressure tablet is {v}, one each morning.
F for the health notes: {v}, one tablet in the morning, it's for my blood pressure
F Some medical background, so that you don't recommend liquorice to me. I have high blood pressure and take {v} against
  it.
C My blood pressure tablets were changed from {old} to {v}.
C I don't take {old} any more, it's {v} now for my blood pressure.
C My doctor switched me to {v} for the blood pressure.
C New tablet for my blood pressure, {v}. The {old} box goes back to the pharmacy.
S I take {v} for my blood pressure, one in the morning. May I have grapefruit with tablets, generally?
  >> Grapefruit interferes with several drugs, so please ask your pharmacist about yours.
S I forgot my {v} this morning, the blood pressure will be fun. What do people do to remember tablets?
  >> A weekly box beside the toothbrush helps most.
S the pharmacist asked what i take for blood pressure, i said {v}, she nodded
S My blood pressure is 128 to 82 with one {v} in the morning, and the doctor is happy.
R I'm on {v} again for my blood pressure.
R We went back to {v} for my blood pressure, the doctor and I.
Q What do I take for my blood pressure?
Q Which blood pressure tablet do I take?
Q The pharmacist asks for my blood pressure tablet, what's the name?
N What does {name} take for blood pressure?
N Which blood pressure tablet does {name} take?
B I had a dry cough for weeks
B my ankles swelled up every evening
B the tablets were out of stock in the whole district
B my kidney values looked bad
W The doctor explained why my tablet had to be another one: {c}.
P Complaints from a patient. {C}.
D My father takes {o}, and he is eighty-four.
D I read the leaflet of {o} at my mother's kitchen table, horror story.
D Is it true that beetroot lowers blood pressure? >> A little, in some people. It doesn't replace tablets.
D My blood pressure meter says "error" each time I'm in a hurry.
D Someone in the waiting room said {o} made him sleepy.
D I have to go for a blood test some time soon, on an empty stomach.
D I still had half a pack of {past} in the bathroom, left over, the pharmacy took it.

== diet | me | any | eating | way of eating
V vegetarian; vegan; low-carb; gluten-free; pescatarian; Mediterranean; paleo; keto
F My diet is {v}, please keep that in mind for recipes.
F When you suggest meals for me: I eat {v}.
F i eat {v}, so no jokes about my lunch
F I cook for myself most days and will ask for ideas. What you need to know is that my diet is {v}, without exceptions.
C I've changed my diet from {old} to {v}.
C I don't eat {old} any more, I eat {v} now.
C New way of eating for me, it's {v} as of this week.
C Okay, {old} is history. I eat {v} now, and the fridge looks very different.
S My diet is {v}, can you name a good book for somebody who can't cook?
  >> Any book with five ingredients per dish is a fine start.
S I'm invited to a wedding. How do I tell the hosts that I eat {v}?
  >> "Just a note that I eat {v}; a side dish is perfectly enough for me."
S i eat {v} and my aunt keeps saying that's no real food, help
  >> Smile, bring your own dish, and let her taste it.
S The canteen has one {v} dish a day, and since that's my diet, I don't have to choose. Relaxing, actually.
R I eat {v} again.
R Back to my {v} diet, it simply suits me.
Q What's my diet called, so that the hosts know?
Q What kind of diet do I follow?
Q How do I eat, in one word for the wedding form?
N What kind of diet does {name} follow?
N What's {name}'s diet called?
B my stomach ached after every dinner
B my doctor didn't like my iron values
B the cooking took up half of my evening
B I was tired all day long
W You may wonder why I eat differently. {C}.
P Food and me, a difficult chapter. {C}.
D A colleague eats {o} and talks about nothing else.
D There's a {o} place near the station, always empty.
D I saw a documentary about {o} food. Well filmed, that's all.
D If I ever won a month of free time, I'd try {o}, for fun. It won't happen.
D Are chickpeas better from the tin or dried? >> Dried taste better, tins are faster.
D My fridge makes a sound like a whale.
D A cupboard full of {past} snacks, from my days on that diet, looks at me.

== bedtime | me | any | sleep | bedtime
V 9:40 pm; 10:10 pm; 10:25 pm; 10:50 pm; 11:05 pm; 11:20 pm; 11:55 pm
F My bedtime is {v}.
F I go to bed at {v}, every night, like a monk.
F bedtime for me: {v}, phone stays in the kitchen
F I want to work on my sleep with you. What I can tell you so far is that my bedtime is {v}, weekends too.
C I've moved my bedtime from {old} to {v}.
C My bedtime isn't {old} any more, it's {v} now.
C I changed my bedtime to {v}.
C New rule for my sleep, lights out at {v} instead of {old}.
S My bedtime is {v}. When should I have the last coffee? >> Eight hours earlier is a safe rule.
S I'm in bed at {v} every night, and then I stare at the ceiling and think about taxes.
S i switch off the light at {v} each night, does reading on paper before count as screen time lol
  >> Paper is fine, no worries.
S Set me a goal text for my sleep diary, please. Bedtime {v}, no phone, window open.
  >> "In bed on time, phone outside, fresh air inside."
R My bedtime is {v} again.
R I'm back to a bedtime of {v}.
Q What's my bedtime?
Q At what time do I go to bed?
Q When do I switch off the light at night?
N What's {name}'s bedtime?
N At what time does {name} go to bed?
B I yawned through every afternoon
B the people upstairs only stop dancing late
B my sleep tracker told me off
B my first train leaves at another time
W I owe you the reason for my other bedtime: {c}.
P Sleep report. {C}.
D My teenage nephew goes to bed at {o}, allegedly.
D Some actor says that {o} is his bedtime and that he owes his skin to it.
D Is it bad to sleep with an open window in the city? >> If it's quiet enough, no, cool air helps.
D I dreamt that I had to sit an exam in Latin. Again.
D In my student days I never saw bed before three.
D Would {o} be too late for someone who gets up at six? Asking for my brother. >> It'd be on the short side.
D I can't remember how I lived with {past}, my eyelids remember it.

== piano | me | any | music | piano piece
V Clair de Lune; Für Elise; Gymnopédie No. 1; Moonlight Sonata; Träumerei; The Entertainer; Solfeggietto
F I'm learning the piano, and the piece I practise is {v}.
F My practice piece on the piano is {v}, one at a time is my teacher's rule.
F piano piece on my stand: {v}. still on page one
F I took up the piano rather late. My teacher gives me one piece at a time, and mine is {v}.
C My teacher changed my piano piece from {old} to {v}.
C I've put {old} away, I practise {v} on the piano now.
C New piano piece, {v}!
C I moved on from {old} to {v} at the piano. The sheets are already full of pencil.
S I practise {v} on the piano, half an hour a day. Is slow practice really better?
  >> Yes, hands learn what they do, mistakes
  included.
S The piece on my piano is {v}, and the left hand hates me.
S my neighbour knows {v} by heart, as that's what i practise on the piano every evening, poor man
S I sit at the piano and stumble through {v}, as my teacher wants, bar by bar. Any tips for nerves?
  >> Play for the cat first, then for one friend.
R I'm practising {v} on the piano again.
R My piano piece is {v} once more.
Q Which piece am I practising on the piano?
Q What's my piano piece?
Q What's on my piano stand to practise?
N Which piece is {name} practising on the piano?
N What's {name}'s piano piece?
B my left hand couldn't stretch that far
B my teacher was tired of hearing the same tune
B the pupils' evening asks for something shorter
B I got stuck on one page for a month
W Why there's another piece on my piano: {c}.
P Piano lesson today. {C}.
D A boy in the shopping centre played {o}, with one hand in his pocket.
D My teacher's other pupil plays {o}, twelve years old, I'm so jealous.
D I'd love to play {o} some day, in another life.
D How often does a piano need tuning? >> About once a year, more often near a radiator.
D They played {o} in the lift of the hotel, as always.
D The lamp on the piano is too weak for old eyes.
D My fingers still wander into {past} when I warm up, old habits.

== gym | me | any | sport | gym
V FitBarn; Ironhouse; Bodyworks; CityGym; PulseClub; Kraftwerk Nord; The Pit
F I work out at {v}.
F My gym is {v}, mostly mornings.
F i'm a member at {v}, that's my gym, i go when it rains
F I need someone to keep me going. My gym is {v}, and so far I've mainly visited the sauna there.
C I changed gyms, from {old} to {v}.
C I've left {old}, my gym is {v} now.
C I have a new gym, {v}.
C My membership at {old} is over and I've moved to {v}. The first session hurt everywhere.
S I train at {v} three times a week. Is it normal to ache for four days? >> After a break, yes. Go lighter next time.
S {V} is my gym and the showers are cold again, how do I complain without sounding like a diva?
  >> "The showers have been cold this week; could you have a look, please?"
S at {v}, my gym, there's a man who sings on the treadmill, i want his confidence
S My gym card for {v} went through the wash. I'll ask at the desk for another one.
R I'm back at {v} for my workouts.
R I train at {v} again, rejoined this week.
Q Which gym do I go to?
Q What's my gym called?
Q Where do I work out?
N Which gym does {name} go to?
N Where does {name} work out?
B the monthly fee went up by half
B the music was so loud that my ears rang
B the squat racks were always taken
B the place was flooded and stayed closed for weeks
W About the other gym: {c}, that was the whole reason.
P I came home angry from working out. {C}.
D My sister goes to {o} and posts every push-up.
D {o} handed out free water bottles at the station.
D I had a day ticket for {o} once, as a birthday present. It was fine.
D How many grams of protein after training? >> Twenty to thirty are plenty.
D A guy at work wants to drag me to {o}. I said maybe, and I meant no.
D My shoes for indoor training have a hole at the toe.
D {past} still sends me "we miss you" mails, ever since I quit there.

== bank | me | any | bank | bank
V Merkur Bank; Union Direct; Hafen Sparbank; Novapay Bank; Alder & Stone; Credit Lumen; Postbank Ost
F My salary account is at {v}.
F I bank with {v}, one account, no frills.
F my bank is {v}, remind me about the fees some day
F Money things are a mystery to me, so bear with me. My bank is {v}, that's where my salary goes and the rent leaves.
C I've changed banks, from {old} to {v}.
C My account is no longer at {old}, I'm with {v} now.
C I moved my salary account to {v}.
C Done, {old} is closed and all the standing orders run at {v}. So that's my bank now.
S My bank, {v}, charges 4.90 a month for the account. Is that a lot?
  >> It's in the middle, free ones exist with conditions.
S I stood in front of the machine of {v}, that's my bank, and couldn't remember my PIN.
S Write to {v} please, my salary account is there: they should send the tax certificate to my address.
  >> "Dear Sir or Madam, please send me the tax certificate for my account. Kind regards."
S i get paid into my account with {v} and three days later it's gone, where does it go
  >> Write down everything for two weeks, it's usually small things.
R I'm back with {v} as my bank.
R My salary account is at {v} again.
Q Which bank am I with?
Q Where is my salary account?
Q What's my bank?
N Which bank is {name} with?
N Where is {name}'s salary account?
B the last branch in town was shut
B the fees came up to ninety a year
B their app locked me out during a trip
B they refused me a tiny overdraft
W Why I changed banks, to be honest: {c}.
P Bank annoyance. {C}.
D My mother is with {o} and gets a calendar every year.
D {o} is building a glass tower behind the station.
D An advert of {o} promises 100 for every new customer. There's always a catch.
D What does "standing order" mean exactly? >> A fixed sum that your bank pays out regularly, for instance the rent.
D I need a bigger wallet, or fewer receipts.
D My first savings book was from {o}, with an elephant on the cover.
D Found a pen with {past} printed on it, from when my account was there. It even writes.

== savings | me | any | savings | monthly savings
V 120 euros; 150 euros; 180 euros; 210 euros; 260 euros; 340 euros; 425 euros
F I save {v} a month.
F I put aside {v} every month, by standing order.
F savings per month: {v}. it's not much but it's honest work
F I'd like to get better with money. What I do is put {v} aside each month, automatically, on the first.
C I've changed my monthly savings from {old} to {v}.
C I don't save {old} a month any more, it's {v} now.
C My savings plan is adjusted, {v} per month as of now.
C The standing order for my savings went from {old} to {v}.
S I put aside {v} a month. How long until I can pay for a kitchen? >> Divide its price by that sum and add a few months.
S With the {v} that I save each month I feel almost like an adult.
S i save {v} a month and my uncle laughs at me, is he right? >> No. Doing it every month is what counts.
S The first of the month, rent gone, {v} into savings as in each month, and the rest is for noodles.
R I'm saving {v} a month again.
R My monthly savings are back to {v}.
Q How much do I save per month?
Q What's the sum that I put aside every month?
Q How big is my monthly savings rate?
N How much does {name} save per month?
N What's the sum that {name} puts aside every month?
B the rent was raised
B I got a small pay rise
B the car loan is paid off
B my hours at work were cut
W My savings plan is different for a reason: {c}.
P Money talk. {C}.
D My best friend saves {o} a month, and goes skiing as well.
D A podcast says that people of my age should save {o} each month. Thanks for nothing.
D Could I live on less if I cooked every day? >> Probably, lunches out are the largest leak for many.
D I'd save {o} if I stopped buying coffee outside. I won't stop.
D I found a ten in my winter coat. Best day of the week.
D What's an ETF, explained to a child? >> A basket with a tiny piece of many companies in it.
D Putting aside {past} a month was a strange time, I think of it often.

== phone | me | any | phone | phone
V Pixel 8; Galaxy S23; Fairphone 5; Zenfone 10; Honor 90; Nothing Phone 2; Moto G84
F My phone is a {v}.
F I use a {v} as my phone, with a cracked corner.
F phone: {v}, so you know when i ask for settings
F I'm not a technical person, so please explain slowly. My phone is a {v}, and I use it for photos and maps.
C I've got a new phone, a {v}.
C I replaced my {old} by a {v}.
C My phone changed, it's a {v} now. The old one is in a drawer.
C I don't have the {old} any more, I switched to a {v}. Moving the photos took all evening.
S My phone is a {v} and the battery is empty by four. What eats the most? >> Usually the display, then navigation.
S I'm typing this on my {v} and my thumbs are too big for this phone.
S which case would you take for a {v}? that's my phone and i drop everything >> One with raised edges and a rough back.
S The camera of my {v} is the best thing about the phone. I photographed a beetle on a leaf, you could count its legs.
R My {v} is my phone again.
R I'm back to the {v} as my phone.
Q Which phone do I have?
Q What phone do I use?
Q What's the model of my phone?
N Which phone does {name} have?
N What's the model of {name}'s phone?
B the display went dark in the rain
B the phone fell from a ski lift
B the storage was full all the time
B the phone got no more updates
W You may ask why I needed another phone. {C}.
P Phone drama. {C}.
D My daughter has a {o}, with glitter on the back.
D A man on the bus listened to music on his {o} without headphones, people!
D The shop showed me a {o}, shiny, and I walked out with a cable.
D How do I get sand out of a charging socket? >> A wooden toothpick, and switch it off before.
D My mother reads the news on a {o} at a font size you can see from space.
D How many photos is too many? I have eleven thousand.
D The {past} that I used to have took better pictures at night, I think.

== car | me | any | car | car
V Skoda Fabia; Toyota Yaris; Dacia Spring; Volvo V60; Fiat Panda; Mazda 3; Renault Zoe
F I drive a {v}.
F My car is a {v}, older than my marriage.
F car: {v}, red, loud, mine
F You'll hear a lot about my car, I'm afraid. It's a {v}, the only one I have, and I live far out in the country.
C I've got a new car, a {v}.
C I sold my {old}, my car is a {v} now.
C I traded the {old} in for a {v}.
C My car changed this week. The {old} is gone and I drive a {v}, I keep reaching for the wrong lever.
S I drive a {v} and it makes a knocking sound in left bends. What could it be?
  >> Often a worn joint in the axle; have it
  checked soon.
S My car is a {v}. How often should one check the tyre pressure? >> Once a month, and before long trips.
S need to get the wheels of my {v} changed before winter, the car i use every day, is there a rule of thumb for the date
  >> From the first frosty nights on.
S The back seat of my {v} is full of empty bottles and one lonely glove. I should really tidy up that car.
R I'm driving my {v} again.
R My car is a {v} again, I bought the same model once more.
Q What car do I drive?
Q What kind of car do I have?
Q Which make and model is my car?
N What car does {name} drive?
N What kind of car does {name} have?
B the gearbox gave up on the motorway
B the insurance class was ridiculous
B the trunk was too small for the wheelchair
B the car failed the inspection with eleven defects
W About why I have another car: {c}.
P Car misery. {C}.
D My neighbour has a {o} and washes it every weekend, with a toothbrush.
D The hire company gave me a {o} for the two days of my trip, it smelled of cheese.
D A {o} overtook me on the right, what a maniac.
D My driving school had a {o}, that's how long ago it was.
D Is summer fuel different from winter fuel? >> Diesel is, petrol a little as well.
D I got a parking ticket for being four minutes late.
D Would a {o} be nice for the mountains? Just daydreaming. >> Nice enough, with good tyres.
D I saw my old {past} on the road with somebody else in it, that was a funny feeling.

== commute | me | job | commute | way to work
V tram 4; bus 19; bus 52; tram 11; ferry F2; metro M3; tram 17
F I go to work by {v}.
F My way to work is {v}, door to door half an hour.
F i take {v} to work, standing, always standing
F I have a lot of time to read on my way to work. I take {v} from the first stop to the last.
C I've changed my way to work, I take {v} now.
C I don't take {old} to work any more, I go by {v} now.
C My commute switched from {old} to {v}.
C New route to work for me, {v} instead of {old}. The view is better.
S I take {v} to work and it's packed. What are good podcasts for thirty minutes? >> Short science shows fit nicely.
S On my way to work in {v}, somebody sat down on my sandwich.
S i go to work by {v}, can you recommend something short to read standing up >> Short stories, one per ride.
S {V} takes me to work each morning. The driver and I greet each other by now.
R I go to work by {v} again.
R I'm back on {v} for the way to work.
Q How do I get to work?
Q Which line do I take to work?
Q What do I ride on my way to work?
N How does {name} get to work?
N Which line does {name} take to work?
B the tracks are being rebuilt until autumn
B the fare zone was changed
B the line was late four days out of five
B the stop in front of my door was closed
W My way to work had to change, and here's why: {c}.
P Public transport, my favourite enemy. {C}.
D My partner takes {o} and always gets a seat, it isn't fair.
D There was a wedding party in {o} at the main station, with a brass band.
D On strike days I looked at {o} on the map. Too far to walk to.
D Where can I complain about dirty seats? >> Most transport companies have a form on their site, the car number helps.
D I lost an umbrella at a stop, my third this year.
D When I was at school I took {o}, with a satchel bigger than me.
D {past} passes my window at times, I still know the timetable by heart from when I took it to work.

== holiday | me | any | travel | holiday destination
V Lisbon; Ljubljana; Tromsø; Palermo; Galway; Kraków; Split; Bergen
F My summer holiday is booked, I'm going to {v}.
F This year's summer holiday: {v}, two weeks, booked and paid.
F summer holiday is booked, {v} it is, 2 weeks
F I need a vacation like nothing else. My trip for the summer is booked, two weeks in {v}, just me and a suitcase.
C I've rebooked my summer holiday from {old} to {v}.
C My summer trip changed, I'm not going to {old}, it's {v} now.
C I cancelled {old}. My summer holiday is booked for {v} now.
C Change of plan that is final: the summer holiday goes to {v}, tickets are in my inbox.
S My summer holiday is in {v}, two weeks. How many pairs of shoes does a sensible person pack?
  >> Two, and wear the heavier
  pair on the way.
S I've got my tickets to {v} for the summer holiday on the fridge, and I look at them with every yoghurt.
S what do i wear on the plane, my summer holiday's in {v} and i'm always freezing up there >> Layers and thick socks.
S For my summer trip to {v} I need a text for the out-of-office mail, could you do one?
  >> "I'm on holiday for two weeks and will answer when I'm back, tanned or wet."
R My summer holiday is in {v} after all, booked again.
R I went back to {v} for the summer trip, the booking is restored.
Q Where am I going for my summer holiday?
Q What's the destination of my summer holiday?
Q Where is my summer trip booked to?
N Where is {name} going for the summer holiday?
N What's the destination of {name}'s summer holiday?
B the airline dropped the route
B the flat I had rented was double-booked
B my travel money shrank after the car repair
B the heat forecast scared me
W You wanted to know why the holiday had to be rebooked? {C}.
P Holiday trouble. {C}.
D My parents are off to {o}, with a tour group and matching caps.
D I was in {o} as a student, slept on the beach, got robbed by a seagull.
D A friend sent me a postcard from {o}.
D In another year I'd love to see {o}. Not this one.
D Do I need travel insurance for a short trip? >> Within Europe the health part is the useful one.
D My suitcase has one wheel that wants to go somewhere else.
D Which season is best for {o}, in general? My colleague asks. >> Late spring is pleasant almost everywhere.
D I still get hotel offers for {past}, since that booking I cancelled.

== supervisor | me | study | study | thesis supervisor
V Professor Lund; Professor Abara; Professor Keller; Professor Miyake; Professor Rossi; Professor Vance;
  Professor Horvat
F My thesis supervisor is {v}.
F I'm writing my master's thesis with {v}.
F thesis supervisor: {v}, answers mails in two words
F I'm in my last year at university, on my master's thesis in geography. {v} supervises it.
C I've got a new thesis supervisor, {v}.
C My supervisor changed from {old} to {v}.
C {old} isn't supervising my thesis any more, {v} is.
C The faculty approved it: {v} takes over the supervision of my thesis from {old}.
S My thesis supervisor, {v}, wants an outline. How long should an outline be? >> Two pages with a rough timetable.
S {v} supervises my thesis and returned my chapter with more red than black.
S mail to my supervisor {v} please, polite, i need two more weeks for chapter three of the thesis
  >> "Chapter three needs two more weeks to be good. Would that be acceptable?"
S Sitting in front of the office of {v}, who is my thesis supervisor, with sweaty hands. Say something nice.
  >> You know your material better than anyone in that room.
R {v} is my thesis supervisor again.
R I'm back with {v} for my thesis.
Q Who supervises my thesis?
Q Who is my thesis supervisor?
Q Whose name goes on my thesis as supervisor?
N Who supervises {name}'s thesis?
N Who is {name}'s thesis supervisor?
B a sabbatical abroad came up
B we didn't agree about the method
B my topic drifted to another chair
B there were too many candidates for one person
W The supervision of my thesis had to change, since {c}.
P University news. {C}.
D A fellow student writes with {o} and gets feedback overnight.
D {o} gave a lecture on volcanoes, the hall was packed.
D {o} nodded at me in the corridor, I have no idea why.
D How do I cite a map properly? >> Author, title, scale, publisher, year.
D The library printer ate my chapter two.
D In my bachelor's I wrote with {o}. That was about rivers.
D I met {past} at the copier, who asked how the thesis was going with somebody else. Awkward.

== race | me | any | running | running goal
V Harbour Run; Lakeside 10K; Old Town Half; Forest Ultra; Castle Trail; Midnight Mile; Bridge Marathon
F I'm training for the {v}.
F The race I'm training for is the {v}, my first ever.
F running goal: {v}. i signed up, no way back
F I've started to run, at my age. There's exactly one race that I'm signed up for, the {v}, and I need a plan.
C I changed my race, I'm signed up for the {v} now instead of the {old}.
C I'm not training for the {old} any more, it's the {v} now.
C My start number moved from the {old} to the {v}.
C New running goal, the {v}. I passed my place in the {old} on to a friend.
S I'm training for the {v}. How many rest days does a runner need per week? >> Two at least, and more sleep.
S My start number for the {v} came by mail, it's the one race on my calendar and I'm scared.
S ran 8 km in the rain as training for the {v}, that's the race i'm signed up for, my socks are still wet
S I'm signed up for the {v}. Could you write a text to make colleagues donate?
  >> "I run, you give: every kilometre counts for
  the children's hospice. Thank you!"
R I'm training for the {v} again.
R Signed up for the {v} again, so that's my race.
Q Which race am I training for?
Q What race am I signed up for?
Q What's my running goal?
N Which race is {name} training for?
N What race is {name} signed up for?
B my knee doesn't like long distances
B the date collided with a christening
B my running partner talked me into it
B the organisers raised the entry fee
W Why I run another race: {c}.
P Running diary. {C}.
D My brother-in-law won his age group at the {o}. He had told everyone by noon.
D The {o} blocked the whole ring road, I stood in traffic for an hour.
D There's a poster for the {o} at the bakery. Nice drawing of a shoe.
D Is it okay to run with a cold? >> Below the neck no, above it gently.
D In my twenties I dropped out of the {o} at the very first hill.
D My running shoes squeak on the tiles.
D Some friends said I should do the {o} with them. Laughing, I changed the topic.
D The {past} shirt I got for registering back then makes a fine pyjama.
"""
