"""known_hosts files: which line is about a server, and what its key must be."""

import base64
import hashlib
import hmac

import pytest

from ibaccept.transport.hostkeys import (
    HostKeyError,
    KnownHosts,
    KnownKey,
    fingerprint,
    parse_known_hosts,
)

KEY, OTHER = b"key one", b"key two"
TEXT = {key: base64.b64encode(key).decode() for key in (KEY, OTHER)}


def hashed(name):
    salt = b"0123456789abcdefghij"
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))


def test_lines_are_read_and_what_is_none_is_left_out():
    text = (
        f"# comment\n\nnode1,10.0.0.1 ssh-ed25519 {TEXT[KEY]} a comment\nnode2 ssh-rsa\n"
        f"node3 ssh-rsa not-base64!\n@revoked * ssh-rsa {TEXT[OTHER]}\n"
    )

    assert parse_known_hosts(text, "f") == [
        KnownKey("", ("node1", "10.0.0.1"), "ssh-ed25519", KEY, "f:3"),
        KnownKey("@revoked", ("*",), "ssh-rsa", OTHER, "f:6"),
    ]


@pytest.mark.parametrize(
    ("names", "name", "matches"),
    [
        ("node1", "node1", True),
        ("NODE1", "node1", True),
        ("node1", "node12", False),
        ("node?", "node1", True),
        ("node*,!node2", "node1", True),
        ("node*,!node2", "node2", False),
        ("[node1]:2222", "[node1]:2222", True),
        ("[ab]", "a", False),
        (hashed("node1"), "node1", True),
        (hashed("node1"), "node2", False),
        ("|1|broken", "node1", False),
        ("|1|!|!", "node1", False),
    ],
)
def test_which_names_a_line_is_about(names, name, matches):
    key = KnownKey("", tuple(names.split(",")), "ssh-ed25519", KEY, "f:1")

    assert key.matches(name) is matches


@pytest.fixture
def known(tmp_path):
    def read(*lines, port=22, alias=None):
        file = tmp_path / "known_hosts"
        file.write_text("".join(f"{line}\n" for line in lines))
        return KnownHosts.read([file, tmp_path / "none"], "node1", port, alias)

    return read


def line(names, key=KEY, kind="ssh-ed25519"):
    return f"{names} {kind} {TEXT[key]}"


def refused(hosts, key=KEY, kind="ssh-ed25519"):
    with pytest.raises(HostKeyError) as caught:
        hosts.check(kind, key)
    return str(caught.value)


def test_the_key_that_is_known_is_accepted(known):
    known(line("node1")).check("ssh-ed25519", KEY)
    known(line("the-alias"), alias="the-alias").check("ssh-ed25519", KEY)
    known(line("[node1]:2222"), port=2222).check("ssh-ed25519", KEY)
    # filed without its port, where none is filed with it
    known(line("node1"), port=2222).check("ssh-ed25519", KEY)
    assert known(line("node1"), line("node1", OTHER, "ssh-rsa")).types == {"ssh-ed25519", "ssh-rsa"}


def test_any_other_key_is_refused(known, tmp_path):
    changed = refused(known(line("node1")), OTHER)
    unknown = refused(known(line("node2")))
    elsewhere = refused(known(line("[node1]:2222", OTHER), line("node1"), port=2222))

    assert "the host key of node1 has CHANGED: the server shows" in changed
    assert f"{tmp_path}/known_hosts:1 holds {fingerprint(KEY)}" in changed
    assert "the host key of node1 is not known" in unknown
    assert "the host key of [node1]:2222 has CHANGED" in elsewhere


def test_other_types_revoked_keys_and_authorities_are_said(known):
    assert "(known there: ssh-rsa)" in refused(known(line("node1", OTHER, "ssh-rsa")))
    assert "is marked @revoked in" in refused(known(line("node1"), f"@revoked {line('*')}"))
    # also where the server listens on a port of its own
    assert "is marked @revoked in" in refused(
        known(line("[node1]:2222"), f"@revoked {line('node1')}", port=2222)
    )
    assert "host certificates are not supported" in refused(
        known(f"@cert-authority {line('*', OTHER)}")
    )


def test_no_file_at_all_and_one_that_cannot_be_read(tmp_path):
    assert "not in no known_hosts file" in refused(KnownHosts.read([], "node1", 22))
    with pytest.raises(HostKeyError, match=r"cannot be read: Is a directory"):
        KnownHosts.read([tmp_path], "node1", 22)


def test_a_fingerprint_is_as_ssh_keygen_prints_it():
    assert fingerprint(b"") == "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
