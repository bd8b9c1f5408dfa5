"""The garbage collector, set for batches: to be called once, when a process that runs operators has started."""

import gc

# By default the collector looks through the youngest objects after 700 new ones: several times for every batch.
YOUNG_OBJECTS = 200_000


def collect_rarely() -> None:
    """A batch makes thousands of objects that die with it and no cycles; looking for cycles among them costs 40 %.

    What exists now (modules, compiled expressions) will stay, so it is put aside for good.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 50, 100)
