"""Measure: records/s and processor time of every contestant for both jobs, in turn, on the same backlog."""

import uuid
from collections.abc import Sequence

from services.lab.dataplane.audit import audit
from services.lab.dataplane.contestants import OURS, Bout, Contestant
from services.lab.dataplane.ground import Backlog, BenchError, Ground
from services.lab.dataplane.jobs import JOBS, Job
from services.lab.dataplane.trial import Speed, running, speed, watch
from services.lab.results import Row

Speeds = dict[tuple[str, str], list[Speed]]
"""By job and contestant."""


def compete(ground: Ground, contestants: Sequence[Contestant], backlog: Backlog, *, repetitions: int) -> list[Row]:
    """All contestants in turn, as often as wanted; one that can't go on is left out, and said so."""
    speeds: Speeds = {}
    failed: set[tuple[str, str]] = set()
    for repetition in range(repetitions):
        for job in JOBS:
            for contestant in contestants:
                if (job.name, contestant.name) in failed:
                    continue
                ground.say(f"{job.name}, {contestant.name}, repetition {repetition + 1} of {repetitions}")
                try:
                    found = contend(ground, contestant, job, backlog, is_audited=repetition == 0)
                    speeds.setdefault((job.name, contestant.name), []).append(found)
                except BenchError as fault:
                    failed.add((job.name, contestant.name))
                    ground.warn(f"{contestant.name} is left out of {job.name}: {fault}")
    return [row for job in JOBS for row in rows(job, [each.name for each in contestants], speeds)]


def contend(ground: Ground, contestant: Contestant, job: Job, backlog: Backlog, *, is_audited: bool = False) -> Speed:
    """One trial of one contestant."""
    bout = Bout(ground, f"bench-{uuid.uuid4().hex[:8]}", job, backlog.topic, ground.new_topic("sink"))
    log = ground.folder / f"{bout.id}.log"
    results = backlog.results[job.name]
    try:
        with running(contestant.commands(bout), log) as children:
            samples = watch(ground, children, bout.sink, results=results, patience=contestant.patience, log=log)
        if is_audited:
            audit(ground.bootstrap, job, backlog.topic, bout.sink)
    finally:
        ground.drop_topics(bout.id)
        ground.drop_topics(bout.sink)
    return speed(samples, warm_up_s=contestant.patience.warm_up_s, results_per_record=results / backlog.records)


def rows(job: Job, names: Sequence[str], speeds: Speeds) -> list[Row]:
    """Rates, processor time, and how much faster ours is, from repetitions next to each other."""
    found: list[Row] = []
    for name in names:
        each = speeds.get((job.name, name))
        if each:
            found.append(Row.of(f"{job.name}: {name}", [one.records_per_s for one in each], "records/s"))
            found.append(Row.of(f"{job.name}: {name}, CPU", [one.cpu_s_per_million for one in each], "s/million"))
    our = speeds.get((job.name, OURS), [])
    for name in names:
        other = speeds.get((job.name, name), [])
        if name != OURS and our and other:
            pairs = list(zip(our, other, strict=False))
            faster = [one.records_per_s / two.records_per_s for one, two in pairs]
            cheaper = [one.cpu_s_per_million / two.cpu_s_per_million for one, two in pairs]
            found.append(Row.of(f"{job.name}: {OURS} over {name}", faster, "ratio", baseline=name))
            found.append(Row.of(f"{job.name}: {OURS} over {name}, CPU", cheaper, "ratio", baseline=name))
    return found
