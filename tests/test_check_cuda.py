"""The device checks: all of them on the CPU, how they skip, and that a broken cache fails them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from confkv_agents.cache import ConfKVCache
from confkv_agents.evaluation.bench import device_checks
from confkv_agents.evaluation.bench.device_checks import Rig
from confkv_agents.evaluation.bench.synchronization import synchronizations

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The script, in this process: exit code and what it printed."""
    path = Path(__file__).parents[1] / "scripts" / "check_cuda.py"
    spec = importlib.util.spec_from_file_location("check_cuda", path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        try:
            code = script.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return call


def test_every_check_passes_on_the_cpu(run: Run) -> None:
    code, shown = run("--device", "cpu")
    assert code == 0, shown
    assert "all passed" in shown
    assert shown.count(" pass ") == len(device_checks.CHECKS)
    assert "stock (" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_without_a_device_it_skips_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, shown = run()
    assert code == 0
    assert shown.startswith("skipped:")
    assert shown.count("\n") == 1


def test_an_unknown_check_is_refused(run: Run) -> None:
    code, shown = run("--only", "1,eleven")
    assert code == 2
    assert "eleven" in shown


@pytest.fixture
def rig() -> Rig:
    torch.set_num_threads(1)
    return Rig(torch.device("cpu"))


def test_a_cache_that_reports_too_few_bytes_fails(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    true = ConfKVCache.nbytes.fget
    assert true is not None
    monkeypatch.setattr(ConfKVCache, "nbytes", property(lambda self: true(self) - 8))
    with torch.no_grad():
        assert not device_checks.bounds_hold(rig)[0]


def test_a_step_that_asks_the_device_twice_fails(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    observe = ConfKVCache.observe

    def asking(self: ConfKVCache, logits: torch.Tensor) -> list[float]:
        logits.max().item()
        logits[logits > 0].sum()
        return observe(self, logits)

    monkeypatch.setattr(ConfKVCache, "observe", asking)
    with torch.no_grad():
        ok, figures = device_checks.one_synchronization(rig)
    assert not ok
    assert "confkv 2" in figures


def test_synchronizations_are_counted() -> None:
    with synchronizations(torch.device("cpu")) as found:
        values = torch.arange(4.0)
        values.sum().item()
        values[values > 1]
        values[torch.tensor([1, 2])]
    assert found == [2]
