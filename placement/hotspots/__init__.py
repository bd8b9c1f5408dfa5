"""Hot spots: which flow will break its bound, on which host, when, how sure, and who should leave (Synergy 3.3, 3.4).

outlook = Outlook(flows, bounds_ms, base_ms, hosts, stops, background, backlog_ms)   # as measured or modelled now
ahead = foresee(outlook, factors, errors, horizons_s)                                # slack and chances
for spot in hot_spots(outlook, ahead, HotSpotParams()):                              # the warnings
    leavers = movers(outlook, ahead, spot)                                           # whose leaders send ants now
"""

from placement.hotspots.foresight import Foresight, HotSpot, HotSpotParams, foresee, hot_spots
from placement.hotspots.outlook import Outlook, Stops
from placement.hotspots.relief import movers

__all__ = ["Foresight", "HotSpot", "HotSpotParams", "Outlook", "Stops", "foresee", "hot_spots", "movers"]
