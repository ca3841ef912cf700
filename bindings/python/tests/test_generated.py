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

    # One request of each kind, on a device that has it; the log names its kind.
    of_zones = [op for op in wl.Op if op.name.startswith("ZONE")]
    others = [op for op in wl.Op if op not in of_zones]
    for preset, ops in (("tiny", others), ("zns-tlc-raw", of_zones)):
        sizes = [8 if op in {wl.Op.ZONE_APPEND, *others} - {wl.Op.FLUSH} else 0 for op in ops]
        kinds: Any = ops
        log = wl.run(preset, wl.Workload.given(0, kinds, 0, sizes), precondition="empty" if ops == of_zones else "filled", log=True).log
        assert log is not None
        assert sorted(log.to_polars()["operation"].cast(str).to_list()) == sorted(op.name.lower() for op in ops)
