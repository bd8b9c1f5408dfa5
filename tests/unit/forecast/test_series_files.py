"""A user's series: what is read, and what a bad file is told."""

import gzip
from pathlib import Path

import pytest

from services.lab.series import POINTS_MIN, SeriesError, read_folder, read_series, remarks


def lines(count: int) -> str:
    return "timestamp,value\n" + "".join(
        f"2026-01-01 00:{step // 60:02}:{step % 60:02},{step}\n" for step in range(count)
    )


def test_plain_and_gzipped_files_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(lines(POINTS_MIN))
    (tmp_path / "two.csv.gz").write_bytes(gzip.compress(lines(POINTS_MIN + 1).encode()))
    found = read_folder(tmp_path)
    assert {"one": POINTS_MIN, "two": POINTS_MIN + 1} == {name: len(values) for name, values in found.items()}
    assert [0, 1, 2] == found["one"][:3].tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (lines(3) + "later,many\n", r"line 5: found 'later,many'; give timestamp,value"),
        (lines(3) + "later,-1\n", "line 5: -1 is no rate"),
        (lines(3) + "later,nan\n", "line 5: nan is no rate"),
        (lines(3), f"3 values; a forecast needs at least {POINTS_MIN}"),
        ("", "0 values"),
    ],
)
def test_a_bad_file_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SeriesError, match=says):
        read_series(path)


def test_an_empty_folder_says_what_to_put_there(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match="no series in it; give a folder with files of timestamp,value"):
        read_folder(tmp_path)


def test_a_strange_file_is_named_and_left_out(tmp_path: Path) -> None:
    """One file of many must not keep the others from being judged."""
    (tmp_path / "good.csv").write_text(lines(POINTS_MIN))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(lines(POINTS_MIN).encode())[:-20])
    (tmp_path / "latin.csv").write_bytes(b"timestamp,value\n1,\xe9\n")
    (tmp_path / "short.csv").write_text(lines(3))
    assert ["good"] == list(read_folder(tmp_path))
    told = remarks(tmp_path)
    assert ["cut.csv.gz can't", "latin.csv can't", "short.csv: 3 values"] == [
        each.removeprefix(f"{tmp_path}/")[: len(start)]
        for each, start in zip(told, ("cut.csv.gz can't", "latin.csv can't", "short.csv: 3 values"), strict=True)
    ]


def test_a_folder_of_strange_files_says_what_is_wrong_with_each(tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text(lines(3))
    with pytest.raises(SeriesError, match=r"no series in it.*short\.csv: 3 values"):
        read_folder(tmp_path)
