"""Names of hosts: what of a node description, an inventory or a plan names the host itself.

A host is ``node001``, ``NODE001`` or ``node001.cluster.example`` to different tools, and its node
description may end with the adapter: ``node001 HCA-1``, ``node001 mlx5_0``.
"""

from __future__ import annotations


def host_part(name: str) -> str:
    """``node001`` of ``Node001.cluster.example HCA-1``; empty where the name is blank."""
    first = name.split(maxsplit=1)[:1]
    return first[0].partition(".")[0].casefold() if first else ""


def is_same_host(name: str, described: str, *, is_adapter: bool) -> bool:
    """Whether a name and a node description mean one node, as far as both say.

    Args:
        name: as a person wrote it.
        described: node description.
        is_adapter: the node is a channel adapter, whose description may name the adapter too. Two
            names that both name one must name the same.
    """
    if host_part(name) != host_part(described):
        return False
    one, other = (text.casefold().split()[1:] for text in (name, described))
    return one == other or (is_adapter and not (one and other))
