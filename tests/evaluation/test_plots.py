"""Plots are SVG in two shapes, and absent where there is nothing to show."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import asdict

import pytest

from confkv_agents.evaluation.plots import comparison_plot, confidence_plot, memory_plot
from confkv_agents.evaluation.records import EpisodeResult, StepRecord
from tests.evaluation.fakes import usage


def step(number: int, **values: object) -> dict:
    costs = {key: value for key, value in usage(number).items() if key in StepRecord.__dataclass_fields__}
    return asdict(StepRecord(index=number, url="", action="", **{**costs, **values}))


STEPS = [step(number) for number in range(1, 6)]
TRACE = [{"step": number, "tokens": usage(number)["trace"]} for number in range(1, 6)]
EPISODES = [
    asdict(EpisodeResult(f"task {number} " + "x" * 60, 7, True, "stop", peak_kv_bytes=10, full_kv_bytes=30))
    for number in range(70)
]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(
    "draw",
    [
        lambda narrow: memory_plot(STEPS, narrow=narrow),
        lambda narrow: memory_plot(STEPS[:1], narrow=narrow),
        lambda narrow: confidence_plot(STEPS, TRACE, narrow=narrow),
        lambda narrow: confidence_plot(STEPS, [], narrow=narrow),
        lambda narrow: confidence_plot(STEPS[:1], TRACE[:1], narrow=narrow),
        lambda narrow: confidence_plot(STEPS, [{"step": 1, "tokens": [[0.5, 512, 1]] * 9000}], narrow=narrow),
        lambda narrow: confidence_plot([step(1, budget=None)], [], narrow=narrow),
        lambda narrow: comparison_plot(EPISODES, narrow=narrow),
        lambda narrow: comparison_plot(EPISODES[:1], narrow=narrow),
    ],
)
def test_a_plot_is_a_picture(draw, narrow: bool):
    root = ElementTree.fromstring(draw(narrow))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    width = float(root.attrib["width"].removesuffix("pt"))
    assert width == pytest.approx((3.7 if narrow else 9.6) * 72)


def test_the_same_records_draw_the_same_picture():
    assert memory_plot(STEPS) == memory_plot(STEPS)


def test_nothing_known_draws_nothing():
    silent = [asdict(StepRecord(index=1, url="", action=""))]
    assert memory_plot(silent) is None
    assert confidence_plot(silent, []) is None
    assert comparison_plot([asdict(EpisodeResult("t", 1, True, "stop"))]) is None
