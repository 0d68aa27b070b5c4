"""The rows of a plan's file: every form sites have, and one sentence for each that is refused."""

import io
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibaccept.errors import InputError
from ibaccept.site import planfile
from ibaccept.site.plan import COLUMNS, Plan
from ibaccept.site.planfile import PlanRow, PlanRows, read_rows

TEXT = "a_name,a_port,b_name,b_port\nSwitch Ä,13,SwitchB,25\n\nSwitchA,14,SwitchB,26\n"
CELLS = [
    ("a_name", "a_port", "b_name", "b_port"),
    ("Switch Ä", "13", "SwitchB", "25"),
    ("SwitchA", "14", "SwitchB", "26"),
]
ROWS = PlanRows("p", tuple(PlanRow(line, row) for line, row in zip((1, 2, 4), CELLS, strict=True)))


def read(data, name="p"):
    return read_rows(data, name=name, columns=COLUMNS)


def workbook(*sheets):
    """An XLSX file of sheets, each a title and its rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.replace(",", ";").encode(),
        TEXT.replace(",", "\t").encode(),
        TEXT.replace(",", "\t").encode("utf-16"),
        TEXT.replace("\n", "\r\n").encode(),
    ],
    ids=["commas", "byte order mark", "semicolons", "tabs", "UTF-16", "CRLF"],
)
def test_one_plan_in_every_form(data):
    assert read(data) == ROWS


def test_a_comma_within_a_cell_of_a_file_with_semicolons():
    assert read(b"a_name;a_port;b_name;b_port;note\nA;1;B;2;north, left\n").rows[1].cells == (
        *("A", "1", "B", "2", "north, left"),
    )


def test_a_sheet():
    rows = [CELLS[0], ("Switch Ä", 13, "SwitchB", 25.0), (None,), ("SwitchA", "14", "SwitchB", 26)]

    assert read(workbook(("Cables", rows), ("Notes", [("call Jo",)])), "p.xlsx") == PlanRows(
        "p.xlsx, sheet Cables", ROWS.rows
    )


def test_a_guid_that_a_spreadsheet_made_a_number_of_is_refused():
    rows = [("a_guid", "a_port", "b_name", "b_port"), (5000000000000001, 1, "B", 2)]

    with pytest.raises(InputError) as refused:
        Plan.read(workbook(("S", rows)), name="p")
    assert str(refused.value) == (
        "p, sheet S:2: a_guid: '5.00E+15' is not a GUID (1 to 16 hexadecimal digits)"
    )


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            b"a_name,a_port\nSwitch\xe4,1\n",
            "p:2: byte 0xe4 is not UTF-8 text; save the plan as UTF-8, or convert it with: "
            "iconv -f WINDOWS-1252 -t UTF-8",
        ),
        (
            TEXT.encode("utf-16-le"),
            "p:2: byte 0xc4 is not UTF-8 text; save the plan as UTF-8, or convert it with: "
            "iconv -f WINDOWS-1252 -t UTF-8",
        ),
        (
            "a_name\n".encode("utf-16-le"),
            "p:1: holds NUL characters: UTF-16 text without a byte order mark, or no text; "
            "save the plan as UTF-8",
        ),
        (b"\xff\xfea", "p: is UTF-16 text that is cut; save it as UTF-8"),
        (b'a_name,a_port\n"A,1\n', "p:2: is not CSV: unexpected end of data"),
        (
            workbook(("One", CELLS), ("Two", CELLS)),
            "p: the sheets One, Two have the header of a plan; keep one",
        ),
        (
            b"PK\x03\x04 and no archive",
            "p: is no workbook that can be read (BadZipFile: File is not a zip file); "
            "save the sheet as CSV",
        ),
    ],
)
def test_what_is_refused(data, sentence):
    with pytest.raises(InputError) as refused:
        read(data)

    assert str(refused.value) == sentence


def test_an_empty_file_and_an_empty_workbook_have_no_rows():
    assert read(b"") == PlanRows("p", ())
    assert read(workbook(("Empty", []))) == PlanRows("p, sheet Empty", ())


def test_a_workbook_that_unpacks_to_more_than_any_plan_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(planfile, "UNPACKED", 1 << 20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (2 << 20))

    with pytest.raises(InputError, match="unpacks to 2 MiB, which no cabling plan needs"):
        read(out.getvalue())


def test_a_sheet_of_more_rows_than_any_plan_is_refused(monkeypatch):
    monkeypatch.setattr(planfile, "SHEET_ROWS", 2)

    with pytest.raises(InputError) as refused:
        read(workbook(("S", CELLS)))
    assert str(refused.value) == "p: a sheet has more than 2 rows; save the sheet as CSV"


@given(st.binary(max_size=300) | st.builds(lambda tail: b"PK\x03\x04" + tail, st.binary()))
def test_whatever_the_bytes_are_it_is_rows_or_a_sentence(data):
    sentence, rows = "p", ()
    try:
        rows = read(data).rows
    except InputError as error:
        sentence = str(error)
    assert sentence.startswith("p")
    assert all(any(row.cells) for row in rows)
