"""The observer: what it printed beside the output of its tools."""

from ibaccept import commands
from ibaccept.observe.observer import Observer
from ibaccept.parse import sminfo
from ibaccept.site.inventory import InventoryHost
from ibaccept.transport import CommandResult, Host

LOADER = "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded: ignored."
SMINFO = "sminfo: sm lid 3 sm guid 0x1, activity count 5 priority 4 state 3 SMINFO_MASTER\n"


class Printed:
    """Every command prints the same."""

    def __init__(self, stdout, stderr):
        self.streams = stdout.encode(), stderr.encode()

    def run(self, host, argv, **_limits):
        return CommandResult(host.name, argv, *self.streams, 0)


def observed(stdout, stderr, times=2):
    """What sminfo said each time, and the sentences about what else was printed."""
    host = InventoryHost("mgmt01", Host("mgmt01"))
    observer = Observer(Printed(stdout, stderr), host, lambda _text: None)
    seen = [
        observer.take("the SM", commands.SMINFO, lambda result: sminfo.parse(result.text).lid)
        for _ in range(times)
    ]
    return seen, observer.passed_over()


def test_nothing_beside_the_output():
    assert observed(SMINFO, "") == ([3, 3], ())


def test_lines_of_others_are_counted_and_shown():
    seen, sentences = observed(f"[root@mgmt01 ~]# sminfo\n{SMINFO}", f"{LOADER}\n{LOADER}\n")

    assert seen == [3, 3]
    assert sentences == (
        "6 lines of loader, libraries, shell or login were printed on mgmt01 and are passed over: "
        f"{LOADER!r}, '[root@mgmt01 ~]# sminfo'",
    )
