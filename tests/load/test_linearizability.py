"""Many posts at once in many sessions: in each there is one order, which all see, and which respects time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import pytest
from crowd import Crowd, Serve, Told, mark_of, together
from trickle import Trickle

from upstream import text_of

pytestmark = pytest.mark.slow


@dataclass
class Post:
    session: str
    mark: str
    began: float
    ended: float
    told: Told


async def posted(crowd: Crowd, session: str, clients: int, each: int) -> list[Post]:
    """So many clients in one session, each of whom says one thing after the other; half of them streamed."""

    async def client(number: int) -> list[Post]:
        posts = []
        for turn in range(each):
            mark, began = f"{session}:{number}.{turn}", perf_counter()
            told = await crowd.say(f"[{mark}]", session, stream=number % 2 == 0)
            posts.append(Post(session, mark, began, perf_counter(), told))
        return posts

    return [post for posts in await asyncio.gather(*map(client, range(clients))) for post in posts]


@pytest.mark.parametrize(
    ("sessions", "clients", "each"), [(1, 50, 1), (200, 5, 2)], ids=["50 in one session", "2,000 in 200 sessions"]
)
async def test_each_turn_sees_exactly_those_before_it_and_no_turn_is_put_before_one_that_was_over(
    serve: Serve, trickle: Trickle, sessions: int, clients: int, each: int
) -> None:
    crowd = Crowd.of(serve())
    names = [f"talk{number}" for number in range(sessions)]
    talks = await asyncio.gather(*(posted(crowd, name, clients, each) for name in names))
    assert all(
        post.told.answer.status == 200 and post.told.answer.text == trickle.said(post.mark)
        for posts in talks
        for post in posts
    )
    prompts: dict[str, list[list[str]]] = defaultdict(list)
    for prompt in trickle.prompts:
        told = [text_of(message) for message in prompt]
        prompts[mark_of(told[-1]).partition(":")[0]].append(told)
    transcripts = await together([partial(crowd.transcript, name) for name in names], most=32)
    for name, posts, transcript in zip(names, talks, transcripts, strict=True):
        questions, answers = transcript[::2], transcript[1::2]
        order = {mark_of(question): place for place, question in enumerate(questions)}
        assert sorted(order) == sorted(post.mark for post in posts), "each is kept, once"
        assert answers == [trickle.said(mark) for mark in order]
        seen = sorted(prompts[name], key=len)
        assert seen == [transcript[: 2 * place + 1] for place in range(len(posts))], "each saw exactly those before it"
        latest = 0.0  # that something was asked which stands before
        for post in sorted(posts, key=lambda post: order[post.mark]):
            assert latest < post.ended, f"{post.mark} was over before one that stands before it was asked"
            latest = max(latest, post.began)
