"""Tests every argument of every public call with invalid values of all kinds. Each must be rejected by name."""

# The tests pass values that the types forbid.
# pyright: basic

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wordline as typed

wl: Any = typed

SILLY: dict[str, Any] = {
    "None": None, "True": True, "object": object(), "class": dict, "function": len, "bytes": b"tiny", "complex": 1j, "nan": math.nan, "infinity": math.inf,
    "minus infinity": -math.inf, "negative": -1, "huge": 10**30, "fraction": 0.5, "huge fraction": 1e300, "empty text": "", "text": "no such thing",
    "nul": "a\0b", "surrogate": "\ud800", "long text": "x" * 100_000, "empty list": [], "list": [1], "empty dict": {}, "dict": {"a": 1}, "keys": {3: 4},
    "set": {1}, "nan of NumPy": np.float64("nan"), "array": np.zeros(3), "objects": np.array([None]), "range": range(3), "exception": ValueError("x"),
}  # fmt: skip
"""Values that almost every argument rejects."""

Call = Callable[[Any], object]


class Argument(NamedTuple):
    """An argument of a call: its name, or its other names in messages; how to call it with a value, and which of the
    invalid values it accepts.
    """

    of: str
    name: str
    call: Call
    takes: frozenset[str]


class Fewest(typed.Design, name="fewest"):
    share: float = 0.5
    most: int = 3
    mode: str = "a"
    is_on: bool = False
    sizes: list[int] = [1]
    rates: dict[str, float] = {"a": 1.0}
    weights: Any = np.zeros(3)

    def victim(self, view: typed.View, random: typed.Random) -> typed.Block:
        return view.fewest(1)[0]


LOAD = wl.Workload("randwrite-4k", requests=50)
OFTEN = wl.Workload("randwrite-4k-steady", requests=3_000)
KEYS: dict[str, Any] = {
    "preset": "tiny",
    "workload": {"name": "randwrite-4k", "requests": 50},
    "vary": [{"key": "ftl.over_provisioning", "values": [0.3, 0.4, 0.5]}],
    "columns": ["host.iops"],
}
MISSING = Path("no/such/folder")


class Made(NamedTuple):
    """Objects with methods, created once."""

    result: typed.Result
    comparison: typed.Comparison
    figure: typed.Figure
    study: typed.Study
    table: typed.StudyTable
    search: typed.Search
    log: typed.Log


@pytest.fixture(scope="module")
def made() -> Made:
    result = wl.run("tiny", LOAD, precondition="empty", log=True)
    assert result.log is not None
    comparison, study = wl.compare(result), wl.Study(KEYS)
    found = study.search(minimise=["host.iops"], trials=1)
    return Made(result, comparison, comparison.chart(comparison.charts[0]), study, study.run(), found, result.log)


def session() -> Any:
    return wl.Session("tiny", precondition="empty")


def run(**more: Any) -> object:
    return wl.run("tiny", LOAD, **{"precondition": "empty", **more})


def search(**more: Any) -> object:
    return wl.Study(KEYS).search(**{"minimise": ["host.iops"], "trials": 1, **more})


def asked(ask: Callable[[Any, Any], Any]) -> Call:
    """Calls a method on what a design gets in a run."""

    def call(value: Any) -> object:
        class Asking(typed.Design, name="asking"):
            def victim(self, view: typed.View, random: typed.Random) -> typed.Block:
                ask(view, random)(value)
                return view.fewest(1)[0]

        return wl.run("tiny", OFTEN, design=Asking())

    return call


def wearing(ask: Callable[[Any], Any]) -> Call:
    def call(value: Any) -> object:
        class Asking(typed.Design, name="asking"):
            def wear(self, row: typed.Wearing, random: typed.Random) -> typed.Block | None:
                ask(row)(value)
                return None

        return wl.run("tiny", OFTEN, design=Asking())

    return call


def of_class(**keys: Any) -> object:
    methods = {"looks_at": "victim", "streams": "stream", "gc_streams": "relocate", "idle_after": "idle", "in_flight": "admit", "name": "victim"}
    [(key, _)] = keys.items()
    return type("Made", (typed.Design,), {methods[key]: print, "__annotations__": {}}, **{"name": "made", **keys})


def arguments() -> list[Argument]:
    found: list[Argument] = []

    def one(of: str, name: str, call: Call, takes: str = "") -> None:
        found.append(Argument(of, name, call, frozenset(takes.split(", "))))

    def add(of: str, call: Callable[..., object], *names: str, takes: str = "") -> None:
        def by_name(name: str) -> Call:
            return lambda value: call(**{name: value})

        for name in names:
            one(of, name, by_name(name), takes)

    # Devices.
    one("Device", "device", wl.Device)
    # A fault inside a dict is reported by its key.
    one("Device", "settings", lambda value: wl.Device("tiny", value), "None, empty dict, dict")
    one("Device.of", "device", wl.Device.of)
    one("Device.get", "key", lambda value: wl.Device("tiny").get(value), "empty text, text, nul, surrogate, long text")
    one("Device.update", "settings", lambda value: wl.Device("tiny").update(value), "empty dict, dict")
    one("Table.__setitem__", "ftl", lambda value: wl.Device("tiny").__setitem__("ftl", value), "empty dict")
    one("Table.__setitem__", "layout.channels", lambda value: setattr(wl.Device("tiny").layout, "channels", value))
    # Workloads.
    one("Workload", "name or workload", lambda value: wl.run("tiny", wl.Workload(value, requests=5)), "None")
    one("Workload.of", "workload or name", lambda value: wl.run("tiny", wl.Workload.of(value)), "None")
    add("Workload", lambda **more: wl.Workload("randwrite-4k", **more), "requests", "queue_depth", "queues", "namespace", takes="None")
    add("Workload", lambda **more: wl.Workload("randwrite-4k", **more), "fit", "think_time", "bursts", takes="None")
    one("Workload", "time_scale or time scale", lambda value: wl.run("tiny", wl.Workload("randwrite-4k", requests=5, time_scale=value)), "None")
    one("Workload", "trace or no such thing", lambda value: wl.run("tiny", wl.Workload(trace=value, requests=5)), "None")
    add("Workload", lambda **more: wl.run("tiny", wl.Workload("centaur/usr_1", requests=5, **more)), "times_of", takes="None, text")
    add("Workload", lambda **more: wl.run("tiny", wl.Workload("centaur/usr_1", requests=5, **more)), "traces", takes="None, text")
    one("Workload", "format", lambda value: wl.Workload(trace="a.csv", format=value), "None")
    one("Workload", "trace_options", lambda value: wl.Workload(trace="a.csv", trace_options=value), "None, empty dict, dict")
    given: dict[str, Any] = {"times": 0, "ops": "read", "sectors": 0, "lengths": 8}
    add("Workload.given", lambda **more: wl.Workload.given(**{**given, **more}), *given, takes="range, list, empty list")
    add("Session.submit", lambda **more: session().submit(**{**given, **more}), *given, takes="range, list, empty list")
    one("Workload.given", "name", lambda value: wl.Workload.given(**given, name=value), "text, nul, long text")
    one("Workload.drawn", "source", wl.Workload.drawn, "class, function")
    # Runs.
    one("run", "device", lambda value: wl.run(value, LOAD), "None")
    one("run", "workload or name", lambda value: wl.run("tiny", value), "None")
    add("run", run, "seed")
    add("run", run, "log", takes="True, text")
    add("run", run, "design", takes="None")
    add("run", run, "precondition", takes="None, fraction")
    add("run", run, "warm_up", takes="None, list of numbers")
    add("run", run, "until", "cut_power_after", "cut_power_at", takes="None")
    add("run", run, "from_snapshot", takes="None, text")
    add("run", run, "save_snapshot", takes="None, text")
    add("run", run, "handle", takes="None")
    add("run", run, "observe", takes="None, class, function")
    add("run", lambda **more: run(observe=len, **more), "batch")
    one("load", "source or no such thing", wl.load)
    # Sessions.
    one("Session", "device", wl.Session, "None")
    one("Session", "workload or name", lambda value: wl.Session("tiny", value), "None")
    add("Session", lambda **more: wl.Session("tiny", **{"precondition": "empty", **more}), "seed")
    add("Session", lambda **more: wl.Session("tiny", **{"precondition": "empty", **more}), "pace", takes="None, empty dict")
    one("Session.advance", "until", lambda value: session().advance(value), "None")
    add("Session.advance", lambda **more: session().advance(**more), "completions", takes="None")
    add("Session.advance", lambda **more: session().advance(**more), "taken", takes="True")
    one("Session.save", "path", lambda value: session().save(value), "text")
    # Studies.
    one("Study", "study or no such thing or a: found an unknown key", wl.Study)
    one("Study", "design", lambda value: wl.Study(KEYS, design=value), "None")
    add("Study.plan", lambda **more: wl.Study(KEYS).plan(**more), "store", takes="None, text")
    add("Study.plan", lambda **more: wl.Study(KEYS).plan(**more), "seeds", takes="None")
    add("Study.plan", lambda **more: wl.Study(KEYS).plan(**more), "traces", takes="None, text")
    one("Study.run", "client", lambda value: wl.Study(KEYS).run(value), "None")
    add("Study.run", lambda **more: wl.Study(KEYS).run(**more), "store", takes="None, text")
    add("Study.run", lambda **more: wl.Study(KEYS).run(**more), "traces", takes="None, text")
    add("Study.run", lambda **more: wl.Study(KEYS).run(**more), "seeds", "threads", takes="None")
    add("Study.run", lambda **more: wl.Study(KEYS).run(**more), "again", takes="True")
    add("Study.run", lambda **more: wl.Study(KEYS).run(**more), "handle", takes="None")
    add("Study.missing", lambda **more: wl.Study(KEYS).missing(**more), "store", "traces", takes="None, text")
    add("Study.missing", lambda **more: wl.Study(KEYS).missing(**more), "seeds", "shard", takes="None")
    task = wl.Study(KEYS).missing()[0]
    one("carry_out", "task", wl.carry_out)
    add("carry_out", lambda **more: wl.carry_out(task, **more), "traces", takes="None, text")
    add("carry_out", lambda **more: wl.carry_out(task, **more), "handle", takes="None")
    one("Store", "store", wl.Store, "text")
    one("Store.add", "result", lambda value: wl.Store("runs").add(value))
    one("Store.merge", "other or store", lambda value: wl.Store("runs").merge(value))
    add("Study.search", search, "sampler", "optuna_study", takes="None")
    one("Study.search", "client", lambda value: wl.Study(KEYS).search(value, minimise=["host.iops"], trials=1), "None")
    add("Study.search", search, "minimise", "trials", "at_once", "seed")
    add("Study.search", search, "maximise", takes="empty list, empty text")
    add("Study.search", search, "seeds", "threads", takes="None")
    add("Study.search", search, "store", "traces", takes="None, text")
    # Designs.
    one("contract", "design", wl.contract)
    one("counter", "meaning", wl.counter, "text, nul, long text")
    one("counter", "unit", lambda value: wl.counter("calls", unit=value))
    add("Design.__init_subclass__", of_class, "looks_at", "streams", "gc_streams", "idle_after", "in_flight")
    add("Design.__init_subclass__", of_class, "name", takes="None")
    own = {"share": "fraction, negative, infinity, minus infinity, huge fraction, huge", "most": "negative, huge", "mode": "empty text, text, nul, surrogate, long text", "is_on": "True"}
    own |= {"sizes": "empty list, list", "rates": "empty dict, dict, keys", "weights": "array"}
    for key, takes in own.items():
        add("Design", Fewest, key, takes=takes)
    one("View.oldest", "count", asked(lambda view, random: view.oldest))
    one("View.fewest", "count", asked(lambda view, random: view.fewest))
    one("Random.below", "bound", asked(lambda view, random: random.below))
    one("Wearing.oldest", "count", wearing(lambda row: row.oldest))
    one("Wearing.least_erased", "count", wearing(lambda row: row.least_erased))
    one("Wearing.block", "number", wearing(lambda row: row.block))
    one("compare", "results", wl.compare)
    return found


OF_MADE: list[tuple[str, str, Callable[[Made, Any], object], str]] = [
    ("Result.table", "columns", lambda made, value: made.result.table(value), ""),
    ("Result.chart", "chart", lambda made, value: made.result.chart(value), ""),
    ("Result.chart", "width", lambda made, value: made.result.chart(made.comparison.charts[0], width=value), "None"),
    ("Result.chart", "height", lambda made, value: made.result.chart(made.comparison.charts[0], height=value), "None"),
    ("Result.report", "folder", lambda made, value: made.result.report(value), "text"),
    ("Comparison.table", "columns", lambda made, value: made.comparison.table(value), ""),
    ("Comparison.chart", "chart", lambda made, value: made.comparison.chart(value), ""),
    ("Comparison.chart", "width", lambda made, value: made.comparison.chart(made.comparison.charts[0], width=value), "None"),
    ("Comparison.chart", "height", lambda made, value: made.comparison.chart(made.comparison.charts[0], height=value), "None"),
    ("Comparison.save_charts", "folder", lambda made, value: made.comparison.save_charts(value, "json"), "text"),
    ("Comparison.save_charts", "kind", lambda made, value: made.comparison.save_charts(MISSING, value), ""),
    ("Comparison.save_charts", "width", lambda made, value: made.comparison.save_charts("charts", "json", width=value), "None"),
    ("Comparison.save_charts", "height", lambda made, value: made.comparison.save_charts("charts", "json", height=value), "None"),
    ("Comparison.report", "folder", lambda made, value: made.comparison.report(value), "text"),
    ("Figure.save", "path", lambda made, value: made.figure.save(value), ""),
    ("Figure.save", "scale", lambda made, value: made.figure.save("chart.json", scale=value), "fraction"),
    ("Figure.save", "ppi", lambda made, value: made.figure.save("chart.json", ppi=value), ""),
    ("StudyTable.table", "columns", lambda made, value: made.table.table(value), ""),
    ("StudyTable.write_runs", "path or file of runs", lambda made, value: made.table.write_runs(value), ""),
    ("Search.chart", "width", lambda made, value: made.search.chart(width=value), "None"),
    ("Search.chart", "height", lambda made, value: made.search.chart(height=value), "None"),
    ("Search.report", "folder", lambda made, value: made.search.report(value), "text"),
]


def fault(call: Call, name: str, kind: str) -> str | None:
    """What is wrong with the rejection of an invalid value: it must be one message of the package, of limited length,
    that names the argument.
    """
    try:
        call(SILLY[kind])
    except typed.Fault as refused:
        return f"{kind}: a fault: {refused}"[:200]
    except (typed.Error, TypeError, ValueError) as refused:
        text = str(refused)
        is_fine = any(part in text for part in name.split(" or ")) and "attribute" not in text and "panic" not in text and len(text) < 1_500
        return None if is_fine else f"{kind}: {type(refused).__name__}: {len(text)}: {text}"[:200]
    except BaseException as refused:
        return f"{kind}: {type(refused).__name__}: {refused}"[:200]
    return f"{kind}: taken"


@pytest.mark.parametrize("argument", arguments(), ids=lambda argument: f"{argument.of}-{argument.name}")
def test_a_wrong_value_is_refused_by_the_name_of_the_argument(argument: Argument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    faults = [fault(argument.call, argument.name, kind) for kind in SILLY if kind not in argument.takes]
    assert [text for text in faults if text] == []


@pytest.mark.parametrize(("of", "name", "call", "takes"), OF_MADE, ids=[f"{of}-{name}" for of, name, _, _ in OF_MADE])
def test_methods_of_results_refuse_them_too(
    made: Made, of: str, name: str, call: Callable[[Made, Any], object], takes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    faults = [fault(lambda value: call(made, value), name, kind) for kind in SILLY if kind not in takes.split(", ")]
    assert [text for text in faults if text] == []


WITHOUT = {
    "Device.copy", "Device.explain", "Session.completions", "Session.cut_power", "Session.finish", "Session.report_zones", "Session.result", "Result.json", "Handle", "Handle.cancel",
    "Search.table", "Table.items", "Table.keys", "Table.to_dict", "Random.random", "presets", "workloads",
}  # fmt: skip
"""Calls without arguments."""

ASYNC = {"run_async": "run", "Session.advance_async": "Session.advance", "Study.run_async": "Study.run"}
"""Calls whose arguments are checked by the same function as those of other calls."""

MADE_HERE = {
    "Arriving", "Block", "Cell", "Comparison", "Failure", "Figure", "Finding", "Log", "Moved", "Op", "Plan", "Progress", "Random", "Resting", "Result", "Row", "Runs", "Search",
    "Standing", "StudyTable", "Table", "Tables", "Task", "TaskResult", "Trial", "View", "Wearing", "Written", "Cancelled", "ConfigError", "ContractError", "DesignError", "Error",
    "Fault", "Interrupted", "TraceError", "Zone",
}  # fmt: skip
"""Classes whose objects are only created by the package."""


def test_every_public_call_is_in_the_table() -> None:
    listed = {(one.of, one.name) for one in arguments()} | {(of, name) for of, name, _, _ in OF_MADE}
    calls = {of for of, _ in listed}
    found: set[str] = set()
    for name in wl.__all__:
        value: Any = getattr(wl, name)
        if name in ("Counter", "Described", "Pace", "Start", "Value"):
            continue  # types of arguments
        if inspect.isclass(value):
            found |= set() if name in MADE_HERE else {name}
            methods = {key for key, one in vars(value).items() if not key.startswith("_") and (callable(one) or isinstance(one, classmethod))}
            found |= set() if issubclass(value, BaseException | tuple | int) else {f"{name}.{key}" for key in methods - {"of", "native"}}
        elif callable(value) and not name.isupper() and getattr(value, "__module__", "").startswith("wordline"):
            found.add(name)
    missing = found - calls - WITHOUT - set(ASYNC)
    assert not missing, sorted(missing)
    assert set(ASYNC.values()) <= calls
    # Every parameter must have a test of its name.
    parameters_of: dict[str, set[str]] = {"Workload": set(wl.Pace.__annotations__), "run": set(wl.Start.__annotations__)}
    for of, function in (("run", wl.run), ("Workload", wl.Workload), ("Study.run", wl.Study.run), ("Study.search", wl.Study.search), ("Session.advance", wl.Session.advance)):
        parameters_of.setdefault(of, set()).update(set(inspect.signature(function).parameters) - {"self", "start", "pace"})
    for of, parameters in parameters_of.items():
        named = {part for one, name in listed if one == of for part in name.split(" or ")}
        assert parameters <= named, (of, parameters - named)


def test_pairs_of_arguments_that_do_not_go_together() -> None:
    with pytest.raises(typed.ConfigError, match="pace: found it together with a workload"):
        wl.Session("tiny", LOAD, pace={"queue_depth": 3})
    with pytest.raises(typed.ConfigError, match="compare: found no result, wanted one or more"):
        wl.compare()
    with pytest.raises(typed.ConfigError, match=r"results\[0\]: found 'tiny', wanted the result of a run"):
        wl.compare("tiny")


def test_scalars_of_numpy_are_numbers() -> None:
    device = wl.Device("tiny", {"ftl.over_provisioning": np.float64(0.3), "layout.channels": np.int32(1)})
    assert device.ftl.over_provisioning == 0.3
    result = wl.run("tiny", wl.Workload("randwrite-4k", requests=np.int64(50)), seed=np.uint8(3), precondition="empty")
    assert result.seed == 3 and result.table(np.int64(80))
    dev = wl.Session("tiny", precondition="empty", seed=np.int64(1))
    assert dev.advance(np.int64(5)) is True and dev.now_ps == 5
    result = wl.run("tiny", LOAD, precondition=np.float32(0.5), warm_up=np.int64(10))
    assert result.warm_up is not None and result.warm_up.requests == 10
    assert [repr(Fewest(share=share, is_on=np.bool_(True), most=np.int8(2))) for share in np.linspace(0, 1, 2)] == [
        repr(Fewest(share=share, is_on=True, most=2)) for share in (0.0, 1.0)
    ]
    study = wl.Study(KEYS)
    assert len(study.search(minimise=["host.iops"], trials=np.int64(2), at_once=np.int64(1), seed=np.uint8(2), seeds=np.int64(1)).trials) == 2
    polars = pytest.importorskip("polars")
    varied = wl.Study({**KEYS, "vary": [{"key": "ftl.over_provisioning", "values": polars.Series([0.3, 0.4])}]})
    assert varied.plan().runs == 2
    with pytest.raises(typed.ConfigError, match="values: found shape: "):
        wl.Study({**KEYS, "vary": [{"key": "ftl.over_provisioning", "values": polars.DataFrame({"a": [0.3, 0.4]})}]})


def test_no_requests_are_none_and_names_of_operations_may_be_a_column_of_a_log() -> None:
    assert wl.Session("tiny").submit([], "read", [], 8) == 0
    wl.Workload.given([], "read", [], 8)
    log: Any = wl.run("tiny", OFTEN, log=True, warm_up="none").log
    for rows in (log.to_polars(), log.to_arrow()):
        columns = [rows[name] for name in ("submitted_ps", "operation", "sector", "sectors")]
        assert wl.run("tiny", wl.Workload.given(*columns), precondition="empty").host.requests == 3_000
    with pytest.raises(typed.ConfigError, match="ops: found 'raed', wanted one of read, write"):
        wl.Workload.given(0, np.array(["read", "raed"], dtype=object), 0, 8)
