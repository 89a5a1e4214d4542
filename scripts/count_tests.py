"""Fails when a JUnit report holds no test that ran: python scripts/count_tests.py REPORT ..."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree


def main() -> None:
    """Count the tests that ran in the reports named on the command line."""
    ran = left_out = 0
    for report in map(Path, sys.argv[1:]):
        suites = list(ElementTree.parse(report).getroot().iter("testsuite")) if report.is_file() else []
        total, skipped = (sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "skipped"))
        if total - skipped <= 0:
            sys.exit(f"no test ran ({total} found, {skipped} skipped, report {report})")
        ran, left_out = ran + total - skipped, left_out + skipped
    if not ran:
        sys.exit("no report was named")
    print(f"{ran} tests ran, {left_out} skipped")


if __name__ == "__main__":
    main()
