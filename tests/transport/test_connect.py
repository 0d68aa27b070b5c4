"""Reaching a real OpenSSH server: keys checked, ways found, each failure its own sentence."""

import contextlib
import logging
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from ibaccept.errors import InputError
from ibaccept.transport import Host, TransportError
from ibaccept.transport.fanout import run_many
from ibaccept.transport.hostkeys import fingerprint, parse_known_hosts
from ibaccept.transport.router import open_transport

pytestmark = pytest.mark.real


def keygen(path, *, kind="ed25519", passphrase=""):
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)
    return path.with_name(f"{path.name}.pub").read_text().strip()


def failure(transport, host, argv=("true",)):
    """Step and message of the TransportError a run raises."""
    with pytest.raises(TransportError) as caught:
        transport.run(host, argv, timeout=20)
    assert caught.value.host == host.name
    return caught.value.step, str(caught.value)


def hostname(transport, host):
    return transport.run(host, ("echo", "here"), timeout=20).stdout


def key_of(server):
    return fingerprint(parse_known_hosts(f"x {server.host_key}", "f")[0].key)


def test_an_unknown_host_key_is_refused_with_its_fingerprint(sshd, tmp_path):
    known = tmp_path / "known"
    config = tmp_path / "config"
    config.write_text(f"Host *\n UserKnownHostsFile {known}\n GlobalKnownHostsFile none\n")

    step, message = failure(sshd.transport(ssh_config=config), sshd.host())

    assert step == "host key"
    assert message == (
        f"h: the host key of [127.0.0.1]:{sshd.port} is not known: the server shows ssh-ed25519 "
        f"{key_of(sshd)}, not in {known}. Compare the fingerprint with the one its administrator "
        "gives, then connect once by hand with ssh, or add the key to known_hosts"
    )
    assert not known.exists()


def test_a_changed_host_key_is_refused_even_if_the_configuration_accepts_all(sshd, tmp_path):
    other = keygen(tmp_path / "other")
    known = tmp_path / "known"
    known.write_text(f"# comment\n[127.0.0.1]:{sshd.port} {other}\n")
    config = tmp_path / "config"
    config.write_text(f"Host *\n UserKnownHostsFile {known}\n StrictHostKeyChecking no\n")

    step, message = failure(sshd.transport(ssh_config=config), sshd.host())

    assert step == "host key"
    assert f"the host key of [127.0.0.1]:{sshd.port} has CHANGED" in message
    assert f"the server shows ssh-ed25519 {key_of(sshd)}, {known}:2 holds SHA256:" in message
    assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}'" in message


def test_a_revoked_host_key_is_refused(sshd, tmp_path):
    known = tmp_path / "known"
    name = f"[127.0.0.1]:{sshd.port}"
    known.write_text(f"{name} {sshd.host_key}\n@revoked * {sshd.host_key}\n")

    config = tmp_path / "config"
    config.write_text(f"Host *\n UserKnownHostsFile {known}\n GlobalKnownHostsFile none\n")

    step, message = failure(sshd.transport(ssh_config=config), sshd.host())

    assert (step, "is marked @revoked in" in message) == ("host key", True)


def test_the_key_type_that_is_known_is_asked_for(new_sshd, tmp_path):
    ecdsa = keygen(tmp_path / "ecdsa", kind="ecdsa")
    server = new_sshd("one", f"HostKey {tmp_path}/ecdsa")
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {ecdsa}\n")

    assert hostname(server.transport(), server.host()) == b"here\n"


def test_a_hashed_known_hosts_file_is_understood(sshd, tmp_path):
    known = tmp_path / "known"
    known.write_text(sshd.known_hosts.read_text())
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    config = tmp_path / "config"
    config.write_text(f"Host *\n UserKnownHostsFile {known}\n GlobalKnownHostsFile none\n")

    assert known.read_text().startswith("|1|")
    assert hostname(sshd.transport(ssh_config=config), sshd.host()) == b"here\n"


def test_a_key_that_the_server_does_not_know_is_refused(sshd, tmp_path):
    keygen(tmp_path / "stranger")
    host = sshd.host(key_file=tmp_path / "stranger")

    assert failure(sshd.transport(), host) == (
        "authentication",
        f"h: root@127.0.0.1 port {sshd.port} accepted none of the keys offered "
        f"({tmp_path}/stranger); check authorized_keys and the user name there",
    )


def test_no_key_at_all(sshd, tmp_path):
    assert failure(sshd.transport(), sshd.host(key_file=tmp_path / "none")) == (
        "authentication",
        f"h: no key to log in to root@127.0.0.1 port {sshd.port} with: the agent holds none and "
        "no key file exists; set ansible_ssh_private_key_file or IdentityFile",
    )


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_an_encrypted_key_needs_an_agent(new_sshd, tmp_path, monkeypatch, kind):
    server = new_sshd("one")
    locked = tmp_path / "locked"
    line = keygen(locked, kind=kind, passphrase="correct horse")
    (server.folder / "authorized_keys").write_text(f"{line}\n")
    config = tmp_path / "config"
    config.write_text(f"Host *\n UserKnownHostsFile {server.known_hosts}\n")
    host = server.host(key_file=locked)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    step, message = failure(server.transport(ssh_config=config), host)
    assert (step, message) == (
        "authentication",
        f"h: no key to log in to root@127.0.0.1 port {server.port} with: {locked} needs a "
        "passphrase and no agent holds it; start ssh-agent and run ssh-add",
    )

    socket_path = tmp_path / "agent"
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", socket_path], stdout=subprocess.DEVNULL
    ) as agent:
        try:
            while not socket_path.exists():
                time.sleep(0.02)
            askpass = tmp_path / "askpass"
            askpass.write_text("#!/bin/sh\necho correct horse\n")
            askpass.chmod(0o700)
            environment = os.environ | {
                "SSH_AUTH_SOCK": str(socket_path),
                "SSH_ASKPASS": str(askpass),
                "SSH_ASKPASS_REQUIRE": "force",
            }
            subprocess.run(["ssh-add", "-q", locked], check=True, env=environment)
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket_path))
            assert hostname(server.transport(ssh_config=config), host) == b"here\n"
        finally:
            agent.terminate()


def test_closed_port(sshd):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))  # bound and not listening
        port = sock.getsockname()[1]

        assert failure(sshd.transport(), sshd.host(port=port)) == (
            "connect",
            f"h: 127.0.0.1 port {port} refused the connection; is sshd running on that port?",
        )


def test_a_name_that_does_not_resolve(sshd):
    step, message = failure(sshd.transport(), Host("gone", address="gone.invalid"))

    assert step == "resolve"
    assert re.fullmatch(
        r"gone: the name gone\.invalid does not resolve \(.+\); "
        r"check the inventory, ssh_config and DNS",
        message,
    )


def test_a_server_that_never_greets(sshd):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        step, message = failure(sshd.transport(connect_timeout=0.5), sshd.host(port=port))

    assert (step, message) == (
        "connect",
        f"h: 127.0.0.1 port {port} accepted the connection and did not greet as an SSH server "
        "within 0.5 s; is it an SSH port, and is the host overloaded?",
    )


def test_a_server_whose_queue_is_full_does_not_answer(sshd):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))

        step, message = failure(sshd.transport(connect_timeout=0.5), sshd.host(port=port))

        for filler in fillers:
            filler.close()
    assert (step, message) == (
        "connect",
        f"h: 127.0.0.1 port {port} did not answer within 0.5 s; is it up, and is a firewall "
        "between?",
    )


def test_a_busy_server_is_asked_again(sshd, monkeypatch):
    """Drops the first two connections as MaxStartups does, then passes on to the real server."""
    monkeypatch.setattr("ibaccept.transport.connect._RETRIES", (0.01, 0.01, 0.01))
    with socket.create_server(("127.0.0.1", 0)) as front:
        port = front.getsockname()[1]
        sshd.known_hosts.write_text(
            f"[127.0.0.1]:{sshd.port} {sshd.host_key}\n[127.0.0.1]:{port} {sshd.host_key}\n"
        )

        def serve():
            for _ in range(2):
                front.accept()[0].close()
            client, _ = front.accept()
            server = socket.create_connection(("127.0.0.1", sshd.port))
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=copy, args=(a, b), daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        transport = sshd.transport()
        seen = hostname(transport, sshd.host(port=port))
        transport.close()
        thread.join(5)

    assert seen == b"here\n"


def copy(source, sink):
    # either side may be gone already when the transport is closed
    with contextlib.suppress(OSError), source:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def test_a_server_that_always_drops_is_given_up(sshd, monkeypatch):
    monkeypatch.setattr("ibaccept.transport.connect._RETRIES", (0.01, 0.01))
    count = []
    with socket.create_server(("127.0.0.1", 0)) as front:
        port = front.getsockname()[1]

        def serve():
            for _ in range(3):
                front.accept()[0].close()
                count.append(1)

        thread = threading.Thread(target=serve)
        thread.start()
        step, message = failure(sshd.transport(), sshd.host(port=port))
        thread.join(5)

    assert (step, len(count)) == ("connect", 3)
    assert f"127.0.0.1 port {port} closed the connection before it greeted" in message


def test_max_sessions_and_one_connection_for_many_commands(new_sshd):
    server = new_sshd("one", "MaxSessions 10")
    transport = server.transport()
    jobs = [(server.host(), ("sh", "-c", f"sleep 0.2; echo {n}")) for n in range(30)]

    results = run_many(transport, jobs, timeout=30, fan_out=20)

    assert [results[n].stdout for n in range(30)] == [b"%d\n" % n for n in range(30)]
    assert len(server.sessions()) == 1


def test_an_alias_of_the_configuration(sshd, tmp_path):
    config = tmp_path / "config"
    config.write_text(
        f"Host mgmt\n HostName 127.0.0.1\n Port {sshd.port}\n User root\n"
        f" IdentityFile {sshd.key_file}\n HostKeyAlias the-manager\n"
        f" UserKnownHostsFile {tmp_path}/known\n"
    )
    (tmp_path / "known").write_text(f"the-manager {sshd.host_key}\n")

    assert hostname(sshd.transport(ssh_config=config), Host("mgmt")) == b"here\n"


def test_the_configuration_without_an_openssh_client(sshd, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text(
        f"Host mgmt\n HostName 127.0.0.1\n Port {sshd.port}\n User root\n"
        f" IdentityFile {sshd.key_file}\n UserKnownHostsFile {sshd.known_hosts}\n"
    )
    monkeypatch.setattr(shutil, "which", lambda _: None)

    assert hostname(sshd.transport(ssh_config=config), Host("mgmt")) == b"here\n"


def test_a_configuration_that_is_not_there(sshd, tmp_path):
    with pytest.raises(InputError, match=r"the SSH configuration .*gone does not exist"):
        sshd.transport(ssh_config=tmp_path / "gone").run(sshd.host(), ["true"], timeout=5)


def jump_config(tmp_path, front, back, more=""):
    known = tmp_path / "known"
    known.write_text(front.known_hosts.read_text() + back.known_hosts.read_text())
    config = tmp_path / "config"
    config.write_text(
        f"{more}Host jump\n HostName 127.0.0.1\n Port {front.port}\n"
        f" IdentityFile {front.key_file}\n"
        f"Host inner*\n HostName 127.0.0.1\n Port {back.port}\n IdentityFile {back.key_file}\n"
        f"Host inner\n ProxyJump jump\n"
        f"Host inner-twice\n ProxyJump jump,inner-plain\n"
        f"Host circle-a\n ProxyJump circle-b\nHost circle-b\n ProxyJump circle-a\n"
        f"Host inner-command\n ProxyCommand ssh -F {config} -W %h:%p jump\n"
        f"Host closed\n HostName 127.0.0.1\n Port 1\n ProxyJump jump\n"
        f"Host *\n User root\n UserKnownHostsFile {known}\n GlobalKnownHostsFile none\n"
        " IdentityAgent none\n"
    )
    return config


def test_jump_hosts_and_proxy_commands_are_followed(sshd, new_sshd, tmp_path):
    back = new_sshd("back")
    config = jump_config(tmp_path, sshd, back)
    transport = sshd.transport(ssh_config=config)
    script = 'set -- $SSH_CONNECTION; echo "$4"'

    ports = {
        name: int(transport.run(Host(name), ("sh", "-c", script), timeout=20).stdout)
        for name in ("jump", "inner", "inner-twice", "inner-command")
    }

    assert ports == {"jump": sshd.port} | dict.fromkeys(
        ("inner", "inner-twice", "inner-command"), back.port
    )


def test_many_hosts_behind_one_jump_host_share_its_connection(new_sshd, tmp_path):
    front, back = new_sshd("front"), new_sshd("back")
    transport = front.transport(ssh_config=jump_config(tmp_path, front, back))
    jobs = [(Host(f"n{n}", address="inner"), ("echo", str(n))) for n in range(20)]

    results = run_many(transport, jobs, timeout=30, fan_out=10)

    assert [results[n].stdout for n in range(20)] == [b"%d\n" % n for n in range(20)]
    assert len(front.sessions()) == 1


def test_what_is_wrong_on_the_way_is_said(sshd, new_sshd, tmp_path):
    back = new_sshd("back")
    transport = sshd.transport(ssh_config=jump_config(tmp_path, sshd, back))

    circle = failure(transport, Host("circle-a"))
    closed = failure(transport, Host("closed"))

    assert circle[0] == "resolve"
    assert circle[1].endswith("ProxyJump leads in a circle")
    assert closed[0] == "connect"
    assert "the jump host could not reach 127.0.0.1 port 1 for us" in closed[1]


def test_one_bad_host_does_not_spoil_the_others(sshd):
    jobs = [
        (sshd.host("good"), ("echo", "1")),
        (Host("gone", address="gone.invalid"), ("true",)),
        (Host("here", local=True), ("echo", "2")),
    ]
    transport = open_transport(lambda _: True, ssh_config=sshd.config)

    results = run_many(transport, jobs, timeout=20)
    transport.close()

    assert {n: getattr(r, "stdout", None) or r.step for n, r in enumerate(results)} == {
        0: b"1\n",
        1: "resolve",
        2: b"2\n",
    }


ANSWERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request",
    "nothing": b"",
    "a banner alone": b"SSH-2.0-x\r\n",
    "an old protocol": b"SSH-1.5-x\r\n",
    "no packet": b"SSH-2.0-x\r\n" + b"\xff" * 5000,
    "zeros": b"\0" * 200_000,
    "lines": b"a\n" * 2000,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_ssh_server_is_one_sentence_and_nothing_else(sshd, monkeypatch, capfd, name):
    """paramiko logs a traceback of each; with a handler on the root logger it was shown."""
    monkeypatch.setattr("ibaccept.transport.connect._RETRIES", (0.01,))
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    with socket.create_server(("127.0.0.1", 0)) as front:

        def serve():
            with contextlib.suppress(OSError):
                for _ in range(2):
                    client = front.accept()[0]
                    with client:
                        client.sendall(ANSWERS[name])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = front.getsockname()[1]
        step, message = failure(sshd.transport(connect_timeout=5), sshd.host(port=port))
    logging.getLogger().removeHandler(handler)

    assert step == "connect"
    assert message.startswith(f"h: 127.0.0.1 port {port} ")
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")
