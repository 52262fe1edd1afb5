"""Wording of the topics from clubs and small business (the tags are explained in topics.py)."""

CLUB = """
== choir_day | us | club | choir | rehearsal day
V Mondays; Tuesdays; Wednesdays; Thursdays; Fridays; Saturdays; Sundays
F Our choir rehearses on {v}.
F We have choir rehearsal on {v}, evenings, with biscuits.
F choir practice of ours is on {v}, i sing alto if it matters
F I organise our little choir of twenty voices. We rehearse once a week, on {v}, and I write all the invitations.
C Our choir rehearsal moved from {old} to {v}.
C We don't rehearse on {old} any more, the choir meets on {v} now.
C New rehearsal day for our choir: {v}.
C The choir has voted, and rehearsals have changed to {v}. The mailing list knows already.
S Our choir rehearses on {v}. What warm-up works for tired voices? >> Humming and lip trills for five minutes.
S Please write a flyer line: our choir rehearses on {v}, no auditions, basses are given cake.
  >> "Sing with us on {v}. No audition, and cake for every bass!"
S I can't see my sister on {v}, that's when we have choir rehearsal, every week.
S on {v} the choir rehearses, so on the mornings after i have no voice
R Our choir rehearses on {v} again.
R We're back to {v} for our choir rehearsals.
Q On which day of the week does our choir rehearse?
Q Which day is our choir rehearsal?
Q When in the week do we have choir rehearsal?
B half of the tenors work late shifts
B the accompanist has another ensemble to play for
B the caretaker wants to lock up earlier
B too many people were missing each time
W Our choir needed another rehearsal day. Why? {C}.
P Choir worries. {C}.
D The gospel choir of the parish meets on {o}, we hear them through the floor.
D One soprano would prefer {o}. One soprano isn't a majority.
D How do you get a choir to look up from the sheets? >> Let them learn the first and the last line by heart.
D Our concert programme has too many slow songs.
D When I sang in the school choir we met on {o}, before breakfast, can you imagine.
D The pitch pipe has gone missing again.
D Two people still turned up on {past}, they hadn't got the message back then.

== stage | us | club | theatre | rehearsal room
V Old Fire Station; Parish Hall; Kulturbahnhof; School Gym West; Villa Rosa; Granary Loft; Union House
F Our theatre group rehearses in the {v}.
F We rehearse our plays in the {v}, which smells of floor wax.
F theatre group rehearses in the {v}, no heating, much passion
F I'm the one who does the schedule for our amateur theatre group. Our rehearsal room is in the {v}.
C Our theatre group has moved from the {old} to the {v}.
C We don't rehearse in the {old} any more, our theatre group is in the {v} now.
C Our theatre group has a new rehearsal room, in the {v}.
C We gave back the keys to the {old} and from now on rehearse our plays in the {v}.
S Our theatre group rehearses in the {v}. Any idea how to make a stage out of nothing?
  >> Tape on the floor and two lamps; the audience does the rest.
S Write to the actors please: rehearsal in the {v}, as every week, bring the scripts and warm shoes.
  >> "Dear all, we meet in the {v} as usual. Please bring your scripts and warm shoes!"
S The acoustics of the {v} are dreadful. I know since our theatre group rehearses there week after week.
S our theatre group has the key for the {v} where we rehearse, and guess who forgot it at home
R Our theatre group rehearses in the {v} again.
R We're back in the {v} with our theatre rehearsals.
Q Where does our theatre group rehearse?
Q Which building does our theatre group rehearse in?
Q Where's the rehearsal room of our theatre group?
B the roof was leaking onto the costumes
B the town asked for a rent that we couldn't pay
B the neighbours complained about screaming in act two
B another society had signed for all the evenings
W Rehearsal room, the full truth: {c}.
P Our theatre group is in trouble. {C}.
D The puppet players perform in the {o}, lovely people.
D I went to a jumble sale in the {o} and bought a crown for the king.
D Someone thought of the {o} for our premiere party, but nothing's booked.
D How do I learn forty lines in a week? >> Read them aloud before sleep, and walk while you repeat them.
D Our villain has the flu and our hero can't stand him anyway.
D The {o} is where I was in a play for the first time, as a tree, at seven.
D There's probably still a wig of ours lying around in the {past}, from our time there.

== treasurer | us | club | clubmoney | treasurer
V Henrike; Abdul; Rosemary; Cedric; Pilar; Winston; Annika
F The treasurer of our club is {v}.
F {v} is our club's treasurer, so the money questions go there.
F our club treasurer is {v}, strict but fair
F I write the minutes for our hiking club. There's the board of three, and the treasurer is {v}.
C Our club has a new treasurer, {v}.
C {old} stepped down, {v} is our club's treasurer now.
C The treasurer of our club changed from {old} to {v}.
C The club meeting has elected {v} as treasurer in place of {old}. Eleven to two.
S Receipts of our club go to {v}, our treasurer. Can you write a reminder for all members?
  >> "Please hand in your receipts by the end of the month. Thank you!"
S {V} keeps our club's books as treasurer, with a fountain pen.
S for the minutes of our club: treasurer {v} presented the accounts, all fine, loud applause
S I need the signature of {v} for the club's account since a treasurer has to sign. How do you word that?
  >> "Could you sign the attached form and send it back to me? Many thanks."
R {v} is the treasurer of our club again.
R Our club has {v} back as treasurer.
Q Who is the treasurer of our club?
Q Who is our club's treasurer?
Q Who keeps our club's books as treasurer?
B a new job left no evenings free
B the auditors found a hole of forty euros
B nobody could read the handwriting
B the two terms allowed by the statutes were over
W Club business, the treasurer thing: {c}.
P There was a stir at our club. {C}.
D {o} is the treasurer of the rowing club, not of ours, people mix that up.
D {o} brought a plum cake to the club evening, gone in six minutes.
D Some would like to see {o} on the board some day. So far it's gossip.
D Must a club have auditors? >> In most countries the statutes decide; two are common.
D Our club's cash box has a key that only opens if you swear at it.
D Membership cards are printed on green paper this year.
D {past} told a story from the treasurer days, we all laughed a lot.

== book | us | club | reading | reading circle book
V Middlemarch; Moby-Dick; Jane Eyre; Buddenbrooks; Dracula; Frankenstein; Anna Karenina; Don Quixote
F Our reading circle is reading {v}.
F The book in our reading circle is {v}, a chapter or two per meeting.
F reading circle book: {v}. i'm 80 pages behind
F I lead a reading circle of nine people in the library, and we read one book at a time. It's {v}, big print edition.
C Our reading circle has changed its book from {old} to {v}.
C We've put {old} aside, our reading circle reads {v} now.
C New book in our reading circle, {v}.
C We finished with {old} in the reading circle and have started {v}.
S Our reading circle is in the middle of {v}. What questions make people talk?
  >> "Whom would you not want to sit beside at dinner, and why?" always works.
S I should read forty pages of {v} for our reading circle, and I'm doing the windows, so guess.
S we read {v} in our reading circle and half of us fell in love with the wrong character
S Invitation for our reading circle please! We read {v}, bring a cushion, tea is there.
  >> "We read on together. Please bring a cushion, tea is waiting."
R Our reading circle is reading {v} again.
R We've gone back to {v} in the reading circle.
Q Which book is our reading circle reading?
Q What is our reading circle reading?
Q What's the book in our reading circle?
B nobody got past the third chapter
B the library needed its copies back
B two members found the story far too gloomy
B the print was too small for most of us
W Our reading circle and its choice, explained: {c}.
P Mutiny in the reading circle. {C}.
D My mother read {o} to us when I was ill as a child.
D There's a film of {o} on tonight, with far too many violins.
D The other circle, the one upstairs, reads {o} and is very proud of it.
D {o} was proposed for our circle and got two votes out of nine. So no.
D What makes a good bookmark? >> A train ticket from a nice trip.
D I spilled tea on a library book and dried it on the radiator.
D Somebody quoted {past} again, from when we read it, I still don't like that ending.

== board_game | us | club | games | game on game night
V Catan; Carcassonne; Azul; Wingspan; Agricola; Pandemic; Ticket to Ride; Terraforming Mars
F On our game night we play {v}.
F The game of our game night is {v}, one game per season is the rule.
F game night here means {v}, always {v}, i never win
F We're six people with a weekly game night. We stick to one game for a while, and it is {v}.
C Our game night has changed its game from {old} to {v}.
C We don't play {old} on our game night any more, we play {v} now.
C New game on our game night, {v}!
C {old} went back into the cupboard, our game night has switched to {v}.
S We play {v} on our game night. How do I tell a friend that he takes too long for each move?
  >> Buy an egg timer with a smile, and use it for everybody.
S I lost by two points at {v} on our game night, as every week, and they sang about it.
S our game night is {v} with six people and a bowl of crisps, the cards are greasy already
S Invitation to our game night please. We play {v}, snacks welcome, mobiles in the basket.
  >> "Game night! Bring snacks, leave your mobile in the basket, and prepare to lose."
R It's {v} again on our game night.
R Our game night is back to playing {v}.
Q Which game do we play on our game night?
Q What do we play on our game night?
Q What's the game of our game night?
B three pieces were lost under the sofa
B the same person won every time
B the game took four hours and people fell asleep
B one of us developed a real hatred for the rules
W Game night, and how we came to play something else: {c}.
P Game night gossip. {C}.
D My cousin plays {o} online against strangers at night.
D The café in the old town has {o} on the shelf, with half of the cards missing.
D For my birthday somebody gave me {o}. It's still in its wrapping.
D What's a good snack that doesn't make fingers greasy? >> Grapes, pretzels, and nuts in their shells.
D Is it cheating to count cards at a game night? >> At home it's called having a good memory.
D Our dice rolled behind the cupboard.
D I miss nothing about the {past} season, except for the jokes.

== hall | us | club | badminton | training hall
V Northside Arena; Jahn Hall; Sports Dome; Hall C; Riverbank Centre; Pestalozzi Hall; Tower Gymnasium
F Our badminton club trains in {v}.
F We train in {v}, the badminton people, four courts.
F badminton club trains in {v}. bring your own towel
F I do the paperwork for our badminton club. Training is in {v}, and there's only one working shower.
C Our badminton club moved its training from {old} to {v}.
C We don't train in {old} any more, our badminton club is in {v} now.
C Our badminton club has a new hall, {v}.
C The training of our badminton club changed over to {v}. The nets came along in my uncle's van.
S Our badminton club trains in {v}. What goes into a first-aid bag for a hall?
  >> Cold packs, tape, plasters, and a whistle.
S For our badminton website, please: training in {v}, guests welcome, indoor shoes only.
  >> "Guests are welcome in {v}. Please bring indoor shoes."
S In {v}, where our badminton club trains, the floor is so slippery that I did the splits. Not on purpose.
S our badminton club trains in {v} and the coffee machine there takes coins only
R Our badminton club trains in {v} again.
R We're back in {v} with badminton.
Q Where does our badminton club train?
Q Which hall does our badminton club train in?
Q What's the name of the hall where we play badminton?
B the ceiling was too low for high clears
B the handball team took our hours
B the lights kept going out in the middle of a rally
B the floor is being sanded all season
W Why our badminton training is elsewhere: {c}.
P Badminton bulletin. {C}.
D The judo kids are in {o}, with a proper mat.
D The final of the league is in {o}, as a spectator I take a thermos.
D Somebody asked at {o} whether they had room for us. They haven't answered.
D How long does a feather shuttlecock last? >> In a hard match, sometimes only a few rallies.
D I broke a string in the very first serve.
D In my youth I played table tennis in {o}, with dust in my hair.
D I left a sock in {past}, the final souvenir from our training there.

== loaf_price | us | shop | price | house loaf price
V 4.20 euros; 4.35 euros; 4.50 euros; 4.65 euros; 4.80 euros; 4.95 euros; 5.20 euros
F Our house loaf costs {v}.
F In our bakery the house loaf is {v}, and people have opinions on that.
F we sell our house loaf at {v}, just for the numbers
F We run a small bakery with three people. The thing everyone buys is our house loaf, it costs {v}.
C We changed the price of our house loaf from {old} to {v}.
C Our house loaf isn't {old} any more, it costs {v} now.
C New price for our house loaf: {v}.
C As of today the sign says {v} for our house loaf instead of {old}. My hand shook while writing it.
S Our house loaf costs {v}. How do I answer people who say that the supermarket is cheaper?
  >> "Ours rests for two days and has four ingredients. Taste it." And hand over a slice.
S A boy paid {v} in five-cent coins for our house loaf, that's exactly its price, and he had counted right.
S sign for the counter please: house loaf {v}, sliced for free
  >> "House loaf, {v}. We slice it for you, free of charge."
S I did the sums. At {v} for our house loaf we're left with about ninety cents after flour, power and wages.
R Our house loaf is {v} again.
R We've put the house loaf back to {v}.
Q What does our house loaf cost?
Q What's the price of our house loaf?
Q How much do we charge for our house loaf?
B flour got so much more expensive
B the mill gave us better conditions
B people began to buy only half a loaf
B the oven repair has to be paid somehow
W The price on our loaf had its reason: {c}.
P Numbers from the bakery. {C}.
D The chain store sells its loaf at {o}, and it's full of air.
D A customer said she'd pay {o} for ours, she's my aunt, she doesn't count.
D My tax adviser did a sheet with {o} in it, as an example.
D What's the best way to keep bread fresh? >> In a clay pot, cut side down.
D A rye loaf with caraway is on my list of ideas.
D Someone returned a roll because it was "too round".
D A regular still remembers {past} for the loaf and tells everybody in the queue.

== beans | us | shop | coffee | coffee bean supplier
V Montalba Roasters; Kaffa & Sons; Blue Heron Coffee; Röstwerk Nord; Altura Imports; Finca Sol; Dockyard Roastery
F The coffee beans for our café come from {v}.
F Our café buys its beans from {v}, ten kilos a week.
F bean supplier for our café = {v}
F We run a tiny café as part of the business. All of our coffee beans are delivered by {v}, every other week.
C We've changed the bean supplier of our café, it's {v} now.
C The beans in our café aren't from {old} any more, we buy from {v} now.
C Our café switched from {old} to {v} for its beans.
C New beans in our café! We said goodbye to {old} and order from {v}.
S Our café's beans come from {v}. How many grams make a double espresso? >> Around eighteen, then taste and adjust.
S Please write an order to {v}, who supply our café with beans: twelve kilos, delivery before noon.
  >> "Dear team, please send us twelve kilos this week, delivery before noon if possible. Thank you!"
S the beans of our café are from {v} and a guest said he tasted tobacco, is that praise >> Among coffee people it is.
S We pay {v} 21 a kilo for the café's beans. I counted it, that's 17 cents a cup.
R Our café gets its beans from {v} again.
R We're back with {v} for the beans in our café.
Q Who supplies our café with beans?
Q Where does our café get its beans from?
Q From whom do we buy the beans for our café?
B the last three deliveries were late
B our regulars said that the coffee tasted burnt
B the minimum order was raised to forty kilos
B the harvest failed in their region
W Our café's beans, and the reason for the change: {c}.
P Café worries. {C}.
D The ice cream parlour next door pours {o}, and their machine is louder.
D A rep of {o} left us a bag to try. It's standing beside the dishwasher.
D {o} won some medal, I saw it on a poster at the wholesaler's.
D How often must a grinder be cleaned? >> Brush it daily, take it apart once a week.
D A guest stayed for five hours with one glass of tap water.
D The oat drink splits in the cup, nobody knows why.
D One guest asks for {past} each time, as if we still had those beans.

== opening | us | shop | hours | opening time
V 6:30 am; 6:45 am; 7:15 am; 7:45 am; 8:20 am; 8:40 am; 9:10 am
F Our shop opens at {v}.
F We open the shop at {v}, on six days a week.
F shop opens {v} here, i'm the one with the key
F Our shop has two employees and me. Opening time is {v}, and before that I drive to the wholesale market.
C Our shop's opening time changed from {old} to {v}.
C We don't open the shop at {old} any more, it's {v} now.
C New opening time for our shop: {v}.
C We've moved the opening of our shop to {v}. The sticker on the door is crooked, but it's there.
S Our shop opens at {v}. What should the voicemail say? >> "You've reached us outside our hours. We open at {v}."
S I unlock our shop at {v} each day, and there's always the same gentleman in front of the door.
S window sticker for our shop, please make it short: opening {v}, closed for lunch
  >> "Open from {v}, closed over lunch."
S the alarm system of our shop is timed for our opening at {v}, i was early and it screamed at me
R Our shop opens at {v} again.
R We're back to opening the shop at {v}.
Q What time does our shop open?
Q When do we open our shop?
Q At what time do we unlock the shop?
B nobody came in during the first hour
B the commuters wanted to buy on their way
B my assistant has to take her son to kindergarten
B the market stalls open later as well
W The opening time of our shop is different for this reason: {c}.
P From the shop floor. {C}.
D The chemist's opposite opens at {o}, I can set my watch by it.
D One customer wishes that we'd open at {o}. One.
D How do cut roses on a counter last longer? >> A fresh cut, clean water, no fruit bowl nearby.
D The door bell of the shop plays a melody, I hear it in my sleep.
D In my training shop they opened at {o}, and I had to be there an hour before.
D A wasp has moved in behind the till.
D People from the {past} days still knock at that hour, bless them.

== carrier | us | shop | parcels | parcel carrier
V DHL; GLS; UPS; DPD; FedEx; Hermes; PostNord; Packeta
F Our online shop ships with {v}.
F The parcels of our online shop go out with {v}.
F we ship everything with {v}, pickup at five
F We sell gift boxes online as well as over the counter. Our parcels leave with {v}, around sixty a week.
C Our online shop changed its carrier from {old} to {v}.
C We don't ship with {old} any more, our parcels go with {v} now.
C New parcel carrier for our online shop: {v}.
C We ended the contract with {old} and switched our shop's parcels to {v}.
S Our parcels go with {v}. What do I write to a customer whose box is late?
  >> "Your parcel is on its way, we've asked where it is and will tell you tomorrow at the latest."
S The {v} driver collects our shop's parcels at five, as always, and always he takes a biscuit.
S Text for the shipping page, please! Our shop ships with {v}, two to three days, no plastic.
  >> "We ship with {v}, without any plastic. Your parcel takes two to three days."
S sixty parcels packed for {v}, who ship for our shop, and the tape ran out at fifty-nine
R Our online shop ships with {v} again.
R We're back with {v} for our parcels.
Q Which carrier does our online shop ship with?
Q Who takes the parcels of our online shop?
Q Which parcel carrier do we use in our shop?
B four boxes were crushed within a week
B the price per parcel went up by a euro
B the driver never came before we closed
B our customers wanted lockers near their home
W Shipping, or why we took another carrier: {c}.
P Shipping sorrows. {C}.
D My private stuff I get from {o}, left with the neighbour each time.
D A {o} van blocked our yard for an hour, delivering a sofa next door.
D {o} sent us a price list. Glossy paper, and that's all I can say for it.
D Which tape sticks to recycled cardboard? >> Wet paper tape holds best.
D The box with the lavender bags smells up the whole staircase.
D A customer wrote us a poem as a review, eight lines.
D There are still rolls of {past} labels in the cellar, from former times.

== window | us | shop | display | shop window theme
V seaside; jungle; circus; outer space; harvest; fairy tale; vintage travel; underwater
F The theme of our shop window is {v}.
F Our shop window is decorated with the theme {v}.
F shop window theme: {v}. glitter everywhere
F Our shop has one big window, and people stop for it. Our window has one theme at a time, it is {v}.
C We changed our shop window from {old} to {v}.
C The theme of our shop window isn't {old} any more, it's {v} now.
C New theme in our shop window, {v}.
C I took down {old} last night, and our shop window is redone with the theme {v}.
S Our shop window's theme is {v}. Any idea for a line on the glass? >> "Come in, the adventure starts behind this door."
S Kids press their noses against our window, the theme is {v}, and I clean the glass twice a day.
S our shop window has {v} as its theme, how do i hang things without drilling >> Clear fishing line and adhesive hooks.
S The newspaper printed a photo of our shop window as it is, theme {v}, with my behind in it as I was dusting.
R Our shop window's theme is {v} again.
R We've put {v} back into our shop window.
Q What's the theme of our shop window?
Q Which theme is our shop window decorated with?
Q What theme do people see in our shop window?
B the sun had bleached all the paper
B the street festival is coming up
B a toddler ate part of the decoration
B the decoration was up for far too long
W The shop window had to be done over, since {c}.
P Window worries. {C}.
D The optician's window is all about {o}, with paper fish or whatever.
D My assistant has a folder of ideas, {o} is one of them. A folder, that's all.
D The department store had {o} once, with real trees.
D What's a cheap way to light a shop window? >> Warm LED strips along the frame.
D A pigeon has declared war on our awning.
D A customer asked for wrapping paper with cats in hats.
D I found a bit of {past} behind the shelf, left over from that window.

== terminal | us | shop | payment | card terminal
V SumUp; Zettle; Stripe Reader; Nexi; Worldline; Square; Adyen
F Card payments in our shop run through {v}.
F Our card terminal is from {v}, small and white.
F card terminal in our shop: {v}. it beeps a lot
F We've had our shop for nine years, and most people pay by card. The terminal is from {v}.
C We changed our card terminal from {old} to {v}.
C Our card payments don't go through {old} any more, it's {v} now.
C We have a new card terminal, from {v}.
C The {old} device went back in its box, our shop takes cards with {v} now.
S Card payments in our shop go through {v}. Is a fee of two percent normal? >> For small shops it's around that, yes.
S Our card terminal, the one from {v}, printed receipts in Dutch all morning.
S the terminal in our shop is from {v} and a lady held her library card against it three times
S Could you write a note for the counter? We take cards with {v}, from five upwards, thanks.
  >> "Cards welcome from five upwards. Thank you!"
R We're back with {v} for card payments in our shop.
R Our card terminal is from {v} again.
Q Who is our card terminal from?
Q Which provider do our card payments go through?
Q What do we take card payments with?
B the connection failed each time a queue formed
B they held our money back for ten days
B the fees ate up the tips
B the battery was flat by noon
W On our card terminal, the background: {c}.
P Paying by card is a comedy here. {C}.
D The kiosk takes cards with {o}, even for chewing gum.
D A sales person from {o} called in the rush before lunch. Bad timing.
D I read that {o} had an outage across the country, poor people.
D Does one have to accept cash? >> That differs by country; a sign at the entrance helps.
D The till drawer jams when it's humid.
D A customer tipped with a jar of honey.
D The roll paper for {past} is still in the cupboard, left over, good for shopping lists.
"""
