"""Host keys: what known_hosts files say, and whether a server's key is the one they hold.

Format: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ibaccept.errors import IbacceptError

_SSH_PORT = 22


class HostKeyError(IbacceptError):
    """The server's key is not the one that is known; nothing was sent to it."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """One line of a known_hosts file.

    Attributes:
        marker: ``@revoked``, ``@cert-authority`` or empty.
        names: patterns, or one hashed name.
        type: ``ssh-ed25519`` and the like.
        key: the key's bytes.
        source: ``file:line``.
    """

    marker: str
    names: tuple[str, ...]
    type: str
    key: bytes
    source: str

    def matches(self, name: str) -> bool:
        """True where this line is about ``name`` (``host`` or ``[host]:port``)."""
        if len(self.names) == 1 and self.names[0].startswith("|1|"):
            return _hashed(self.names[0], name)
        name = name.lower()
        hit = False
        for pattern in self.names:
            if pattern.startswith("!"):
                if _glob(pattern[1:], name):
                    return False
            elif _glob(pattern, name):
                hit = True
        return hit


def _glob(pattern: str, name: str) -> bool:
    # known_hosts has * and ? only; a bracket is a bracket
    return fnmatch.fnmatchcase(name, pattern.lower().replace("[", "[[]"))


def _hashed(entry: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part) for part in entry.split("|")[2:4])
    except (binascii.Error, ValueError):
        return False
    found = hmac.new(salt, name.encode("utf-8", "surrogateescape"), hashlib.sha1).digest()
    return hmac.compare_digest(found, digest)


def parse_known_hosts(text: str, source: str) -> list[KnownKey]:
    """Read a known_hosts file; lines that are not understood are left out, as OpenSSH does."""
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if len(words) < 3:  # noqa: PLR2004 - names, type, key
            continue
        try:
            key = base64.b64decode(words[2], validate=True)
        except (binascii.Error, ValueError):
            continue
        keys.append(
            KnownKey(marker, tuple(words[0].split(",")), words[1], key, f"{source}:{number}")
        )
    return keys


class KnownHosts:
    """The keys of several known_hosts files for one server."""

    def __init__(self, keys: Iterable[KnownKey], name: str, files: Sequence[Path]) -> None:
        self._name = name
        self._files = files
        about = [key for key in keys if key.matches(name)]
        self._revoked = [key for key in about if key.marker == "@revoked"]
        self._authorities = [key for key in about if key.marker == "@cert-authority"]
        self._known = [key for key in about if not key.marker]

    @classmethod
    def read(
        cls, files: Sequence[Path], hostname: str, port: int, alias: str | None = None
    ) -> KnownHosts:
        """Look a server up. A key filed without the port serves where none is filed with it.

        Raises:
            HostKeyError: a file exists and cannot be read.
        """
        keys: list[KnownKey] = []
        for file in files:
            try:
                text = file.read_text(encoding="utf-8", errors="surrogateescape")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise HostKeyError(f"{file} cannot be read: {error.strerror}") from error
            keys += parse_known_hosts(text, str(file))
        if alias is not None:
            return cls(keys, alias, files)
        if port == _SSH_PORT:
            return cls(keys, hostname, files)
        found = cls(keys, f"[{hostname}]:{port}", files)
        bare = cls(keys, hostname, files)
        found._revoked += bare._revoked
        if not found._known:
            found._known = bare._known
        return found

    @property
    def types(self) -> frozenset[str]:
        """Key types known for the server, to be preferred in the key exchange."""
        return frozenset(key.type for key in self._known)

    def check(self, key_type: str, key: bytes) -> None:
        """Accept the key that is known; never learn a new one.

        Raises:
            HostKeyError: unknown, changed or revoked, each with what to do.
        """
        shown = f"{key_type} {fingerprint(key)}"
        for known in self._revoked:
            if known.key == key:
                raise HostKeyError(
                    f"the server's host key ({shown}) is marked @revoked in {known.source}; "
                    "do not use this server until its administrator has given it a new key"
                )
        if any(known.key == key for known in self._known):
            return
        same = [known for known in self._known if known.type == key_type]
        if same:
            raise HostKeyError(
                f"the host key of {self._name} has CHANGED: the server shows {shown}, "
                f"{same[0].source} holds {fingerprint(same[0].key)}. Another machine may be "
                "answering. If the host was reinstalled, ask its administrator for the new "
                f"fingerprint, then remove the old key with \"ssh-keygen -R '{self._name}'\""
            )
        others = f" (known there: {', '.join(sorted(self.types))})" if self._known else ""
        authority = (
            "; a certificate authority is known for it, but host certificates are not supported"
            if self._authorities
            else ""
        )
        files = ", ".join(str(file) for file in self._files) or "no known_hosts file"
        raise HostKeyError(
            f"the host key of {self._name} is not known: the server shows {shown}, not in "
            f"{files}{others}{authority}. Compare the fingerprint with the one its administrator "
            "gives, then connect once by hand with ssh, or add the key to known_hosts"
        )


def fingerprint(key: bytes) -> str:
    """``SHA256:...`` as ``ssh-keygen -l`` prints it."""
    digest = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
