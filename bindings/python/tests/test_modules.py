"""Tests the order of the modules."""

import ast
import graphlib
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "python" / "wordline"


def imported(path: Path) -> set[str]:
    """Modules of the package that a module imports, also in functions and for type checkers."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(level=1, module=None, names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(level=1, module=str(module)):
                names.add(module)
            case ast.ImportFrom(module=module) | ast.Import(names=[ast.alias(name=module)]):
                assert not f"{module}.".startswith("wordline."), f"{path.name}: imports within the package begin with a dot"
            case _:
                pass
    return names


def test_no_module_imports_itself_through_others() -> None:
    graph = {path.stem: imported(path) for path in sorted(FOLDER.glob("*.py*"))}
    assert graph["_study"] >= {"_native", "_run", "_search", "_table", "cluster"} and graph["_errors"] == set()
    assert set().union(*graph.values()) <= graph.keys(), "all of them are modules"
    # Raises an error that names the circle.
    graphlib.TopologicalSorter(graph).prepare()
