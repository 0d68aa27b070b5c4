"""Nothing leaves but the listed commands; those that load, only where that was permitted."""

import re
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibaccept import commands
from ibaccept.commands import Command
from ibaccept.parse import perfquery_each

RUN = "ibaccept-0123456789abcdef-1"
VALUES = {
    "lid": 2, "port": 1, "lids": "13,14,20", "block": 3, "hca": "mlx5_0", "device": "mlx5_0",
    "seconds": 30, "count": 4, "qps": 4, "depth": 16, "bytes": 1 << 20, "size": 1 << 36,
    "file": "data.0", "tcp_port": 18600, "peer": "stor-1.example.org", "path": "/scratch/a.b",
    "as_root": "sudo -n --", "wide": "-x", "adapter": "mlx5_0", "adapter_port": 1,
    "run": RUN, "engine": "libaio", "switch": 1,
}  # fmt: skip
EVERY = commands.permit(load=True)
WORDS = st.text(st.characters(min_codepoint=1, max_codepoint=0x7E), max_size=12)


def parameters(command: Command) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", " ".join(command.template)))


def filled(command: Command) -> tuple[str, ...]:
    return command.argv(**{name: VALUES[name] for name in parameters(command)})


def test_every_command_permits_what_it_builds_and_load_needs_leave():
    seen = {
        command.name: (commands.is_permitted(filled(command)), EVERY(filled(command)))
        for command in commands.ALL
    }

    assert seen == {command.name: (command.effect == "read-only", True) for command in commands.ALL}
    assert len(seen) == len(commands.ALL)


def test_the_words_of_load_commands():
    client = commands.RDMA_CLIENTS["ib_write_bw"].argv(
        device="mlx5_0", port=1, count=128, seconds=30, qps=4, bytes=1 << 20, tcp_port=18600,
        peer="10.1.0.5",
    )  # fmt: skip
    plain = commands.RDMA_SERVERS["ib_read_bw"].argv(
        device=None, seconds=30, qps=4, bytes=65536, tcp_port=18601
    )
    every = commands.PERFQUERY_X_ALL.argv(hca="mlx5_0", hca_port=1, lid=2)

    assert " ".join(client) == (
        "ib_write_bw -d mlx5_0 -i 1 -t 128 -F -D 30 -q 4 -s 1048576 --report_gbits "
        "-p 18600 10.1.0.5"
    )
    assert " ".join(plain) == "ib_read_bw -F -D 30 -q 4 -s 65536 --report_gbits -p 18601"
    assert " ".join(every) == "perfquery -C mlx5_0 -P 1 -x -a -l 2"
    assert [EVERY(client), EVERY(plain), EVERY(every)] == [True] * 3


PERFQUERY = """\
#!/bin/sh
echo "perfquery $*"
case "$*" in *" 3") echo "iberror: failed" >&2; exit 255;; esac
"""
SUDO = """\
#!/bin/sh
echo "sudo $1 $2"; shift 2; exec "$@"
"""


@pytest.mark.parametrize("shell", ["sh", "bash", pytest.param("busybox", marks=pytest.mark.real)])
@pytest.mark.parametrize(("as_root", "sudo"), [("", ""), ("sudo -n --", "sudo -n --\n")])
def test_the_script_that_reads_many_switches(tmp_path, shell, as_root, sudo):
    """In every shell an observer may have; one switch that fails does not hide the next."""
    for name, text in (("perfquery", PERFQUERY), ("sudo", SUDO)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    words = {"as_root": as_root, "wide": "-x", "adapter": "mlx5_0", "adapter_port": 2}
    _sh, *rest = commands.PERFQUERY_EACH.argv(**words, lids="2,3,40")
    bare = commands.PERFQUERY_EACH.argv(as_root="", wide="", adapter="", adapter_port="", lids="7")
    shells = {"busybox": ["busybox", "sh"]}.get(shell, [shell])
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    done = [
        subprocess.run(
            [*shells, *argv], env=environment, capture_output=True, text=True, check=True
        )
        for argv in (rest, bare[1:])
    ]

    many, one = (perfquery_each.parse(each.stdout) for each in done)
    asked = "perfquery -x -C mlx5_0 -P 2 -a -l"
    assert [(each.lid, each.exit_code, each.text) for each in many] == [
        (2, 0, f"{sudo}{asked} 2\n"),
        (3, 255, f"{sudo}{asked} 3\niberror: failed\n"),
        (40, 0, f"{sudo}{asked} 40\n"),
    ]
    assert [each.text for each in one] == ["perfquery -a -l 7\n"]
    assert all(0 <= each.end - each.start < 10 for each in many)
    # without %N times are whole seconds, and known no better
    assert many[0].start <= many[1].start <= many[2].end
    assert shell == "busybox" or many[0].end <= many[1].start
    assert [each.stderr for each in done] == ["", ""]


def test_the_only_rm_is_of_a_folder_of_a_run():
    refused = [
        "/", "/scratch", f"/scratch/../{RUN}", f"/scratch/{RUN}/..", f"/scratch/{RUN}/x", RUN,
        f"/scratch/./{RUN}", f"/{RUN}", f"/scratch/{RUN} /etc", f"/scratch/*/{RUN}",
        "/scratch/ibaccept-0123456789abcdef", "/scratch/ibaccept-0123-1", f"/scratch//{RUN}",
    ]  # fmt: skip

    assert EVERY(("rm", "-rf", "--", f"/scratch/{RUN}"))
    assert [path for path in refused if EVERY(("rm", "-rf", "--", path))] == []
    assert not EVERY(("rm", "-rf", "--", f"/scratch/{RUN}", "/etc"))
    assert not EVERY(("rm", "-rf", f"/scratch/{RUN}"))


MUST_NOT = {"-r", "-R", "--Reset_only", "--reset_after_read", "-k", "-K", "--clear-errors"}


@given(st.sampled_from(commands.ALL), st.data())
def test_no_parameter_smuggles_in_a_word_or_a_metacharacter(command, data):
    argv = list(filled(command))
    place = data.draw(st.integers(1, max(1, len(argv) - 1)))
    word = data.draw(WORDS | st.sampled_from([*MUST_NOT, "$(id)", "a;b", "../x", "a b", "", "*"]))
    changed = [*argv[:place], word, *argv[place + 1 :]]
    longer = [*argv[:place], word, *argv[place:]]

    for some in (changed, longer):
        if EVERY(tuple(some)) and some != argv:
            assert not set(word) & set(" ;|&$`\\\"'*?<>(){}[]!#~\n\t\r\0^")
            assert ".." not in word
            # IOR reads with -r; no tool of the fabric has a flag that clears
            assert not (set(some) & MUST_NOT) or some[0] in {"ior", "elbencho", "rm"}


@given(st.lists(WORDS, min_size=1, max_size=6))
@example(["perfquery", "-R", "2", "1"])
@example(["perfquery", "-x", "-r", "2", "1"])
@example(["ibqueryerrors", "-k"])
@example(["ibqueryerrors", "--skip-sl", "-K"])
def test_arbitrary_words_are_refused(argv):
    if EVERY(tuple(argv)):
        assert argv in [list(filled(command)) for command in commands.ALL]


def test_the_output_of_a_command_is_limited_by_its_kind():
    mib = 1 << 20

    assert commands.IBSTAT.limit() == commands.FIO["read"].limit() == 4 * mib
    # what a subnet of 49,151 LIDs can print, and no more
    assert {c.name: c.limit() // mib for c in commands.ALL if c.row} == {
        "ibnetdiscover": 99, "iblinkinfo": 99, "ibqueryerrors": 195, "ibqueryerrors-counters": 195,
        "dump_fts": 9, "perfquery-each": 12291,
    }  # fmt: skip
    assert commands.DUMP_FTS.limit(40 * 900) == 4 * mib + 128 * 40 * 900
    assert commands.PERFQUERY_EACH.limit(3) == 4 * mib + 3 * 256 * 1024


@pytest.mark.parametrize("digit", ["\u0661", "\uff11", "\u0967"])
def test_only_ascii_digits_are_digits(digit):
    """Arabic-Indic, full-width and Devanagari 1: a tool on the host would not read them as 1."""
    assert not commands.is_parameter("lid", digit)
    assert not commands.is_permitted(("smpquery", "portinfo", digit, "1"))
    assert not commands.is_permitted(("sminfo", digit))
    assert not commands.is_permitted(("iblinkinfo", "-P", digit, "--line"))
