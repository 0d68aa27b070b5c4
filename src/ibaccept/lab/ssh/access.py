"""The files with which a client gets at the lab's hosts: keys, inventory, ssh_config."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import paramiko
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ibaccept.lab.scenario import Hosts

Addresses = Mapping[str, tuple[str, int]]
"""By host: what to connect to, and the TCP port."""


def write_inventory(
    path: Path, hosts: Hosts, addresses: Addresses, key_file: Path, names: Mapping[str, str]
) -> None:
    """Write the Ansible-shaped inventory.

    Args:
        path: the file.
        hosts: the groups.
        addresses: where each host is.
        key_file: private key of the client.
        names: node description by host.
    """
    groups = {"observers": hosts.observers, "clients": hosts.clients, "storage": hosts.storage}
    inventory = {
        group: {
            "hosts": {
                name: {
                    "ansible_host": addresses[name][0],
                    "ansible_port": addresses[name][1],
                    "ansible_user": name,
                    "ansible_ssh_private_key_file": str(key_file),
                    "ib_sudo": True,
                    **({"ib_name": names[name]} if names[name] != name else {}),
                }
                for name in members
            }
        }
        for group, members in groups.items()
        if members
    }
    path.write_text(yaml.safe_dump(inventory, sort_keys=False), encoding="utf-8")


def write_ssh_config(path: Path, addresses: Addresses, key_file: Path, known_hosts: Path) -> None:
    """Write the ssh_config, for ``ssh -F``."""
    lines = [
        line
        for host, (address, port) in addresses.items()
        for line in (
            f"Host {host}",
            f"  HostName {address}",
            f"  Port {port}",
            f"  User {host}",
            "",
        )
    ]
    lines += [
        "Host *",
        f'  IdentityFile "{key_file}"',
        "  IdentitiesOnly yes",
        f'  UserKnownHostsFile "{known_hosts}"',
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def new_key() -> tuple[paramiko.PKey, str]:
    """A fresh Ed25519 key, and its text as OpenSSH keeps it."""
    text = (
        Ed25519PrivateKey.generate()
        .private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        .decode()
    )
    return paramiko.Ed25519Key(file_obj=io.StringIO(text)), text
