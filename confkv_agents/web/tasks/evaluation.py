"""The `eval` object of a task, checked field by field.

Meaning and spelling follow VisualWebArena (https://github.com/web-arena-x/visualwebarena) and WebArena; the
dialects differ in what they know and are told apart by name, never guessed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from confkv_agents.web.evaluators.calls import CallError, parse_call
from confkv_agents.web.tasks.dialects import rules_of
from confkv_agents.web.tasks.files import beside, source_of


def _check_evaluator(name: str) -> str:
    from confkv_agents.web.evaluators import EVALUATORS

    if name not in EVALUATORS:
        raise ValueError(f"unknown evaluator {name!r}; known: {', '.join(EVALUATORS)}")
    return name


EvalType = Annotated[str, AfterValidator(_check_evaluator)]

_INEQUALITY = re.compile(r"\s*(<=|>=|==|<|>)\s*-?\d+(\.\d+)?\s*")
_DIALECT_WORDS = {
    "vwa": {"string": {"exact_match", "must_include", "must_exclude", "required_values", "one_of", "fuzzy_match"}},
    "webarena": {"string": {"exact_match", "must_include", "fuzzy_match"}},
}
_PAGE_WORDS = {
    "vwa": {"exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match"},
    "webarena": {"exact_match", "must_include"},
}


def rules_under(info: ValidationInfo) -> str:
    """Whose rules hold under the dialect that a file is read in."""
    return rules_of(str((info.context or {}).get("dialect", "vwa")))


def _none_to_empty(value: Any) -> Any:
    return [] if value is None else value


def _check_inequalities(values: list[str]) -> list[str]:
    for value in values:
        for alternative in value.split(" |OR| "):
            if not _INEQUALITY.fullmatch(alternative):
                raise ValueError(f"{alternative!r} is not an inequality such as '>= 3'")
    return values


Inequalities = Annotated[list[str], AfterValidator(_check_inequalities)]


class ReferenceAnswers(BaseModel):
    """What the answer must be. The keys present are checked in the order of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exact_match: str | None = None
    must_include: list[str] | None = None
    must_exclude: list[str] | None = None
    required_values: Inequalities | None = None
    one_of: list[str] | None = None
    fuzzy_match: list[str] | str | None = None

    @model_validator(mode="after")
    def _known_to_the_dialect(self, info: ValidationInfo) -> ReferenceAnswers:
        dialect = rules_under(info)
        unknown = self.model_fields_set - _DIALECT_WORDS[dialect]["string"]
        if unknown:
            raise ValueError(f"dialect {dialect!r} does not know {', '.join(sorted(unknown))}")
        if isinstance(self.fuzzy_match, str) and self.fuzzy_match != "N/A":
            raise ValueError("fuzzy_match is a list of references or 'N/A'")
        return self


class RequiredContents(BaseModel):
    """What a page's element must hold. One key counts: the first of this order that is present."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exact_match: str | None = None
    must_include: list[str] | None = None
    must_exclude: list[str] | None = None
    required_values: Inequalities | None = None
    fuzzy_match: str | None = None

    @model_validator(mode="after")
    def _known_to_the_dialect(self, info: ValidationInfo) -> RequiredContents:
        dialect = rules_under(info)
        unknown = self.model_fields_set - _PAGE_WORDS[dialect]
        if unknown:
            raise ValueError(f"dialect {dialect!r} does not know {', '.join(sorted(unknown))}")
        if not self.model_fields_set:
            raise ValueError(f"needs one of {', '.join(sorted(_PAGE_WORDS[dialect]))}")
        return self


def _check_url(url: str) -> str:
    if url.startswith("func"):
        if not url.startswith("func:"):
            raise ValueError(f"{url!r} is neither an address, 'last' nor 'func:<call>'")
        _check_call(url, allow_page=False)
    elif not url.strip():
        raise ValueError("is empty; write an address, 'last' or 'func:<call>'")
    return url


def _check_call(text: str, allow_page: bool) -> None:
    try:
        parse_call(text.removeprefix("func:"), allow_page=allow_page)
    except CallError as error:
        raise ValueError(str(error)) from None


def _check_locator(locator: str, info: ValidationInfo) -> str:
    if locator.startswith("func:"):
        _check_call(locator, allow_page=True)
    elif locator.startswith("lambda:") and rules_under(info) == "webarena":
        raise ValueError("dialect 'webarena' does not know the locator form 'lambda:'")
    elif locator.strip() and not locator.startswith(("document.", "[...document.", "lambda:")):
        raise ValueError(
            f"unknown locator form {locator[:60]!r}: leave it empty, or start with document., [...document., "
            "lambda: or func:"
        )
    return locator


class HtmlTarget(BaseModel):
    """One place on one page and what must stand there."""

    model_config = ConfigDict(extra="allow", frozen=True)

    url: Annotated[str, AfterValidator(_check_url)]
    locator: Annotated[str, AfterValidator(_check_locator)]
    required_contents: RequiredContents
    prep_actions: list[str] = []


class AskedPicture(BaseModel):
    """A question about a picture, and what its answer must hold."""

    model_config = ConfigDict(extra="allow", frozen=True)

    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)


def _check_class(selector: str) -> str:
    if selector.strip() and not selector.startswith("."):
        raise ValueError(f"{selector[:60]!r} is no class such as '.product-image'; leave it empty for every picture")
    return selector


class ImageQuery(BaseModel):
    """What the pictures of a page must show: be similar to a reference, or answer questions."""

    model_config = ConfigDict(extra="allow", frozen=True)

    eval_image_url: Annotated[str, AfterValidator(_check_url)]
    eval_image_class: Annotated[str, AfterValidator(_check_class)] = ""
    eval_vqa: Annotated[list[AskedPicture], BeforeValidator(_none_to_empty)] = []
    eval_fuzzy_image_match: str | None = Field(default=None, min_length=1)
    ssim_threshold: float = Field(default=0.8, ge=-1, le=1)

    @field_validator("eval_fuzzy_image_match")
    @classmethod
    def _files_beside_the_task(cls, value: str | None, info: ValidationInfo) -> str | None:
        for name in (value or "").split(" |OR| "):
            if not name.startswith(("http://", "https://", "__")):
                beside(source_of(info), name)
        return value

    @model_validator(mode="after")
    def _asks_something(self) -> ImageQuery:
        if not self.eval_vqa and self.eval_fuzzy_image_match is None:
            raise ValueError("needs eval_vqa or eval_fuzzy_image_match")
        return self


class Evaluation(BaseModel):
    """What makes an episode a success: every evaluator listed must hold."""

    model_config = ConfigDict(extra="allow", frozen=True)

    eval_types: list[EvalType] = Field(min_length=1)
    reference_answers: ReferenceAnswers | None = None
    reference_url: str | None = None
    url_note: str | None = None
    string_note: str | None = None
    program_html: Annotated[list[HtmlTarget], BeforeValidator(_none_to_empty)] = []
    page_image_query: Annotated[list[ImageQuery], BeforeValidator(_none_to_empty)] = []

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Evaluation:
        if "string_match" in self.eval_types and not (
            self.reference_answers and self.reference_answers.model_fields_set
        ):
            raise ValueError("eval_types lists string_match but reference_answers is empty")
        if "url_match" in self.eval_types:
            if not self.reference_url:
                raise ValueError("eval_types lists url_match but reference_url is empty")
            notes = {"vwa": ("EXACT", "GOLD in PRED"), "webarena": ("GOLD in PRED",)}[rules_under(info)]
            if self.url_note is not None and self.url_note not in notes:
                raise ValueError(f"url_note {self.url_note!r} is not one of {', '.join(notes)}")
        if "program_html" in self.eval_types and not self.program_html:
            raise ValueError("eval_types lists program_html but program_html is empty")
        if "page_image_query" in self.eval_types:
            if rules_under(info) == "webarena":
                raise ValueError("dialect 'webarena' does not know page_image_query")
            if not self.page_image_query:
                raise ValueError("eval_types lists page_image_query but page_image_query is empty")
        return self
