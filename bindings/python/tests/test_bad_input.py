"""Tests that bad input gives one error of the package, with the value found and the value wanted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordline as wl

TINY = {"preset": "tiny"}

DEVICES: list[tuple[Any, str]] = [
    ("nvme-tcl", "nvme-tlc, or another of"),
    ("", "device: found '', wanted the name of a preset, or the path of a file that ends in .toml"),
    ("no/such.toml", "cannot read: No such file"),
    (Path("no/such.toml"), "cannot read: No such file"),
    ({}, "wanted a table or a name for"),
    ({"preset": "tinny"}, "tiny, or another of"),
    ({"preset": 3}, "preset: found 3, wanted text in quotes"),
    ({**TINY, "ftl": {"over_provisioning": 1.5}}, "tiny: ftl.over_provisioning: found 1.5, wanted a fraction from 0 to below 1"),
    ({**TINY, "ftl": {"over_provisoning": 0.5}}, "found an unknown key, wanted over_provisioning, or another of"),
    ({**TINY, "ftl": 7}, "ftl: found 7, wanted a table of settings"),
    ({**TINY, "ftl": {"gc": {"victim": {"policy": "gredy"}}}}, "greedy, or another of"),
    ({**TINY, "ftl": {"gc": {"victim": "greedy"}}}, "wanted a table: { policy = \"greedy\" }"),
    ({**TINY, "device": "sdd"}, "ssd, or another of"),
    ({**TINY, "designs": ["cubftl"]}, "cubeftl, or another of"),
    ({**TINY, 3: 4}, "found 3, wanted keys that are text"),
]

SETTINGS: list[tuple[str, Any, str]] = [
    ("ftl.over_provisioning", 1.5, "--set ftl.over_provisioning: found 1.5, wanted a fraction from 0 to below 1"),
    ("ftl.over_provisioning", "much", 'found "much", wanted a number'),
    ("ftl.over_provisioning", None, "ftl.over_provisioning: found None, wanted text, a number, True or False, a list or a dict"),
    ("ftl.over_provisioning", {1, 2}, "ftl.over_provisioning: found {1, 2}, wanted text"),
    ("ftl.over_provisioning", float("nan"), "ftl.over_provisioning: found NaN"),
    ("ftl.over_provisoning", 0.5, "over_provisioning, or another of"),
    ("ftl..gc", 1, "--set ftl..gc: found not a key, wanted a key such as"),
    ("ftl=1", 1, "--set ftl=1: found not a key, wanted a key such as ftl.over_provisioning"),
    ("layout.channels", 0, "layout.channels: found 0"),
    ("layout.channels", -1, "layout.channels: found -1, wanted a whole number from 0"),
    ("layout.channels", 2**70, f"layout.channels: found {2**70}, wanted a whole number of 64 bits"),
    ("layout.channels", True, "layout.channels: found true, wanted a whole number"),
    ("buffer.size", "16 parsecs", 'buffer.size: found "16 parsecs", wanted'),
    ("buffer.size", [1], "buffer.size: found"),
    ("part", "tlc-512", '--set part: found "tlc-512", wanted a part: tlc-512g, or another of'),
    ("name", "mine", "--set name: found a key of files"),
]

WORKLOADS: list[tuple[dict[str, Any], str]] = [
    ({"name": "randred-4k"}, "randread-4k, or another of"),
    ({"name": "no/such.toml"}, "No such file"),
    ({"name": 5}, "name: found 5, wanted text in quotes"),
    ({"name": "randread-4k", "trace": "a.csv"}, "workload: found a name and a trace, wanted one of them"),
    ({"name": "randread-4k", "format": "csv"}, "found it with randread-4k, wanted trace=FILE as well"),
    ({"name": "randread-4k", "requests": 0}, "requests: found 0, wanted a whole number from 1 to"),
    ({"name": "randread-4k", "requests": "many"}, "requests: found 'many', wanted a whole number from 1 to"),
    ({"name": "randread-4k", "requests": 1.5}, "requests: found 1.5, wanted a whole number from 1 to"),
    ({"name": "randread-4k", "queue_depth": True}, "queue_depth: found True, wanted a whole number from 1 to 4294967295"),
    ({"name": "randread-4k", "queues": 70_000}, "queues: found 70000, wanted a whole number from 1 to 65535"),
    ({"name": "randread-4k", "queues": 500}, "queues: found 500, wanted 1: the device's interface has one submission queue"),
    ({"name": "randread-4k", "namespace": 9}, "namespace: found 9, wanted 1: the device has one namespace"),
    ({"name": "randread-4k", "think_time": "soon"}, "think_time: found 'soon', wanted"),
    ({"name": "randread-4k", "fit": "squeeze"}, "fit: found 'squeeze', wanted one of"),
    ({"name": "randread-4k", "time_scale": float("inf")}, "time_scale: found inf, wanted a number"),
    ({"name": "randread-4k", "time_scale": 2.0}, "time scale: found 2, wanted none: in a closed loop"),
    ({"trace": "no-such.csv"}, "no-such.csv: cannot open: No such file"),
    ({"trace": "a.csv", "format": "cvs"}, "trace option format: found"),
    ({"trace": "a.csv", "trace_options": {"tme_unit": "us"}}, "trace option tme_unit"),
]

RUNS: list[tuple[dict[str, Any], str]] = [
    ({"seed": -1}, "seed: found -1, wanted a whole number from 0 to 18446744073709551615"),
    ({"seed": "one"}, "seed: found 'one', wanted a whole number from 0 to"),
    ({"precondition": "full"}, "precondition: found 'full', wanted empty, filled, steady-state"),
    ({"cut_power_after": 0}, "cut_power_after: found 0, wanted a whole number from 1 to"),
    ({"cut_power_at": "late"}, "cut_power_at: found 'late', wanted"),
    ({"from_snapshot": "no.snap"}, "no.snap: cannot"),
    ({"log": "/dev/null/log.parquet"}, "/dev/null/log.parquet: cannot"),
]


def refused(call: Callable[[], object], sentence: str) -> wl.Error:
    with pytest.raises(wl.Error) as error:
        call()
    assert sentence in str(error.value), str(error.value)
    assert not isinstance(error.value, wl.Fault)
    return error.value


@pytest.mark.parametrize(("described", "sentence"), DEVICES)
def test_a_device_that_is_none(described: Any, sentence: str) -> None:
    assert isinstance(refused(lambda: wl.Device(described), sentence), wl.ConfigError)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ftl.over_provisioning", 1.5),
        ("ftl.over_provisioning", "much"),
        ("ftl.over_provisoning", 0.5),
        ("ftl.gc.victim", {"policy": "gredy"}),
        ("ftl.gc.victim", "greedy"),
        ("ftl.gc.start_below_free_blocks", -1),
        ("layout.channels", 0),
        ("layout.channels", True),
        ("buffer.size", "16 parsecs"),
        ("front.interface", "nvmee"),
        ("front.queue_depth", 0),
        ("part.endurance", 2**40),
    ],
)
def test_the_sentence_is_the_same_wherever_a_setting_is_written(key: str, value: Any, tmp_path: Path) -> None:
    nested: Any = value
    for part in reversed(key.split(".")):
        nested = {part: nested}
    shown = str(value).lower() if isinstance(value, bool) else repr(value).replace("{'policy': ", "{policy = ")
    file = tmp_path / "drive.toml"
    file.write_text(f'preset = "tiny"\n{key} = {shown}\n')
    ways: list[Callable[[], object]] = [
        lambda: wl.Device("tiny", {key: value}),
        lambda: wl.Device({"preset": "tiny", **nested}),
        lambda: wl.Device(file),
    ]
    sentences = [[finding[2:] for finding in refused(way, "found").findings] for way in ways]
    assert sentences[0] == sentences[1] == sentences[2] and sentences[0]


@pytest.mark.parametrize(("key", "value", "sentence"), SETTINGS)
def test_a_setting_that_does_not_fit(key: str, value: Any, sentence: str) -> None:
    error = refused(lambda: wl.Device("tiny", {key: value}), sentence)
    assert isinstance(error, wl.ConfigError) and error.findings


@pytest.mark.parametrize(("workload", "sentence"), WORKLOADS)
def test_a_workload_that_is_none(workload: dict[str, Any], sentence: str) -> None:
    refused(lambda: wl.run("tiny", wl.Workload(**workload)), sentence)


@pytest.mark.parametrize(("settings", "sentence"), RUNS)
def test_a_run_that_cannot_be(settings: dict[str, Any], sentence: str) -> None:
    refused(lambda: wl.run("tiny", wl.Workload("randread-4k", requests=10), **settings), sentence)


def test_a_line_of_a_trace_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "bad.csv"
    trace.write_text("0,read,0,4096\n1,read,zero,4096\n")
    error = refused(lambda: wl.run("tiny", wl.Workload(trace=trace)), "bad.csv")
    assert isinstance(error, wl.TraceError)


def test_a_file_says_where_the_slip_is(tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    file.write_text('preset = "tiny"\n[ftl]\nover_provisioning = 1.5\n')
    error = refused(lambda: wl.Device(file), f"{file}:3: ftl.over_provisioning: found 1.5")
    assert [(finding.line, finding.key) for finding in error.findings] == [(3, "ftl.over_provisioning")]


def test_a_slip_of_toml_has_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "slip.toml"
    file.write_text('preset = "tiny\nftl = { gc = 3 }\n')
    errors = [refused(lambda: wl.Device(file), "slip.toml:"), refused(lambda: wl.Study(file), "slip.toml:")]
    for error in errors:
        (finding,) = error.findings
        assert finding.file == str(file) and finding.line == 1 and not finding.key and ": :" not in str(error), error


@pytest.mark.parametrize("name", ["none.toml", "none.fio"])
def test_a_missing_workload_file_is_an_error_of_the_configuration(name: str) -> None:
    assert isinstance(refused(lambda: wl.run("tiny", name), f"{name}: cannot read"), wl.ConfigError)


def test_an_unknown_argument_is_a_slip_of_python() -> None:
    with pytest.raises(TypeError, match="request"):
        wl.Workload("randread-4k", request=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="sed"):
        wl.run("tiny", "randread-4k", sed=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="there are seed, log, design, handle, observe, batch, cut_power_after"):
        wl.run("tiny", "randread-4k", sed=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="there are seed, pace, cut_power_after"):
        wl.Session("tiny", log=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
