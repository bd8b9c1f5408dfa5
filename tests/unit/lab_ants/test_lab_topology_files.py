"""Topology files: what is read, what is filled in, and what is refused with a useful word."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from placement.model import OverlayNetwork, RoutedNetwork
from placement.topology.transit_stub import TransitStubParams
from services.lab.data import MissingDataError, data_file
from services.lab.experiments import Trial
from services.lab.gml import parse_gml
from services.lab.matrices import TopologyError, parse_matrix
from services.lab.topologies import SEARCHED_HOSTS, read_topology, remarks


def test_a_plain_square_of_numbers_is_a_matrix_of_round_trips() -> None:
    """The simplest file a user can write."""
    trips = parse_matrix("0,10\n12,0\n", name="m")
    assert trips.names == ("h0", "h1")
    assert [[0.0, 10.0], [12.0, 0.0]] == trips.rtt_ms.tolist()


def test_a_header_gives_the_hosts_their_names() -> None:
    """As spreadsheets write it."""
    trips = parse_matrix("from,a,b\na,0,10\nb,12,0\n", name="m")
    assert trips.names == ("a", "b")


def test_hosts_may_be_named_by_numbers() -> None:
    """As `pandas.DataFrame(m).to_csv()` writes it; it was read as one host more, with round trips of 1 and 2 ms."""
    for diagonal in ("0.0", ""):
        text = f",0,1,2\n0,{diagonal},10,20\n1,10,{diagonal},30\n2,20,30,{diagonal}\n"
        trips = parse_matrix(text, name="m")
        assert trips.names == ("0", "1", "2")
        assert [[0.0, 10.0, 20.0], [10.0, 0.0, 30.0], [20.0, 30.0, 0.0]] == trips.rtt_ms.tolist()
    assert parse_matrix(",107,105\n107,0,10\n105,12,0\n", name="m").names == ("107", "105")


def test_a_matrix_without_names_may_leave_its_diagonal_empty() -> None:
    """It looks like one with numbers for names, but for the rest of the diagonal."""
    trips = parse_matrix(",10,20\n10,,30\n20,30,\n", name="m")
    assert trips.names == ("h0", "h1", "h2")
    assert [[0.0, 10.0, 20.0], [10.0, 0.0, 30.0], [20.0, 30.0, 0.0]] == trips.rtt_ms.tolist()


def test_an_unknown_round_trip_is_taken_from_the_way_back_or_over_others() -> None:
    """Measured matrices always have holes."""
    trips = parse_matrix("0,10,\n10,0,5\n,,0\n", name="m")
    assert trips.rtt_ms[2, 1] == 5.0
    assert trips.rtt_ms[0, 2] == 15.0


@pytest.mark.parametrize("unknown", ["-1", "-1.0", "NA", "n/a", "NaN", "nan", "inf", "-", ""])
def test_tools_have_many_words_for_a_pair_that_nobody_measured(unknown: str) -> None:
    """Also in the first row of a file without names; some of them were refused, or taken for the name of a host."""
    trips = parse_matrix(f"0,{unknown},20\n{unknown},0,30\n20,30,0\n", name="m")
    assert trips.names == ("h0", "h1", "h2")
    assert trips.rtt_ms[0, 1] == trips.rtt_ms[1, 0] == 50.0
    assert (1, 3, 0) == (trips.unknown_pairs, trips.pairs, trips.together_pairs)


@pytest.mark.parametrize(("text", "names"), [
    ("id,1,2,3\n1,0,10,20\n2,10,0,30\n3,20,30,0\n", ("1", "2", "3")),  # pandas with index_label
    (",a,b,c,\na,0,10,20,\nb,10,0,30,\nc,20,30,0,\n", ("a", "b", "c")),  # a comma after each cell
    (",0,1,2,\n0,,10,20,\n1,10,,30,\n2,20,30,,\n", ("0", "1", "2")),
    ("a,b,c\n0,10,20\n10,0,30\n20,30,0\n", ("a", "b", "c")),  # no first column
    ("a,b,c,\n0,10,20,\n10,0,30,\n20,30,0,\n", ("a", "b", "c")),
    ("0,1,2\n0,10,20\n10,0,30\n20,30,0\n", ("0", "1", "2")),  # pandas with index=False
    ("a,b,c\na,0,10,20\nb,10,0,30\nc,20,30,0\n", ("a", "b", "c")),  # R's write.table
    (",NA,-,EU\nNA,0,10,20\n-,10,0,30\nEU,20,30,0\n", ("NA", "-", "EU")),  # regions that look like unknown cells
    ("-,10,20\n10,-,30\n20,30,-\n", ("h0", "h1", "h2")),
    ("0,10,20,,\n10,0,30,,\n20,30,0,,\n", ("h0", "h1", "h2")),
])  # fmt: skip
def test_headers_of_many_tools_are_understood(text: str, names: tuple[str, ...]) -> None:
    trips = parse_matrix(text, name="m")
    assert trips.names == names
    assert [[0.0, 10.0, 20.0], [10.0, 0.0, 30.0], [20.0, 30.0, 0.0]] == trips.rtt_ms.tolist()


def test_hosts_that_are_0_ms_apart_both_ways_are_together() -> None:
    """Two machines of a rack became as far apart as the way around is long; a 0 one way only is a failed try."""
    trips = parse_matrix("0,0,20\n0,0,30\n0,30,0\n", name="m")
    assert [[0.0, 0.01, 20.0], [0.01, 0.0, 30.0], [20.0, 30.0, 0.0]] == trips.rtt_ms.tolist()
    assert (0, 1) == (trips.unknown_pairs, trips.together_pairs)
    failed = parse_matrix("0,0,20\n0,0,30\n20,30,0\n", name="m", zero_is_unknown=True)
    assert (50.0, 1) == (failed.rtt_ms[0, 1], failed.unknown_pairs)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("0,1\n1,0\n2,2\n", "square"),
        ("0,1\n-2,0\n", "line 2, column 1"),
        ("\n\n0,1\n-2,0\n", "line 4, column 1"),
        ("0,1\nx,0\n", "no number"),
        ("0,,\n,0,\n,,0\n", "no known way"),
        ("0;1\n1;0\n", "commas or tabs"),
        ("0,-inf\n1,0\n", "line 1, column 2"),
        (",a,\na,0,1\n,1,0\n", "line 1: host 2 has an empty name; give each"),
        ("a,0,1\nb,1,0\n", "square"),
        ("x,a,a\na,0,1\na,1,0\n", "'a' is named twice"),
        ("x,a\na,0,1\nb,1,0\n", "names 1 hosts, 2 rows"),
        ("x,a,b\nb,0,1\na,1,0\n", "line 2: the row is of 'b', the column of that number of 'a'.* order$"),
        ("0,5,1O\n5,0,3\n10,3,0\n", "same order, or milliseconds instead of '1O' if line 1 has numbers"),
        ("0,5,x\n5,0,3\n", "one row a host, or milliseconds instead of 'x' if line 1"),
    ],
)
def test_a_wrong_matrix_is_refused_with_the_place_and_the_reason(text: str, complaint: str) -> None:
    """A network that is silently wrong makes every number wrong."""
    with pytest.raises(TopologyError, match=complaint):
        parse_matrix(text, name="m")


GML = """graph [
  node [ id 0 label "A" Latitude 52.5 Longitude 13.4 ]
  node [ id 1 label "B" Latitude 48.1 Longitude 11.6 ]
  node [ id 2 label "far" ]
  node [ id 3 label "alone" ]
  edge [ source 0 target 1 ]
  edge [ source 1 target 2 delay 7.5 ]
]"""


def test_gml_delays_come_from_the_file_or_from_positions() -> None:
    """Berlin to Munich is 505 km: 2.5 ms in fibre."""
    graph = parse_gml(GML, name="g")
    delays = {(a, b): delay for a, b, delay in graph.links}
    assert delays["h0", "h1"] == pytest.approx(2.52, abs=0.05)
    assert delays["h1", "h2"] == 7.5


def test_hosts_without_a_way_to_the_rest_are_left_out() -> None:
    """Nothing could ever be placed on them."""
    assert parse_gml(GML, name="g").names == ("h0", "h1", "h2")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("node [ id 0 ]", "is it GML"),
        ("graph [ node [ id 0 ] ]", "0 links"),
        (GML[:-1], "never closed"),
        (GML + "]", "too many"),
        ("a [ " * 5_000, "brackets in brackets"),
        (GML.replace("7.5", "-1"), "delay '-1'"),
        (GML.replace("7.5", "soon"), "delay 'soon'"),
        (GML.replace("target 2", "target 9"), "not both of them hosts"),
        (GML.replace("id 3", "id 0"), "two hosts have the id 0; give each"),
    ],
)
def test_a_wrong_gml_is_refused(text: str, complaint: str) -> None:
    """With what is missing."""
    with pytest.raises(TopologyError, match=complaint):
        parse_gml(text, name="g")


def test_a_csv_becomes_an_overlay_and_a_gml_a_routed_network(tmp_path: Path) -> None:
    """Round trips are between all pairs, links between neighbours; delays are half the round trips."""
    csv, gml = tmp_path / "net.csv", tmp_path / "net.gml"
    csv.write_text("0,10,20\n10,0,12\n20,12,0\n")
    gml.write_text(GML)
    overlay = read_topology(csv, rng=Random(1))
    assert isinstance(overlay, OverlayNetwork)
    assert np.allclose(5.0, overlay.delays_ms[0, 1])
    assert isinstance(read_topology(gml, rng=Random(1)), RoutedNetwork)


def test_of_a_large_matrix_hosts_are_drawn_only_for_the_exact_optimum(tmp_path: Path) -> None:
    """Figure 4 is about 200 to 600 hosts, and got 160 of any matrix."""
    csv = tmp_path / "net.csv"
    csv.write_text("\n".join(",".join("5" for _ in range(200)) for _ in range(200)))
    assert 200 == len(Trial(1, csv).network(TransitStubParams())[0].hosts)
    assert 160 == len(Trial(1, csv).network(TransitStubParams(), most_hosts=SEARCHED_HOSTS)[0].hosts)


def ring(hosts: int) -> str:
    """A graph in which each host has two neighbours."""
    nodes = "".join(f"node [ id {k} ]\n" for k in range(hosts))
    links = "".join(f"edge [ source {k} target {(k + 1) % hosts} delay 2 ]\n" for k in range(hosts))
    return f"graph [\n{nodes}{links}]"


def test_of_a_large_graph_a_connected_part_is_drawn_for_the_exact_optimum(tmp_path: Path) -> None:
    """All of it was searched, whatever its size; hosts that are drawn one by one would have no links."""
    gml = tmp_path / "net.gml"
    gml.write_text(ring(200))
    assert 200 == len(Trial(1, gml).network(TransitStubParams())[0].hosts)
    parts = [Trial(seed, gml).network(TransitStubParams(), most_hosts=SEARCHED_HOSTS)[0] for seed in (1, 2)]
    assert [160, 160] == [len(part.hosts) for part in parts]
    assert all(np.isfinite(part.delays_ms).all() for part in parts)
    assert parts[0].host_index.keys() != parts[1].host_index.keys()
    (sampled,) = remarks(gml)
    assert "of 200 hosts 160 are used where the exact optimum is searched for, a connected part" in sampled


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """Spreadsheets write one."""
    csv = tmp_path / "net.csv"
    csv.write_text("0,10,20\n10,0,12\n20,12,0\n", encoding="utf-8-sig")
    assert len(read_topology(csv, rng=Random(1)).hosts) == 3


def test_a_user_is_told_what_of_a_file_is_left_out_or_guessed(tmp_path: Path) -> None:
    """Results on 160 of 200 hosts, or on delays that nobody gave, must not pass for results on the file."""
    csv, gml = tmp_path / "net.csv", tmp_path / "net.gml"
    csv.write_text("\n".join(",".join("5" for _ in range(200)) for _ in range(200)))
    (sampled,) = remarks(csv)
    assert "of 200 hosts 160 are used where the exact optimum is searched for" in sampled
    csv.write_text("0,0,20,\n0,0,30,\n20,30,0,1\n,,1,0\n")
    unknown, together = remarks(csv)
    assert unknown == "2 of 6 pairs unknown, filled by the shortest ways over others"
    assert together == "1 of 6 pairs are 0 both ways and count 0.01 ms"
    gml.write_text(GML.replace(" delay 7.5", ""))
    alone, guessed = remarks(gml)
    assert "1 hosts have no way" in alone
    assert "1 links have neither a delay nor two known ends" in guessed
    csv.write_text("0,10,20\n10,0,12\n20,12,0\n")
    assert [] == remarks(csv)


def test_too_few_hosts_for_a_query_are_told(tmp_path: Path) -> None:
    """A join has three different ends."""
    csv = tmp_path / "net.csv"
    csv.write_text("0,10\n10,0\n")
    with pytest.raises(TopologyError, match="2 hosts; give 3"):
        read_topology(csv, rng=Random(1))


def test_a_binary_file_is_no_topology(tmp_path: Path) -> None:
    """The message says what to give instead."""
    wrong = tmp_path / "net.csv"
    wrong.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TopologyError, match="CSV matrix"):
        read_topology(wrong, rng=Random(1))


def test_missing_data_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The real data is not part of the project."""
    monkeypatch.setenv("STIGMERGY_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match="STIGMERGY_DATA"):
        data_file("latency", "planetlab490_t1.gz")
