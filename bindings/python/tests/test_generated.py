"""Generated modules are up to date."""

import os
import runpy
from pathlib import Path
from typing import Any

GENERATE = Path(__file__).parent.parent / "generate.py"


def test_keys_and_results_are_those_of_the_program() -> None:
    modules: dict[Path, str] = runpy.run_path(str(GENERATE))["modules"]()
    for path, text in modules.items():
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        assert path.read_text() == text, f"{path.name} is out of date: UPDATE_GOLDEN=1 make python"


def test_the_operations_are_those_of_the_program() -> None:
    import wordline as wl

    # One request of each kind; the log names its kind.
    ops: Any = list(wl.Op)
    load = wl.Workload.given(0, ops, 0, [0 if op == wl.Op.FLUSH else 8 for op in wl.Op])
    log = wl.run("tiny", load, precondition="filled", log=True).log
    assert log is not None
    assert sorted(log.to_polars()["operation"].cast(str).to_list()) == sorted(op.name.lower() for op in wl.Op)
