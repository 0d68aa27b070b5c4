"""Where the files are that expectations.yaml names: plans, subnet files, recorded results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ibaccept.errors import InputError


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """Files by their text in expectations.yaml.

    Attributes:
        folder: texts are relative to it; that of the expectations file.
        moved: where a file is otherwise, by its text (the copies in the folder of a run).
    """

    folder: Path
    moved: Mapping[str, Path] = field(default_factory=dict)

    def path(self, text: str) -> Path:
        """Where the file or folder is; it need not exist.

        Raises:
            InputError: a FIFO, socket or device: reading it could wait or go on without end.
        """
        path = self.moved.get(text, self.folder / text)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path} is no regular file")
        return path
