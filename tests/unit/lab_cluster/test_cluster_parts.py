"""Which parts of the bench of a cluster run, and how its command is checked."""

import pytest
from typer.testing import CliRunner

from services.cli.main import app
from services.embedded.errors import StackError
from services.lab.cluster import measures
from services.lab.cluster.measures import PARTS, Params, measure
from services.lab.cluster.site import flat
from services.lab.dataplane.ground import BenchError
from services.lab.results import Row
from services.settings import Settings


def test_parts_run_in_their_order_and_one_that_fails_is_said_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the others must not be lost for it."""

    def fails(*_: object) -> list[Row]:
        raise BenchError("no result in 120 s")

    def never_starts(*_: object) -> list[Row]:
        raise StackError("placement-2 did not start", "try stigmergy doctor")

    row = Row.of("it", [1.0], "s")
    parts = {"submit": fails, "death": never_starts, "herd": lambda *_: [row]}
    monkeypatch.setattr(measures, "PARTS", parts)
    said: list[str] = []
    assert [row] == measure(Params(), Settings(), say=lambda text: None, warn=said.append)
    assert ["submit", "death"] == [text.partition(" is left out: ")[0] for text in said]


def test_chosen_parts_keep_their_order() -> None:
    """However they were named."""
    assert ("submit", "death", "herd", "traffic") == tuple(PARTS) == Params().chosen
    assert ("submit", "herd") == Params(only=("herd", "submit")).chosen


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    """Before a cluster is started."""
    ran = CliRunner().invoke(app, ["bench", "cluster", "--only", "sleep"])
    assert 2 == ran.exit_code
    assert "traffic" in ran.output


def test_a_flat_world_has_its_hosts_in_one_region_with_a_broker() -> None:
    """No distance is played there."""
    world = flat(6)
    assert (6, 1, []) == (len(world.hosts), len(world.brokers), list(world.pairs()))


def test_a_quantile_lies_between_two_samples_in_proportion() -> None:
    """As numpy has it: the 99th percentile of few samples is close to the largest one."""
    row = Row.quantile("it", [3.0, 1.0, 2.0], 0.75, "s")
    assert (2.5, (1.0, 3.0), 3) == (row.value, row.spread, row.repetitions)
    assert 3.0 == Row.quantile("it", [3.0, 1.0], 1.0, "s").value
    assert 7.0 == Row.quantile("it", [7.0], 0.99, "s").value
