"""Tests that the page of public names is up to date."""

import os
import runpy
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent.parent / "reference.py"


def test_the_page_of_names_is_that_of_the_package() -> None:
    found: dict[str, Any] = runpy.run_path(str(REFERENCE))
    path: Path = found["PAGE"]
    text: str = found["page"]()
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} is out of date: python bindings/python/reference.py"


def test_examples_are_blocks_and_tables_are_of_one_line() -> None:
    found: dict[str, Any] = runpy.run_path(str(REFERENCE))
    example = "Makes ``a``.\n\n    >>> a()\n    1\n\n    More."
    assert found["markdown"](example) == "Makes `a`.\n\n```pycon\n>>> a()\n1\n```\n\nMore."
    assert found["cell"]("One | two\n    lines.\n\n    Not this.") == "One \\| two lines."
