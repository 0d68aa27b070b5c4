"""Stand-in for ``ss -ltn`` (iproute2 6.1) on a simulated host: its listening TCP ports.

Of the options only ``-l -t -n -H`` in any grouping are known, and a filter ``sport = :PORT``. Port
22 is always there, as on any host that one reaches by SSH.
"""

from __future__ import annotations

import sys

from .link import PlaneLink

SSH = 22


ANY = "0.0.0.0"  # noqa: S104 - printed, not bound


def main() -> int:
    """Print the table; returns the exit code."""
    words = sys.argv[1:]
    letters = "".join(word[1:] for word in words if word.startswith("-"))
    if "V" in letters or "--version" in words:
        sys.stdout.write("ss utility, iproute2-6.1.0\n")
        sys.stderr.write("this ss is a stand-in of the ibaccept lab\n")
        return 0
    if set(letters) - set("ltnH") or not {"l", "t", "n"} <= set(letters):
        sys.stderr.write("the ss of the ibaccept lab knows -ltn, -H and 'sport = :PORT'\n")
        return 255
    text = " ".join(word for word in words if not word.startswith("-"))
    wanted = "".join(c for c in text if c.isdecimal())
    every = {SSH: 128, **dict.fromkeys(map(int, PlaneLink().ask("ports")[1:]), 1)}
    ports = [port for port in sorted(every) if not wanted or port == int(wanted)]
    heading = 0 if "H" in letters else len("Port")
    width = max([heading, *(len(str(port)) for port in ports)])
    if "H" not in letters:
        sys.stdout.write(
            f"State  Recv-Q Send-Q Local Address:{'Port':<{width}} Peer Address:PortProcess\n"
        )
    for port in ports:
        head = f"LISTEN 0      {every[port]:<6} "
        if "H" in letters:
            sys.stdout.write(f"{head}{ANY}:{port:<{width}} {ANY}:*\n")
        else:
            sys.stdout.write(f"{head}{ANY:>13}:{port:<{width}} {ANY:>12}:*          \n")
    return 0
