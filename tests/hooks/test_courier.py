"""Parcels brought to a real receiver on 127.0.0.1, and all that can go wrong there."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import uvloop
from receiver import KEY, NOW, OK, SECRET, Names, Receiver, Serve, parcel, receiving, says

from everthread.core.courier import Delivered, Parcel, Receipt, Undelivered
from everthread.core.signature import Secret, new_secret
from everthread.hooks import courier as module
from everthread.hooks.courier import HttpCourier, Patience

QUICK = Patience(connect=0.5, whole=0.5, rest=0.1)
HERE = ("127.0.0.1",)


async def deliver(to: str | Parcel, *, allowed: tuple[str, ...] = HERE, patience: Patience = QUICK) -> Receipt:
    courier = HttpCourier(allowed, patience=patience)
    try:
        return await courier.deliver(parcel(to) if isinstance(to, str) else to, now=NOW)
    finally:
        await courier.close()


async def outcome(serve: Serve) -> tuple[Receipt, Receiver]:
    async with receiving(serve) as receiver:
        return await deliver(receiver.url()), receiver


# --- what arrives ---


async def test_a_parcel_arrives_whole_and_signed() -> None:
    body = '{"text":"grüße"}'.encode() + bytes(range(256))
    async with receiving(says(OK)) as receiver:
        assert await deliver(parcel(receiver.url("/in?a=1&b=%20"), body=body)) == Delivered(200)
        [got] = receiver.got
    assert got.line == "POST /in?a=1&b=%20 HTTP/1.1"
    assert got.body == body
    assert got.is_signed_with(KEY)
    assert not got.is_signed_with(KEY + b"x")
    assert got.headers["webhook-id"] == "msg_1"
    assert abs(int(got.headers["webhook-timestamp"]) - NOW.timestamp()) <= 1
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["connection"] == "close"
    assert got.names == [
        "host", "user-agent", "content-type", "content-length", "accept-encoding", "connection",
        "webhook-id", "webhook-timestamp", "webhook-signature",
    ]  # fmt: skip


async def test_while_the_secret_changes_both_the_new_and_the_old_one_verify() -> None:
    old = bytes(24)
    async with receiving(says(OK)) as receiver:
        await deliver(parcel(receiver.url(), older=(new_secret(old),)))
        [got] = receiver.got
    assert got.is_signed_with(KEY)
    assert got.is_signed_with(old)


async def test_a_large_parcel_arrives() -> None:
    body = b'"' + b"x" * 3_000_000 + b'"'
    async with receiving(says(OK)) as receiver:
        assert await deliver(parcel(receiver.url(), body=body), patience=Patience()) == Delivered(200)
        assert receiver.got[0].body == body


async def test_the_same_parcel_is_signed_anew_each_time_under_the_same_id() -> None:
    async with receiving(says(OK)) as receiver:
        courier = HttpCourier(HERE, patience=QUICK)
        await courier.deliver(parcel(receiver.url()), now=NOW)
        await courier.deliver(parcel(receiver.url()), now=NOW + timedelta(hours=1))
        await courier.close()
        first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert 3599 <= int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) <= 3601
    assert second.is_signed_with(KEY)


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(says(b"HTTP/1.1 500 No\r\n\r\n")) as proxy, receiving(says(OK)) as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        assert await deliver(receiver.url()) == Delivered(200)
        assert proxy.connections == 0


def test_it_works_on_the_loop_that_the_server_runs_on() -> None:
    async def there() -> Receipt:
        async with receiving(says(OK)) as receiver:
            return await deliver(receiver.url(host="localhost"), allowed=("localhost",))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(there()) == Delivered(200)


# --- where it goes ---


async def test_a_host_in_our_own_network_is_not_connected_to() -> None:
    async with receiving(says(OK)) as receiver:
        for url in (receiver.url(), receiver.url(host="localhost"), receiver.url(host="2130706433")):
            assert await deliver(url, allowed=()) == Undelivered("refused")
        assert receiver.connections == 0


async def test_a_name_that_leads_inward_is_not_connected_to() -> None:
    async with receiving(says(OK)) as receiver:
        for inward in (["127.0.0.1"], ["::ffff:127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "::1"]):
            courier = HttpCourier(patience=QUICK, resolve=Names(inward))
            receipt = await courier.deliver(parcel(receiver.url(host="hooks.example")), now=NOW)
            await courier.close()
            assert receipt == Undelivered("refused")
            assert receipt.then == "give_up"
        assert receiver.connections == 0


async def test_a_name_that_is_allowed_may_lead_inward() -> None:
    async with receiving(says(OK)) as receiver:
        names = Names(["127.0.0.1"])
        courier = HttpCourier(["hooks.internal"], patience=QUICK, resolve=names)
        assert await courier.deliver(parcel(receiver.url(host="hooks.internal")), now=NOW) == Delivered(200)
        await courier.close()
        assert receiver.got[0].headers["host"] == f"hooks.internal:{receiver.port}"
        assert names.asked == ["hooks.internal"]


async def test_the_address_that_was_vetted_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads outward when it is vetted and inward a moment later."""
    connected: list[tuple[str, int]] = []
    async with receiving(says(OK)) as receiver:
        loop = asyncio.get_running_loop()
        connect = loop.sock_connect

        async def sock_connect(sock: socket.socket, address: tuple[str, int]) -> None:
            connected.append(address)
            await connect(sock, ("127.0.0.1", receiver.port))

        monkeypatch.setattr(loop, "sock_connect", sock_connect)
        names = Names(["8.8.8.8"], ["127.0.0.1"])
        courier = HttpCourier(patience=QUICK, resolve=names)
        assert await courier.deliver(parcel("http://rebinding.example:8080/"), now=NOW) == Delivered(200)
        assert names.asked == ["rebinding.example"]
        assert connected == [("8.8.8.8", 8080)]
        assert await courier.deliver(parcel("http://rebinding.example:8080/"), now=NOW) == Undelivered("refused")
        assert connected == [("8.8.8.8", 8080)]
        await courier.close()


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with receiving(says(OK)) as receiver:
        courier = HttpCourier(["hooks.internal"], patience=QUICK, resolve=Names(["127.0.0.2", "127.0.0.1"]))
        assert await courier.deliver(parcel(receiver.url(host="hooks.internal")), now=NOW) == Delivered(200)
        await courier.close()


async def test_a_host_without_an_address_is_unresolved() -> None:
    async def unknown(_: str) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def silent(_: str) -> list[object]:
        await asyncio.sleep(60)
        return []

    async def empty(_: str) -> list[object]:
        return []

    for resolve in (unknown, silent, empty):
        courier = HttpCourier(patience=Patience(connect=0.1), resolve=resolve)  # type: ignore[arg-type]
        receipt = await courier.deliver(parcel("https://hooks.example/"), now=NOW)
        await courier.close()
        assert receipt == Undelivered("unresolved")
        assert receipt.then == "again"


async def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        receipt = await deliver(f"http://127.0.0.1:{free.getsockname()[1]}/")
    assert receipt == Undelivered("unreachable")
    assert receipt.then == "again"


async def test_what_was_stored_before_it_was_refused_is_a_receipt_too() -> None:
    for url in ("file:///etc/passwd", "http://[", ""):
        assert await deliver(url) == Undelivered("refused")
    async with receiving(says(OK)) as receiver:
        spoiled = Parcel(id="msg_1", url=receiver.url(), secret=Secret(""), body=b"{}", kind="job")
        assert await deliver(spoiled) == Undelivered("refused")
        assert receiver.got == []


# --- what is answered ---


async def test_a_redirect_is_not_followed_and_says_so() -> None:
    async with receiving(says(OK)) as target:
        for status in (301, 302, 303, 307, 308):
            answer = f"HTTP/1.1 {status} Moved\r\nLocation: {target.url()}\r\nContent-Length: 0\r\n\r\n".encode()
            receipt, receiver = await outcome(says(answer))
            assert receipt == Undelivered("redirected", status)
            assert len(receiver.got) == 1
        assert target.connections == 0


async def test_a_receiver_can_ask_for_a_pause() -> None:
    receipt, _ = await outcome(says(b"HTTP/1.1 429 Slow\r\nretry-AFTER: 90\r\nContent-Length: 0\r\n\r\n"))
    assert receipt == Undelivered("busy", 429, timedelta(seconds=90))
    receipt, _ = await outcome(says(b"HTTP/1.1 503 No\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n"))
    assert receipt == Undelivered("failed", 503, timedelta(hours=24))


async def test_a_receiver_that_is_gone_is_to_be_disabled() -> None:
    receipt, _ = await outcome(says(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"))
    assert isinstance(receipt, Undelivered)
    assert receipt.then == "disable"


async def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n"
    assert (await outcome(says(interim + OK)))[0] == Delivered(200)
    last = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
    assert (await outcome(says(interim + last)))[0] == Undelivered("failed", 503)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 5_000_000,
        OK + b"HTTP/1.1 500 Another\r\n\r\n",
    ],
    ids=["unframed", "empty", "chunked", "cut", "broken chunks", "huge", "followed by another"],
)
async def test_it_is_delivered_when_the_receiver_has_said_so_whatever_follows(answer: bytes) -> None:
    receipt, _ = await outcome(says(answer))
    assert isinstance(receipt, Delivered)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"220 mail.example ESMTP\r\n",
        b"-ERR unknown command 'POST'\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"<html>",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        b"HTTP/1.1 777 What\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=lambda answer: repr(answer[:20]),
)
async def test_what_is_not_http_is_malformed(answer: bytes) -> None:
    receipt, _ = await outcome(says(answer))
    assert isinstance(receipt, Undelivered)
    assert (receipt.reason, receipt.then) == ("malformed", "again")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nContent-"])
async def test_a_connection_that_is_closed_before_the_answer_is_a_failure(answer: bytes) -> None:
    assert (await outcome(says(answer)))[0] == Undelivered("disconnected")


async def test_a_receiver_that_stays_silent_is_given_up_in_time() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async def dripping(writer: asyncio.StreamWriter) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)

    for serve in (silent, dripping):
        began = asyncio.get_running_loop().time()
        assert (await outcome(serve))[0] == Undelivered("timeout")
        assert asyncio.get_running_loop().time() - began < 2


async def test_an_answer_that_does_not_end_holds_nothing_up() -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    began = asyncio.get_running_loop().time()
    assert (await outcome(endless))[0] == Delivered(200)
    assert asyncio.get_running_loop().time() - began < 1


async def test_a_flood_is_cut_off() -> None:
    sent = 0

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    assert (await outcome(flood))[0] == Delivered(200)
    assert sent < 20_000_000  # the buffers of the two ends, and no more


# --- many of them ---


@pytest.fixture
async def slowly() -> AsyncIterator[Receiver]:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(OK)

    async with receiving(slow) as receiver:
        yield receiver


async def test_few_go_to_one_host_at_once(slowly: Receiver) -> None:
    courier = HttpCourier(HERE)
    receipts = await asyncio.gather(*(courier.deliver(parcel(slowly.url()), now=NOW) for _ in range(20)))
    await courier.close()
    assert receipts == [Delivered(200)] * 20
    assert slowly.most == module.MOST_PER_HOST


async def test_there_is_a_bound_to_all_that_is_under_way(slowly: Receiver) -> None:
    hosts = [f"host{number}.internal" for number in range(40)]
    courier = HttpCourier(hosts, resolve=Names(["127.0.0.1"]))
    receipts = await asyncio.gather(*(courier.deliver(parcel(slowly.url(host=host)), now=NOW) for host in hosts))
    await courier.close()
    assert receipts == [Delivered(200)] * 40
    assert slowly.most == module.MOST


async def test_a_slow_host_keeps_no_other_waiting(slowly: Receiver) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with receiving(silent) as stuck:
        courier = HttpCourier(["stuck.internal", "quick.internal"], resolve=Names(["127.0.0.1"]))
        waiting = [
            asyncio.create_task(courier.deliver(parcel(stuck.url(host="stuck.internal")), now=NOW)) for _ in range(50)
        ]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(2):
            receipt = await courier.deliver(parcel(slowly.url(host="quick.internal")), now=NOW)
        assert receipt == Delivered(200)
        await courier.close()
        assert await asyncio.gather(*waiting) == [Undelivered("stopped")] * 50


async def test_a_parcel_that_had_to_wait_is_signed_when_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PER_HOST", 1)

    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(1.1)
        writer.write(OK)

    async with receiving(slow) as receiver:
        courier = HttpCourier(HERE)
        await asyncio.gather(*(courier.deliver(parcel(receiver.url()), now=NOW) for _ in range(2)))
        await courier.close()
        first, second = (int(got.headers["webhook-timestamp"]) for got in receiver.got)
    assert second > first


async def test_closing_ends_what_is_under_way_and_takes_no_more() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with receiving(silent) as receiver:
        courier = HttpCourier(HERE)
        waiting = asyncio.create_task(courier.deliver(parcel(receiver.url()), now=NOW))
        while not receiver.got:
            await asyncio.sleep(0.01)
        await courier.close()
        stopped = await waiting
        assert stopped == Undelivered("stopped")
        assert stopped.then == "again"
        assert await courier.deliver(parcel(receiver.url()), now=NOW) == Undelivered("stopped")
        assert len(receiver.got) == 1
        await courier.close()


async def test_who_stops_waiting_is_told_so() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with receiving(silent) as receiver:
        courier = HttpCourier(HERE)
        waiting = asyncio.create_task(courier.deliver(parcel(receiver.url()), now=NOW))
        while not receiver.got:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await courier.close()


# --- what is not told ---


async def test_no_secret_and_no_path_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with receiving(says(OK)) as receiver:
        hidden = "/services/T0K3N-path?token=T0K3N-query"
        for url in (
            receiver.url(hidden),
            receiver.url(hidden, host="localhost"),
            receiver.url(hidden, scheme="https"),
            f"http://user:T0K3N-password@127.0.0.1{hidden}",
            f"http://127.0.0.1:1{hidden}",
            f"ftp://127.0.0.1{hidden}",
            f"http://[{hidden}",
        ):
            await deliver(url)
            assert "T0K3N" not in repr(parcel(url))
    assert SECRET not in repr(parcel("http://x"))
    assert len([record for record in caplog.records if record.name == "everthread.hooks"]) == 7
    assert "T0K3N" not in caplog.text
    assert SECRET.removeprefix("whsec_") not in caplog.text


@pytest.mark.parametrize(
    ("id_", "kind"),
    [
        ("1", "job"),
        ("msg_", "job"),
        ("msg_1.2", "job"),
        ("msg_1\r\nX: 1", "job"),
        ("msg_1\n", "job"),
        ("msg_é", "job"),
        ("msg_1", ""),
        ("msg_1", "job..run"),
        ("msg_1", "job\n"),
    ],
)
def test_a_parcel_whose_name_would_break_a_header_cannot_be_made(id_: str, kind: str) -> None:
    with pytest.raises(ValueError, match="a parcel's"):
        Parcel(id=id_, url="http://x", secret=SECRET, body=b"", kind=kind)
