"""Webhooks over TLS: the certificate must prove the host."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
import uvloop
from receiver import KEY, NOW, OK, Names, parcel, receiving, says

from everthread.core.courier import Delivered, Receipt, Undelivered
from everthread.hooks.courier import HttpCourier, Patience

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For hooks.internal and 127.0.0.1, signed by itself; with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=DNS:hooks.internal,IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*made, *names, *files], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return both


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def deliver(certificate: Path, host: str, *, trusted: bool = True, tls: bool = True) -> Receipt:
    trust = ssl.create_default_context()
    if trusted:
        trust.load_verify_locations(certificate)
    async with receiving(says(OK), serving(certificate) if tls else None) as receiver:
        courier = HttpCourier(
            [host], patience=Patience(connect=1, whole=1, rest=0.1), resolve=Names(["127.0.0.1"]), tls=trust
        )
        try:
            receipt = await courier.deliver(parcel(receiver.url(scheme="https", host=host)), now=NOW)
        finally:
            await courier.close()
        assert [got.is_signed_with(KEY) for got in receiver.got] == [True] * isinstance(receipt, Delivered)
        await asyncio.sleep(0.01)
        return receipt


@pytest.mark.parametrize("host", ["hooks.internal", "127.0.0.1"])
async def test_a_certificate_for_the_host_is_believed(certificate: Path, host: str) -> None:
    assert await deliver(certificate, host) == Delivered(200)


async def test_a_certificate_for_another_host_is_not(certificate: Path) -> None:
    assert await deliver(certificate, "other.internal") == Undelivered("untrusted")


async def test_a_certificate_of_an_unknown_authority_is_not(certificate: Path) -> None:
    assert await deliver(certificate, "hooks.internal", trusted=False) == Undelivered("untrusted")


async def test_a_server_without_tls_gets_nothing(certificate: Path) -> None:
    assert isinstance(await deliver(certificate, "hooks.internal", tls=False), Undelivered)


async def test_what_answers_without_tls_is_untrusted(certificate: Path) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        courier = HttpCourier(["127.0.0.1"])
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert await courier.deliver(parcel(url), now=NOW) == Undelivered("untrusted")
        await courier.close()


async def test_who_hangs_up_during_the_handshake_is_disconnected() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        courier = HttpCourier(["127.0.0.1"])
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert await courier.deliver(parcel(url), now=NOW) == Undelivered("disconnected")
        await courier.close()


def test_it_is_the_same_on_the_loop_that_the_server_runs_on(certificate: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(deliver(certificate, "hooks.internal")) == Delivered(200)
        assert runner.run(deliver(certificate, "other.internal")) == Undelivered("untrusted")
