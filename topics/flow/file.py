"""Flow files: YAML in, a compiled flow out, or a `FlowError` that shows every problem with its line."""

from pathlib import Path as FilePath

from topics.flow.compile import checked_graph
from topics.flow.document import Document, Value, read_document
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError, Path, Place, Problems
from topics.flow.read import read_flow


def load_graph(path: FilePath) -> FlowGraph:
    """The compiled flow of a file. Raises FlowError, or OSError if the file cannot be read."""
    return parse_graph(path.read_bytes(), filename=str(path))


def parse_graph(content: str | bytes, *, filename: str = "<flow>") -> FlowGraph:
    """The compiled flow of a file's content. Raises FlowError."""
    problems = Problems()
    document = read_document(content.encode() if isinstance(content, str) else content, problems)
    graph = None
    if isinstance(document.value, dict) or not problems.found:
        graph = check_values(document.value, problems)
    if graph is None:
        raise _error(document, problems, filename)
    return graph


def check_values(value: Value, problems: Problems) -> FlowGraph | None:
    """All checks of a flow given as plain values. None if anything is wrong."""
    reading = read_flow(value, problems)
    return checked_graph(reading.spec, reading.unread, problems, lambda path: text_at(value, path))


def text_at(value: Value, path: Path) -> str | None:
    """The text at a path; None if there is something else, or nothing."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value if isinstance(value, str) else None


def _error(document: Document, problems: Problems, filename: str) -> FlowError:
    located = dict.fromkeys(
        document.locate(problem) for problem in problems.found
    )  # an untyped check may find it first
    ordered = sorted(located, key=lambda problem: problem.place or Place(0, 0))
    return FlowError(ordered, filename=filename, text=document.text)
