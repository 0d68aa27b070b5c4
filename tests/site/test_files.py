"""Files that expectations name: a site's own anywhere, a run's only inside its folder."""

import os

import pytest

from ibaccept.errors import InputError
from ibaccept.site.files import SiteFiles, own_file


def test_files_of_a_site(tmp_path):
    files = SiteFiles(tmp_path)

    assert (files.path("plans/a.csv"), str(files.path("/etc/plan.csv"))) == (
        tmp_path / "plans/a.csv",
        "/etc/plan.csv",
    )


def test_files_of_a_run(tmp_path):
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs/cables.csv").write_text("")
    files = SiteFiles(tmp_path, {"../plans/a.csv": "inputs/cables.csv"})

    assert files.path("../plans/a.csv") == tmp_path / "inputs/cables.csv"
    with pytest.raises(InputError) as caught:
        files.path("/etc/passwd")
    assert str(caught.value) == (
        f"{tmp_path} holds no copy of /etc/passwd, and a replay opens nothing outside it; give the "
        "expectations with --expectations=FILE"
    )


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


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "{run}: '/etc/passwd' is not the name of a file in this folder"),
        ("../run.json", "{run}: '../run.json' is not the name of a file in this folder"),
        ("", "{run}: '' is not the name of a file in this folder"),
        ("a\0b", "{run}: 'a\\x00b' is not the name of a file in this folder"),
        ("link", "{run}/link is a link; a replay opens only the run's own files"),
        ("folder/x", "{run}/folder is a link; a replay opens only the run's own files"),
        ("inputs", "{run}/inputs is no regular file"),
        ("fifo", "{run}/fifo is no regular file"),
        ("none", "{run}/none cannot be read: No such file or directory"),
        ("x" * 300, "{run}/" + "x" * 300 + " cannot be read: File name too long"),
    ],
)
def test_what_is_no_file_of_a_run(tmp_path, name, why):
    run = tmp_path / "run"
    (run / "inputs").mkdir(parents=True)
    (tmp_path / "x").write_text("")
    (run / "link").symlink_to("../x")
    (run / "folder").symlink_to("..")
    os.mkfifo(run / "fifo")

    with pytest.raises(InputError) as caught:
        own_file(run, name)

    assert str(caught.value) == why.format(run=run)
