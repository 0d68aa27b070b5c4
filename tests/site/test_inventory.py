"""The inventory: what Ansible means by it, and one sentence for each thing wrong."""

from pathlib import Path

import pytest

from ibaccept.errors import InputError
from ibaccept.site.inventory import Inventory, InventoryHost, job_nodes, read_inventory
from ibaccept.site.yamlfile import loads
from ibaccept.transport import Host

SITE = """\
all:
  vars: {ansible_user: ops, ib_hca: mlx5_0, dns: ignored}
  children:
    observers:
      hosts:
        mgmt01: {ansible_connection: local, ib_sudo: true}
    clients:
      vars: {ansible_port: 2222}
      hosts:
        node[001-002]:
        node[003:004]: {ib_hca: [mlx5_0, mlx5_1], ib_port: 1}
    storage:
      children:
        flash:
          hosts:
            stor01: {ib_name: stor01 HCA-1, ansible_host: 10.0.0.9, secret: !vault x,
                     ansible_ssh_private_key_file: /keys/id}
switches:
"""


def inventory(text=SITE):
    return read_inventory(loads(text, name="site.yaml", foreign_tags=True))


def test_a_site():
    def client(name, line, **values):
        return InventoryHost(
            name,
            Host(name, port=2222, user="ops"),
            **{"ib_hca": ("mlx5_0",), "line": line, **values},
        )

    two = {"ib_hca": ("mlx5_0", "mlx5_1"), "ib_port": 1}
    hosts = {
        "mgmt01": InventoryHost(
            "mgmt01",
            Host("mgmt01", user="ops", sudo=True, local=True),
            ("mlx5_0",),
            ib_sudo=True,
            line=6,
        ),
        "node001": client("node001", 10),
        "node002": client("node002", 10),
        "node003": client("node003", 11, **two),
        "node004": client("node004", 11, **two),
        "stor01": InventoryHost(
            "stor01",
            Host("stor01", address="10.0.0.9", user="ops", key_file=Path("/keys/id")),
            ("mlx5_0",),
            ib_name="stor01 HCA-1",
            line=16,
        ),
    }
    groups = {
        "all": tuple(hosts),
        "observers": ("mgmt01",),
        "clients": ("node001", "node002", "node003", "node004"),
        "storage": ("stor01",),
        "flash": ("stor01",),
        "switches": (),
    }

    assert inventory() == Inventory(groups, hosts, "site.yaml")
    assert inventory().observers == (hosts["mgmt01"],)


def test_inner_groups_beat_outer_ones_and_hosts_beat_groups():
    text = """\
observers: {hosts: {a: , b: {ansible_port: 4}}, vars: {ansible_port: 2, ansible_user: x}}
all: {vars: {ansible_port: 1}}
outer: {children: {inner: {hosts: {a: }, vars: {ansible_port: 3}}}, vars: {ansible_port: 9}}
"""
    hosts = inventory(text).hosts

    assert {name: (h.transport.port, h.transport.user) for name, h in hosts.items()} == {
        "a": (3, "x"),
        "b": (4, "x"),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "site.yaml:1: an inventory is a mapping of groups"),
        (
            "observer: {hosts: {a: }}",
            "site.yaml:1: there is no group 'observers'; "
            "name a host there that runs infiniband-diags; did you mean 'observer'?",
        ),
        (
            "clients: {hosts: {a: }}\nobservers:",
            "site.yaml:2: the group 'observers' is empty; "
            "name a host there that runs infiniband-diags",
        ),
        (
            "observers:\n  host: {a: }",
            "site.yaml:2: unknown key 'host' in the group 'observers'; did you mean 'hosts'?",
        ),
        (
            "observers: {hosts: [a]}",
            "site.yaml:1: 'hosts' of the group 'observers' must be a mapping",
        ),
        ("observers: a", "site.yaml:1: the group 'observers' must hold hosts, vars or children"),
        ("observers: {hosts: {a: 3}}", "site.yaml:1: the variables of a must be a mapping"),
        (
            'observers: {hosts: {"n[1": }}',
            "site.yaml:1: 'n[1' is not a node set: '[' without ']'",
        ),
        (
            "observers:\n  hosts:\n    a: {ib_hcas: x}",
            "site.yaml:3: a: unknown variable 'ib_hcas'; did you mean 'ib_hca'?",
        ),
        (
            "observers: {hosts: {a: {ib_hca: 3}}}",
            "site.yaml:1: a: ib_hca must be an HCA such as mlx5_0 or a list, not 3",
        ),
        (
            "observers: {hosts: {a: {ib_port: 0}}}",
            "site.yaml:1: a: ib_port must be 1 to 254, not 0",
        ),
        (
            "observers: {hosts: {a: {ansible_port: 65536}}}",
            "site.yaml:1: a: ansible_port must be 1 to 65535, not 65536",
        ),
        (
            "observers: {hosts: {a: {ib_sudo: yes}}}",
            "site.yaml:1: a: ib_sudo must be true or false, not 'yes'",
        ),
        (
            "observers: {hosts: {a: {ansible_host: '{{ ip }}'}}}",
            "site.yaml:1: a: ansible_host is a template ({{ ip }}); write the value itself",
        ),
        (
            "observers: {hosts: {a: {ansible_user: []}}}",
            "site.yaml:1: a: ansible_user must be text, not []",
        ),
        (
            "observers:\n  hosts:\n    'n[1-2]': {ib_port: 1}\n    n1: {ib_port: 2}",
            "site.yaml:4: n1: ib_port is 2 here and 1 in line 3",
        ),
        (
            "observers: {hosts: {'n[1-2]': {ib_name: x}}}",
            "site.yaml:1: one ib_name cannot be the name of 2 hosts; give each its own entry",
        ),
        (
            "observers: {hosts: {a: {ib_name: x}, b: {ib_name: x}}}",
            "site.yaml:1: b: ib_name 'x' is also that of a",
        ),
        (
            "observers: {hosts: {a: }}\nx: {children: {y: {children: {x: }}}}",
            "site.yaml:2: the group 'x' is its own child",
        ),
        (
            "observers:\n  hosts:\n    a: {ib_port: x}\n    b: {ib_sudo: 1}",
            "site.yaml:3: a: ib_port must be 1 to 254, not x\n"
            "site.yaml:4: b: ib_sudo must be true or false, not 1",
        ),
    ],
)
def test_bad_inventories(text, sentence):
    with pytest.raises(InputError) as caught:
        inventory(text)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("client", "site.yaml: there is no group 'client'; did you mean 'clients'?"),
        ("switches", "site.yaml: the group 'switches' is empty; add hosts to it"),
    ],
)
def test_groups_that_cannot_be_used(name, sentence):
    with pytest.raises(InputError) as caught:
        inventory().group(name)

    assert str(caught.value) == sentence


def test_job_nodes(tmp_path: Path):
    listed = tmp_path / "nodes"
    listed.write_text("node004  # first\n\nnode[001-002]\n")
    slurm = {"SLURM_JOB_NODELIST": "node[001,003]"}

    assert [
        job_nodes("clients", inventory()),
        job_nodes("node[001-004,^node002]", inventory()),
        job_nodes(str(listed), inventory()),
        job_nodes("SLURM_JOB_NODELIST", inventory(), environ=slurm),
    ] == [
        ("node001", "node002", "node003", "node004"),
        ("node001", "node003", "node004"),
        ("node004", "node001", "node002"),
        ("node001", "node003"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" ", "the job's node list is empty; name a group, a node set or a file"),
        ("node007", "job: node007 is not in site.yaml; did you mean 'node004'?"),
        ("node[003-006]", "job: node[005-006] are not in site.yaml; did you mean 'node004'?"),
        ("client", "job: client is not in site.yaml; did you mean 'clients'?"),
        ("node[1", "job: 'node[1' is not a node set: '[' without ']'"),
        ("no/such/file", "no/such/file: there is no such file"),
        (
            "SLURM_JOB_NODELIST",
            "SLURM_JOB_NODELIST is not set; run inside a Slurm job or name the nodes",
        ),
    ],
)
def test_bad_job_nodes(text, sentence):
    with pytest.raises(InputError) as caught:
        job_nodes(text, inventory(), environ={})

    assert str(caught.value) == sentence


def test_every_bad_line_of_a_file_is_told(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nodes").write_text("node001\nnode9\nnode[2\n")
    Path("none").write_text("# nothing\n")
    messages = []
    for name in ("nodes", "none"):
        with pytest.raises(InputError) as caught:
            job_nodes(name, inventory())
        messages.append(str(caught.value))

    assert messages == [
        "nodes:2: node9 is not in site.yaml; did you mean 'node004'?\n"
        "nodes:3: 'node[2' is not a node set: '[' without ']'",
        "none: names no node",
    ]


def test_what_ssh_would_take_for_an_option_is_no_host():
    with pytest.raises(InputError) as caught:
        read_inventory(
            loads(
                "observers: {hosts: {-oProxyCommand=x: {}, mgmt01: {ansible_host: 10.0.0.1 evil}}}",
                name="site.yaml",
            )
        )
    assert str(caught.value) == (
        "site.yaml:1: -oProxyCommand=x: '-oProxyCommand=x' is no name or address of a host\n"
        "site.yaml:1: mgmt01: '10.0.0.1 evil' is no name or address of a host"
    )
