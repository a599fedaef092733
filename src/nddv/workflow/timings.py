"""Run times: what is timed for each table, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nddv.methods.registry import get_method

TIMING = "{method}/n{n}/d{features}/{valid}"
OPTIONS = ("repeats", "repeat_below", "seed", "threads")


@dataclass(frozen=True)
class Timings:
    """The part ``timings`` of a configuration."""

    config: Mapping[str, Any]

    def files(self, table: str) -> list[str]:
        """The files that a table or figure of run times is made of."""
        grids = self.config["tables"][table]
        addresses = dict.fromkeys(address for grid in grids for address in _addresses(grid))
        return [f"results/timings/{address}.csv" for address in addresses]

    @cached_property
    def _timeouts(self) -> dict[str, float]:
        """Seconds that each timing may take: where tables share one, the longer time-out."""
        timeouts: dict[str, float] = {}
        for grid in (grid for grids in self.config["tables"].values() for grid in grids):
            timeout = grid.get("timeout", self.config["timeout"])
            for address in _addresses(grid):
                timeouts[address] = max(timeout, timeouts.get(address, 0))
        return timeouts

    def timeout(self, address: str) -> float:
        """Of a timing; one that no table has, but somebody asks for, has the general one."""
        return float(self._timeouts.get(address, self.config["timeout"]))

    def options(self, address: str) -> dict[str, Any]:
        """What is timed besides the address and the settings, and how often."""
        return {"timeout": self.timeout(address), **{key: self.config[key] for key in OPTIONS}}

    def minutes(self, address: str) -> int:
        """Of a job: only its first run may take as long as the time-out; and time to make data."""
        again = self.config["repeats"] * self.config["repeat_below"]
        return 60 + int(self.timeout(address) + again) // 60


def _addresses(grid: Mapping[str, Any]) -> list[str]:
    """The timings of a grid: a method that reads no validation rows is timed once."""
    return [
        TIMING.format(method=method, n=n, features=features, valid=valid)
        for method in grid["methods"]
        for features in grid["features"]
        for n in grid["n"]
        for valid in (grid["valid"] if "valid" in get_method(method).needs else ["none"])
    ]
