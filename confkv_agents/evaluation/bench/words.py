"""How benchmarks put their options into words."""

from __future__ import annotations

SAME, LATER, AGENT = "same", "later", "agent"
ASKED = {
    SAME: "asked for in the same prompt",
    LATER: "asked for in a later turn",
    AGENT: "asked for at the end of a transcript",
}
