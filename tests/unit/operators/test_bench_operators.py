"""The benchmark compares two ways to do the same work: they must do the same."""

from services.lab.bench_operators import FLOW, FLOW_WITHOUT_RENAMING, Operators, Params, hand_written, measure, packets


def test_the_sides_agree_and_every_row_says_what_it_is() -> None:
    """`measure` itself compares the results of all sides; late records are among the input."""
    raws = packets(20_000, seed=3)
    assert 110 < sum(map(len, raws)) / len(raws) < 130
    assert len(hand_written(raws)) == len(Operators(FLOW).run(raws)) == len(Operators(FLOW_WITHOUT_RENAMING).run(raws))
    rows = {row.measure: row for row in measure(Params(records=3_000, repetitions=2, seed=3), progress=lambda _: None)}
    assert rows["ratio: operators"].baseline == "hand-written loop"
    assert rows["ratio: operators"].repetitions == 2
    stages = ["decode and event time", "filter", "project", "aggregate", "release memory", "encode"]
    assert [f"stage: {name}" for name in stages] == [name for name in rows if name.startswith("stage")]
    assert all(row.spread[0] <= row.value <= row.spread[1] for row in rows.values())
