"""The rows of a plan's file: CSV with commas, semicolons or tabs, or the sheet of an XLSX workbook.

What the file is, its bytes say and not its name. Text is UTF-8, or UTF-16 with a byte order mark
(Excel's "Unicode text"); anything else is refused with the line it begins in.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ibaccept.errors import InputError

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}

XLSX_MAGIC = b"PK\x03\x04"
"""A workbook is a zip archive."""

UNPACKED = 256 << 20
"""Bytes that the parts of a workbook may have together once unpacked; a plan needs a few MiB."""

SHEET_ROWS = 1_000_000
"""Rows of a sheet that are read: more than the largest fabrics have cables."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One row with anything in it: its line (or row of the sheet), and its cells, stripped."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanRows:
    """All rows of the file; the first one should be the header.

    Attributes:
        where: what precedes a line's number in messages: ``cables.csv`` or ``cables.xlsx, Sheet1``.
        rows: in the order of the file.
    """

    where: str
    rows: tuple[PlanRow, ...]


def read_rows(data: bytes, *, name: str, columns: Collection[str]) -> PlanRows:
    """The rows of a file.

    Args:
        data: its bytes.
        name: what messages call it.
        columns: names a header can have; they tell a delimiter, or a sheet, from another.

    Raises:
        InputError: not text and no workbook; no CSV; a workbook with no sheet, or several, that
            have a header.
    """
    if data.startswith(XLSX_MAGIC):
        return _workbook(data, name, columns)
    text = _decoded(data, name)
    return PlanRows(name, tuple(_csv_rows(text, name, _delimiter(text, columns))))


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise InputError(f"{name}: is UTF-16 text that is cut; save it as UTF-8") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}:{line}: byte {data[error.start]:#04x} is not UTF-8 text; save the plan as "
            "UTF-8, or convert it with: iconv -f WINDOWS-1252 -t UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f"{name}:{line}: holds NUL characters: UTF-16 text without a byte order mark, or no "
            "text; save the plan as UTF-8"
        )
    return text


def _delimiter(text: str, columns: Collection[str]) -> str:
    """The delimiter by which the first line has most known columns; commas where none has."""
    first = next((line for line in text.splitlines() if line.strip()), "")

    def known(delimiter: str) -> int:
        return sum(cell.strip().strip('"').lower() in columns for cell in first.split(delimiter))

    return max(DELIMITERS, key=known)


def _csv_rows(text: str, name: str, delimiter: str) -> Iterator[PlanRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            first, line = line, reader.line_num + 1
            cells = tuple(cell.strip() for cell in row)
            if any(cells):
                yield PlanRow(first, cells)
    except csv.Error as error:
        raise InputError(f"{name}:{reader.line_num}: is not CSV: {error}") from None


def _workbook(data: bytes, name: str, columns: Collection[str]) -> PlanRows:
    try:
        sheets = _sheets(data)
    except InputError as error:
        raise InputError(f"{name}: {error}; save the sheet as CSV") from None
    except Exception as error:  # noqa: BLE001 - whatever XML, zip or a number in a damaged file raises
        raise InputError(
            f"{name}: is no workbook that can be read ({type(error).__name__}: {error}); "
            "save the sheet as CSV"
        ) from None
    with_header = [
        title
        for title, rows in sheets.items()
        if rows and any(cell.lower() in columns for cell in rows[0].cells)
    ]
    if len(with_header) > 1:
        raise InputError(
            f"{name}: the sheets {', '.join(with_header)} have the header of a plan; keep one"
        )
    filled = [title for title, rows in sheets.items() if rows]
    title = next(iter(with_header or filled or sheets), "")
    return PlanRows(f"{name}, sheet {title}", sheets.get(title, ()))


def _sheets(data: bytes) -> dict[str, tuple[PlanRow, ...]]:
    """The rows of each sheet, by its title.

    Raises:
        InputError: larger than any plan.
    """
    # Only a site with a workbook pays for the library.
    import openpyxl  # noqa: PLC0415 - as said

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > UNPACKED:
        raise InputError(f"unpacks to {size >> 20:,} MiB, which no cabling plan needs")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    return {sheet.title: tuple(_sheet_rows(sheet.iter_rows())) for sheet in book.worksheets}


def _sheet_rows(rows: Iterable[tuple[object, ...]]) -> Iterator[PlanRow]:
    for number, row in enumerate(rows, start=1):
        if number > SHEET_ROWS:
            raise InputError(f"a sheet has more than {SHEET_ROWS:,} rows")
        cells = [_cell(getattr(cell, "value", None)) for cell in row]
        while cells and not cells[-1]:
            cells.pop()  # a sheet is as wide as its widest row
        if cells:
            yield PlanRow(number, tuple(cells))


def _cell(value: object) -> str:
    """A cell as text. A number that is whole has no decimals; one too long for a spreadsheet has.

    Spreadsheets keep 15 digits of a number, so that a GUID of digits that was typed as a number is
    another one: it is left in a form that no GUID has.
    """
    if value is None:
        return ""
    if isinstance(value, int | float) and abs(value) >= EXACT:
        return f"{value:.2E}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


EXACT = 1e15
"""Numbers from here on a spreadsheet rounds."""
