"""What evaluators may use, from options and variables: judges by name, and access to sites that are none of ours.

CONFKV_SHOP_TOKEN is a token of a Magento shop's administration, if `--shop-token` does not give it; CONFKV_SHOP_ADMIN
is `user:password` in place of a token, which is then asked for; CONFKV_CLASSIFIEDS_TOKEN resets a VisualWebArena
classifieds site.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.options import PlayOptions

if TYPE_CHECKING:
    from confkv_agents.web.evaluators import Means, ShopAccess
    from confkv_agents.web.surroundings import Surroundings
    from confkv_agents.web.tasks import Task

TOKEN, ADMIN, RESET = "CONFKV_SHOP_TOKEN", "CONFKV_SHOP_ADMIN", "CONFKV_CLASSIFIEDS_TOKEN"


def make_means(options: PlayOptions, environment: Mapping[str, str] | None = None) -> Means:
    """Judges and access. Weights of judges are not loaded yet.

    Args:
        options: As given.
        environment: Variables; None takes the process's.

    Raises:
        ConfigError: A variable has another form, or a judge cannot be made.
    """
    from confkv_agents.evaluation.judges import ChatJudge, ChatVisualJudge, judge_model
    from confkv_agents.web.evaluators import Means

    variables = os.environ if environment is None else environment
    return Means(
        judge=ChatJudge(judge_model(options.judge)) if options.judge else None,
        visual_judge=ChatVisualJudge(judge_model(options.visual_judge)) if options.visual_judge else None,
        shop_access=_shop_access(options.shop_token or variables.get(TOKEN), variables.get(ADMIN)),
        reset_token=variables.get(RESET, ""),
    )


def _shop_access(token: str | None, admin: str | None) -> ShopAccess | None:
    from confkv_agents.web.evaluators import ShopAccess

    if token:
        return ShopAccess(token)
    if not admin:
        return None
    user, colon, password = admin.partition(":")
    if not colon:
        raise ConfigError(f"{ADMIN} must be user:password")
    return ShopAccess(user=user, password=password)


def surroundings_of(options: PlayOptions, means: Means | None = None) -> Surroundings:
    """What tasks are held against before anything starts."""
    from confkv_agents.web.surroundings import Surroundings

    return Surroundings.of(options.sites, means if means is not None else make_means(options), options.allow_hosts)


def load_judges(means: Means, tasks: Sequence[Task], options: PlayOptions) -> None:
    """Load the weights of judges that some task asks, so that a wrong model is found before anything runs.

    Raises:
        ConfKVError: A model cannot be loaded.
    """
    from confkv_agents.chat_models import ChatConfKV
    from confkv_agents.evaluation.preparing import load_weights

    asked = {need.kind for task in tasks for need in task.needs}
    judges = (("llm-judge", means.judge, options.judge), ("vqa", means.visual_judge, options.visual_judge))
    for kind, judge, name in judges:
        model = getattr(judge, "model", None)
        if kind in asked and isinstance(model, ChatConfKV):
            load_weights(model, name or "")
