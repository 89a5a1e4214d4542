"""Findings that a judge decides, asked only when everything that needs no judge holds.

Models judge too kindly, cost time, and differ from day to day: what can be compared exactly is compared first, and
a judge is asked when its word still decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confkv_agents.errors import InfraError
from confkv_agents.web.evaluators.base import Check, brief
from confkv_agents.web.evaluators.means import Verdict


@dataclass(frozen=True)
class Judged:
    """A check that waits for a judge.

    Attributes:
        name: As of `Check`.
        expected: As of `Check`.
        got: As of `Check`.
        ask: Asks the judge; needs no page, so that it may take its time outside of the browser's thread.
    """

    name: str
    expected: str
    got: str
    ask: Callable[[], Verdict]


Finding = Check | Judged


def settle(findings: Sequence[Finding]) -> list[Check]:
    """Ask the judges, in order, as long as every other check holds.

    Raises:
        InfraError: A judge fails: that says nothing about the agent.
    """
    sound = all(finding.ok for finding in findings if isinstance(finding, Check))
    checks: list[Check] = []
    for finding in findings:
        if isinstance(finding, Check):
            checks.append(finding)
        elif not sound:
            why = "the judge was not asked, since another check does not hold"
            checks.append(Check(finding.name, finding.expected, finding.got, False, why))
        else:
            verdict = _ask(finding)
            why = f"the judge says {'yes' if verdict.ok else 'no'}: {brief(verdict.why)}"
            checks.append(Check(finding.name, finding.expected, finding.got, verdict.ok, why))
            sound = verdict.ok
    return checks


def _ask(finding: Judged) -> Verdict:
    try:
        return finding.ask()
    except Exception as error:  # whatever a judge raises is not the agent's fault
        raise InfraError(f"the judge of {finding.name} failed: {type(error).__name__}: {error}") from error
