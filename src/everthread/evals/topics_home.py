"""Wording of the topics from home and family (the tags are explained in topics.py)."""

HOME = """
== internet | us | home | telecom | internet provider
V Fibrelane; Telvia; NetPort; Citycom; Bluewire; Hansenet; Quicklink
F Our internet at home comes from {v}.
F Internet provider at ours is {v}, the router stands in the hallway.
F we have {v} at home for internet, not great not terrible
F For when I complain about the connection, and I will: we're with {v} at home, on the second-cheapest plan.
C We changed our internet provider from {old} to {v}.
C Cancelled {old}, our internet comes from {v} now.
C We've got a new internet provider, {v}.
C The technician was here and switched the house over to {v}. So that's the end of {old} for us.
S Our internet at home is from {v} and it went down twice this evening. What should I check first?
  >> Restart the router, then see whether the light for the line is steady. If it blinks, it's on their side.
S Can you write to {v}, our internet provider, that the last bill was charged twice?
  >> "Dear customer service, the last invoice was debited twice. Please refund the second payment."
S we pay {v} 34.90 a month for our line at home, that's average right? >> Yes, that is about average.
S {V} does our internet at home, and the kids measure the speed more often than their own height.
R We're back with {v} for the internet at home.
R Our home internet is from {v} again, they made us a good offer.
Q Who is our internet provider at home?
Q Which company does our internet at home come from?
Q Who do I have to call when our internet is down?
B video calls froze every evening
B they raised the price for the third time
B nobody on their hotline ever called back
B they couldn't get the cable into the back rooms
W The thing with the internet provider had a simple reason: {c}.
P Internet trouble at home. {C}.
D My parents are with {o} and never had a single problem.
D A man from {o} rang the bell and wanted to sell us a contract. I said no thanks.
D {o} has posters all over town, must cost a fortune.
D How far does wifi reach through a brick wall? >> Usually through one wall, rarely through three.
D The router blinks orange at night, I put a sock over it.
D If they ever dig up the street, we might look at {o}. Or not.
D An old bill from {past} fell out of a folder, from our time as their customer.

== electricity | us | home | power | electricity supplier
V Greenvolt; Nordstrom Energy; Alpenkraft; Voltaro; Sunhill Power; Riverlight; Ecowatt
F We get our electricity from {v}.
F Our electricity supplier is {v}, paid quarterly.
F electricity at our place: {v}
F I do the household paperwork. To start with, our power comes from {v}, and they want the meter reading twice a year.
C We changed our electricity supplier, it's {v} now.
C We left {old} and get our power from {v} now.
C The switch from {old} to {v} for our electricity is confirmed.
C Our electricity contract has moved to {v}. Took ten minutes online, I'm amazed.
S I have to send the meter reading to {v}, who supply our electricity. Can you write the two lines?
  >> "Dear team, please find our current meter reading attached. Kind regards."
S {V}, our electricity supplier, wants an advance payment of 96 a month. Sounds like a lot for three people?
  >> It's on the high side. Compare it with last year's usage in kilowatt hours.
S The power in our house is from {v} and the bill has a leaf printed on it, very soothing.
S our electricity is with {v}, where do i find the customer number usually
  >> At the top right of the bill, near the date.
R Our power comes from {v} again.
R We went back to {v} for our electricity.
Q Who supplies our electricity?
Q Which company do we get our power from?
Q What's our electricity supplier called?
B the price per unit was going up by a third
B they got the meter reading wrong two years in a row
B the company stopped serving our postcode
B we wanted power from wind and water only
W In case you care why we got another power contract: {c}.
P I opened the electricity letter with shaking hands. {C}.
D Our neighbours are with {o} and heat with a pump.
D A comparison site puts {o} on top. I closed the tab.
D {o} sponsors the local handball club, their name is on every shirt.
D What uses more power, a fridge or a tumble dryer? >> Per hour the dryer, per year often the fridge.
D The meter is behind the coats in the cellar, I need a torch for it.
D We sometimes dream about solar panels for the balcony.
D {past} still owes us a final bill, typical.

== heating | us | home | warmth | thermostat setting
V 17.5 degrees; 18 degrees; 18.5 degrees; 19 degrees; 19.5 degrees; 20.5 degrees; 21 degrees; 22 degrees
F Our thermostat at home is set to {v}.
F We heat the house to {v}, and there are blankets for everyone.
F thermostat here is on {v}. debate closed, says my family
F The eternal war in our house is about the heating. The thermostat stands at {v} and I'm not the one who decides.
C We've turned the thermostat from {old} to {v}.
C The heating isn't set to {old} any more, it's {v} now.
C New house rule, the thermostat is changed to {v}.
C We agreed on another setting for the heating: {v} from now on, all rooms.
S With the thermostat at {v}, how do I keep the windows from fogging up?
  >> Air the room for five minutes, three times a day.
S Our thermostat is on {v} and the cat sleeps on the radiator all day.
S we keep the house at {v}, is that okay for orchids? >> Orchids are fine with that, as long as there's no draught.
S My mother-in-law visits and brings her own jumper, as the thermostat in our house says {v}.
R The thermostat is back at {v}.
R We put the heating to {v} again.
Q What is our thermostat at home set to?
Q What temperature do we heat our house to?
Q Which setting is our thermostat on?
B the gas bill was frightening
B grandma's hands were always cold
B mould showed up behind the wardrobe
B everyone in the house had a cold
W Why I touched the thermostat, for your files: {c}.
P Heating discussions at breakfast. {C}.
D My brother heats his place to {o} and walks around in shorts.
D Somebody wrote in a forum that {o} is ideal for houseplants.
D The library was at {o} according to the sign, and I was still cold.
D I asked the family what they'd say to {o}. Shouting, no result.
D How often should radiators be bled? >> Once a year, before the cold season.
D One radiator gurgles at night like a hungry stomach.
D I look back fondly on our {past} days, I could wear what I liked.

== spare_key | us | home | key | spare key place
V under the flowerpot; in the shed; with Mrs. Baumann; in the key box; behind the meter; in the bike basket;
  with the baker downstairs
F Our spare house key is {v}.
F In case somebody locks themselves out, and somebody will: our spare key is {v}.
F spare key to our place is {v}. don't tell anyone lol
F I'm writing a list of household things. First entry: the spare key to our house is {v}.
C We moved the spare key, it's {v} now.
C The spare key isn't {old} any more, you'd find it {v} now.
C New place for our spare key: {v}.
C Our spare house key went to another place. From today it's {v}.
S The plumber comes while we're out, so I texted him that our spare key is {v}. Anything else to tell a plumber?
  >> Where the main valve is, and a number to reach you.
S Could you write a note for the house sitter? Spare key: {v}. Plants: twice a week. Thanks!
  >> "Welcome! You find the spare key {v}. The plants would like water twice a week. Thank you so much!"
S I locked myself out in slippers. Luckily our spare key is {v}.
S the spare key to our house is {v}, my sister asked and i thought you should have it too
R The spare key is {v} again.
R We put our spare key back where it was before, {v}.
Q Where is our spare house key?
Q Where would I find the spare key to our house?
Q I'm locked out! Where's our spare key?
B a burglar was seen two streets away
B the kids told half of their class about it
B a friend stood in front of the door for an hour and couldn't find it
B the police gave a talk about safe homes
W We had a reason to hide the spare key better, you know: {c}.
P I'm worried about our spare key. {C}.
D My aunt keeps hers {o}, and the whole village knows.
D Is leaving a key {o} a good idea, in general? >> Every hiding place is a compromise; a person you trust is best.
D In detective novels the key is always {o}. Always.
D The lock on the cellar door sticks, I use oil every month.
D I lost my bike key. Not the house key, thank goodness.
D Should we get one of those electronic locks? My family rolls its eyes at the idea.
D Our dog once dug out the key when it was still {past}.

== living_room | us | home | paint | living room colour
V sage green; terracotta; sky blue; off-white; mustard yellow; dusty pink; pearl grey; lilac
F Our living room walls are {v}.
F The walls of our living room are painted {v}, all four of them.
F living room walls at ours = {v}, you can't unsee it
F I'll ask about furniture some day, so here is the setting: our living room has {v} walls and a dark wooden floor.
C We repainted the living room, it's {v} now.
C The walls in our living room have changed from {old} to {v}.
C No more {old}, our living room is {v} now.
C Two days of painting and the living room has gone from {old} to {v}. My back hurts.
S Our living room walls are {v}. What curtains go with that? >> Natural linen goes with nearly everything.
S I'm sitting in our living room with its {v} walls and a cup of something hot, finally quiet.
S what colour of cushions for a room with {v} walls? it's our living room, big grey sofa
  >> One strong colour and one in a lighter tone of the walls.
S A guest said that our living room looks like a magazine, all that {v} on the walls. I'm proud, I rolled it myself.
R The living room walls are {v} again.
R We painted the living room back to {v}.
Q What colour are our living room walls?
Q Which colour is our living room painted in?
Q What's the wall colour in our living room?
B the old paint flaked off in strips
B the room looked like a cave in the evening
B a bottle of red wine met the wall
B the landlady had a water leak repaired there
W The living room got its paint for a reason. {C}.
P Look at our living room walls. {C}.
D My cousin painted her bedroom {o}. Brave.
D The café on the corner has {o} walls and terrible music.
D We looked at a sample of {o} for the hallway and left it at that.
D How many litres of paint does one need for twenty square metres? >> About five litres for two coats.
D A magazine says that {o} walls make people calm. I have kids, nothing makes me calm.
D The ceiling lamp hums. I will not ask an electrician for that.
D On old photos you see the {past} walls in the background, sweet.

== cleaner | us | home | cleaning | cleaning help
V Mrs. Kowalski; Mr. Santos; Ms. Yilmaz; Mrs. Novak; Mr. Brandt; Ms. Ferreira; Mrs. Okoye
F {v} cleans our house every week.
F We have a cleaning help, {v}, three hours a week.
F our cleaning help is {v}, an angel
F I have to write notes for the household, since I'm never home. Our cleaning help is called {v} and likes clear lists.
C Our cleaning help has changed, {v} comes now.
C {old} doesn't clean for us any more, {v} does it now.
C We have a new cleaning help, {v}.
C {old} stopped, and {v} took over the cleaning at our house. First day was today, everything shines.
S Please write a friendly note to {v}, who cleans for us: the oven is next, and there's cake in the kitchen.
  >> "Dear {v}, could you do the oven this time? And please help yourself to the cake in the kitchen!"
S {V} cleans our house every week, and I tidy up before so that it's less embarrassing.
S what's a nice present for a cleaning help? ours is {v}, three hours a week, very shy
  >> A good hand cream and a handwritten card; and a little money is never wrong.
S The vacuum bag is full again, says {v}, and as our cleaning help is always right, I ordered ten.
R {v} cleans for us again.
R We have {v} back as our cleaning help.
Q Who cleans our house?
Q What's the name of our cleaning help?
Q Who is our cleaning help?
B the old arrangement clashed with another job
B the hours in the morning were not possible any longer
B there was a knee operation and a long rest
B a vase broke and nobody would talk about it
W Cleaning help, the background: {c}.
P Household update about the cleaning. {C}.
D {o} cleans for the family upstairs, you hear the radio.
D My colleague recommended {o} in case we ever need somebody.
D How do I get limescale off a shower door? >> Warm vinegar, ten minutes, then rinse.
D The mop broke in two while I was using it.
D Should one clean before the cleaning help comes? I do. >> Many people do, you're in good company.
D We once thought about a cleaning robot, but the stairs win.
D I met {past} at the market, the old days of cleaning for us came up at once, we laughed a lot.

== school | us | home | school | daughter's school
V Lindenhof School; Maria Montessori School; Brookfield Primary; St. Anne's; Hillcrest School; Waldpark School;
  Riverside Primary
F Our daughter goes to {v}.
F Our daughter is at {v}, second row, next to the window.
F our daughter's school is {v}, ten minutes by foot
F I'm a parent with a lot of letters to write. Our daughter is a pupil at {v}, our only one of school age.
C Our daughter has changed schools, she goes to {v} now.
C Our girl isn't at {old} any more, our daughter is a pupil at {v} now.
C We took our daughter out of {old} and put her into {v}.
C Big change for our girl: from {old} to {v}, first week done and no tears.
S Please write an excuse to {v}. Our daughter has a fever and stays home.
  >> "Dear team, our daughter has a fever and will stay
  at home today. Kind regards."
S Our daughter's school, {v}, has a summer fair and we're down for two cakes. What keeps well in the heat?
  >> Lemon loaf or a plain marble cake, no cream.
S i'm waiting in the car outside {v} for our daughter, school's out in five minutes, tell me a joke
  >> Why did the maths book look sad? Too many problems.
S Our daughter reads everything in the library of her school, {v}, row by row.
R Our daughter is back at {v}.
R She's a pupil of {v} again, our daughter, and happy about it.
Q Which school does our daughter go to?
Q What is our daughter's school called?
Q Where does our daughter go to school?
B the class was far too big for her
B the bus line to the old place was cut
B she was bullied and nobody did anything
B the afternoon care was closed down
W You know why we changed schools? {C}.
P We're not happy with school. {C}.
D My niece goes to {o} and plays in the school theatre there.
D {o} had an open day, we went for the waffles.
D The headmaster of {o} was in the newspaper with a giant pumpkin.
D How much homework is normal at nine? >> About half an hour on most days.
D The school bag weighs more than the child, I'm sure.
D I went to {o} as a boy, when chalk was still flying through the room.
D Our daughter's best friend from {past} slept over, they still like each other a lot.

== instrument | us | home | music | son's instrument
V cello; trumpet; violin; clarinet; mandolin; saxophone; flute; trombone
F Our son plays the {v}.
F Our son takes lessons on the {v}, and the neighbours know it.
F our son's instrument is the {v}, bless our ears
F My question for the next weeks is how to keep a child practising. Our son has {v} lessons, half an hour a week.
C Our son has changed instruments, from {old} to {v}.
C He doesn't play the {old} any more, our son learns the {v} now.
C New instrument for our son, the {v}.
C Our son gave up the {old} and swapped it for the {v}. The teacher is fine with it.
S Our son practises the {v} ten minutes a day. Is that enough for a child? >> Ten minutes every day beat an hour a week.
S We rent a {v} for our son, that's what he has lessons on. Does home insurance cover instruments?
  >> Often yes, but check whether rented things are included.
S our son plays the {v} in the pupils' concert and i need to sew buttons on his shirt
S Could you write to the music teacher that our son can't come to his {v} lesson because of a school trip?
  >> "Dear teacher, our son is on a school trip and has to miss his lesson this week. Best wishes."
R Our son plays the {v} again.
R He's back to the {v}, our son, and says that it was the right one all along.
Q Which instrument does our son play?
Q What instrument does our son have lessons on?
Q What's our son's instrument?
B our son's hands hurt after every lesson
B his best friend talked him into another band
B the music teacher moved to another town
B the rental shop wanted it returned
W Our son's music, or why we changed it: {c}.
P Music lessons are a drama here. {C}.
D The girl next door plays the {o}, and she is really good.
D Grandpa had a {o} in the attic, completely out of tune.
D Our son saw somebody with a {o} in the street and stood there for ten minutes.
D What does a child need for a first concert? >> A good breakfast, and parents who don't film everything.
D I played the {o} for one year as a child and hated each minute.
D The music school wants the yearly fee in advance, I find that cheeky.
D The {past} case still stands in the corridor, I stumble over it every morning.

== babysitter | us | home | sitter | babysitter
V Emily; Rosalie; Lorenzo; Fatima; Wanda; Bruno; Saskia; Anneke
F Our babysitter is {v}.
F When we go out, {v} looks after the kids, our regular babysitter.
F babysitter here is {v}, student, 12 an hour
F We have two small kids and one evening off a week. That evening the babysitter comes, {v}, whom they adore.
C We have a new babysitter, {v}.
C {old} doesn't babysit for us any more, {v} does now.
C Our babysitter changed from {old} to {v}.
C {old} has stopped and {v} took over as our babysitter. The kids did a test with glue. Passed.
S Can you make a short list for our babysitter {v}? Bed at half past seven, two stories, no sugar.
  >> "1. Two stories. 2. Lights out at half past seven. 3. No sweets, even if they claim otherwise."
S {V} is babysitting our two tonight as always, and we go to the pictures. What's good for tired parents?
  >> A comedy under a hundred minutes.
S we pay our babysitter {v} cash, do i need any paperwork for that?
  >> For small sums mostly not, but a look at the rules helps.
S The kids painted a card for {v}, our babysitter, with eleven suns on it.
R {v} is our babysitter again.
R We have our old babysitter {v} back!
Q Who is our babysitter?
Q What's the name of our babysitter?
Q Who looks after the kids when we go out?
B the exams left no time for evenings
B there was a move to the other end of the country
B somebody fell asleep on our sofa while the kids were drawing on the walls
B our evening out moved to another day
W We needed somebody else to babysit, and this was why: {c}.
P Babysitter news. {C}.
D The family across the road have {o} as their babysitter.
D {o} left a note in the supermarket, "babysitting, any time". We don't need anybody.
D How late may a sixteen-year-old babysit? >> Most families agree on eleven at the latest.
D The kids built a cave out of every blanket we have.
D When I was small, my babysitter was called {o} too, she let us watch horror films.
D We dream of a whole weekend without children. Dreams are free.
D {past} sent the kids a postcard, they miss each other since the babysitting days.

== dog_food | us | home | pet | dog food
V salmon kibble; lamb with rice; turkey stew; raw beef; insect kibble; duck with potato; horse tins; venison mix
F Our dog eats {v}.
F Our dog Pepper gets {v}, twice a day.
F dog food here: {v}. the bowl is empty in 20 seconds
F Pepper, our dog, is seven and always hungry. The food in the bowl is {v}, 300 grams a day.
C We changed the dog's food from {old} to {v}.
C Pepper doesn't get {old} any more, it's {v} now.
C New food for our dog, {v}.
C We've switched Pepper over to {v}. Slowly, over a week, as the books say.
S Pepper eats {v}, 300 grams a day. How big a bag do I need for a month? >> About nine kilos.
S Pepper's food is {v} and my hands smell of it, no soap helps.
S please add to the list for the dog sitter: Pepper gets {v} in the morning and in the evening, nothing from the table
  >> "Pepper eats in the morning and in the evening, and gets nothing from the table, however sad the eyes are."
S We carry a sack of {v} up four floors every month, that's what Pepper eats. Any advice for my back?
  >> Two smaller bags, one in each hand.
R Pepper is back on {v}.
R Our dog gets {v} again, and all is well.
Q What does our dog eat?
Q What food does Pepper get?
Q What's in our dog's bowl?
B her fur was falling out in tufts
B the shop stopped stocking the old one
B she left half of it in the bowl
B she scratched herself all night
W Why Pepper has other food in the bowl: {c}.
P Poor Pepper. {C}.
D My neighbour's poodle gets {o}, from a silver spoon practically.
D A sample of {o} came by post, the cat next door took care of it.
D Has anybody ever proved that {o} is healthier for dogs? >> Not really, it depends on the dog.
D Pepper rolled in something dead. The whole flat smells.
D For her birthday we thought of baking biscuits for Pepper. Thought of it.
D How often should one brush a dog? >> Two or three times a week, daily in spring.
D In Pepper's puppy time it was {o}, on the breeder's orders, and she was round as a ball.

== vet | us | home | vet | vet
V Dr. Sauer; Dr. Mancini; Dr. Bergström; Dr. Haddad; Dr. Pickering; Dr. Zielinski; Dr. Amsel
F Our cat's vet is {v}.
F We take our cat to {v} for everything, jabs, teeth, the lot.
F vet of our cat is {v}, she hates the place
F We have a cat, Minka, fourteen years old, so we know the waiting room well. Her vet is {v}.
C We've changed vets, Minka goes to {v} now.
C {old} isn't our vet any more, we see {v} with Minka now.
C Minka has a new vet, {v}.
C We left {old} and moved Minka's file to {v}. She didn't scratch anybody so far.
S Minka's vet is {v}. Should the appointment before the holidays be a long one for a cat of fourteen?
  >> At that age a full check with blood values makes sense.
S {V} looks after Minka's teeth and the rest of her. She growls in the car as soon as we turn into the street.
S need a mail to our vet {v}: Minka's tablets are used up, can we collect more
  >> "Dear team, Minka's tablets are used up.
  Could we collect another pack this week? Thank you."
S The cat carrier is broken, and Minka has her yearly jab at our vet's, {v}. A washing basket with a lid, would that do?
  >> Only with a net tied over it; cats open lids.
R Minka's vet is {v} again.
R We're back at {v} with our cat.
Q Who is our cat's vet?
Q Which vet do we take Minka to?
Q What's the name of our vet?
B the waiting room was full of barking dogs
B the practice closed for good
B a bill of six hundred for one tablet was too much
B we had to wait nine days for an appointment
W Minka's vet, and why we changed: {c}.
P Vet trouble. {C}.
D My sister's rabbits go to {o}, she says that the hands are gentle.
D {o} gave a talk about ticks in the community hall.
D How do you get a tablet into a cat? >> Wrap it in a bit of butter, and be quick.
D Minka slept in the laundry and came out with a sock on her head.
D If Minka were a horse, {o} would be the one to call, says my uncle.
D Cats are expensive, that's all I wanted to say.
D I found {past}'s appointment card behind the fridge, from our time there.

== parking | us | home | garage | parking space
V space 12; space 27; space 34; space 46; space 58; space 63; space 71
F Our car is parked in {v} of the underground garage.
F Our parking space is {v}, right behind a pillar.
F we rent {v} in the garage, tight as hell
F For the folder with house things: our parking space in the garage is {v}, rent is paid with the flat.
C Our parking space has changed, it's {v} now.
C We swapped {old} for {v} in the garage.
C We don't have {old} any more, our parking space is {v} now.
C The house management moved us to {v} in the garage. Fine with me, more room for the doors.
S Please write to the house management, the lamp above our parking space, {v}, is broken.
  >> "The lamp above {v} is out. Could you have it replaced, please?"
S Someone has parked in {v}, which is ours, for the third time. What may I write on a note?
  >> "This space is rented. Please leave it free, thank you." Short and friendly works best.
S i scratched the door on the pillar, {v} isn't made for a family car but that's the one we have
S For the courier: the box can go into the trunk shelf in the garage, our space is {v}.
R We have {v} back as our parking space.
R Our car stands in {v} again.
Q Which parking space in the garage is ours?
Q What's the number of our parking space?
Q Where in the garage does our car stand?
B water dripped from the ceiling onto the bonnet
B the pillar made it impossible to open a door
B the charging box was installed at the other end
B an old neighbour needed a place near the lift
W On the parking space: we had a reason. {C}.
P Garage business. {C}.
D The dentist's wife on the first floor has {o} and a huge jeep.
D {o} has been empty for a year, somebody should grow mushrooms there.
D Could two small cars fit into {o}, in theory? >> With goodwill, perhaps; on paper, no.
D The garage door squeaks so loudly that I wake up from it.
D Visitors park on the street, no way around it.
D Caught myself driving to {past} out of habit. Old routines.
D Is it allowed to store tyres in a garage? >> Four tyres are usually fine, check the house rules.
"""
