"""What OpenSSH's configuration says about a host, with and without its client."""

import getpass
import shutil
import subprocess
from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.transport import Host, TransportError
from ibaccept.transport.sshconfig import expand, jump_host, resolve

CONFIG = """\
Host mgmt
  HostName 10.0.0.7
  Port 2222
  User admin
  IdentityFile ~/keys/%r
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ~/known_%h /etc/known
  GlobalKnownHostsFile none
  HostKeyAlias the-manager
Host inner
  ProxyJump jump@gate:2200,second
Host by-command
  ProxyCommand nc -x %n %h %p %% %X
"""


@pytest.fixture(params=["ssh -G", "without a client"])
def config(request, tmp_path, monkeypatch):
    """The same from both ways of reading it."""
    if request.param == "without a client":
        monkeypatch.setattr(shutil, "which", lambda _: None)
    elif shutil.which("ssh") is None:
        pytest.fail("this test needs an OpenSSH client")
    file = tmp_path / "config"
    file.write_text(CONFIG)
    return file


@pytest.mark.real
def test_all_that_is_needed_of_a_host(config):
    found = resolve(Host("mgmt"), config=config)

    home = Path.home()
    assert (found.hostname, found.port, found.user) == ("10.0.0.7", 2222, "admin")
    assert found.identity_files == (home / "keys" / "admin",)
    assert (found.identities_only, found.use_agent) == (True, False)
    assert found.known_hosts == (home / "known_10.0.0.7", Path("/etc/known"))
    assert found.host_key_alias == "the-manager"
    assert found.endpoint == "10.0.0.7 port 2222"


@pytest.mark.real
def test_the_inventory_comes_first(config):
    host = Host("x", address="mgmt", port=22, user="me", key_file=Path("/k"))

    found = resolve(host, config=config)

    assert (found.hostname, found.port, found.user) == ("10.0.0.7", 22, "me")
    assert (found.identity_files, found.identities_only) == ((Path("/k"),), True)


@pytest.mark.real
def test_the_way_to_a_host(config):
    assert resolve(Host("inner"), config=config).proxy_jump == ("jump@gate:2200", "second")
    command = resolve(Host("by-command"), config=config).proxy_command
    assert command == "nc -x by-command by-command 22 % %X"
    assert resolve(Host("other"), config=config).proxy_command is None


def test_defaults_without_any_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "config").write_text("")

    found = resolve(Host("h"), config=tmp_path / "config")

    assert (found.hostname, found.port, found.user) == ("h", 22, getpass.getuser())
    assert [file.name for file in found.identity_files] == ["id_ed25519", "id_ecdsa", "id_rsa"]
    assert found.use_agent


def test_what_is_no_configuration(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"the SSH configuration .* does not exist"):
        resolve(Host("h"), config=tmp_path / "none")
    for name in ("-oProxyCommand=x", "a b"):
        with pytest.raises(TransportError, match="is not a host name"):
            resolve(Host(name))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "config").write_bytes(b"Host \xff\xfe\n")
    with pytest.raises(TransportError, match="the SSH configuration is not readable"):
        resolve(Host("h"), config=tmp_path / "config")


@pytest.mark.parametrize(
    ("done", "message"),
    [
        (subprocess.CompletedProcess([], 255, b"", b"bad option\n"), "failed: bad option"),
        (subprocess.TimeoutExpired("ssh", 10), "did not end; see 'Match exec' in ssh_config"),
    ],
)
def test_a_client_that_cannot_read_it(monkeypatch, done, message):
    def run(*_, **__):
        if isinstance(done, Exception):
            raise done
        return done

    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/ssh")
    monkeypatch.setattr(subprocess, "run", run)

    with pytest.raises(TransportError, match=message):
        resolve(Host("h"))


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("gate", Host("gate")),
        ("me@gate:22", Host("gate", port=22, user="me")),
        ("ssh://me@gate:22/", Host("gate", port=22, user="me")),
        ("me@[fe80::1]:22", Host("fe80::1", port=22, user="me")),
    ],
)
def test_a_jump_host(text, host):
    assert jump_host(text) == host


def test_what_is_no_jump_host():
    with pytest.raises(ValueError, match="'a:b:c' is not a ProxyJump host"):
        jump_host("a:b:c")


def test_a_token_that_is_not_known_stays():
    assert expand("%h:%p %% %Q", {"h": "x", "p": "1", "%": "%"}) == "x:1 % %Q"
