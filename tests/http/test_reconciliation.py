"""Clients that send their history along: what is new is appended, an edit or a regenerate branches, the rest is
ignored."""

from __future__ import annotations

import threading
import time
from typing import Any
from urllib.parse import quote

import pytest

from front_door import Client
from upstream import Upstream, own_text, sleeps, text_of

RETRIEVAL = """### Task:
Respond to the user query using the provided context, incorporating inline citations.

<context>
<source id="1" name="a.txt">The harbour opens at nine.</source>
</context>

{question}"""


class Page:
    """A client that keeps its own history and sends all of it, as most do."""

    def __init__(self, client: Client, session: str) -> None:
        self.client = client
        self.session = session
        self.said: list[dict[str, Any]] = []

    def say(self, text: str, *, headers: dict[str, str] | None = None, **more: Any) -> str:
        self.said.append({"role": "user", "content": text})
        answer = self.client.say(list(self.said), session=self.session, headers=headers, **more)
        assert answer.status == 200, answer.body
        self.said.append({"role": "assistant", "content": answer.text})
        self.hermes = answer.hermes
        return answer.text

    def back_to(self, turn: int) -> None:
        """Forgets everything from this turn on (the first is 1)."""
        del self.said[2 * (turn - 1) :]


@pytest.fixture
def page(client: Client, name: str, upstream: Upstream) -> Page:
    upstream.answer = lambda request: f"Re: {text_of(request['messages'][-1])} ({len(upstream.requests)})"
    return Page(client, name)


def transcript(page: Page, session: str | None = None) -> list[str]:
    path = f"/api/sessions/{quote(session or page.session, safe='')}/messages?limit=200"
    return [entry["content"] for entry in page.client.get(path).json["data"]]


def branches(page: Page) -> int:
    path = f"/api/sessions/{quote(page.session, safe='')}/lineage"
    return len(page.client.get(path).json["branches"])


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [own_text(message) for message in messages]


def test_a_history_that_is_ours_adds_only_what_is_new(page: Page, upstream: Upstream) -> None:
    for text in ("one", "two", "three"):
        page.say(text)
        assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert transcript(page) == texts(page.said)
    assert branches(page) == 1


def test_an_edit_makes_a_branch_and_the_old_path_stays(page: Page, upstream: Upstream) -> None:
    for text in ("one", "two", "three"):
        page.say(text)
    old = texts(page.said)
    first = page.hermes["session_id"]
    page.back_to(2)
    page.say("two, edited")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert page.hermes["session_id"] != first
    assert page.hermes["root_session_id"] == page.session
    page.say("four")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert transcript(page) == texts(page.said), "the thread's id follows the path last answered"
    assert branches(page) == 2
    ours = Page(page.client, page.session)
    ours.said = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": text} for number, text in enumerate(old)
    ]
    ours.say("back on the first path")
    assert texts(upstream.prompts[-1]) == [*old, "back on the first path"]
    assert branches(page) == 2, "a path's end is continued, not branched"
    assert transcript(page)[: len(old)] == old


def test_a_regenerated_answer_is_another_path(page: Page, upstream: Upstream) -> None:
    page.say("one")
    page.say("two")
    kept = page.said[3]["content"]
    page.back_to(2)
    page.say("two")
    assert page.said[3]["content"] != kept
    assert texts(upstream.prompts[-1]) == texts(page.said[:3])
    page.say("three")
    assert transcript(page) == texts(page.said)
    page.back_to(2)
    page.say("two")
    assert branches(page) == 3


def test_hi_said_twice_was_said_twice(page: Page) -> None:
    page.client.say("hi", session=page.session)
    page.client.say("hi", session=page.session)
    assert [text for text in transcript(page) if text == "hi"] == ["hi", "hi"]
    assert branches(page) == 1


def test_hi_said_twice_with_the_history_was_said_twice(page: Page) -> None:
    page.say("hi")
    page.say("hi")
    assert transcript(page) == texts(page.said)
    assert branches(page) == 1


@pytest.mark.parametrize(
    "history",
    [
        [("user", "never said"), ("assistant", "nor this")],
        [("user", "Summary of the chat so far: ..."), ("assistant", "Understood.")],
        [("user", "one"), ("assistant", "an answer that was edited by hand"), ("user", "two"), ("assistant", "b")],
    ],
    ids=["foreign", "compacted", "edited answer"],
)
def test_a_history_that_is_not_ours_is_ignored(page: Page, upstream: Upstream, history: list[tuple[str, str]]) -> None:
    page.say("one")
    page.say("two")
    body = [{"role": role, "content": text} for role, text in history]
    answer = page.client.say([*body, {"role": "user", "content": "three"}], session=page.session)
    assert answer.status == 200
    assert texts(upstream.prompts[-1]) == [*texts(page.said), "three"]
    assert branches(page) == 1


def test_a_window_that_slides_over_the_history_is_no_branch(page: Page, upstream: Upstream) -> None:
    for text in ("one", "two", "three"):
        page.say(text)
    whole = texts(page.said)
    answer = page.client.say([*page.said[2:], {"role": "user", "content": "four"}], session=page.session)
    assert answer.status == 200
    assert texts(upstream.prompts[-1]) == [*whole, "four"]
    assert branches(page) == 1


def test_what_was_said_elsewhere_meanwhile_is_brought_along(page: Page, upstream: Upstream) -> None:
    page.say("one")
    page.said += [{"role": "user", "content": "two"}, {"role": "assistant", "content": "said by another model"}]
    page.say("three")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    page.say("four")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert transcript(page) == texts(page.said)
    assert branches(page) == 1


def test_an_answer_can_go_on(page: Page, upstream: Upstream) -> None:
    page.say("one")
    page.say("two")
    answer = page.client.say(list(page.said), session=page.session)
    assert answer.status == 200, answer.body
    assert texts(upstream.prompts[-1]) == texts(page.said), "the model sees the beginning of its answer"
    page.said[-1]["content"] += answer.text
    page.say("three")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert branches(page) == 2, "the shorter answer stays where it was"
    foreign = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    assert page.client.say(foreign, session=page.session).status == 400


def test_a_wrapped_question_equals_the_bare_one(page: Page, upstream: Upstream) -> None:
    page.say("one")
    wrapped = [*page.said, {"role": "user", "content": RETRIEVAL.format(question="When does it open?")}]
    answer = page.client.say(wrapped, session=page.session)
    page.said += [{"role": "user", "content": "When does it open?"}, {"role": "assistant", "content": answer.text}]
    page.say("And when does it close?")
    assert branches(page) == 1
    assert len(transcript(page)) == 6
    assert len(upstream.prompts[-1]) == 5


def test_white_space_and_thoughts_make_no_difference(page: Page, upstream: Upstream) -> None:
    upstream.answer = lambda request: "<think>Hm, a greeting.</think>\n\nHello   there.\n"
    page.say("one")
    page.said[1]["content"] = "Hello there."
    page.say("two")
    assert branches(page) == 1
    assert len(upstream.prompts[-1]) == 3


def test_a_chat_that_moved_in_can_be_edited_where_it_was_imported(page: Page, upstream: Upstream) -> None:
    page.said = [{"role": role, "content": f"{role} {number}"} for number in range(3) for role in ("user", "assistant")]
    page.say("here")
    page.say("there")
    page.back_to(3)
    page.say("user 2, edited")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert transcript(page) == texts(page.said)
    assert branches(page) == 2


def test_the_first_answer_after_a_move_can_be_regenerated(page: Page, upstream: Upstream) -> None:
    page.said = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "indeed"}]
    page.say("here")
    page.back_to(2)
    page.say("here")
    assert texts(upstream.prompts[-1]) == ["before", "indeed", "here"]
    assert branches(page) == 2
    page.say("more")
    assert transcript(page) == texts(page.said)


def test_a_branch_of_a_branch_of_a_branch_keeps_all_it_shares(page: Page, upstream: Upstream) -> None:
    page.say("start")
    for depth in range(12):
        page.say(f"turn {depth}")
        page.back_to(len(page.said) // 2)
        page.say(f"turn {depth}, again")
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert transcript(page) == texts(page.said)
    assert branches(page) == 13


# --- client message ids ---


def ids(message: str, parent: str | None = None) -> dict[str, str]:
    return {"X-Hermes-Message-Id": message, **({"X-Hermes-Parent-Message-Id": parent} if parent is not None else {})}


def test_a_clients_own_ids_decide_where_it_goes_on(page: Page, upstream: Upstream) -> None:
    page.say("hi", headers=ids("m1", ""))
    page.say("hi", headers=ids("m2", "m1"))
    page.say("three", headers=ids("m3", "m2"))
    page.back_to(2)
    page.say("hi", headers=ids("m4", "m1"))
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert branches(page) == 2
    page.back_to(1)
    page.say("an edited first message", headers=ids("m5", ""))
    assert texts(upstream.prompts[-1]) == ["an edited first message"]
    assert branches(page) == 3
    page.say("and on", headers=ids("m6", "m5"))
    assert transcript(page) == texts(page.said)


def test_a_bridge_that_only_names_its_messages_appends(page: Page, upstream: Upstream) -> None:
    for number in range(3):
        page.client.say("hi", session=page.session, headers=ids(f"m{number}"))
    assert len(upstream.prompts[-1]) == 5
    page.client.say("hi", session=page.session, headers=ids("m2"))
    assert len(upstream.requests) == 3, "a redelivered message is not asked again"
    assert branches(page) == 1


def test_a_parent_nobody_knows_leaves_it_to_the_words(page: Page, upstream: Upstream) -> None:
    page.say("one")
    page.say("two", headers=ids("m2", "from before the headers were set"))
    assert texts(upstream.prompts[-1]) == texts(page.said[:-1])
    assert branches(page) == 1


# --- retries ---


def test_a_library_that_tries_again_gets_the_first_answer(page: Page, upstream: Upstream) -> None:
    again = {"x-stainless-retry-count": "1"}
    first = page.client.say("one", session=page.session)
    second = page.client.say("one", session=page.session, headers=again)
    assert second.text == first.text
    assert second.headers["idempotent-replayed"] == "true"
    assert len(upstream.requests) == 1
    page.client.say("two", session=page.session, headers=again)
    assert len(upstream.requests) == 2, "another body is another turn"


def test_the_same_body_without_a_retry_is_another_turn(page: Page, upstream: Upstream) -> None:
    for _ in range(2):
        page.client.say("one", session=page.session, headers={"x-stainless-retry-count": "0"})
    assert len(upstream.requests) == 2


def test_the_same_history_sent_twice_at_once_is_one_turn(page: Page, upstream: Upstream) -> None:
    page.say("one")
    upstream.plan[:] = [sleeps(0.4)]
    body = [*page.said, {"role": "user", "content": "two"}]
    answers: list[Any] = []

    def ask() -> None:
        answers.append(page.client.say(body, session=page.session))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join(30)
    assert answers[0].text == answers[1].text
    assert len(upstream.requests) == 2
    assert len(transcript(page)) == 4
    assert branches(page) == 1


def test_the_same_edit_sent_twice_at_once_is_one_branch(page: Page, upstream: Upstream) -> None:
    for text in ("one", "two", "three"):
        page.say(text)
    page.back_to(2)
    upstream.plan[:] = [sleeps(0.4)]
    body = [*page.said, {"role": "user", "content": "two, edited"}]
    threads = [
        threading.Thread(target=page.client.say, args=(body,), kwargs={"session": page.session}) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join(30)
    assert len(upstream.requests) == 4
    assert branches(page) == 2


def test_the_same_edit_sent_twice_under_a_childs_id_is_one_branch(page: Page, upstream: Upstream) -> None:
    for text in ("one", "two", "three"):
        page.say(text)
    child = page.client.say("/compress", session=page.session).hermes["session_id"]
    assert child != page.session
    upstream.plan[:] = [sleeps(0.4)]
    body = [*page.said[:2], {"role": "user", "content": "two, edited"}]
    asking = {"args": (body,), "kwargs": {"session": child}}
    threads = [threading.Thread(target=page.client.say, **asking) for _ in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join(30)
    assert len(upstream.requests) == 4
    assert branches(page) == 2


def test_commands_in_a_history_are_not_part_of_it(page: Page, upstream: Upstream) -> None:
    page.say("one")
    page.say("/compress")
    page.say("two")
    assert texts(upstream.prompts[-1]) == ["one", page.said[1]["content"], "two"]
    assert [text for text in transcript(page) if "ompress" in text] == []
    assert branches(page) == 1


@pytest.mark.parametrize("by_ids", [True, False], ids=["by ids", "by words"])
def test_a_fork_can_be_edited_where_it_shares(page: Page, upstream: Upstream, by_ids: bool) -> None:
    parent = ""
    for number in range(4):
        page.say(f"turn {number}", headers=ids(f"m{number}", parent) if by_ids else None)
        parent = f"m{number}"
    path = f"/api/sessions/{quote(page.session, safe='')}/fork"
    forked = page.client.post(path, {"id": f"{page.session} fork"}).json["session"]["id"]
    before = transcript(page)
    copy = Page(page.client, forked)
    copy.said = [dict(message) for message in page.said]
    copy.back_to(3)
    copy.say("turn 2, edited", headers=ids("f1", "m1") if by_ids else None)
    assert texts(upstream.prompts[-1]) == texts(copy.said[:-1])
    copy.say("and on", headers=ids("f2", "f1") if by_ids else None)
    assert transcript(copy) == texts(copy.said)
    copy.said = [dict(message) for message in page.said]
    copy.say("on the path it shares", headers=ids("f3", "m3") if by_ids else None)
    assert texts(upstream.prompts[-1]) == texts(copy.said[:-1])
    assert transcript(page) == before, "the origin is as it was"


# --- auxiliary requests ---

TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: one
</chat_history>"""


def test_a_title_request_sees_the_session_and_leaves_no_trace(page: Page, upstream: Upstream) -> None:
    page.say("one")
    before = transcript(page)
    for headers, text in (({}, TITLE), ({"X-Hermes-Task": "title_generation"}, "A title, please.")):
        answer = page.client.say(text, session=page.session, headers=headers)
        assert answer.status == 200
        assert texts(upstream.prompts[-1]) == [*before, text]
    assert transcript(page) == before
    page.say("two")
    assert len(transcript(page)) == 4


def test_a_streamed_question_is_never_auxiliary(page: Page) -> None:
    page.client.say(TITLE, session=page.session, stream=True)
    page.client.say(RETRIEVAL.format(question="When?"), session=page.session)
    assert len(transcript(page)) == 4
