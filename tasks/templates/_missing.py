"""Tasks that cannot be done: what they ask for does not exist, beside something that almost has its title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confkv_agents.web.tasks import Draft


def not_there(
    what: str,
    title: str,
    like: str,
    unchanged: Mapping[str, Any],
    searching: Sequence[dict[str, Any]],
    near_miss: Sequence[dict[str, Any]],
) -> Draft:
    """A draft about something that is not there, for somebody who is signed in.

    Args:
        what: `post` or `listing`; the wording's gap is called so too.
        title: Of what is asked for.
        like: Title of what there is.
        unchanged: The check that nothing was changed.
        searching: The steps that show that there is none.
        near_miss: What somebody does who takes the other one.
    """
    return Draft(
        values={what: title},
        evaluation={
            "eval_types": ["string_match", "program_html"],
            "reference_answers": {"fuzzy_match": "N/A"},
            "string_note": f"There is no {what} with the title '{title}'.",
            "program_html": [unchanged],
        },
        oracle=[*searching, {"action": "fail", "reason": f"there is no {what} '{title}', only '{like}'"}],
        near_miss=near_miss,
        login=True,
    )
