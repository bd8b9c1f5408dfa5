"""Measure: records/s and processor time of contestants, in turn, on the same backlog."""

import uuid
from collections.abc import Sequence

from services.lab.dataplane.audit import audit
from services.lab.dataplane.contestants import Bout, Contestant
from services.lab.dataplane.ground import Backlog, BenchError, Ground
from services.lab.dataplane.trial import Speed, running, speed, watch
from services.lab.dataplane.workloads import WORKLOADS, Workload
from services.lab.results import Row

Speeds = dict[tuple[str, str], list[Speed]]
"""By workload and contestant. What failed once is not there."""


def compete(
    ground: Ground,
    entries: Sequence[tuple[Contestant, Backlog]],
    *,
    repetitions: int,
    workloads: Sequence[Workload] = WORKLOADS,
) -> Speeds:
    """All contestants in turn, as often as wanted; one that can't go on is left out, and said so.

    Every second time in reverse, so that nobody always comes after the same one, whose topics are still being deleted.
    """
    speeds: Speeds = {(workload.name, contestant.name): [] for workload in workloads for contestant, _ in entries}
    for repetition in range(repetitions):
        for workload in workloads:
            for contestant, backlog in entries[:: -1 if repetition % 2 else 1]:
                if (workload.name, contestant.name) not in speeds:
                    continue
                ground.say(f"{workload.name}, {contestant.name}, repetition {repetition + 1} of {repetitions}")
                try:
                    found = contend(ground, contestant, workload, backlog, is_audited=repetition == 0)
                    speeds[workload.name, contestant.name].append(found)
                except BenchError as fault:
                    del speeds[workload.name, contestant.name]
                    ground.warn(f"{contestant.name} is left out of {workload.name}: {fault}")
    return speeds


def contend(
    ground: Ground, contestant: Contestant, workload: Workload, backlog: Backlog, *, is_audited: bool = False
) -> Speed:
    """One trial of one contestant."""
    bout = Bout(ground, f"bench-{uuid.uuid4().hex[:8]}", workload, backlog.topic, ground.new_topic("sink"))
    log = ground.folder / f"{bout.id}.log"
    results = backlog.results[workload.name]
    try:
        with running(contestant.commands(bout), log) as children:
            samples = watch(
                ground,
                children,
                bout.sink,
                results=results,
                is_committed=contestant.is_committed,
                patience=contestant.patience,
                log=log,
            )
        if is_audited:
            audit(ground.bootstrap, workload, backlog.topic, bout.sink)
    finally:
        ground.drop_topics(bout.id)
        ground.drop_topics(bout.sink)
    return speed(samples, contestant.patience, results=results, records=backlog.records)


def rows(speeds: Speeds) -> list[Row]:
    """Rates and processor time, and how busy the broker was beside."""
    found: list[Row] = []
    for (workload, name), each in speeds.items():
        found.append(Row.of(f"{workload}: {name}", [one.records_per_s for one in each], "records/s"))
        found.append(Row.of(f"{workload}: {name}, CPU", [one.cpu_s_per_million for one in each], "s/million"))
        found.append(Row.of(f"{workload}: {name}, broker", [one.broker_cores for one in each], "cores"))
    return found


def ratios(speeds: Speeds, name: str, baseline: str) -> list[Row]:
    """How one compares with the other in speed and in processor time, by repetitions next to each other."""
    found: list[Row] = []
    for workload in dict.fromkeys(workload for workload, _ in speeds):
        if (workload, name) in speeds and (workload, baseline) in speeds:
            pairs = list(zip(speeds[workload, name], speeds[workload, baseline], strict=True))
            faster = [one.records_per_s / other.records_per_s for one, other in pairs]
            dearer = [one.cpu_s_per_million / other.cpu_s_per_million for one, other in pairs]
            found.append(Row.of(f"{workload}: {name} over {baseline}", faster, "ratio", baseline=baseline))
            found.append(Row.of(f"{workload}: {name} over {baseline}, CPU", dearer, "ratio", baseline=baseline))
    return found
