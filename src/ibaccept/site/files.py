"""The files that expectations name: a site's own, or the copies in the folder of a run."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ibaccept.errors import InputError


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """Finds the file that stands behind a text of the expectations.

    Attributes:
        folder: relative texts start here; in a replay, the folder of the run.
        kept: in a replay, the copy below ``folder`` by its text; None for a site's own files.
    """

    folder: Path
    kept: Mapping[str, str] | None = None

    def path(self, text: str) -> Path:
        """The file (or folder) of a text; it need not be there.

        Raises:
            InputError: a FIFO, socket or device: reading it could wait or go on without end; or,
                in a replay, the run's folder holds no copy of it.
        """
        if self.kept is None:
            path = self.folder / text
            if path.exists() and not path.is_file() and not path.is_dir():
                raise InputError(f"{path} is no regular file")
            return path
        if text not in self.kept:
            raise InputError(
                f"{self.folder} holds no copy of {text}, and a replay opens nothing outside it; "
                "give the expectations with --expectations=FILE"
            )
        return own_file(self.folder, self.kept[text])


def own_file(run_dir: Path, name: str) -> Path:
    """A file of a run's folder, which may come from another machine.

    Args:
        run_dir: the folder.
        name: relative to it: ``inputs/cables.csv``.

    Raises:
        InputError: not below the folder, a link, or no regular file.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise InputError(f"{run_dir}: {name!r} is not the name of a file in this folder")
    path = run_dir
    for part in parts:
        path /= part
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        if stat.S_ISLNK(mode):
            raise InputError(f"{path} is a link; a replay opens only the run's own files")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is no regular file")
    return path
