"""Which URLs and addresses are called, and which are not. Nothing here opens a connection."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import Malformed, UrlRefused
from everthread.hooks.address import is_refused
from everthread.hooks.courier import HttpCourier
from everthread.hooks.url import decode, vetted

REFUSED_ADDRESSES = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::a9fe:a9fe",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fdff::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "4000::1",
    "8000::1",
]
PUBLIC_ADDRESSES = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "2003::1",
]

INWARD = [
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://app.localhost/",
    "http://ⓛocalhost/",
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0X7F.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0/",
    "http://00.0x0.0/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://10.1/",
    "http://192.168.257/",
    "http://100.100.100.200/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:8080/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://8.8.8.8:22/",
    "http://example.com:25/",
    "https://example.com:1/",
]
NONSENSE = [
    "",
    "/hook",
    "example.com/hook",
    "//example.com/hook",
    "http:example.com",
    "http:/example.com",
    "http://",
    "http:///hook",
    "http://?x",
    "http://:80/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "javascript:alert(1)",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun/",
    "http://user@example.com/",
    "http://user:password@example.com/",
    "http://@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.evil.test/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:http/",
    "http://example.com:٨٠/",
    "http://example.com:80:80/",
    "http://example.com/\r\nX-Injected: 1",
    "http://example.com/a b",
    "http://example.com/\t",
    "http://example.com/\x00",
    "http://exam\nple.com/",
    "http://example.com/é",
    "http://example.com/?q=é",
    "http://example.com/#fragment",
    "http://example.com/#",
    "http://ex%61mple.com/",
    "http://127.0.0.1%00.example.com/",
    "http://example..com/",
    "http://.example.com/",
    "http://-example.com/",
    "http://exa$mple.com/",
    "http://*.example.com/",
    "http://1.2.3.4.5/",
    "http://256.256.256.256/",
    "http://4294967296/",
    "http://0x7f.example.1/",
    "http://08.8.8.8/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]x/",
    "http://[::1]]/",
    "http://x[::1]/",
    "http://[::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[v1.x]/",
    "http://[127.0.0.1]/",
    "http://straße.example/",
    "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 130 + "example/",
    "http://" + ("ü" * 45 + ".") * 5 + "example/",  # too long when it is written in ASCII
    "http://example.com/" + "a" * 2048,
    " http://example.com/",
    "http://example.com/ ",
]


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_an_address_of_no_public_place_is_refused(address: str) -> None:
    assert is_refused(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_a_public_address_is_called(address: str) -> None:
    assert not is_refused(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_no_ipv4_address_is_called_by_way_of_ipv6(address: ipaddress.IPv4Address) -> None:
    four = int(address)
    for prefix, shift in (("::", 0), ("::ffff:0:0", 0), ("::ffff:0:0:0", 0), ("64:ff9b::", 0), ("2002::", 80)):
        assert is_refused(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | four << shift))


@given(st.ip_addresses())
def test_whatever_the_standard_library_calls_private_is_refused(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_link_local:
        assert is_refused(address)


@pytest.mark.parametrize("url", INWARD)
def test_a_url_that_leads_inward_is_refused_at_the_door(url: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        vetted(url, frozenset())
    assert (refused.value.param, refused.value.code) == ("deliver.url", "url_not_allowed")


@pytest.mark.parametrize("url", NONSENSE)
def test_what_is_no_plain_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Malformed) as refused:
        vetted(url, frozenset())
    assert (refused.value.param, refused.value.code) == ("deliver.url", "invalid_value")
    assert not url or url not in refused.value.message


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("https://example.com", "example.com", 443, "/"),
        ("HTTP://Example.COM.:/", "example.com", 80, "/"),
        ("https://example.com?token=1", "example.com", 443, "/?token=1"),
        ("https://example.com:8443/a/b?c=%20&d[]=1", "example.com", 8443, "/a/b?c=%20&d[]=1"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "/"),
        ("http://my_service.example:80/", "my_service.example", 80, "/"),
        ("http://134744072/", "8.8.8.8", 80, "/"),
        ("http://[2606:4700:4700:0::1111]:8080/", "2606:4700:4700::1111", 8080, "/"),
        ("http://example.com:443/", "example.com", 443, "/"),
        ("https://a.b.c.d.e.example/..//x", "a.b.c.d.e.example", 443, "/..//x"),
    ],
)
def test_a_plain_url_is_read_as_meant(url: str, host: str, port: int, path: str) -> None:
    read = vetted(url, frozenset())
    assert (read.host, read.port, read.path) == (host, port, path)
    assert decode(f"{'https' if read.secure else 'http'}://{read.authority}{read.path}") == read


@pytest.mark.parametrize(
    ("allowed", "url"),
    [
        ("localhost", "http://localhost:9000/"),
        ("LocalHost", "http://LOCALHOST./"),
        ("localhost:9000", "http://localhost:9000/"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/"),
        ("127.0.0.1", "http://2130706433/"),
        ("[::1]", "http://[::1]:9000/"),
        ("::1", "http://[0::1]/"),
        ("[::1]:9000", "http://[::1]:9000/"),
        ("example.com:81", "http://example.com:81/"),
    ],
)
def test_a_host_that_is_allowed_by_name_is_called_wherever_it_is(allowed: str, url: str) -> None:
    HttpCourier([allowed]).vet(url)


@pytest.mark.parametrize(
    ("allowed", "url"),
    [
        ("localhost:9000", "http://localhost:9001/"),
        ("localhost", "http://127.0.0.1/"),
        ("127.0.0.1", "http://127.0.0.2/"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
        ("localhost", "http://app.localhost/"),
        ("example.com:81", "http://example.com:82/"),
    ],
)
def test_what_is_allowed_allows_nothing_else(allowed: str, url: str) -> None:
    with pytest.raises(UrlRefused):
        HttpCourier([allowed]).vet(url)


@given(
    st.text(max_size=40),
    st.sampled_from(["", "http://", "https://", "http://[", "http://a/", "http://a?", "http://a:"]),
)
def test_whatever_is_given_is_malformed_or_safe_in_a_request(text: str, before: str) -> None:
    try:
        read = decode(before + text)
    except Malformed:
        return
    for part in (read.authority, read.path):
        assert part.isascii()
        assert part.isprintable()
        assert " " not in part
    assert 0 < read.port < 65_536
