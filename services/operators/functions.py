"""Functions: finding the user's `module:function` for a python operator, and nothing else.

Only what an allow list names is ever imported: module prefixes (`shop` allows `shop` and `shop.rules`) and folders
(`./rules/` allows the modules that lie in it). An empty list allows nothing. The function's parameters are compared
with what the operator will pass, so that a mistake shows when the flow starts and not with the first record.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from topics.flow import specs


class FunctionError(ValueError):
    """A python operator names something that may not, or cannot, be called."""


def load(spec: specs.Python, *, allow: Sequence[str]) -> Callable[..., Any]:
    """The function that a python operator names."""
    module_name, _, function_name = spec.call.partition(":")
    folder = _check_allowed(module_name, allow)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # A user's module can fail to import in any way.
        raise FunctionError(f"{spec.call}: importing {module_name} failed: {type(error).__name__}: {error}") from error
    if folder is not None:
        _check_place(spec.call, getattr(module, "__file__", None), folder)
    function = getattr(module, function_name, None)
    if not callable(function):
        names = sorted(n for n, v in vars(module).items() if inspect.isfunction(v) and not n.startswith("_"))
        has = ", ".join(names) if names else "none"
        raise FunctionError(f"{spec.call}: {module_name} has no function {function_name!r}; it has: {has}")
    _check_signature(spec, function)
    return function


def _check_allowed(module_name: str, allow: Sequence[str]) -> Path | None:
    """The folder by which a module is allowed; None if it is by its name."""
    top = module_name.partition(".")[0]
    for entry in allow:
        if "/" in entry or entry == ".":
            folder = Path(entry).resolve()
            if _lies_in(top, folder):
                return folder
        elif module_name == entry or module_name.startswith(f"{entry}."):
            return None
    allowed = ", ".join(allow) if allow else "nothing"
    raise FunctionError(f"{module_name} is not allowed here; allowed: {allowed}. Add its prefix or folder to the list")


def _lies_in(top: str, folder: Path) -> bool:
    """Whether a top-level module comes from this folder, which is put on the import path when it is first needed.

    A package without `__init__.py` may be spread over several folders, all of which must lie in this one.
    """
    if not ((folder / f"{top}.py").is_file() or (folder / top).is_dir()):
        return False
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        importlib.invalidate_caches()
    try:
        found = importlib.util.find_spec(top)
    except ValueError:  # A module that is loaded but was never found anywhere, such as __main__.
        return False
    if found is None:
        return False
    places = [found.origin] if found.origin is not None else list(found.submodule_search_locations or ())
    return bool(places) and all(Path(place).resolve().is_relative_to(folder) for place in places)


def _check_place(call: str, file: str | None, folder: Path) -> None:
    """A package may look for its modules anywhere: what counts is where this one was found."""
    if file is None or not Path(file).resolve().is_relative_to(folder):
        raise FunctionError(f"{call}: it was found in {file or 'no file'}, which is not in {folder}; move it there")


def _check_signature(spec: specs.Python, function: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise FunctionError(f"{spec.call}: must be a plain function that returns its result, not async or a generator")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # Some functions written in C do not tell.
    arguments = ("record", "state") if spec.state else ("record",)
    try:
        signature.bind(*arguments, **dict(spec.settings))
    except TypeError as error:
        given = ", ".join((*arguments, *(f"{name}=" for name, _ in spec.settings)))
        raise FunctionError(f"{spec.call}{signature}: will be called with ({given}): {error}") from error
