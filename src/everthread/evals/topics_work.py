"""Wording of the topics from offices and software teams (the tags are explained in topics.py)."""

WORK = """
== release_day | us | team | release | release day
V Monday; Tuesday; Wednesday; Thursday; Friday; Saturday; Sunday
F Our team ships to production once a week, always on {v}.
F For context: {v} is our release day, the rest of the week nothing goes out.
F we deploy on {v}s, just so you know when i get grumpy
F I'm putting together an onboarding page. Our weekly release goes out on {v}; can you write one sentence about it?
  >> Sure: "We release once a week, on {v}, and everybody keeps an eye on the dashboards for an hour afterwards."
C Our release day has changed, it's {v} now instead of {old}.
C We moved the weekly deploy from {old} to {v}.
C No more {old} releases for us. From this week on it's {v}.
C Team decision in the retro: our releases switch to {v}. Already in effect, the calendar is updated.
S I can't take a {v} off any time soon, that's when our weekly release goes out.
S {V} is our release day, so please never suggest that afternoon for meetings. >> Understood, I'll keep that one free.
S Our deploys run every {v} after lunch. How do I say politely to a customer that we can't do an extra one?
  >> "We bundle changes into one weekly release, which lets us test them properly. Yours is in the next one."
S We ship every {v}, and this week's one went out without a hitch, first time in ages
S Could you write a reminder for the channel? Our weekly release is on {v}, merges have to be in the evening before.
  >> "Reminder: everything for the release has to be merged by tomorrow evening. Thanks, everybody!"
R We're back to {v} for our releases.
R Our release day is {v} again, like in the old days.
Q Which day of the week do we release on?
Q On what weekday do our deploys go out?
Q I'm planning the week, when's our release day?
B the support desk couldn't cover the hours after the release
B customers complained about outages in their busiest hours
B QA never had enough time before a release
B the ops people asked us for a calmer slot
W The reason why we moved the release day, by the way: {c}.
P Grumbling about the release day in every retro. {C}.
D The mobile team releases on {o}, but that's their own train, not ours.
D Somebody suggested {o} for our releases, but nobody was keen and it was dropped.
D Would {o} be a stupid day for a weekly release, generally speaking? >> It depends on who is around afterwards.
D The last deploy took forty minutes, I'm so tired of watching progress bars.
D At my previous company everything shipped on {o}, at midnight. Never again.
D Besides the release we also have a change board, every other week, with far too many people in it.
D Remember when we still shipped on {past}? Feels like ages ago.

== ci | us | team | ci | CI system
V Jenkins; GitLab CI; CircleCI; Buildkite; TeamCity; Drone CI; Travis; Woodpecker
F Our builds run on {v}.
F Background for later: the CI system of our team is {v}, with about thirty pipelines.
F we use {v} for all our builds and tests, self taught, so expect stupid questions from me
F I'm the one who looks after CI here. It's {v}, inherited from a colleague who left without writing a single page.
C We migrated our builds from {old} to {v}, last pipeline went over yesterday.
C {old} is gone, our CI is {v} now.
C Finally done: we've replaced {old} with {v} for all our builds.
C So as of today all our pipelines have switched to {v}. The old server is switched off.
S Every push of ours goes through {v}. Is there a rule of thumb for how long a build should take?
  >> Under ten minutes is a good aim; beyond that people start doing something else.
S our {v} queue is full again, all forty builds of this team waiting on one tiny runner
S I need a line for the audit: our builds and tests run on {v}, logs are kept for a year. Does that sound ok?
  >> It does. I would add who has access to the logs.
S Please write the intro of our CI page. We build with {v}, each service has its own pipeline, and main must be green.
  >> "Each of our services has its own pipeline in {v}. Main stays green: if you break it, you fix it first."
S All of our repos are hooked up to {v}, and I'm the one holding the admin password, lucky me
R We went back to {v} for our builds.
R Guess what, we're on {v} again with CI. It just works for us.
Q Which CI system does our team build with?
Q What do our builds run on?
Q What's our CI called, for the docs?
B the licence got three times as expensive
B nobody here knew how to maintain the plugins
B the runners kept dying in the middle of the tests
B the security review would not sign off the old setup
W You asked nothing, but I'll explain the CI move anyway: {c}.
P CI is on everybody's nerves. {C}.
D The data team builds with {o}; totally separate from our stuff.
D A consultant praised {o} to the skies yesterday. We listened politely.
D What is {o} like for monorepos, do you know?
  >> It copes, but you'll want path filters so that not everything is rebuilt.
D One flaky test broke the build four times this week. I want to throw my keyboard.
D In a dream world I'd try {o} for our builds, but there's no budget for dreams.
D Should a CI run do the linting first or the unit tests? >> Linting first, it is cheap and fails fast.
D I found an old mug with the {past} logo in the office kitchen, from the days when we built with it.

== database | us | team | database | main database
V PostgreSQL; MariaDB; CockroachDB; MongoDB; Oracle; SQL Server; Couchbase; Firebird
F Our product stores everything in {v}.
F The main database behind our product is {v}, on two machines.
F fyi the thing i work on all day sits on a big {v} database
F I'm a backend developer, and our product's main database is {v}. Most of my questions will be about queries, I fear.
C We've migrated the product database from {old} to {v}.
C Big weekend: {old} is out, {v} is in as our main database. Everybody slept four hours.
C our main db is no longer {old}, we run {v} now
C The cutover is finished, as of this morning our product runs on {v} instead of {old}.
S Customers' data of ours lives in {v}, encrypted at rest. Could you phrase that for the privacy page?
  >> "Your data is stored in an encrypted database in our own data centre."
S Our product runs on {v}. What should I look at first when inserts get slow?
  >> Look at locks first, then at the number of indexes on the busy tables.
S I spend my days tuning {v}, since it's what our whole product sits on. Not glamorous.
S The main database of our product is {v}, nightly dumps, and a replica that nobody has ever tested
S For the new hires: we keep all product data in {v}. Any book you would put on a reading list?
  >> "Designing Data-Intensive Applications" is a good start for anybody.
R Back on {v} as our main database, sigh of relief all around.
R We rolled our product database back to {v}. Long story.
Q What's the main database behind our product?
Q Which database system does our product run on?
Q What do we store our product data in?
B the licence audit scared the management
B the failover lost data twice
B our reporting queries took minutes
B the vendor ended support for our version
W For the record, why we swapped the database: {c}.
P Database headaches at work. {C}.
D The billing people use {o}, but they're another department with their own servers.
D I read a long article about {o} on the train. Interesting, not for us though.
D If we ever started from scratch, I'd look at {o}. We won't.
D Can you explain eventual consistency in one sentence? >> All copies agree in the end, but not at every moment.
D A backup restore test took six hours. Nobody is happy about that number.
D There's also a small cache in front of it, which I never touch.
D Found a ten-page rant of mine on {past} in the wiki, from back when we used it.

== on_call | us | team | oncall | person on call
V Priya; Tomasz; Ingrid; Babak; Yuki; Leonie; Kwame; Mateo
F {v} is on call for our team at the moment.
F Our pager is with {v}, in case you help me to write incident mails.
F on-call duty in our team: {v} has it
F We have exactly one person on call, and at the moment it's {v}, who also gets the extra money.
C On-call handover done: {v} has taken over the pager from {old}.
C {old} is off the rota, {v} is our person on call now.
C We changed on-call duty, it's {v} now.
C The pager went from {old} to {v}.
S {V} has our pager, so for alerts at night it's that phone which rings.
S Please write a short thank-you for whoever keeps our service alive: {v} is on call for us and had three bad nights.
  >> "Three rough nights, and none of us noticed an outage. Thank you, {v}, it is much appreciated!"
S for the incident template: person on call in our team = {v}
S If production breaks, our runbook says to ring {v}, who is on call for us.
R {v} is on call for us again.
R Pager's back with {v}.
Q Who is on call for our team?
Q Who has our pager?
Q Whom do we ring when production breaks at night?
B the last weeks had far too many night alarms
B a baby was born in that family
B the doctor ordered a few months of undisturbed sleep
B the long holiday leave had been approved a year ago
W Why we had to shuffle on-call, since you may wonder: {c}.
P On-call duty was a topic in the team round. {C}.
D {o} is on call for the network group, that's a different rota.
D {o} offered to cover a night for us some day. Kind, but nothing agreed.
D What is a fair payment for being on call, roughly? >> Many firms pay a flat sum per week plus time off for each alarm.
D Four alarms last night, three of them for a disk that was never full.
D We talked about having two people on call. Just talk so far.
D I've never had the pager myself and I'm not sad about it.
D {past} still jumps at every ringtone, months of pager do that to you.

== standup | us | team | standup | stand-up time
V 9:00; 9:15; 9:30; 9:45; 10:00; 10:15; 10:30; 11:45
F Our daily stand-up is at {v}.
F We meet for stand-up at {v} every morning, cameras optional.
F stand-up of our team: {v}. i'm usually late, so remind me in spirit
F My working day has one fixed point, our team's daily stand-up at {v}; everything else I can arrange freely.
C Stand-up got moved from {old} to {v}.
C Our daily isn't at {old} any more, we meet at {v} now.
C New time for our stand-up: {v}.
C We voted, and the daily changes to {v}. Starting this week, so it's already in my calendar.
S I need to be at my desk by {v} for our daily stand-up. What breakfast can I make in five minutes?
  >> Yoghurt with oats and an apple; two minutes, no pan.
S Our daily is at {v}, fifteen minutes, and it never takes fifteen minutes.
S Please draft an invitation to a new colleague: our stand-up is daily at {v}, online, no slides.
  >> "Hi and welcome! We meet online every day at {v} for a quick round. No slides, just come along."
S what do i say in a standup when i did nothing yesterday? ours is at {v} and i'm a bit nervous
  >> "I was stuck on one thing and would like a second pair of eyes today." Nobody minds that.
R Our stand-up is back at {v}.
R We returned to {v} for the daily, the experiment is over.
Q What time is our daily stand-up?
Q When do we meet for stand-up?
Q At what time does our daily start?
B two people have to bring their kids to school
B the colleagues overseas were always missing it
B the room was double-booked every single day
B people weren't awake enough to say anything useful
W There was a reason behind the stand-up move: {c}.
P Stand-up attendance is a mess. {C}.
D The design crew has its stand-up at {o}. I'm glad that I don't need to go.
D Somebody asked whether {o} would suit us for the daily. Silence in the room.
D Is a daily stand-up worth it for five people? >> It can be, if it stays short and ends early when there is nothing.
D Stand-up ran over again, thirty minutes about a button.
D In the office I was in before, the daily was at {o} sharp, and they locked the door.
D I wish we did stand-ups by text. I'm alone with that wish.
D Our planning meeting is a separate thing, every second week, long and with biscuits.

== hosting | us | team | hosting | hosting provider
V Hetzner; OVH; Scaleway; DigitalOcean; Linode; Exoscale; Vultr; Infomaniak
F Our servers are at {v}.
F We host everything at {v}, twelve machines or so.
F hosting provider of our team is {v}, i have the invoices on my desk
F Some background: we are a small team, our whole platform is hosted with {v}, and I do the servers on the side.
C We left {old}, all our servers are at {v} now.
C The move of our platform from {old} to {v} is through.
C We've changed our hosting provider to {v}.
C Hosting update: goodbye {old}, hello {v}. DNS is switched and the old machines are wiped.
S The {v} invoice for our twelve servers came in, 840 in total. Is that much for such a small platform?
  >> It is in the usual range; look for machines that idle at night.
S Our whole platform is hosted with {v}, could you write that into one line for a customer questionnaire?
  >> "Our platform is hosted with {v}, in a certified European data centre."
S I was on the phone with {v} for an hour, since all of our machines are there and one didn't boot.
S we host at {v} btw, so snapshots are a click for us
R We're hosting with {v} again.
R Moved all our servers back to {v}.
Q Where do we host our servers?
Q Who is our hosting provider?
Q Which company are our servers with?
B the bandwidth prices went through the roof
B their support took four days to answer
B a customer insisted on another jurisdiction
B we had three network outages within a month
W Why we moved the servers: {c}.
P I'm fed up with our hosting. {C}.
D My private blog is on {o}, tiny thing, costs nothing.
D A friend's startup hosts at {o} and is over the moon.
D {o} sent us a voucher. It went into the bin of unread mail.
D What does a load balancer do, for a layperson?
  >> It shares out visitors among several servers, like a cashier directing queues.
D One of our servers is called "potato". Nobody knows why.
D If money were no object, would {o} be something for us? Just dreaming.
  >> For dreaming, yes. In practice I'd measure first.
D I still get newsletters from {past}, years of being a customer leave traces.

== chat_tool | us | team | teamchat | team chat
V Slack; Mattermost; Zulip; Rocket.Chat; Microsoft Teams; Element; Discord; Webex
F Our team chats on {v}.
F Just so you know the setting: the chat of our team is {v}, and it never sleeps.
F we use {v} as team chat, too many channels, you know the story
F When I say "the channel" I mean {v}, that is where our whole team talks.
C We switched our team chat from {old} to {v}.
C Bye bye {old}. Our team talks on {v} now.
C Our team chat has changed, we're all on {v}.
C We've closed down {old} and moved the team over to {v}. The history is exported.
S Our team talks on {v}. How do I tell people nicely to use threads?
  >> "Could we keep replies in threads? It makes it much easier to follow later."
S I have 214 unread messages on {v}, our team chat is out of control.
S Please write the welcome text for our newcomers. All our chat is on {v}, urgent things by phone.
  >> "Welcome! You'll find all of us on {v}. If something can't wait, please ring."
S everything our team discusses is on {v}, so if i'm quiet here i'm typing there
R We are back on {v} for team chat.
R Team chat is {v} again, everybody knows the shortcuts at least.
Q What does our team use for chat?
Q Which chat tool is our team on?
Q Where does our team chat?
B the price per seat was doubled
B our data protection officer had objections
B searching old messages never worked
B the mobile app drained everybody's battery
W Some wondered why the chat tool had to change, so here: {c}.
P Our chat tool is in the line of fire. {C}.
D My kids' football coach wants all parents on {o}. Sigh.
D One client insists on {o} for meetings with them, I open it once a month.
D Someone in another office pitched {o} as a chat for everyone. No decision, no plan.
D Is there a polite way to leave a group chat?
  >> A short "I'm tidying up my channels, ping me directly if needed" will do.
D I muted all channels for an afternoon and nobody noticed.
D Back in my student job, we did everything on {o}, even the holiday requests.
D Somebody's asking for an old message that was on {past}. Good luck.

== manager | me | job | boss | manager
V Ms. Falk; Mr. Adeyemi; Ms. Petrov; Mr. Lindqvist; Ms. Castellano; Mr. Nakamura; Ms. Dubois
F My manager is {v}.
F I report to {v}, who reads every mail twice, so help me to be clear.
F quick background: my boss is {v}, very nice, very busy
F I have my yearly review coming up some day. {v} is my manager. How do people prepare for such a thing?
  >> List what went well
  with examples, what you learned, and one wish for next year.
C I've got a new manager, {v}.
C {old} isn't my boss any more, I report to {v} now.
C There was a reshuffle at work and my manager changed from {old} to {v}.
C As of this week {v} has taken over from {old} as my line manager. We had a first coffee, it was fine.
S My manager {v} wants a one-page summary from me. What belongs on one page?
  >> The goal, where you stand, the two biggest risks, and what you need.
S Had my one-on-one with my boss, {v}, and came out with more work than before.
S I need to ask {v} for two days off. As my manager likes short mails, could you write a very short one?
  >> "I'd like to take two days off next week; the open work is handed over. Is that all right with you?"
S {v} is the one who signs my time sheets and holiday requests
R {v} is my manager again.
R I'm back under {v} at work. Same department, same boss as before.
Q Who is my manager?
Q Who's my boss at work?
Q Whom do I report to?
N Who is {name}'s manager?
N Whom does {name} report to at work?
B the department was split in two
B somebody up there took early retirement
B the whole group was reorganised
B there was a long sick leave in the management
W How come I report to somebody else? Simple: {c}.
P Unrest at work. {C}.
D My partner's boss is {o}, and what I hear at dinner isn't pretty.
D {o} from sales asked me whether I'd want to work over there. I laughed it off.
D How do you tell a boss that a deadline is impossible? >> Early, with numbers, and with a second proposal in hand.
D My boss sent a mail at eleven at night. I pretended not to see it.
D Rumour has it that {o} might get our group one day. People say a lot in the coffee corner.
D In my first job I had {o} as a boss, the best I ever had, that was ages ago.
D I ran into {past} in the lift, was nice to catch up with my former boss.

== office_room | me | job | desk | office room
V room 114; room 207; room 219; room 305; room 331; room 402; room 418
F At work I sit in {v}.
F My desk is in {v}, the one with the broken blind.
F office room: {v}. window seat!!
F In case you draft directions for visitors: I work in {v}, and people always get lost on the way to my desk.
C I moved desks at work, from {old} to {v}.
C I'm not in {old} any longer, I sit in {v} now.
C My new office is {v}.
C They relocated me to {v}. Boxes everywhere, but the monitor survived.
S The light above my desk in {v} flickers. How do I word a note to the caretaker?
  >> "The ceiling light in {v} has been flickering for days; could you please have a look?"
S I sit in {v}, right next to the printer, so I hear everybody's secrets.
S Visitors for me have to come to {v}, please write me a line for my mail signature.
  >> "You'll find me in {v}, just knock."
S my desk is in {v} and it's freezing, what do office people wear against that
  >> Layers: a thin wool jumper under a cardigan, and warm socks.
R I'm back in {v} at work.
R They put me into {v} again, my old chair was still there.
Q Which room do I sit in at work?
Q Where is my desk at work?
Q What's my office room?
N Which room does {name} sit in at work?
N Where is {name}'s desk?
B the carpet had to be torn out
B they needed the space for the interns
B the noise from the street was unbearable
B our group was split over two floors
W I should explain why I had to change rooms. {C}.
P Office news. {C}.
D The printer for the whole floor is in {o}, of course at the other end.
D A colleague of mine sits in {o}, with a ficus the size of a tree.
D Training last week was in {o}, eight hours without a window.
D They asked whether I could imagine sitting in {o}. I said I'd think about it, and that was that.
D Is there any trick against noise from open doors? >> A white-noise app, or simply a friendly sign on the door.
D My chair squeaks whenever I lean back.
D I left a charger in {past} when I moved out of there, it's probably gone.

== code_editor | me | job | editor | code editor
V Helix; Sublime Text; PyCharm; Emacs; VS Code; Neovim; Eclipse; Geany
F I write my code in {v}.
F My editor is {v}, so shortcuts for that one please.
F i do everything in {v}, code, notes, even shopping lists
F You'll get code from me now and then. I edit with {v} and nothing else, no religion, just habit.
C I've switched editors, from {old} to {v}.
C After years I dropped {old}, I code in {v} now.
C Changed my code editor. It's {v} as of this week, my fingers are confused.
C {old} is uninstalled, I've replaced it by {v}.
S My editor is {v}. Is there a common way to select the same word several times in editors?
  >> Most of them call it multiple cursors; look for that in the key map.
S I have {v} open all day for my code, and my eyes hurt. Light or dark theme?
  >> Follow the room: light theme in daylight, dark in the evening.
S i code in {v}, so no tips with mouse menus please
S All my programming happens in {v}. Yesterday it ate an unsaved file, forty lines, gone, I nearly cried.
R I'm back to coding in {v}.
R Well, {v} is my editor again. I tried, I failed.
Q Which editor do I code in?
Q What's my code editor?
Q What do I write my code with?
N Which editor does {name} code in?
N What is {name}'s code editor?
B my wrists hurt from the key combos
B the editor took a full minute to start on my machine
B the plugin I depended on was abandoned
B pair programming was impossible with that setup
W Why I gave up my editor, a confession: {c}.
P My editor and me, a sad story. {C}.
D My desk neighbour uses {o} and won't stop talking about it.
D I watched a video about {o} at lunch. Pretty. I watch a lot of videos.
D Would it take long to learn {o}, hypothetically? >> A week to be slow in it, a month to be at home.
D Tabs or spaces? Please don't say it depends. >> Spaces. There, I said it.
D At university they forced us to use {o}. I still have nightmares.
D I ought to learn touch typing properly one day.
D I still press the {past} shortcuts by accident, muscle memory.
"""
