"""Copies without secrets: the same inventory, the same lines, none of the secrets."""

import string
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.site.inventory import Inventory, read_inventory
from ibaccept.site.masking import masked_inventory, masked_settings
from ibaccept.site.yamlfile import loads

INVENTORY = """\
# the root password is SECRET
all:
  vars:
    ansible_user: root  # not SECRET
    ansible_password: SECRET
    ansible_become_pass: "SECRET # x"
    proxy: &way "sshpass -p SECRET ssh jump"
    ansible_ssh_common_args: *way
    vaulted: !vault |
      $ANSIBLE_VAULT;1.1;AES256
      SECRET

    nested:
      # SECRET
      login: {name: admin, pw: SECRET}
    ansible_port: 22
observers:
  hosts:
    mgmt01: {ansible_host: 10.0.0.1, bmc: SECRET, ib_sudo: true, ib_hca: [mlx5_0,
             mlx5_1], empty: , list: [SECRET,
      SECRET]}
    mgmt02:
      ansible_ssh_private_key_file: ~/.ssh/id
      ansible_become_password: >-
        SECRET
  children:
    inner:
      hosts:
        node[1-2]:
          token: 'SECRET

            SECRET'
          ib_port: 1
      vars: {SECRETKEY: SECRET}
#SECRET"""

MASKED = """\
#
all:
  vars:
    ansible_user: root  #
    ansible_password: not copied
    ansible_become_pass: not copied
    proxy: &way not copied
    ansible_ssh_common_args: *way
    vaulted: not copied



    nested:
      #
      not copied
    ansible_port: 22
observers:
  hosts:
    mgmt01: {ansible_host: 10.0.0.1, bmc: not copied, ib_sudo: true, ib_hca: [mlx5_0,
             mlx5_1], empty: , list: not copied
}
    mgmt02:
      ansible_ssh_private_key_file: ~/.ssh/id
      ansible_become_password: not copied

  children:
    inner:
      hosts:
        node[1-2]:
          token: not copied


          ib_port: 1
      vars: {SECRETKEY: not copied}
#"""


def inventory(text) -> Inventory:
    return read_inventory(loads(text, name="site.yaml", foreign_tags=True))


def test_an_inventory():
    masked = masked_inventory(INVENTORY)

    assert [line.rstrip() for line in masked.splitlines()] == MASKED.splitlines()
    assert inventory(masked) == inventory(INVENTORY)
    assert masked_inventory(masked) == masked


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_line_an_anchor_or_other_line_ends(end):
    text = f"observers: {{hosts: {{a: {{x: &p hunter2, ansible_user: me}}, b: {{y: *p}}}}}}{end}"

    assert masked_inventory(text) == text.replace("hunter2", "not copied")


SECRETS = st.text(string.ascii_letters + string.digits + " #:&*!|>'\"%@`-{}[],\n", min_size=1).map(
    lambda text: f"s3cr3t{text}s3cr3t"
)
TREES = st.recursive(
    SECRETS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(["ansible_password", "x", "proxy command"]), TREES),
    st.sampled_from([None, False, True]),
    st.sampled_from([None, "|", ">", '"', "'"]),
)
def test_no_secret_stays_in_any_style(values, flow, style):
    """However YAML writes it: block, flow, folded, quoted."""
    site = {
        "observers": {
            "vars": values,
            "hosts": {"a": {**values, "ansible_user": "root"}, "b": {"ib_port": 1}},
        }
    }
    text = yaml.safe_dump(site, default_flow_style=flow, default_style=style)
    text = text.replace("!!int ", "").replace('"1"', "1").replace("'1'", "1")
    masked = masked_inventory(text)

    assert "s3cr3t" not in masked
    before, after = inventory(text), inventory(masked)
    assert after == before
    assert masked.count("\n") == text.count("\n")
    assert [replace(host, line=0) for host in after.hosts.values()] == [
        replace(host, line=0) for host in before.hosts.values()
    ]


def test_a_file_of_settings():
    text = "m_key 0x17\nrouting_engine updn\n  sa_key = 0x1\nsm_password x y\nlmc 0\n"

    assert masked_settings(text) == (
        "m_key (not copied)\nrouting_engine updn\n  sa_key (not copied)\n"
        "sm_password (not copied)\nlmc 0\n"
    )
