"""What people and teams tell an assistant about: values that change, and the words in which they are told.

A block holds one topic. Its heading names it; of the lines, ``first`` tells a value for the first time, ``open``
tells a change in open words, ``plain`` says how things are, ``back`` tells a return, ``ask`` asks without naming a
value, and ``cause`` is a clause. The others do not tell the value: they are of somebody else (``other``), of another
thing of the kind (``sibling``), an ``idea``, a supposition (``hypo``), a ``question``, long before (``past``), or of a
value that ended (``then``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Whose = Literal["team", "person", "home"]
ASIDES = ("other", "sibling", "idea", "hypo", "question", "past", "then")


@dataclass(frozen=True, slots=True)
class Topic:
    """A thing with values. In its sentences {v} is the value, {old} the one before, {x} one that does not hold."""

    subject: str
    whose: Whose
    values: tuple[str, ...]
    first: tuple[str, ...]
    open: tuple[str, ...]
    plain: tuple[str, ...]
    back: tuple[str, ...]
    ask: tuple[str, ...]
    cause: tuple[str, ...]
    asides: tuple[tuple[str, str], ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        told = (*self.first, *self.open, *self.plain, *self.back)
        return (*told, *self.ask, *self.cause, self.subject, *(text for _, text in self.asides))


def parsed(blocks: str, whose: Whose) -> Iterator[Topic]:
    for block in blocks.strip().split("\n\n"):
        heading, *lines = block.splitlines()
        tagged = [(tag, text) for tag, _, text in (line.partition(": ") for line in lines)]

        def of(wanted: str, tagged: list[tuple[str, str]] = tagged) -> tuple[str, ...]:
            return tuple(text for tag, text in tagged if tag == wanted)

        yield Topic(
            subject=heading.removeprefix("# "),
            whose=whose,
            values=tuple(of("values")[0].split(" | ")),
            first=of("first"),
            open=of("open"),
            plain=of("plain"),
            back=of("back"),
            ask=of("ask"),
            cause=of("cause"),
            asides=tuple((tag, text) for tag, text in tagged if tag in ASIDES),
        )


# Told by anyone in a team.
TEAM = """
# our production database
values: PostgreSQL | MySQL | MongoDB | CockroachDB | MariaDB | SQL Server | DynamoDB | Cassandra
first: Some background before I ask anything: our production database is {v}.
first: prod db = {v}, about 40 GB of data
first: The app stores everything in {v}, and it has to survive a nightly import.
first: We keep all customer records in {v} in production, just so your examples fit.
open: We switched production from {old} to {v} over the weekend.
open: Production no longer runs on {old}, it's all {v}.
open: Please write queries for {v} instead of {old}, that's what production uses since Monday.
plain: The production migration finished at 4 am and the customer records live in {v}.
plain: Spent the whole afternoon tuning indexes on production. {v} has its own ideas about that.
plain: We turned off the last {old} machine today and {v} took the full production load without a hiccup.
plain: For the runbook: production data sits in {v}, port and user are in the vault.
back: The experiment is over, we reverted production to {v}.
ask: Which database does production run on?
ask: I have to write a query for our production data. Which database is that for again?
ask: What do we store the customer records in?
cause: the production database kept locking up during the nightly import
cause: the licence for the old database tripled in price
cause: nobody on the team could debug replication in the production database
sibling: The staging database is still {x}, by the way, nobody ever touches that one.
other: The people on the second floor keep their warehouse data in {x} and won't stop talking about it.
hypo: If we were starting from zero I'd probably look at {x} for storage, but we aren't.
past: At my previous company we stored everything in {x} and it was a zoo.
then: Found a dusty wiki page from our {old} days, the production dump scripts in there are hilarious.

# our hosting provider
values: Hetzner | DigitalOcean | OVHcloud | Linode | Scaleway | Vultr | Azure | Exoscale
first: We host everything at {v}, three servers in one data centre.
first: Our servers are with {v}, if that matters for the firewall question.
first: Hosting is {v} for us, paid by the month.
first: Could you keep in mind that our machines are rented from {v}?
open: We moved the servers from {old} to {v} last week.
open: Goodbye {old}: hosting is at {v} now.
open: We are not with {old} any more, {v} hosts us.
plain: First invoice from {v} arrived, the servers cost us 212 euros a month there.
plain: All three machines came up at {v} this morning and the DNS points to them.
plain: The {old} contract ran out on Friday, so our servers sit at {v}.
plain: {v} support answered in ten minutes about our servers, I was pleasantly surprised.
back: We went back to {v} with the servers, everything is on the old account again.
ask: Who hosts our servers?
ask: Which hosting provider are we with?
ask: I need to open a ticket about one of our servers. With which company?
cause: the hosting bill doubled without any warning
cause: our servers had three network outages in two weeks
cause: a big customer wanted the servers in another country
idea: Somebody floated {x} for the servers in the budget meeting, but that went nowhere.
question: Does {x} offer private networks between machines, do you know? Just curious.
other: My brother-in-law hosts his football forum at {x} for four euros.
past: In my first job we had racks at {x}, I still remember the noise in the call queue.
then: While tidying the drawer I found an access card from our {old} days.

# our frontend framework
values: React | Svelte | Vue | Angular | SolidJS | Backbone | Alpine.js | Qwik
first: The web client is written in {v}, so please answer in those terms.
first: Our frontend is {v} with plain CSS.
first: fyi the customer portal's frontend framework is {v}
first: I joined a team that builds its customer portal with {v}, and I have a lot to learn.
open: We have replaced {old} by {v} in the customer portal.
open: The portal is no longer {old}, we finished the rewrite in {v}.
open: Frontend examples in {v} from now on please, {old} is gone from the portal.
plain: The rewritten portal went live yesterday, all of it {v}.
plain: I deleted the last {old} component of the portal this morning. {v} only, what a feeling.
plain: Can't believe how small the portal bundle is with {v}.
plain: Our two frontend people did a {v} course, and the portal they shipped in it is lovely.
back: We gave up on the rewrite and the portal is back on {v}.
ask: What is our customer portal's frontend written in?
ask: Which framework should a frontend example for the portal use?
ask: Remind me, what's the portal built with?
cause: the portal's bundle had grown to four megabytes
cause: our only frontend expert left in spring
cause: the old frontend framework stopped getting security fixes
sibling: The internal admin pages are done in {x}, but I never have to go in there.
idea: One of the interns would love to try {x}, I told him to do that in his own time.
question: What do people like so much about {x}? I keep seeing it in job ads.
past: I learned web development with {x}, back when dinosaurs roamed the earth.
then: Funny, there is still a {old} sticker on my monitor from before the portal rewrite.

# our release date
values: 30 September | 14 October | 21 October | 6 November | 18 November | 2 December | 11 December | 25 September
first: The big release is planned for {v}, so we have some time.
first: Release date: {v}. The whole team has it in the calendar.
first: We promised the customer that the release will be out on {v}.
first: Help me plan backwards, please: our release is on {v} and testing takes three weeks.
open: The release has been moved from {old} to {v}.
open: We ship the release on {v} instead, I told the customer this morning.
open: It's not {old} but {v} for the release, please plan with that.
plain: The steering group met and the release goes out on {v}.
plain: I've booked the release party for the evening of {v}, right after we ship.
plain: Marketing has the posters ready: the release is out {v}.
plain: {old} isn't happening for the release. {v} is what everybody signed.
back: After all that back and forth the release is on {v} again, as in the earlier plan.
ask: When is our big release?
ask: What date do we ship the release?
ask: For which day is the release planned?
cause: the release clashed with a trade fair
cause: the people who have to approve the release had no time around that date
cause: the customer asked for another release date
sibling: The documentation sprint ends on {x}, that's a separate thing from the release.
other: The hardware group ships its own box on {x}, nothing to do with us.
question: Is {x} a public holiday anywhere in Europe?
hypo: If everything had gone perfectly we could have released on {x}, haha.

# our retrospective day
values: Monday | Tuesday | Wednesday | Thursday | Friday | Saturday
first: Our team retrospective is every {v} after lunch.
first: We do the retro on {v}s, an hour, always with cake.
first: Retros take place on {v}, could you help me find a fresh format?
first: Note for the calendar: retrospective each {v}.
open: The retro moved from {old} to {v}.
open: We no longer do retros on {old}, they are on {v}.
open: Retrospective is on {v}s now.
plain: Everyone voted and the retro takes place on {v}.
plain: I need a retro icebreaker by {v}, because that's our retro day.
plain: Room Birch was only free on {v}, so that's when the team holds its retro each week.
plain: {v} retros suit everybody, the first one was the liveliest in months.
back: The retro goes back to {v}, like before.
ask: On which day of the week is our retro?
ask: What day do we hold the retrospective?
ask: Which weekday is retro day?
cause: half the team was always on the train during the retro
cause: the retro kept clashing with the sales call
cause: people were too tired for the retro at that point of the week
sibling: The board game evening is on {x} as usual, bring snacks.
other: The design team meets for their own retro on {x}.
idea: Someone suggested {x} for the retro, but we voted that down at once.
past: Years ago we had retros on {x}, and nobody ever came.

# our on-call engineer
values: Marit | Oleg | Femi | Zsofia | Hiroshi | Camille | Dmitri | Ingrid
first: {v} is on call for our platform at the moment.
first: If anything breaks, {v} has the pager.
first: For the escalation page: the on-call engineer is {v}.
first: We have one person on call per quarter, at present that's {v}.
open: {v} took over the pager from {old}.
open: {old} is no longer on call, call {v} if the platform is down.
open: Please put {v} into the escalation page instead of {old}.
plain: {v} carries the pager, starting today.
plain: The alert went off at 3 in the night and {v}, who has the pager, fixed it in ten minutes.
plain: I handed the on-call phone to {v} this morning.
plain: We had a nice farewell for {old}'s on-call duty. {v} is the one to wake up at night.
back: The pager went back to {v}.
ask: Who is on call for the platform?
ask: The platform is down! Who has the pager?
ask: Whose name belongs on the escalation page for on-call?
cause: the last on-call person had five bad nights in a row
cause: parental leave came earlier than planned and the pager needed a home
cause: we reshuffled the on-call duty after the reorganisation
sibling: For the office alarm system it's {x} who gets the call, that's not the pager.
idea: {x} volunteered for the pager once, but isn't trained for it yet.
hypo: If {x} ever did on-call we would all sleep better, but that's not going to happen.
past: Do you know the story of the great outage? {x} was on call in those days, five years ago.

# the budget of the warehouse project
values: 40,000 euros | 55,000 euros | 62,500 euros | 38,000 euros | 75,000 euros | 90,000 euros | 48,000 euros
first: The budget for the warehouse project is {v}.
first: We've got {v} for the warehouse project, all in.
first: Warehouse project: approved budget {v}.
first: I have to split {v} over four work packages, that's the warehouse project's whole budget.
open: The warehouse budget was changed from {old} to {v}.
open: Instead of {old} we have {v} for the warehouse project.
open: The warehouse budget is now {v}.
plain: Finance signed off {v} for the warehouse project.
plain: I redid the warehouse spreadsheet so that it adds up to {v}, as approved on Friday.
plain: The email from the board is short: {v} for the warehouse project, not a cent more.
plain: Forget the {old} in my warehouse sheet, the board granted {v}.
back: The board withdrew its decision, so the warehouse budget is back at {v}.
ask: How much money do we have for the warehouse project?
ask: What's the approved budget of the warehouse project?
ask: Our warehouse project, what is its budget again?
cause: the architect had to redo the estimate for the warehouse
cause: the work packages of the warehouse project were cut differently
cause: the board reviewed all building projects including the warehouse
sibling: The website relaunch has {x} to spend, but that's another pot entirely.
other: A friend's company spent {x} on a trade fair stand. Madness.
idea: My wish would be {x} for the warehouse, but nobody asked me.
question: Would you say that {x} is a lot for a small film about a company?

# the owner of the billing module
values: Anneke | Rashid | Tomasz | Giulia | Kwame | Siobhan | Mateus | Yuki
first: {v} owns the billing module, everything about invoices goes there.
first: Billing module: owner is {v}.
first: Every decision about billing is taken by {v}, who owns that module.
first: The billing module belongs to {v}.
open: {v} has replaced {old} as the owner of billing.
open: Billing no longer belongs to {old}, {v} owns it.
open: Ownership of the billing module went from {old} to {v}.
plain: {v} owns billing, as of this sprint.
plain: I sent the invoice bug to {v}, since billing is theirs.
plain: The CODEOWNERS file says {v} for billing, I merged that an hour ago.
plain: {old} said goodbye to billing with cookies. {v} decides over there.
back: {v} took billing back.
ask: Who owns the billing module?
ask: I need an approval for a change in billing. Whom do I ask?
ask: Whose module is billing?
cause: the billing owner was promoted to team lead
cause: we wanted the billing owner and the accountants in one time zone
cause: billing had too many open bugs and needed someone full time
sibling: {x} owns the search module, that one is easy to remember.
idea: For a moment {x} was a candidate for billing, but declined.
past: {x} wrote the very first version of billing, in 2014, and left soon after.
question: Do you think a product manager like {x} could own a module at all?

# our packaging supplier
values: Boxmeister | Kartonia | PackRight | Greenwrap | Verpakt | Papyrix | Foldwell | Cratewise
first: We buy our shipping boxes from {v}.
first: Our packaging supplier is {v}, they deliver every other week.
first: Please help me word a mail to {v}, they make all of our boxes.
first: Boxes and tape come from {v}, so the delivery notes have their logo.
open: We switched from {old} to {v} for the boxes.
open: {old} no longer supplies our packaging, {v} does.
open: Boxes: {v} instead of {old}, with immediate effect.
plain: The first pallet of boxes from {v} arrived and the quality is fine.
plain: I signed the packaging contract with {v} today.
plain: Reminder to myself: order boxes at {v} before the tenth, they need a week.
plain: Our last order at {old} is through, our boxes come from {v}.
back: We crawled back to {v} for the boxes.
ask: Where do we buy our shipping boxes?
ask: Who supplies our packaging?
ask: We're running out of boxes. Which supplier do I call?
cause: a whole delivery of boxes arrived wet
cause: the box supplier raised the minimum order to 10,000
cause: customers complained about plastic in our packaging
sibling: Labels and stickers we get from {x}, that works well.
other: The bakery next door packs its bread in stuff from {x}.
idea: {x} sent us a sample of their boxes. Nice, but far too expensive for us.
question: Have you ever heard of {x}? They keep calling me and I never buy.
then: In the cellar there's one last box with the {old} print, from before.

# the price of the Pro plan
values: 19 dollars | 24 dollars | 29 dollars | 35 dollars | 39 dollars | 45 dollars | 49 dollars | 15 dollars
first: Our Pro plan costs {v} a month.
first: We charge {v} per month for Pro.
first: Pro plan: {v}, monthly, cancel any time.
first: Let me tell you about our pricing. There's a free tier, and Pro at {v} a month.
open: Pro went from {old} to {v} a month.
open: We no longer charge {old} for Pro, it is {v}.
open: The Pro plan is now {v}.
plain: The pricing page has been updated, Pro is {v} a month.
plain: Since this morning new customers pay {v} for Pro.
plain: I need a friendly mail to our users saying that Pro costs {v}, effective today.
plain: {old} for Pro is history. {v} and not a single complaint so far.
back: We rolled the Pro price back to {v}.
ask: How much is our Pro plan per month?
ask: What do we charge for Pro?
ask: A customer asks for the monthly price of Pro. What do I answer?
cause: our sums for the Pro plan turned out to be wrong
cause: a competitor came out with a plan just like our Pro
cause: an experiment showed what people are willing to pay for Pro
sibling: The Team plan stays at {x} per seat, that's not Pro.
other: Our biggest competitor takes {x} for roughly the same features.
hypo: Suppose Pro cost {x}, how many users would we lose? Purely as a thought experiment.
past: In the beta, long before all this, people paid {x} for what became Pro.

# the Python version of the backend
values: Python 3.8 | Python 3.9 | Python 3.10 | Python 3.11 | Python 3.12 | Python 3.13 | Python 3.14
first: The backend runs on {v}, so no syntax that it doesn't know, please.
first: backend is on {v}, typed, tests with pytest
first: Our backend image is built with {v}.
first: Before you suggest code for the backend: we're on {v}.
open: We upgraded the backend from {old} to {v}.
open: The backend no longer uses {old}, we're on {v}.
open: Backend is on {v} now.
plain: The backend image is built on {v}, merged this afternoon.
plain: All backend tests pass under {v} and that's what has been deployed.
plain: I was looking at a backend traceback all morning, {v} prints really pretty ones.
plain: We dropped {old} from the backend's build file and {v} is the only line left.
back: We had to revert the backend to {v}.
ask: Which Python does the backend run on?
ask: What Python version should backend code be written for?
ask: Remind me of the backend's Python version?
cause: a library the backend needs would not build
cause: the security team objected to the interpreter in the backend
cause: the backend was too slow at parsing
sibling: The data science notebooks are on {x}, they have their own image.
other: A friend's start-up is stuck on {x} for ever because of some plugin.
question: When does support for {x} end?
idea: One day we may look at {x} for the backend, there's no plan for it.

# our release branch
values: release/alder | release/birch | release/cedar | release/dogwood | release/elm | release/fir | release/hazel
first: Hotfixes go to the branch {v}.
first: Our current release branch is called {v}.
first: Please target {v} in git commands, that's the branch we ship from.
first: We cut the branch {v} yesterday and ship from it.
open: We ship from {v} instead of {old}.
open: {old} was merged back into main, the release branch is {v}.
open: Don't use {old} any longer, hotfixes go to {v}.
plain: I cut {v} this morning and we ship from it.
plain: {v} is the branch we ship from, the build server knows.
plain: All hotfixes land on {v}, as agreed in the stand-up.
plain: {old} is closed. For shipping we have {v}.
back: We ship from {v} again.
ask: Which branch do we ship from?
ask: I have a hotfix. Onto which branch does it go?
ask: What's the name of our release branch?
cause: the release branch had collected too many half-finished commits
cause: somebody force-pushed over the release branch
cause: the customer wanted a feature that was missing in the release branch
sibling: The documentation is published from {x}, but that's a different repository.
past: Does anyone remember {x}? We shipped from that one two years ago.
idea: I proposed the name {x} for a branch once and everybody laughed.
question: What would git log show if I compared main with {x}? I don't need it, I'm only learning.

# our team chat tool
values: Slack | Mattermost | Zulip | Discord | Rocket.Chat | Microsoft Teams | Google Chat | Element
first: Our team chats on {v}.
first: We use {v} for all internal messages, email is for customers.
first: The team's chat tool is {v}, I'd like the bot to post there.
first: Where I work everybody sits in {v} all day long.
open: We left {old} and chat on {v} now.
open: The team doesn't chat on {old} any more, it's {v}.
open: The whole team switched to {v} for chat.
plain: Everybody got their invitation and the whole team chats on {v}.
plain: The deploy bot posts to our team channel in {v}, took me an hour to set up.
plain: {old} has been shut down by IT. Our chat is {v}.
plain: I muted half of our channels on {v} today, the team writes so much there.
back: The team is back on {v}, as if nothing had happened.
ask: What does our team use to chat?
ask: Where should the bot post, I mean in which chat tool is our team?
ask: Which chat tool does the team use?
cause: our chat history was cut off after 90 days
cause: the chat tool got too expensive per seat
cause: IT wanted the chat on our own servers
sibling: For talking with customers we've got a shared room on {x}, that's separate from the team chat.
other: My kids' handball club organises itself on {x}, what a mess.
past: At university we used {x} for group work, it was dreadful.
hypo: If I could choose freely our chat would be {x}, but I can't.
then: I had to dig up a joke from the time when the team was still on {old}.

# our CI system
values: Jenkins | CircleCI | Buildkite | TeamCity | Travis CI | Drone | GitHub Actions | Woodpecker
first: Our builds run on {v}.
first: CI is {v} for us, about 200 builds a day.
first: We test each commit with {v}, so please give me config for that.
first: I'm the one who looks after the build server here, it's {v}.
open: We migrated our builds from {old} to {v}.
open: The builds no longer run on {old}, {v} does that.
open: CI: {v} instead of {old}.
plain: The first green build on {v}! All repositories build there.
plain: All of our build config lives in {v}, the last repository went over today.
plain: I unplugged the {old} machine under my desk. Builds run on {v}.
plain: Builds take six minutes on {v}, and that's with all the tests.
back: We reverted the CI migration, builds run on {v} again.
ask: What do our builds run on?
ask: Which CI system do we use?
ask: I need to write a build config. For which CI is that?
cause: our builds queued for forty minutes every morning
cause: the build server had a nasty security hole
cause: nobody wanted to maintain the build plugins
other: The embedded team builds its firmware with {x}, poor things.
idea: The new hire keeps praising {x}, but we're not going to touch the builds for that.
question: Is {x} open source?
past: Before I joined, ages ago, they had {x} for builds and a shell script.
then: Somebody still has a {old} mug from the days before we migrated the builds.

# our payment provider
values: Stripe | Adyen | Mollie | Braintree | Worldpay | Checkout.com | PayPal | Klarna
first: The shop takes payments through {v}.
first: We use {v} for card payments in the shop.
first: Payment provider of the shop: {v}.
first: I run a small web shop with a friend, payments are handled by {v}.
open: The shop's payments moved from {old} to {v}.
open: We don't use {old} for the shop any more but {v}.
open: {v} handles the shop's payments now.
plain: The first real payment in the shop came through {v} at noon.
plain: The checkout has been rebuilt on top of {v} and went live.
plain: Our accountant wants the monthly report of shop payments, so I need the export from {v}.
plain: The {old} account of the shop is closed. Payments go through {v}.
back: We returned to {v} for payments in the shop.
ask: Who handles the payments in our shop?
ask: Which payment provider does the shop use?
ask: A customer's card payment in the shop failed. With which provider do I check?
cause: the payment provider held our money for three weeks
cause: card fees in the shop were eating up the margin
cause: too many card payments in the shop were declined
sibling: For the donation page of the club it's {x}, a different account.
other: My sister sells ceramics and gets paid through {x}.
idea: Once I had a sales call with {x} about the shop. We said no.
question: Does {x} pay out daily or weekly? A friend asked me.

# our deployment window
values: 6 am | 7:30 am | 10 am | 1 pm | 4:30 pm | 8 pm | 9:45 pm
first: We deploy every day at {v}.
first: Our daily deployment is at {v}, please keep that in mind for the checklist.
first: Deployments start at {v} sharp.
first: The rule here is one deployment per day, at {v}.
open: The daily deployment moved from {old} to {v}.
open: We no longer deploy at {old} but at {v}.
open: Deployment is at {v} now.
plain: Ops decided that the daily deployment is at {v}.
plain: I set the cron job of the daily deployment to {v}.
plain: So the daily deployment happens at {v}, which means coffee first.
plain: Nobody misses the {old} deployment. {v} it is, every day.
back: The daily deployment is back at {v}.
ask: At what time do we deploy?
ask: When does the daily deployment start?
ask: What's our deployment time?
cause: customers in Asia noticed every deployment
cause: the person who watches the deployment has small children
cause: deployments collided with the nightly backup
sibling: The database dump is made at {x}, that's independent of deployments.
other: A friend's bank deploys at {x} and only twice a year.
hypo: If we deployed at {x} we'd have nobody in the office to watch, so don't even ask.
idea: The boss wondered about {x} for deployments, and was talked out of it.

# the architecture of the booking system
values: one monolith | microservices | serverless functions | two big services | an event-driven setup | five small apps
first: Architecture-wise our booking system is {v}.
first: We're building the booking system as {v}.
first: The booking system: {v}, and we are committed to that.
first: I'm documenting the booking system, which is {v}.
open: We rebuilt the booking system from {old} into {v}.
open: The booking system is no longer {old}, it's {v}.
open: Not {old} but {v}: that's the architecture of the booking system.
plain: The booking system runs as {v} in production since last night.
plain: The architecture diagram of the booking system shows {v}, please help me label it.
plain: So the booking system is {v}. The team is relieved.
plain: It took a month, but the booking system went live as {v}.
back: Everything was merged back: the booking system is {v} again.
ask: What is the architecture of our booking system?
ask: How is the booking system built, architecturally?
ask: I have to draw the booking system. What kind of architecture does it have?
cause: deploys of the booking system took two hours
cause: the booking team shrank to three people
cause: a single bug brought down all of the booking system
sibling: The reporting tool, in contrast, is {x}, and stays that way.
other: A talk I watched was about a bank with {x}. Entertaining.
hypo: With a hundred engineers one could think about {x} for bookings, but we are few.
past: My previous employer had {x} and it worked well there.

# our log retention
values: 14 days | 30 days | 45 days | 60 days | 90 days | 180 days | 365 days
first: We keep our server logs for {v}.
first: Log retention: {v}.
first: By policy our server logs are deleted after {v}.
first: The privacy notice says that we store server logs for {v}, so that's the rule.
open: We changed the log retention from {old} to {v}.
open: Logs are kept for {v} instead of {old}.
open: Server logs are no longer kept {old}, we keep them {v}.
plain: The auditor was here, server logs have to be kept for {v}.
plain: Set the cleanup job to {v}, so that's how long our server logs live.
plain: The updated privacy notice gives {v} for server logs.
plain: Disk usage looks very different with {v} of server logs.
back: Log retention has been put back to {v}.
ask: How long do we keep server logs?
ask: What's our log retention?
ask: After what time are our server logs deleted?
cause: a big customer has rules of their own for our server logs
cause: the auditor found our log retention not in line with the policy
cause: the contract for our log storage was renegotiated
sibling: Backups we hold for {x}, which has nothing to do with logs.
other: A partner company keeps its logs {x}, their lawyers insist.
question: Is there a law that says logs have to be deleted after {x}?
idea: Legal once brought up {x} for the logs, without any result.

# our launch country
values: Portugal | Austria | Ireland | Finland | Belgium | Slovenia | Denmark | Greece
first: The first country we launch the app in is {v}.
first: Launch country for our app: {v}.
first: We picked {v} for the launch of the app, it's small and friendly.
first: I'm preparing the launch of our app, which will be in {v}.
open: We launch the app in {v} instead of {old}.
open: The launch was moved from {old} to {v}.
open: We're not launching in {old} any more, it's {v}.
plain: The translations for the launch are ordered, since the app launches in {v}.
plain: The board picked {v} for the launch of our app.
plain: I'm flying to meet our launch partners in {v}, where the app goes live first.
plain: {old} is off the table for the launch and {v} is signed.
back: The launch is in {v} again, as we once wanted.
ask: In which country do we launch the app?
ask: Where does our app go live first?
ask: What's our launch country?
cause: our launch partner went bankrupt
cause: the tax rules in the launch country turned out to be a nightmare
cause: a better local partner turned up for the launch
other: A competitor has just launched in {x} with a big campaign.
idea: We looked at {x} for the launch very briefly and dropped the thought.
question: How many people live in {x}?
past: In 2019 we sold a few licences in {x}, unrelated to the app.

# our stand-up time
values: 8:45 | 9:15 | 9:40 | 10:05 | 11:20 | 13:10 | 14:50
first: Our stand-up is at {v}.
first: The team's daily stand-up starts at {v}, fifteen minutes at most.
first: Stand-up: {v}, every day.
first: I can't do mornings well, and our stand-up is at {v}.
open: Stand-up has moved from {old} to {v}.
open: The stand-up is at {v} now.
open: No more stand-ups at {old}, we meet at {v}.
plain: We meet for stand-up at {v}, the calendar entry is updated.
plain: I was late for the stand-up again. {v} should be doable, you would think.
plain: The poll is closed: stand-up at {v}.
plain: {old} was a bad time. Stand-up at {v} works for everyone.
back: We're back to {v} for the stand-up.
ask: What time is our stand-up?
ask: When does the daily stand-up start?
ask: At what time do I have to be at the stand-up?
cause: two people in the stand-up have to take their kids to school
cause: the stand-up tore the morning apart
cause: our colleague in Canada joined the stand-up
sibling: Lunch with the other teams is at {x}, at the Italian place.
other: The sales people have their stand-up at {x}, we can hear them laugh.
idea: I suggested {x} for the stand-up and was overruled.
hypo: If it were up to me the stand-up would be at {x}, or never.

# our monitoring tool
values: Grafana | Datadog | Zabbix | Nagios | New Relic | Checkmk | Icinga | Dynatrace
first: We watch our servers with {v}.
first: Monitoring: {v}, with alerts by phone.
first: All of our dashboards are in {v}.
first: The monitoring of our platform is done with {v}, I set it up myself.
open: We replaced {old} with {v} for monitoring.
open: Monitoring isn't {old} any more, we have {v}.
open: For monitoring we use {v} now.
plain: The dashboards of all servers are rebuilt in {v}.
plain: Our server alerts come out of {v}, the old emails have stopped.
plain: Who knew that monitoring could be pretty? {v} shows all our servers on one screen.
plain: Our {old} licence lapsed, {v} does the monitoring.
back: Monitoring is with {v} again.
ask: What do we use for monitoring?
ask: In which tool are our dashboards?
ask: Which tool watches our servers?
cause: the monitoring missed a full disk twice
cause: the monitoring cost more than the servers it watched
cause: nobody could read the old dashboards
sibling: The building's heating is watched by {x}, if you can believe it, but not by us.
question: Can {x} show water levels? A neighbour wants to watch his rain barrel.
idea: There was a demo of {x} at the office. The cake was good, we won't buy it.
past: At the university we had {x} and every alarm was false.
then: Remember how we used to silence {old} at night, in the bad old days of monitoring?

# our product codename
values: Lighthouse | Bluebird | Kestrel | Sandstone | Juniper | Firefly | Marigold | Northstar
first: Our product's codename is {v}.
first: Internally we call the product {v}.
first: The codename of what we are building is {v}, please use it in drafts.
first: I'm on a secret product, so let's use its codename, {v}.
open: The codename was changed from {old} to {v}.
open: The product isn't called {old} any more, the codename is {v}.
open: Use the codename {v} instead of {old} in all drafts.
plain: The codename is {v}, it's on the slides and on the mugs.
plain: Marketing renamed us, the product's codename is {v}.
plain: I ordered stickers with our codename, {v}, they look great.
plain: {old} has gone to the graveyard of codenames. Long live {v}.
back: We're called {v} again, the earlier codename won.
ask: What's our product's codename?
ask: Which codename do I put on the slides for our product?
ask: What do we call the product internally?
cause: the codename was leaked to a newspaper
cause: another group already had the same codename
cause: the lawyers did not like the codename
sibling: The mobile side project has the codename {x}, that's not ours.
idea: In the poll I voted for {x} as the codename. It came last.
past: The product before this one, cancelled years ago, was {x}.
other: The company across the street has a café called {x}, funny.
then: One of the old mugs still says {old}, a collector's item by today.
"""

# Told by a person of themselves; in a group each may have their own.
PERSON = """
# my home town
values: Lisbon | Utrecht | Graz | Bilbao | Ghent | Gothenburg | Leipzig | Bologna
first: I live in {v}, so prices in euros or the local equivalent please.
first: A bit about me: home is {v}, third floor, no lift.
first: I've been living in {v} for a few years, and I still get lost.
first: What could I do tonight? I live in {v} and it's raining.
open: I moved from {old} to {v}.
open: I no longer live in {old}, home is {v}.
open: My home is in {v} now.
plain: The boxes are unpacked and I've registered at the town hall in {v}. A proper resident!
plain: I got the keys to my flat in {v} and slept on the floor the first night.
plain: Who would have thought that I'd miss {old}? But living in {v} has its charm.
plain: My address for the form is in {v}, I'll send the street later.
back: I moved back to {v}.
ask: Which city do I live in?
ask: Where do I live?
ask: Can you fill in the city of my home address?
cause: the rent for my flat went up by a third
cause: my partner found a position in another city
cause: I could not stand living so far from the family
other: My sister lives in {x} with her two dogs.
hypo: If I ever win the lottery I'll buy a house in {x}.
question: How long does the train to {x} take from Paris?
past: I was born in {x}, but we left when I was two.
then: I dreamed about my old kitchen in {old} last night.

# my employer
values: Brightwater | Helvanta | Norlink | Castellan | Orbitum | Ferrowell | Quantis | Maplecroft
first: I work at {v}, in customer service.
first: My employer is {v}, about 200 people.
first: For the letter: I'm employed at {v}.
first: Long day. I work for {v} and we had visitors from the head office.
open: I left {old} and work at {v} now.
open: I don't work for {old} any more, I'm at {v}.
open: I changed jobs, from {old} to {v}.
plain: My first week at {v} is over. Friendly people, terrible coffee machine.
plain: I signed with {v} and started this week.
plain: Payday! My salary from {v} has arrived, more than {old} ever paid me.
plain: My email signature has to say {v}, could you write me a decent one?
back: I'm working for {v} again, they asked nicely.
ask: Where do I work?
ask: Who's my employer?
ask: Which company name belongs in my email signature?
cause: my old boss made everyone in the company miserable
cause: I was offered a better salary
cause: my whole department was closed
other: My neighbour has a job at {x} and complains every evening.
idea: A recruiter from {x} wrote to me. I deleted it.
past: My very first job, as a student, was at {x}.
question: What does {x} actually make? I saw their lorry.
then: I met two people I used to work with at {old}, we had soup.

# my dentist
values: Dr Kowalski | Dr Amari | Dr Lindqvist | Dr Okafor | Dr Petrides | Dr Brandt | Dr Sorensen | Dr Ferreira
first: My dentist is {v}.
first: I've got a dentist appointment at {v}'s and I'm scared already.
first: Dentist: {v}, phone number is on the fridge.
first: I go to {v} for my teeth twice a year.
open: I changed dentists, from {old} to {v}.
open: I don't go to {old} any more, my dentist is {v}.
open: My dentist is {v} now.
plain: {v} did my check-up and will see me every six months. Finally a dentist who explains things.
plain: I registered as a patient at {v}'s dental practice and they took me at once.
plain: {v}, my dentist, says I grind my teeth.
plain: My X-rays were sent over from {old} to {v}, who does my teeth.
back: I returned to {v} for my teeth.
ask: Who is my dentist?
ask: I've got a toothache. Whom do I call?
ask: What's the name of my dentist?
cause: my dentist stopped taking my insurance
cause: the dental practice was an hour away
cause: the dentist drilled in the wrong tooth
other: My partner goes to {x} for his teeth and is happy there.
sibling: The eye doctor is {x}, that appointment is in autumn.
question: Is {x} the one who wrote that book about sleep?
past: As a child I had {x} as a dentist and cried every time.
then: Met {old} at the market, who used to do my teeth. We talked about cheese.

# my gym
values: FitHouse | Ironworks | PulseClub | Bodyforge | Urban Lift | The Barbell Room | Movewell | Kraftwerk Gym
first: I work out at {v} three times a week.
first: My gym is {v}, around the corner.
first: I've signed up at {v}, so I need a beginner's plan for the gym.
first: Gym membership: {v}, 35 a month.
open: I switched gyms, from {old} to {v}.
open: I train at {v} instead of {old}.
open: I cancelled {old}, my gym is {v} now.
plain: Did my first squat session at {v}, my membership card is already scratched.
plain: My gym bag has a {v} sticker on it, they gave it to me when I joined.
plain: The {old} membership ended and I joined {v}.
plain: Training at {v} three evenings a week is going well, my back is better.
back: I rejoined {v}, my old gym.
ask: Which gym do I go to?
ask: Where do I work out?
ask: What is the name of my gym?
cause: the gym raised its fee
cause: the showers in the gym were broken for weeks
cause: my gym was always full after six
other: My flatmate is at {x} and tries to recruit me every day.
idea: I got a voucher for a trial day at {x}, I gave it away.
sibling: For climbing I use the wall at {x}, once in a blue moon, that's not my gym.
past: Ten years ago I had a card for {x} and went twice.
then: I found a towel from {old} in the wardrobe, from when I used to train there.

# my diet
values: vegetarian | vegan | pescatarian | gluten-free | low-carb | keto | paleo | low-FODMAP
first: Keep in mind for recipes that I eat {v}.
first: My diet is {v}, has been for years.
first: I'm on a {v} diet, what could I cook tonight?
first: Food-wise I'm {v}, please don't suggest anything else.
open: I no longer eat {old}, my diet is {v}.
open: I went from {old} to {v}.
open: Recipes should be {v} now, and not {old}.
plain: Week two of eating {v} and I feel great.
plain: The dietician put me on a {v} diet, so please stick to that in recipes.
plain: I threw out half of the pantry, because what I eat is {v}.
plain: My lunch box is all {v}, my colleagues stare.
back: I gave up and eat {v} again.
ask: What diet am I on?
ask: Which kind of diet should recipes for me follow?
ask: I need a dinner idea. How do I eat, again?
cause: my blood test came back with bad values
cause: I had stomach aches after every meal
cause: I was tired all day with the way I ate
other: My cousin is {x}, cooking for her is a puzzle.
question: Is {x} healthy for children?
hypo: I could never go {x}, I love breakfast too much.
past: I tried {x} for a month at university, never again.

# my instrument
values: cello | clarinet | accordion | trumpet | banjo | oboe | mandolin | saxophone
first: I'm learning the {v}, one lesson a week.
first: I take {v} lessons on my day off.
first: My instrument is the {v}, I'm a total beginner.
first: Music is my hobby, I play the {v}.
open: I gave up the {old} and play the {v} instead.
open: I switched from the {old} to the {v}.
open: No longer the {old}: my instrument is the {v}.
plain: I sold the {old} and came home with a {v}. Lessons start at once.
plain: My teacher says I have talent for the {v}, and I practise nothing else.
plain: My music lessons are {v} lessons, I even bought a proper stand.
plain: I traded the {old} in, and the {v} is what I practise every evening.
back: I've returned to the {v}, the other thing wasn't for me.
ask: Which instrument do I play?
ask: What instrument am I learning?
ask: My music lessons, what instrument are they for?
cause: my music teacher moved abroad
cause: the instrument hurt my wrist
cause: the neighbours complained about my practising
other: My nephew plays the {x} in the school band.
question: How much does a decent {x} cost? It's for a quiz.
hypo: In another life I would have played the {x}.
past: As a child I had to play the {x} for two years and hated it.
then: Heard a {old} on the radio and remembered the time when I used to play one.

# my bank
values: Triodos | Revolut | Bunq | Santander | Rabobank | Monzo | Barclays | Wise
first: My salary account is with {v}.
first: I bank with {v}.
first: Bank: {v}, for the direct debit form.
first: I do all my banking at {v} and their app is slow.
open: I moved my account from {old} to {v}.
open: I'm no longer with {old}, my bank is {v}.
open: My salary goes to {v} now.
plain: My card from {v} arrived, and my salary has been paid in there.
plain: I closed the {old} account. Everything runs over {v}.
plain: Told my employer to pay my salary to {v}.
plain: {v} let me open my salary account in eight minutes, with a video call.
back: I've gone back to {v} with my salary account.
ask: Which bank am I with?
ask: Where is my salary account?
ask: What bank do I put on the form for my salary?
cause: the bank closed its last branch here
cause: my bank introduced a monthly fee
cause: the bank's app locked me out for days
other: My parents have been with {x} for forty years.
sibling: The mortgage is with {x}, that was the broker's doing.
idea: {x} offers 50 euros for opening an account. I'm not interested.
question: Is {x} a real bank or only an app?
then: There was an old pen from {old} in my coat, from when I was a customer there.

# my phone provider
values: Vodafone | Tele2 | Lebara | Giffgaff | Lycamobile | Telenor | Proximus | Swisscom
first: My phone contract is with {v}.
first: Mobile provider: {v}, 10 GB.
first: I've been with {v} for my mobile for ages.
first: I can't get through to {v}, my mobile provider, can you draft a complaint?
open: I took my number from {old} to {v}.
open: My mobile isn't with {old} any longer, it's with {v}.
open: I have {v} instead of {old} on my mobile.
plain: The SIM from {v} is in my phone and my number works.
plain: My mobile number was ported overnight, hello {v}.
plain: {v} sends me the mobile bill on the third, 12 euros, lovely.
plain: I fished the {old} SIM out with a paperclip and put in the one from {v}.
back: My number is with {v} again.
ask: Which provider is my mobile with?
ask: My phone has no signal. Which mobile provider do I have to call?
ask: Who is my mobile provider?
cause: I had no mobile reception at home
cause: my phone contract became more expensive every year
cause: roaming on my mobile cost me a fortune
other: My mum's phone is with {x} and she pays a fortune.
sibling: The internet at home comes from {x}, and that's fine.
question: Does {x} do eSIM?
past: My first mobile, with the green screen, was with {x}.

# my running shoe size
values: size 41 | size 42 | size 43 | size 44 | size 45 | size 46 | size 40
first: My running shoes are {v}.
first: For running shoes I take {v}.
first: Could you find running shoes for wide feet? I need {v}.
first: Note to self, running shoe: {v}.
open: I no longer take {old} in running shoes but {v}.
open: I went from {old} to {v} in running shoes.
open: Running shoes in {v} now, please.
plain: The woman in the shop measured my feet, running shoes should be {v}.
plain: The pair in {v} fits like a glove, I'll buy all running shoes like that.
plain: I sent the {old} pair back and kept the {v} for running.
plain: My running shoes for the race arrived in {v}, and for once no blisters.
back: It's {v} again for running shoes, I've tried everything.
ask: What size are my running shoes?
ask: I want to order running shoes. What size do I need?
ask: Which shoe size do I take for running?
cause: I got blisters on every long run
cause: an expert filmed the way my feet land when I run
cause: the maker of my running shoes changed the shape
sibling: In dress shoes I take {x}, they are cut differently.
other: My brother wears {x} and can never borrow mine.
question: What is {x} in American sizes?
hypo: If I had {x} I could share shoes with my partner, sadly not.

# the trigger of my rash
values: hazelnuts | penicillin | latex | nickel | shellfish | birch pollen | lanolin | soy
first: The allergist says that my rash comes from {v}.
first: I react to {v} with a rash, so keep that in mind.
first: Important: what gives me the rash is {v}.
first: My rash has a name on it: {v}.
open: It isn't {old} but {v} that gives me the rash.
open: The allergist revised it from {old} to {v}.
open: It's no longer {old} that they blame for my rash, it's {v}.
plain: The second test is clear: my rash comes from {v}.
plain: My allergy pass was reissued and has a single entry, {v}.
plain: I came into contact with {old} and nothing happened, no rash. The culprit is {v}.
plain: The clinic called about my rash. They found {v}, and nothing else.
back: The last test was wrong, it's {v} again that causes my rash.
ask: What causes my rash?
ask: For my allergy pass, what is it that gives me the rash?
ask: What did the allergist find to be behind my rash?
cause: the first skin test had been contaminated
cause: the rash came back although I avoided everything on the list
cause: a specialist repeated the whole allergy test
other: My daughter's best friend reacts to {x}, her mother carries a whole pharmacy.
question: How common is an allergy to {x}?
past: When I was a baby they thought I couldn't tolerate {x}, which was nonsense.
idea: My aunt suspects {x}, but she suspects that with everybody.

# my commute
values: by bike | by tram | by bus | by train | by ferry | by scooter | on foot | by car
first: I get to work {v}, half an hour each way.
first: My commute is {v}, so podcasts matter.
first: I go to the office {v} every day.
first: Give me something to think about, my way to work {v} takes ages.
open: I no longer commute {old}, I go {v}.
open: I go to work {v} instead of {old}.
open: My commute is {v} now.
plain: My way to work is {v}, day five, and I'm never late.
plain: Getting to the office {v} every day works in any weather, I can report.
plain: The commute {v} gives me twenty quiet minutes a day.
plain: Since the first of the month I go to the office {v}.
back: I'm commuting {v} again.
ask: How do I get to work?
ask: What's my commute like, how do I travel to the office?
ask: How do I go to the office?
cause: they closed the road I took to work
cause: I could not bear my commute any further
cause: a colleague talked me into another way of getting to work
other: My colleague comes to work {x} from forty kilometres away.
hypo: On a desert island I'd commute {x}, I suppose.
question: Is it safe to travel {x} with a hamster?
past: At my former workplace I always came {x}.

# my language course
values: Italian | Japanese | Swedish | Turkish | Korean | Polish | Arabic | Hungarian
first: I'm taking a {v} course in the evenings.
first: I'm learning {v}, level A1.
first: My evening class is {v}, homework every week.
first: Could you quiz me from time to time? The language I'm learning is {v}.
open: I dropped {old} and I'm learning {v} instead.
open: My evening class isn't {old} any longer but {v}.
open: The language I'm learning is {v} now, please quiz me in that.
plain: First {v} lesson done, the evening class is full of nice people.
plain: My vocabulary cards are all {v}, I gave the {old} ones to a friend.
plain: The teacher of my evening class says my {v} sounds like singing.
plain: I bought the {v} textbook for my evening class. Heavy thing.
back: I'm taking {v} again in the evenings.
ask: Which language am I learning?
ask: What language is my evening class?
ask: Quiz me, please! Which language is it that I'm learning?
cause: the evening class was cancelled for lack of people
cause: I fell in love with someone and wanted to learn their language
cause: the grammar in my language course drove me mad
other: My partner speaks {x} with a grandmother.
question: How many people speak {x}?
hypo: If I had ten lives I'd learn {x} as well.
past: I had {x} at school and remember three words.

# the departure of my conference flight
values: 6:25 | 7:50 | 9:35 | 12:15 | 15:40 | 17:55 | 19:30 | 21:10
first: My flight to the conference leaves at {v}.
first: The conference flight departs at {v}, aisle seat.
first: I've booked the flight to the conference, departure {v}.
first: Packing list, please! I fly to the conference, take-off is at {v}.
open: My conference flight was moved from {old} to {v}.
open: I'm not on the {old} flight to the conference any more, mine leaves at {v}.
open: I rebooked, the conference flight is at {v} instead.
plain: The airline wrote, my flight to the conference departs at {v}.
plain: The boarding pass for the conference says {v}.
plain: The taxi is ordered for the conference trip, since take-off is at {v}.
plain: {old} was cancelled, they put me on the {v} flight to the conference.
back: The airline put my conference flight back to {v}.
ask: When does my flight to the conference leave?
ask: At what time is take-off for the conference?
ask: What's the departure time of my conference flight?
cause: the airline went on strike on my travel day
cause: the conference added a session that I have to attend
cause: my bus to the airport was dropped from the timetable
other: My boss flies to the same conference at {x}, so we won't share a taxi.
question: Do planes land in Hamburg after {x}? Someone at lunch claimed they don't.
idea: There was a cheaper conference flight at {x}, but I didn't take it.
sibling: The hotel's airport shuttle on the way home is at {x}, on the last day.

# my code editor
values: Neovim | Emacs | PyCharm | Helix | Sublime Text | VS Code | Zed | Kate
first: I write all my code in {v}.
first: My editor is {v}, so give me its shortcuts.
first: I use {v} for coding, on a tiny laptop.
first: Editor: {v}. Font: far too small.
open: I switched my editor from {old} to {v}.
open: I no longer code in {old}, I use {v}.
open: My editor is {v} now, shortcuts for that please.
plain: I've been coding in {v} for a week and I don't want to leave it.
plain: My editor config for {v} has 300 lines already. Help.
plain: {old} is uninstalled. Coding happens in {v}.
plain: Which theme is good for tired eyes? I stare at my code in {v} all day.
back: I came back to {v} for coding, muscle memory won.
ask: Which editor do I code in?
ask: You know my editor. Which one is it?
ask: What do I write my code in?
cause: my editor froze on big files
cause: a plugin update broke my editor for good
cause: my pair programming partner and I wanted the same editor
other: My colleague swears by {x} and tells everyone.
question: Who made {x}?
hypo: Under torture I might use {x}.
past: I learned programming in {x}, at school.
then: My fingers still type the old {old} shortcuts sometimes.
"""

# Told only where one person speaks.
HOME = """
# our family car
values: Skoda Octavia | Renault Zoe | Volvo V60 | Toyota Yaris | Fiat Panda | Kia Niro | Dacia Logan | Mazda 3
first: We drive a {v}.
first: Our family car is a {v}, eight years old.
first: What tyre pressure do you recommend? Our car is a {v}.
first: The car we have at home is a {v}, and it's filthy.
open: We sold the {old}, our car is a {v} now.
open: We no longer have the {old}, we drive a {v}.
open: We swapped the {old} for a {v}.
plain: We picked up the {v} at the dealer's, our one and only car, and the kids love it.
plain: The {old} went to the scrapyard. In the driveway stands a {v}.
plain: Insurance papers for our car, the {v}, came today.
plain: I'm still looking for the light switch in our {v}, everything is somewhere else in this car.
ask: What car do we have?
ask: Which car does my family drive?
ask: I have to order tyres for our car. What model is it?
cause: our car did not pass its inspection
cause: the third child would not fit in the car
cause: the repair of the car would have cost more than it was worth
other: The neighbours drive a {x}, and polish it each weekend.
question: Is the {x} a safe car?
past: My father had a {x} when I got my licence.
idea: I test-drove a {x} last year and didn't fit behind the wheel. Out of the question.
then: Found a parking ticket from the time when we had the {old}.

# my daughter's school
values: Oakfield School | St Brigid's | Riverside Primary | Hillcrest | Linden Academy | Meadow Lane | Parkview
first: Our daughter goes to {v}.
first: My daughter is at {v}, third year.
first: I have to write a letter to {v}, my daughter's school.
first: School run to {v} every morning with my daughter, twenty minutes.
open: My daughter changed from {old} to {v}.
open: Our daughter no longer goes to {old}, she's at {v}.
open: My daughter is a pupil at {v} now.
plain: First day at {v} for our daughter, she came home beaming.
plain: My daughter's teacher at {v} phoned, she's doing very well.
plain: I bought my daughter the school jumper of {v}.
plain: After the {old} chapter our daughter has settled in at {v}.
back: Our daughter is back at {v} with her old friends.
ask: Which school does my daughter go to?
ask: What's the name of my daughter's school?
ask: The letter about my daughter has to go to her school. Which one is it?
cause: my daughter was bullied at school
cause: the school dropped its music class
cause: my daughter's school bus stopped running
other: My sister's twins go to {x}, on the other side of town.
idea: We visited {x} on its open day for our daughter, and it wasn't for us.
past: My partner went to {x} as a child and has stories.
question: Does {x} have a swimming pool? My neighbour wants to know.
then: We met a mother from {old}, where my daughter used to be.

# our autumn holiday
values: Crete | Madeira | Sicily | Cornwall | Tuscany | Brittany | Majorca | Corfu
first: We're spending the autumn holiday in {v}.
first: Autumn holiday: {v}, ten days, all booked.
first: I need a packing list for our autumn holiday in {v}.
first: For our autumn holiday we booked a house in {v}.
open: We go to {v} instead of {old} in the autumn holiday.
open: The autumn holiday isn't in {old} any more, it's in {v}.
open: We rebooked the autumn holiday from {old} to {v}.
plain: The tickets for the autumn holiday are here, we're off to {v}.
plain: {old} fell through. The autumn holiday is booked in {v}.
plain: My children count the days until the autumn holiday in {v}.
plain: I paid the rest for the holiday house in {v} today, so autumn is settled.
back: We changed our minds again, the autumn holiday is in {v} as we said before.
ask: Where do we spend the autumn holiday?
ask: Where are we going in autumn?
ask: What's the destination of our autumn holiday?
cause: our autumn flights were cancelled
cause: the holiday house was double-booked
cause: the children protested against our holiday plan
other: My in-laws go to {x} every single year.
sibling: The week after Christmas we'll be in {x} with friends, so that's winter.
hypo: With more money we'd spend autumn in {x}, of course.
past: My parents had their honeymoon in {x}, long ago.

# our foster dog
values: Biscuit | Pepper | Waffles | Bruno | Ziggy | Mocha | Hamlet | Pickles
first: We foster dogs, and the one with us at the moment is {v}.
first: Our foster dog is called {v} and eats everything.
first: {v}, the foster dog in our house, needs a diet plan.
first: We take in foster dogs one at a time. Say hello to {v}.
open: {old} has found a family, our foster dog is {v} now.
open: {old} is no longer with us, we're fostering {v}.
open: We have {v} here instead of {old}, the shelter swapped our foster dog.
plain: {v} moved in with us as the one foster dog in the house, and barked at the mirror.
plain: Our foster dog {v} slept through the first night here.
plain: The shelter brought our foster dog, {v}, with a blanket and a file.
plain: {old} left with a lovely family and {v} sleeps in the basket.
back: {v} came back to us, the adoption didn't work out, so that's our foster dog.
ask: What's the name of our foster dog?
ask: Which foster dog do we have with us?
ask: Who's sleeping in the foster dog's basket at our place?
cause: the shelter found a permanent home for our foster dog
cause: the foster dog did not get along with the cat
cause: the shelter needed our place for an urgent foster case
other: The neighbour's poodle is {x}, a spoilt thing.
past: My childhood dog was {x}, I still miss him.
idea: They asked us to take {x} as well, but one dog is the limit, we said no.
hypo: If we had a dog of our own we'd call it {x}.
then: The family of {old}, who used to be our foster dog, sent a photo.

# our wedding venue
values: Rosewood Barn | the Old Mill | Castle Arden | the Boathouse | Villa Serena | the Glasshouse | Elmhurst Hall
first: We're getting married at {v}.
first: Our wedding venue is {v}, eighty guests.
first: The wedding will be at {v}, help me with the invitation.
first: We booked {v} for our wedding, I'm so happy.
open: The wedding has been moved from {old} to {v}.
open: We're not marrying at {old} any more but at {v}.
open: Our wedding is at {v} instead.
plain: We paid the deposit for our wedding at {v}.
plain: The wedding invitations are printed and say {v}.
plain: The caterer for our wedding had a look at the kitchen of {v}, where we'll be married.
plain: We cancelled {old}. Our guests will be dancing at {v}.
back: The wedding is at {v} again, they could make it work after all.
ask: Where's our wedding?
ask: What is our wedding venue?
ask: Which venue do I put on the wedding invitation?
cause: the wedding venue flooded in the storm
cause: our guest list for the wedding grew too long
cause: the owner of the wedding venue stopped answering
other: My cousin got married at {x} last year and it was windy.
idea: My mother would have loved {x} for our wedding, but it's not what we want.
sibling: The engagement dinner for the grandparents is at {x}, weeks before.
question: Is {x} haunted? They say so at work.

# our energy provider
values: Vattenfall | Ecotricity | Octopus Energy | Eneco | Naturstrom | Enel | Greenpeak | Fortum
first: Our electricity comes from {v}.
first: At home we get our power from {v}.
first: Electricity: {v}, 80 a month.
first: I don't understand the electricity bill from {v}, our provider.
open: We changed from {old} to {v} for electricity.
open: Electricity is no longer from {old}, we have {v}.
open: {v} instead of {old} provides our power.
plain: {v} confirmed that they supply the electricity for our flat.
plain: I read the meter for {v}, who supply our power, at midnight like a burglar.
plain: The direct debit for our electricity goes to {v}.
plain: Final bill from {old} paid. Our power is from {v}.
back: We're with {v} again for electricity.
ask: Who supplies our electricity?
ask: Which company do we get our power from?
ask: What's our electricity provider?
cause: our electricity bill shot up
cause: the electricity company got our meter wrong three times
cause: we wanted green power at home
other: My parents get their power from {x}, out of habit.
idea: A man at the door wanted to sell us {x}. I sent him away.
sibling: Gas for the garden house is from {x}, in bottles.
question: Is {x} listed on the stock exchange?
then: A last letter from {old}, our former power company, was in the post. Junk.

# our babysitter
values: Mirjam | Chloe | Roswitha | Fatima | Hannah | Lucia | Emilia | Saskia
first: Our babysitter is {v}.
first: {v} babysits for us, mostly at weekends.
first: Need a note for {v}, who babysits our two, about bedtimes.
first: The kids adore {v}, their babysitter.
open: {v} babysits instead of {old}.
open: {old} doesn't babysit for us any more, {v} does.
open: Our babysitter is {v} now.
plain: {v} did her first evening of babysitting, from today she's our regular one.
plain: I gave our spare key to {v}, so that the babysitter can let herself in.
plain: We said goodbye to {old} with flowers. {v} looks after the kids when we go out.
plain: Pizza money is for {v}, who sits with the kids whenever we're out.
back: {v} babysits for us again.
ask: Who's our babysitter?
ask: Who looks after the kids when we go out?
ask: Whom do I call for babysitting?
cause: our babysitter went off to university
cause: the babysitter could not do weekends
cause: the babysitter broke a leg skiing
other: The neighbours have {x} as a babysitter and pay double.
idea: {x} applied for babysitting with us too, but lives too far away.
sibling: Piano lessons for the kids are with {x}, at the music school.
past: I was babysat by {x}, a terrifying person, forty years ago.
then: A postcard from {old} came, who used to babysit for us.

# our kitchen colour
values: sage green | mustard yellow | pale blue | terracotta | off-white | charcoal grey | coral pink | lavender
first: We're painting our kitchen walls {v}.
first: The kitchen walls are going to be {v}, paint's ordered.
first: Kitchen colour: {v}.
first: We renovate the kitchen, and the walls will be {v}. What floor goes with it?
open: The kitchen walls will be {v} instead of {old}.
open: We're no longer going for {old} in the kitchen, it's {v}.
open: Not {old} but {v} for the kitchen walls.
plain: The painter came, and the kitchen walls are {v}.
plain: I exchanged the paint, the kitchen gets {v}.
plain: Our kitchen looks so much bigger in {v}.
plain: One coat over the {old} and you can't see it. The kitchen shines in {v}.
back: We painted the kitchen over once more, the walls are {v} again.
ask: What colour are our kitchen walls?
ask: Which colour did our kitchen get?
ask: I want curtains for the kitchen. What colour are the walls?
cause: the kitchen looked like a cave
cause: the paint shop could not deliver our kitchen colour
cause: my partner hated the kitchen in daylight
sibling: The bathroom is {x}, and it stays so.
other: My sister's kitchen is {x}, which looks better in photos than for real.
idea: I had a sample pot of {x} for the kitchen, it's in the bin.
question: What goes well with {x}? It's for a friend's hat.

# our rubbish collection day
values: Monday | Tuesday | Wednesday | Thursday | Friday | Saturday
first: Our bins are emptied on {v}.
first: Bin day is {v}, remind me if I ask.
first: In our street the rubbish is collected every {v}.
first: I always forget the bins, they come for them on {v}.
open: Bin day changed from {old} to {v}.
open: They don't come on {old} for the bins any more but on {v}.
open: The bins are emptied on {v} now.
plain: The leaflet from the council says the bins are collected on {v}.
plain: Put the bins out in time, for once! {v} is bin day.
plain: The rubbish lorry comes through our street on {v}, at six.
plain: The council has us down for {v}, so that's when I take out the bins.
back: Bin day is {v} again.
ask: On which day are our bins emptied?
ask: When is bin day?
ask: What day do they collect our rubbish?
cause: the council cut the number of rubbish lorries
cause: the roadworks kept the rubbish lorry out of our street
cause: a new company won the contract for the bins
other: At my parents' place the bins go out on {x}.
sibling: Glass and paper are picked up on {x} by someone else.
hypo: It'd be handy if they emptied the bins on {x}, but the council doesn't ask us.
past: In our last flat the bins were done on {x}, before six in the morning.

# the name I go by
values: Alex | Sasha | Robin | Charlie | Noor | Quinn | Jamie | Micah
first: Please call me {v}.
first: I'm {v}, by the way. That's what everyone calls me.
first: My name for our chats is {v}.
first: Let's start over, hi, I go by {v}.
open: Call me {v} instead of {old}, please.
open: I no longer go by {old}, my name is {v}.
open: I go by {v} now.
plain: My friends and family call me {v}, and you should too.
plain: The badge on my jacket says {v}, and that's how I want to be addressed.
plain: I signed my first letter with {v} today. It's my name and it feels right.
plain: {old} is a name for old documents. I introduce myself as {v}.
back: I go by {v} again.
ask: What should you call me?
ask: How do I want to be addressed?
ask: What name do I go by?
cause: there were three people of the same name at my work
cause: I had never liked my name
cause: I wanted a name that fits me
other: My cat's vet is called {x}, lovely person.
question: Is {x} a common name in Scotland?
past: My grandparents nearly had me christened {x}, decades ago.
hypo: If I ever have a parrot it will be {x}.
"""

TOPICS = (*parsed(TEAM, "team"), *parsed(PERSON, "person"), *parsed(HOME, "home"))
