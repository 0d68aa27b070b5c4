"""Which of the look-alikes fits what was measured, which are ruled out, and what to do next.

Pure rules over :class:`Facts`, in :mod:`ibaccept.checks.diagnosis.rules`. Nothing is claimed
beyond what was measured: what was not measured is not known, and the next step of the
elimination order is the measurement that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ibaccept.checks.diagnosis.facts import Facts
from ibaccept.checks.diagnosis.rules import RULES, Cause, RuleAnswer, State

__all__ = ["Answer", "Cause", "Diagnosis", "Facts", "State", "diagnose"]

_HARDWARE = frozenset({Cause.DEGRADED_LINK, Cause.BAD_CABLE, Cause.OTHER_TRAFFIC})
_HOSTS = frozenset({Cause.SLOW_RECEIVER, Cause.SLOW_SENDER})

PRODUCED_BY: Mapping[Cause, frozenset[Cause]] = {
    Cause.SLOW_RECEIVER: _HARDWARE,
    Cause.SLOW_SENDER: _HARDWARE | _HOSTS,
    Cause.READ_AHEAD: _HARDWARE | _HOSTS | {Cause.PAGE_CACHE},
    Cause.ROUTE_COLLAPSE: frozenset({Cause.PAGE_CACHE, Cause.OTHER_TRAFFIC}),
    Cause.STORAGE_BOUND: _HARDWARE | _HOSTS | {Cause.PAGE_CACHE, Cause.READ_AHEAD},
}
"""Earlier causes that can produce the signs of a later one. A slow host or a faulty cable fills no
other cable, so that a collapse on sound ones is a cause of its own."""

STEPS: Mapping[Cause, str] = {
    Cause.DEGRADED_LINK: "reseat or replace that cable, then run the same job again",
    Cause.BAD_CABLE: "replace that cable, then run the same job again",
    Cause.PAGE_CACHE: "read a data set larger than the caches of clients and servers",
    Cause.OTHER_TRAFFIC: "find what else uses these cables, or run again on a quiet fabric",
    Cause.ADAPTIVE_ROUTING: "judge by the load of the cables (cable-load), not by the tables",
    Cause.SLOW_RECEIVER: "look at that host: PCIe LnkSta against LnkCap, NUMA, its memory",
    Cause.SLOW_SENDER: "look at that host: PCIe LnkSta against LnkCap, NUMA, its adapter",
    Cause.READ_AHEAD: "compare the read-ahead settings of these clients with the others",
    Cause.ROUTE_COLLAPSE: (
        "run the same job on another node list: where it spreads, reads rise with nothing else "
        "changed; then route this list first (see what to try, below)"
    ),
    Cause.STORAGE_BOUND: "measure the storage servers' own devices; the network is not the limit",
}


@dataclass(frozen=True)
class Diagnosis:
    """All answers. ``fits`` is empty where nothing that was measured explains the loss."""

    answers: tuple[RuleAnswer, ...]
    next_step: str

    @property
    def fits(self) -> tuple[RuleAnswer, ...]:
        """What explains it."""
        return tuple(a for a in self.answers if a.state is State.FITS)


def diagnose(facts: Facts) -> Diagnosis:
    """Evaluate every look-alike; the first that fits is named, later ones only if independent.

    Causes that lie nearer to the hardware come first: a degraded link or a slow host makes cables
    and layers look like the later ones. Adaptive routing by itself costs no bandwidth, so it is
    only named where nothing else is.
    """
    found: dict[Cause, RuleAnswer] = {}
    explaining: set[Cause] = set()
    for rule in RULES:
        answer = rule(facts)
        if answer.state is State.FITS:
            if PRODUCED_BY.get(answer.cause, frozenset()) & explaining:
                why = f"its signs follow from the cause named: {answer.why}"
                answer = RuleAnswer(answer.cause, State.UNKNOWN, why)
            elif answer.cause is not Cause.DEGRADED_LINK or _may_hold(facts):
                explaining.add(answer.cause)
        found[answer.cause] = answer
    adaptive = found[Cause.ADAPTIVE_ROUTING]
    others = [a for a in found.values() if a.state is State.FITS and a != adaptive]
    if adaptive.state is State.FITS and others:
        why = f"{adaptive.why}; that costs no bandwidth by itself"
        found[adaptive.cause] = RuleAnswer(adaptive.cause, State.UNKNOWN, why)
    answers = tuple(found.values())
    return Diagnosis(answers, _next(facts, answers))


def _may_hold(facts: Facts) -> bool:
    """Whether a link between switches that is slower than those beside it can hold the job back.

    A host's cable can only hold back its host, which no other rule is about.
    """
    faulty = [c for c in facts.cables if c.faulty]
    return bool(facts.slow_links) and not (faulty and all(c.has_room for c in faulty))


def _next(facts: Facts, answers: tuple[RuleAnswer, ...]) -> str:
    fits = [a.cause for a in answers if a.state is State.FITS]
    if fits:
        return STEPS[fits[0]]
    missing = (
        (facts.slow_links is None, "look at width and speed of the job's links (kind link-rate)"),
        (facts.uneven is None, "count the job's LIDs per cable (kind lid-spread)"),
        (facts.error_links is None, "compare error counters under load (error-counters, load)"),
        (
            not any(c.read is not None for c in facts.cables),
            "watch the cables during a write and a read run (--load)",
        ),
        (facts.rdma_read is None, "run RDMA alone between the same endpoints (workloads: rdma)"),
    )
    for is_missing, step in missing:
        if is_missing:
            return step
    return (
        "check where the subnet manager runs, with which engine and options (kind subnet-manager)"
    )
