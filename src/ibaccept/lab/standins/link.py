"""The connection of a stand-in to the lab's data plane: lines of words separated by tabs."""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SOCK_STREAM, socket

SOCKET = "IBACCEPT_LAB_PLANE"
HOST = "IBACCEPT_LAB_HOST"


class PlaneLink:
    """One connection; the data plane forgets the stand-in when it closes."""

    def __init__(self) -> None:
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        self._socket.connect(os.environ[SOCKET])
        self._text = b""

    def ask(self, verb: str, *words: object) -> list[str]:
        """Send a request of this host and wait for the answer."""
        line = "\t".join((verb, os.environ[HOST], *map(str, words)))
        self._socket.send(f"{line}\n".encode())
        return self.hear()

    def hear(self) -> list[str]:
        """Wait for a line.

        Raises:
            SystemExit: the lab has ended, or has failed.
        """
        while b"\n" not in self._text:
            data = self._socket.recv(65536)
            if not data:
                sys.exit("the lab has ended")
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        words = line.decode().split("\t")
        if words[0] == "bug":
            sys.exit(f"the data plane of the lab failed; see {words[1]}")
        return words
