"""The study that tests of studies change."""

from typing import Any

KEYS: dict[str, Any] = {
    "preset": "tiny",
    "workload": {"name": "randwrite-4k-steady", "requests": 1_000},
    "vary": [
        {"key": "ftl.over_provisioning", "values": [0.2, 0.4]},
        {"key": "ftl.gc.victim.policy", "values": ["greedy", "fifo"]},
    ],
    "columns": ["write_amplification"],
}
