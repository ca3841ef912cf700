"""Tests records, which JSON is read into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from wordline._record import NO_FLASH, items_of, read


@dataclass(frozen=True)
class Part:
    name: str
    share: float | None = None


@dataclass(frozen=True)
class Whole:
    kind: Literal["a", "b"]
    first: Part
    points: tuple[tuple[float, float], ...]
    parts: tuple[Part, ...] = ()
    last: Part | None = None
    flash: Part = NO_FLASH


def test_json_has_the_types_of_the_fields() -> None:
    part = {"name": "x", "share": 0.5}
    values: dict[str, Any] = {"kind": "a", "first": part, "points": [[1, 2.5]], "parts": [part], "last": part, "flash": part, "new": 1}
    made = Part("x", 0.5)
    assert read(Whole, values) == Whole("a", made, ((1, 2.5),), (made,), made, made)
    assert items_of(Whole, "parts") is Part


def test_fields_that_are_left_out_or_null_have_their_defaults() -> None:
    values: dict[str, Any] = {"kind": "b", "first": {"name": "x", "share": None}, "points": [], "last": None}
    assert read(Whole, values) == Whole("b", Part("x"), (), (), None, NO_FLASH)
    with pytest.raises(TypeError, match="first"):
        read(Whole, {"kind": "b", "points": []})
