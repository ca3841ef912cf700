"""Search for the best values of the varied keys of a study."""

from pathlib import Path
from typing import Any

import pytest

import wordline as wl

KEYS: dict[str, Any] = {
    "title": "Spare room",
    "preset": "tiny",
    "workload": {"name": "randwrite-4k-steady", "requests": 1_000},
    "vary": [
        {"key": "ftl.over_provisioning", "values": {"from": 0.2, "to": 0.6, "steps": 9}},
        {"key": "ftl.gc.victim.policy", "values": ["greedy", "fifo"]},
    ],
}


def test_the_best_of_one_column_is_found(tmp_path: Path) -> None:
    study, store = wl.Study(KEYS), tmp_path / "runs"
    found = study.search(minimise=["write_amplification"], trials=24, store=store)
    whole = wl.Study({**KEYS, "columns": ["write_amplification"]}).run(store=store)
    means = [row.columns["write_amplification"].mean for row in whole]
    best = min(mean for mean in means if mean is not None)
    assert found.front[0].values["write_amplification"] == best, "the grid has 18 combinations"
    assert len(found) == 24 and all(trial.state == "done" for trial in found)
    # The runs of a search are runs of the study, and none is repeated.
    assert len(list(store.glob("runs/*"))) == 18
    assert "24 trials: the best is shown (least write_amplification)" in str(found)


def test_a_front_has_what_no_other_beats(tmp_path: Path) -> None:
    study = wl.Study(KEYS)
    goals: dict[str, Any] = {"minimise": ["write_amplification"], "maximise": ["host.iops"], "trials": 12, "seeds": 2}
    found, again = (study.search(**goals, seed=3) for _ in range(2))
    values = [tuple(trial.values.values()) for trial in found]
    best = {pair for pair in values if not any(a <= pair[0] and b >= pair[1] and (a, b) != pair for a, b in values)}
    assert {tuple(trial.values.values()) for trial in found.front} == best
    assert found.trials == again.trials, "equal seeds give equal trials"
    figure = found.chart(width=wl.COLUMN)
    assert len(figure.spec["data"]["values"]) == 12 and figure.spec["width"] == wl.COLUMN
    figure.save(tmp_path / "front.svg")
    assert (tmp_path / "front.svg").read_text().count("host.iops") >= 1
    found.report(tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Made by wordline" in page and "trials=12" in page and "randwrite-4k-steady" in page, "how to repeat it"
    assert (tmp_path / "report" / "charts" / "front.vl.json").is_file()
    assert "Spare room" in page and page.split("<tbody>")[1].split("</tbody>")[0].count("<tr>") == 12


def test_what_does_not_hold_together_is_pruned() -> None:
    spare: dict[str, Any] = {"key": "ftl.over_provisioning", "values": [0.2, 0.4, 1.5]}
    found = wl.Study({**KEYS, "vary": [spare]}).search(minimise=["write_amplification"], trials=10)
    wrong = [trial for trial in found if trial.at["ftl.over_provisioning"] == 1.5]
    assert wrong and all(trial.state == "impossible" and "ftl.over_provisioning: found 1.5" in trial.error for trial in wrong)
    assert found.front[0].at == {"ftl.over_provisioning": 0.4}
    assert f"{len(wrong)} impossible" in str(found)


def test_runs_that_fail_are_no_best(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("this is no request\n")
    replayed = {"replayed": {"trace": "bad.csv"}}
    vary: list[Any] = [{"key": "ftl.over_provisioning", "values": [0.2, 0.4]}]
    study = wl.Study({"preset": "tiny", "workload": replayed, "vary": vary})
    found = study.search(maximise=["host.iops"], trials=2, traces=tmp_path)
    assert found.front == () and all(trial.state == "failed" and "bad.csv" in trial.error for trial in found)
    found.report(tmp_path / "report")


def test_a_sampler_and_a_study_of_optuna_are_used() -> None:
    optuna: Any = pytest.importorskip("optuna")
    study = wl.Study(KEYS)
    grid = optuna.samplers.GridSampler({"ftl.over_provisioning": [0, 8], "ftl.gc.victim.policy": [0, 1]}, seed=1)
    found = study.search(minimise=["write_amplification"], trials=100, at_once=1, sampler=grid)
    assert len(found) == 4, "the sampler stops when its grid is exhausted"
    assert {tuple(trial.at.values()) for trial in found} == {(0.2, "greedy"), (0.2, "fifo"), (0.6, "greedy"), (0.6, "fifo")}
    own = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=1))
    both: dict[str, Any] = {"minimise": ["write_amplification"], "maximise": ["host.iops"], "optuna_study": own}
    for trials in (3, 2):
        found = study.search(**both, trials=trials)
        assert [trial.user_attrs["at"] for trial in own.trials[-trials:]] == [dict(trial.at) for trial in found]
        assert [trial.values for trial in own.trials[-trials:]] == [list(trial.values.values()) for trial in found]
    assert len(own.trials) == 5
    with pytest.raises(wl.ConfigError, match="optuna_study: found the directions minimize, maximize, wanted minimize, for write_amplification"):
        study.search(minimise=["write_amplification"], trials=1, optuna_study=own)
    with pytest.raises(wl.ConfigError, match="optuna_study: found 3, wanted an optuna.Study"):
        study.search(minimise=["write_amplification"], trials=1, optuna_study=3)
    with pytest.raises(wl.ConfigError, match="sampler: found 3, wanted a sampler of Optuna"):
        study.search(minimise=["write_amplification"], trials=1, sampler=3)
    with pytest.raises(wl.ConfigError, match="sampler: found it together with optuna_study"):
        study.search(**both, trials=1, sampler=optuna.samplers.RandomSampler())


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ({}, "nothing to minimise or maximise"),
        ({"minimise": ["waf"]}, "columns"),
        ({"minimise": "write_amplification"}, "minimise: found 'write_amplification', wanted a list of columns"),
        ({"minimise": ["host.iops"], "maximise": ["host.iops"]}, "host.iops twice"),
        ({"minimise": ["host.iops"], "trials": 0}, "trials: found 0, wanted a whole number from 1 to 1000000"),
    ],
)
def test_what_is_wrong_with_a_search(goals: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"trials": 3, **goals}
    with pytest.raises(wl.ConfigError, match=told):
        wl.Study(KEYS).search(**given)
    with pytest.raises(wl.ConfigError, match="varies nothing"):
        wl.Study({**KEYS, "vary": []}).search(minimise=["host.iops"], trials=1)
