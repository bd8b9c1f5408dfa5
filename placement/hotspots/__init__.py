"""Hot spots: which flow will break its bound, on which host, when, how sure, and who should leave (Synergy 3.3, 3.4).

courses.step(rates)                                                                  # once a second
outlook = Outlook(flows, bounds_ms, base_ms, hosts, stops, background, backlog_ms)   # as measured or modelled now
ahead = foresee(outlook, courses.ahead(series) / present, horizons_s)                # slack and chances
for spot in hot_spots(outlook, ahead, alarm.level):                                  # the warnings
    leavers = movers(outlook, ahead, spot)                                           # whose leaders send ants now
verdicts.step(now, warned, broken)                                                   # how they came out,
alarm.learn(verdicts)                                                                # and from which chance on to warn

That is for seconds ahead, by models. What a host sees of its own queue is nearer: `near_spots`, `near_leavers`.
"""

from placement.hotspots.alarm import Alarm, AlarmParams
from placement.hotspots.courses import CourseParams, Courses
from placement.hotspots.foresight import Foresight, HotSpot, foresee, hot_spots
from placement.hotspots.near import NearParams, near_leavers, near_spots
from placement.hotspots.outlook import NO_BOUND_MS, Outlook, Stops
from placement.hotspots.relief import movers
from placement.hotspots.verdicts import VerdictParams, Verdicts

__all__ = [
    "NO_BOUND_MS",
    "Alarm",
    "AlarmParams",
    "CourseParams",
    "Courses",
    "Foresight",
    "HotSpot",
    "NearParams",
    "Outlook",
    "Stops",
    "VerdictParams",
    "Verdicts",
    "foresee",
    "hot_spots",
    "movers",
    "near_leavers",
    "near_spots",
]
