"""Tests that the result of a session does not depend on its steps."""

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordline as wl

US = 1_000_000  # picoseconds


def requests(count: int) -> dict[str, Any]:
    """Random reads and writes of 4 KiB, ten microseconds apart."""
    random = np.random.default_rng(1)
    return {
        "times": np.arange(count) * 10 * US,
        "ops": random.integers(0, 2, count),
        "sectors": random.integers(0, 1_000, count) * 8,
        "lengths": 8,
    }


def test_steps_give_the_digest_and_the_completions_of_a_run() -> None:
    columns = requests(500)
    whole = wl.run("tiny", wl.Workload.given(**columns), seed=3, precondition="filled", log=True)
    assert whole.log is not None
    dev = wl.Session("tiny", seed=3, precondition="filled")
    taken: list[Any] = []
    for begin in range(0, 500, 100):
        part = {name: column if np.ndim(column) == 0 else column[begin : begin + 100] for name, column in columns.items()}
        assert dev.submit(**part) == begin
        dev.advance(int(part["times"][-1]))
        taken.append(dev.completions())
    assert dev.advance() is True and dev.advance() is True, "all have completed"
    completions = np.concatenate([*taken, dev.completions()])
    result = dev.finish()
    assert (result.digest, result.host.requests) == (whole.digest, 500)
    rows = whole.log.to_arrow()
    assert completions["latency_ps"].tolist() == rows["latency_ps"].to_pylist()
    assert (completions["time_ps"] - completions["latency_ps"]).tolist() == rows["submitted_ps"].to_pylist()
    assert [wl.Op(op).name.lower() for op in completions["operation"]] == rows["operation"].to_pylist()
    assert completions["sector"].tolist() == rows["sector"].to_pylist() and not completions["failed"].any()
    assert sorted(completions["number"].tolist()) == list(range(500))


def test_one_request_at_a_time_is_one_of_a_column() -> None:
    dev = wl.Session("tiny", precondition="filled")
    assert [dev.submit(n * US, wl.Op.READ, 8 * n, 8) for n in range(3)] == [0, 1, 2]
    assert dev.submit(5 * US, "write", 0, 16) == 3
    assert dev.advance(completions=2) is True and len(dev.completions()) == 2
    assert dev.advance(10**12, completions=1) is True
    standing = dev.standing
    assert (standing.completed, standing.waiting + standing.outstanding) == (3, 1) and standing.now_ps == dev.now_ps
    assert dev.result().outcome == "interrupted"
    assert dev.advance(taken=True) is True
    assert dev.advance(2 * 10**12) is True and dev.now_ps == 2 * 10**12
    assert dev.finish().host.requests == 4


def test_a_session_can_draw_its_own_requests() -> None:
    load = wl.Workload("mixed-70-30", requests=1_000)
    dev = wl.Session("tiny", load, seed=1)
    while dev.advance(completions=100):
        assert len(dev.completions()) >= 1
    assert dev.finish().digest == wl.run("tiny", load, seed=1, warm_up="none").digest, "a session is measured from its start"


def test_a_device_is_saved_and_survives_a_power_cut(tmp_path: Path) -> None:
    dev = wl.Session("tiny", precondition="filled")
    dev.submit([0, US], "write", [0, 64], 8)
    dev.advance(2 * US)
    dev.cut_power()
    dev.advance()
    assert len(dev.result().power_cuts) == 1
    dev.save(tmp_path / "tiny.snap")
    again = wl.run("tiny", wl.Workload("randread-4k", requests=10), warm_up="none", from_snapshot=tmp_path / "tiny.snap")
    assert again.host.reads == 10


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"times": -1}, "times: found -1, wanted a whole number from 0 to"),
        ({"times": [0.5, 1]}, "times: found an array of float64 in 1 dimensions, wanted whole numbers in one dimension"),
        ({"times": [[0], [1]]}, "times: found an array of int64 in 2 dimensions"),
        ({"times": [0, 1, 2], "sectors": [0, 8]}, "the columns: found 3 times, 1 ops, 2 sectors, 1 lengths, wanted arrays of one length"),
        ({"ops": 11}, "ops: found 11, wanted a whole number from 0 to 10"),
        ({"ops": "raed"}, "ops: found 'raed', wanted one of read, write"),
        ({"ops": ["read", "flsh"], "times": [0, 1]}, "ops: found 'flsh', wanted one of"),
        ({"ops": None}, "ops: found None, wanted whole numbers"),
        ({"sectors": 2**40}, "found bytes 562949953421312 to 562949953425408, wanted an address within the device's"),
        ({"sectors": 2**63}, "sectors: found 9223372036854775808, wanted a whole number from 0 to"),
        ({"sectors": 2**70}, "sectors: found 1180591620717411303424, wanted whole numbers"),
        ({"lengths": -8}, "lengths: found -8, wanted a whole number from 0 to"),
        ({"times": [5, 1]}, "wanted"),
    ],
)
def test_requests_that_cannot_be(columns: dict[str, Any], sentence: str) -> None:
    dev = wl.Session("tiny", precondition="empty")
    with pytest.raises(wl.ConfigError) as refused:
        dev.submit(**{"times": 0, "ops": "read", "sectors": 0, "lengths": 8, **columns})
    assert sentence in str(refused.value), str(refused.value)
    dev.submit(US, "read", 0, 8)
    assert dev.advance() is True and dev.finish().host.reads >= 1, "the session goes on"


def test_a_refused_request_says_how_many_went_before() -> None:
    dev = wl.Session("tiny", precondition="empty")
    with pytest.raises(wl.ConfigError) as refused:
        dev.submit([0, 1, 2], "read", [0, 8, 2**40], 8)
    assert refused.value.__notes__ == ["2 requests before it were submitted"]
    assert dev.standing.waiting == 2


@pytest.mark.parametrize("end", [{"until": 1, "taken": True}, {"completions": 2, "until": 5}, {"completions": 1, "taken": True}])
def test_two_ends_are_one_too_many(end: dict[str, Any]) -> None:
    with pytest.raises(wl.ConfigError, match="more than one end"):
        wl.Session("tiny", precondition="empty").advance(**end)


def test_time_does_not_go_back_and_a_session_ends_once() -> None:
    dev = wl.Session("tiny", precondition="empty")
    dev.advance(10 * US)
    with pytest.raises(wl.ConfigError, match="the time to go on to: found"):
        dev.advance(5 * US)
    dev.finish()
    with pytest.raises(wl.ConfigError, match="the session: found a call after its end, wanted a new session"):
        dev.advance()


def test_a_second_thread_is_refused_while_a_session_goes_on() -> None:
    dev = wl.Session("tiny", wl.Workload("randwrite-4k-steady", requests=200_000))
    thread = threading.Thread(target=dev.advance)
    thread.start()
    refusals = 0
    while thread.is_alive():
        try:
            dev.standing
        except wl.ConfigError as refused:
            assert "one call at a time" in str(refused)
            refusals += 1
    thread.join()
    assert refusals > 0 and dev.standing.completed == 200_000


def test_sessions_are_independent_and_go_away() -> None:
    sessions = [wl.Session("tiny", seed=seed, precondition="filled") for seed in range(4)]
    for n, dev in enumerate(sessions):
        dev.submit(0, "read", 8 * n, 8)
    digests = {dev.finish().digest for dev in sessions}
    assert len(digests) == 4
    del sessions
    gc.collect()


def test_a_report_of_zones_has_their_states_and_write_pointers() -> None:
    dev = wl.Session("zns-tlc-raw")
    first, second = dev.report_zones()[:2]
    assert first == wl.Zone(start=0, capacity=1077 * 2048, write_pointer=0, state="empty")
    assert second.start == 2 * 1024 * 2048
    dev.submit(0, "zone_append", second.start, 128)
    dev.advance()
    assert dev.report_zones()[1] == second._replace(write_pointer=second.start + 128, state="implicitly_open")
    dev.submit(dev.now_ps, "zone_append", [second.start, second.start], 64)
    dev.advance()
    written = [(answer["sector"].item() - second.start, answer["sectors"].item()) for answer in dev.completions()]
    assert written == [(0, 128), (128, 64), (192, 64)], "an append tells where its data went"
    dev.submit(dev.now_ps, "zone_finish", second.start, 0)
    dev.advance()
    assert dev.report_zones()[1] == second._replace(write_pointer=None, state="full")
    with pytest.raises(wl.ConfigError, match="a device without zones, tiny"):
        wl.Session("tiny").report_zones()
