"""Commands of this machine start here, all others go over SSH."""

import pytest

from ibaccept.transport import CommandResult, Host, NotPermittedError
from ibaccept.transport.router import RoutingTransport, open_transport


class Fake:
    def __init__(self, name, calls, *, fails=False):
        self.name, self.calls, self.fails = name, calls, fails

    def run(self, host, argv, **options):
        self.calls.append((self.name, "run", options))
        return CommandResult(host.name, argv, b"", b"", 0)

    def start(self, host, argv, **options):
        del host, argv
        self.calls.append((self.name, "start", options))
        return self.name

    def close(self):
        self.calls.append((self.name, "close"))
        if self.fails:
            raise OSError("gone")


def test_each_host_is_reached_in_its_way():
    calls = []
    router = RoutingTransport(lambda _: True, Fake("here", calls), Fake("there", calls))
    local, remote = Host("h", local=True), Host("h")

    router.run(local, ("true",), timeout=1)
    router.run(remote, ("true",), timeout=2, root=True, limit=7)
    started = [
        router.start(local, ("true",), timeout=3, held="last"),
        router.start(remote, ("true",), timeout=4),
    ]

    plain = {"root": False, "limit": 4 << 20}
    assert calls == [
        ("here", "run", {"timeout": 1} | plain),
        ("there", "run", {"timeout": 2, "root": True, "limit": 7}),
        ("here", "start", {"timeout": 3, "held": "last"} | plain),
        ("there", "start", {"timeout": 4, "held": False} | plain),
    ]
    assert started == ["here", "there"]


def test_both_are_closed_whatever_happens():
    calls = []
    router = RoutingTransport(lambda _: True, Fake("here", calls, fails=True), Fake("there", calls))

    with pytest.raises(OSError, match="gone"):
        router.close()

    assert calls == [("here", "close"), ("there", "close")]


def test_what_is_not_permitted_goes_nowhere():
    router = RoutingTransport(lambda _: False, None, None)

    with pytest.raises(NotPermittedError):
        router.run(Host("h"), ("rm",), timeout=1)
    with pytest.raises(NotPermittedError):
        router.start(Host("h"), ("rm",), timeout=1)


def test_a_real_one_connects_to_nothing_yet():
    transport = open_transport(lambda _: True)
    host = Host("h", local=True)

    result = transport.run(host, ("echo", "here"), timeout=9)
    transport.close()

    assert result.stdout == b"here\n"
