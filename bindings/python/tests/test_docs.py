"""Tests that the programs in the documents and the notebooks work as written."""

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import wordline as wl

ROOT = Path(__file__).parent.parent.parent.parent
DOCS = ROOT / "docs"
IS_LONG = "WORDLINE_LONG" in os.environ

PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    str(path.relative_to(ROOT)): PROGRAM.findall(path.read_text())
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if PROGRAM.search(path.read_text())
}
NOTEBOOKS = sorted(path.name for path in (DOCS / "notebooks").glob("*.ipynb"))

# Replacements that scale a program down: fewer requests, and a small device, which needs more over-provisioning.
SMALL = (("=1_000_000)", "=5_000)"), ("=200_000)", "=5_000)"), ('"requests": 200_000', '"requests": 2_000'), ("50_000", "2_000"), ('"nvme-tlc"', '"tiny"'), ("0.07, 0.14", "0.2, 0.24"), ("20_000", "500"), ("trials=40", "trials=5"))


def small(program: str) -> str:
    """The program scaled down, unless everything runs as written."""
    for old, new in () if IS_LONG else SMALL:
        program = program.replace(old, new)
    return program


def written(programs: list[str]) -> set[str]:
    """Files in which programs save charts."""
    return {name for program in programs for name in re.findall(r'\.save\("([^"]+\.pdf)"\)', program)}


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_work(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = PAGES[page]
    monkeypatch.chdir(tmp_path)
    for program in programs:
        exec(compile(small(program), page, "exec"), {"wl": wl})
    for name in written(programs):
        assert (tmp_path / name).read_bytes().startswith(b"%PDF"), name


def test_the_pages_have_programs() -> None:
    assert {"README.md", "docs/python.md", "docs/tutorial.md"} <= set(PAGES)
    assert written(PAGES["docs/tutorial.md"]) == {"spare.pdf", "tail.pdf"}


def shown(cell: str, names: dict[str, Any], place: str) -> object:
    """Runs a cell as a notebook does. Returns the value of its last line, if this is an expression."""
    tree = ast.parse(cell, place)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_every_cell_of_a_notebook_works(notebook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    charts = 0
    for number, cell in enumerate(json.loads((DOCS / "notebooks" / notebook).read_text())["cells"]):
        if cell["cell_type"] != "code":
            continue
        value: Any = shown(small("".join(cell["source"])), names, f"{notebook}, cell {number}")
        # Displaying a chart validates it.
        if hasattr(value, "_repr_mimebundle_"):
            assert value._repr_mimebundle_(), f"{notebook}, cell {number}"
            charts += 1
    assert charts > 0, "a notebook shows something"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_has_no_stored_outputs(notebook: str) -> None:
    text: dict[str, Any] = json.loads((DOCS / "notebooks" / notebook).read_text())
    assert text["nbformat"] == 4 and text["metadata"]["kernelspec"]["name"] == "python3"
    for cell in text["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None, cell["id"]


def test_there_are_notebooks() -> None:
    index = (DOCS / "notebooks" / "index.md").read_text()
    assert len(NOTEBOOKS) >= 3 and all(f"({name})" in index for name in NOTEBOOKS)
