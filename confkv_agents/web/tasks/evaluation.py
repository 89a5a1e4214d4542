"""The `eval` object of a task, checked field by field.

Meaning and spelling follow VisualWebArena (https://github.com/web-arena-x/visualwebarena) and WebArena; the
dialects differ in what they know and are told apart by name, never guessed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from confkv_agents.web.evaluators.calls import CallError, parse_call

EvalType = Literal["string_match", "url_match", "program_html", "page_image_query"]

_INEQUALITY = re.compile(r"\s*(<=|>=|==|<|>)\s*-?\d+(\.\d+)?\s*")
_DIALECT_WORDS = {
    "vwa": {"string": {"exact_match", "must_include", "must_exclude", "required_values", "one_of", "fuzzy_match"}},
    "webarena": {"string": {"exact_match", "must_include", "fuzzy_match"}},
}
_PAGE_WORDS = {
    "vwa": {"exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match"},
    "webarena": {"exact_match", "must_include"},
}


def dialect_of(info: ValidationInfo) -> str:
    """The dialect under which a file is read."""
    return str((info.context or {}).get("dialect", "vwa"))


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
        dialect = dialect_of(info)
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
        dialect = dialect_of(info)
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
    elif locator.startswith("lambda:") and dialect_of(info) == "webarena":
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


class ImageQuery(BaseModel):
    """A question about pictures of a page; kept as it is until a local picture judge exists."""

    model_config = ConfigDict(extra="allow", frozen=True)

    eval_image_url: str
    eval_image_class: str = ""


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
            notes = {"vwa": ("EXACT", "GOLD in PRED"), "webarena": ("GOLD in PRED",)}[dialect_of(info)]
            if self.url_note is not None and self.url_note not in notes:
                raise ValueError(f"url_note {self.url_note!r} is not one of {', '.join(notes)}")
        if "program_html" in self.eval_types and not self.program_html:
            raise ValueError("eval_types lists program_html but program_html is empty")
        if "page_image_query" in self.eval_types:
            if dialect_of(info) == "webarena":
                raise ValueError("dialect 'webarena' does not know page_image_query")
            if not self.page_image_query:
                raise ValueError("eval_types lists page_image_query but page_image_query is empty")
        return self
