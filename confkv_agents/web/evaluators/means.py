"""What evaluators may use besides pages: judges, and access to a shop's administration interface.

Judges are protocols, so that this part of the package knows of no model; `confkv_agents.evaluation.judges` makes
them of any chat model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class Verdict:
    """What a judge found.

    Attributes:
        ok: Whether it holds.
        why: The judge's words; they stand in the check.
    """

    ok: bool
    why: str


class Judge(Protocol):
    """Compares texts by their meaning, where a task's file gives no text that could be looked for."""

    def same_answer(self, question: str, reference: str, answer: str) -> Verdict:
        """Whether an answer says the same as a reference; partly is not enough.

        Args:
            question: The task; empty where a page's content is compared.
            reference: What the file gives.
            answer: What the agent said, or what stands on the page.
        """

    def same_reason(self, task: str, reason: str, report: str) -> Verdict:
        """Whether an agent's report names the reason why a task cannot be done, if only by implication."""


class VisualJudge(Protocol):
    """Answers questions about a picture."""

    def answer(self, image: Image.Image, question: str) -> str:
        """A short answer to a question about a picture."""


@dataclass(frozen=True)
class ShopAccess:
    """The right to ask a Magento shop's administration interface (REST).

    Attributes:
        token: An access token of an integration or of an administrator.
        user: Name of an administrator, for whom a token is asked when one is needed.
        password: The administrator's password.

    Raises:
        ConfigError: It is neither a token nor a name with a password.
    """

    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Refuse what gives no access."""
        if not self.token.strip() and not (self.user.strip() and self.password):
            raise ConfigError("access to a shop's administration needs a token, or a user's name and password")
        if any(mark in self.token for mark in "\r\n"):
            raise ConfigError("the shop's token holds a line break")


@dataclass(frozen=True)
class Means:
    """What there is to judge with; a task that needs what is None is refused before it starts.

    Attributes:
        judge: Compares texts by meaning.
        visual_judge: Answers questions about pictures.
        shop_access: For checks that ask a Magento shop that is none of ours.
        reset_token: With which a classifieds site that is none of ours is reset.
    """

    judge: Judge | None = None
    visual_judge: VisualJudge | None = None
    shop_access: ShopAccess | None = None
    reset_token: str = field(default="", repr=False)
