"""Split: each record goes to the first route whose expression is true; `otherwise` names the route for the rest.

Without `otherwise` a record that fits no route leaves the flow. A route is read as `name.route`. Key, time and order
stay as they are, and the watermark goes to every route.
"""

from operator import not_

from services.operators.batch import Batch
from services.operators.operator import Operator
from topics.expressions import compile_mask
from topics.flow import specs
from topics.flow.references import routes_of


class Split(Operator):
    """One mask for each route, over what the routes before it left. `routes` names the outputs in their order."""

    def __init__(self, spec: specs.Split) -> None:
        self._masks = [compile_mask(where) for _, where in spec.routes]
        self._has_otherwise = spec.otherwise is not None
        self.routes = routes_of(spec)

    def process(self, batch: Batch, port: int) -> tuple[Batch, ...]:
        if not batch.values:
            return (batch,) * len(self.routes)
        outputs = []
        rest = batch
        for where in self._masks:
            mask = where(rest.values)
            outputs.append(rest.select(mask))
            rest = rest.select(list(map(not_, mask)))
        if self._has_otherwise:
            outputs.append(rest)
        return tuple(outputs)
