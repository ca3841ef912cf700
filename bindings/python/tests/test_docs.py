"""The programs of the documents work as they are written."""

import re
from pathlib import Path

import pytest

import wordline as wl

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_programs_of_a_page_work(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert programs and "wl.COLUMN" in programs[0]
    monkeypatch.chdir(tmp_path)
    for program in programs:
        # A million requests, three times, are for those who have a second.
        exec(compile(program.replace("1_000_000)  ", "5_000)").replace("=1_000_000)", "=5_000)"), page, "exec"), {"wl": wl})
    assert (tmp_path / "tail.pdf").read_bytes().startswith(b"%PDF")
