"""Files that expectations.yaml names: beside it, or where a run keeps its copies."""

import os

import pytest

from ibaccept.errors import InputError
from ibaccept.site.files import SiteFiles


def test_a_file_is_below_the_folder_unless_it_was_moved(tmp_path):
    files = SiteFiles(tmp_path, {"b.csv": tmp_path / "inputs/cables.csv"})

    assert [files.path(text) for text in ("a.csv", "b.csv", "/c.csv")] == [
        tmp_path / "a.csv",
        tmp_path / "inputs/cables.csv",
        tmp_path.root / type(tmp_path)("c.csv"),
    ]


@pytest.mark.parametrize("special", ["fifo", "device"])
def test_what_could_be_read_without_end_is_refused(tmp_path, special):
    path = tmp_path / "p.csv"
    if special == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")

    with pytest.raises(InputError) as caught:
        SiteFiles(tmp_path).path("p.csv")

    assert str(caught.value) == f"{path} is no regular file"
