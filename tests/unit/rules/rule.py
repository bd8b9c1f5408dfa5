"""A rule of DESIGN section 5: in words, with a way to remove it and the test that must then fail.

Removals last for one test (a monkeypatch) and change code or params, never data that outlives it: flows that a test
module builds once remember what was reckoned of them, so their tests are not run with other sums.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

_HERE = __name__.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `test` is as pytest names it, below `tests`; with `arguments` if it is parametrised."""

    words: str
    test: str
    remove: Callable[[pytest.MonkeyPatch], object]
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> ModuleType:
        """Of the test."""
        return module_of(self.test.partition("::")[0])

    def run_test(self) -> None:
        """Run the test, here and now."""
        getattr(self.module, self.test.partition("::")[2])(**self.arguments)


def module_of(file: str) -> ModuleType:
    """A file below `tests` as a module, the one that pytest runs."""
    return import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")


def instead(patch: pytest.MonkeyPatch, function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Let all code and tests that import a function get another one; these removals keep the first."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(("placement.", "tests.")) or name.startswith(_HERE):
            continue
        for attribute in [key for key, value in vars(module).items() if value is function]:
            patch.setattr(module, attribute, other)


def changed(params: Any, path: str, value: Any) -> Any:
    """Params, or some in which others are nested, with one value changed: `pheromone.strength`."""
    name, _, rest = path.partition(".")
    return replace(params, **{name: changed(getattr(params, name), rest, value) if rest else value})
