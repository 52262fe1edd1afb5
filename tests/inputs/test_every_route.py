"""Whatever is wrong with a request, and wherever it goes: a 4xx with the error object, and the server answers on."""

from __future__ import annotations

import pytest
from malformed import case, malformed
from target import Target

from bad_request import Case, exchange, is_error_object
from front_door import Answer
from operations import OPERATIONS, Operation

CANNOT = {  # with the plainest names of each kind
    "response_cancel": "what is over cannot be cancelled",
    "item": "the answer is not of the conversation",
    "job_redeliver": "the run is not the job's",
    "memory_pin": "the claim was corrected just before",
    "key": "the server's own key is not kept",
}


def complaint(sent: Case, answer: Answer) -> str | None:
    """What is wrong with the answer."""
    if not 400 <= answer.status < 500:
        return f"{sent.name}: {answer.status} {answer.body[:200]!r}"
    if sent.status not in {400, answer.status}:  # 400 stands for any
        return f"{sent.name}: {answer.status} and not {sent.status} {answer.body[:200]!r}"
    if not is_error_object(answer):
        return f"{sent.name}: {answer.body[:200]!r}"
    if answer.status == 405 and not answer.headers.get("allow"):
        return f"{sent.name}: no Allow"
    if "x-injected" in answer.headers:
        return f"{sent.name}: a header was injected"
    return None


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_malformed_request_is_refused_with_the_error_object(target: Target, operation: Operation) -> None:
    asked = len(target.upstream.requests)
    cases = list(malformed(operation, target.has))
    complaints = [complaint(each, exchange(target.url, each.sent(), each.method)) for each in cases]
    assert [each for each in complaints if each is not None] == []
    assert len(target.upstream.requests) == asked, "nothing of it reached the model"
    assert target.has.client.get("/health").status == 200


def test_there_are_many_of_them(target: Target) -> None:
    numbers = {operation.name: len(list(malformed(operation, target.has))) for operation in OPERATIONS}
    assert sum(numbers.values()) > 2000, numbers
    assert all(number >= 8 for number in numbers.values()), numbers


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.method != "DELETE"], ids=str)
def test_the_request_that_they_were_made_from_is_a_good_one(target: Target, operation: Operation) -> None:
    """Else nothing would be known of the one thing that is wrong with each."""
    good = case(operation, target.has, "as it should be")
    answer = exchange(target.url, good.sent(), good.method)
    assert answer.status in {200, 201, 202} or operation.name in CANNOT, answer.body[:300]
