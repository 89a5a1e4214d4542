"""The errors of `ChatConfKV`: ours, and LangChain's at the same time, so that its middleware knows what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from langchain_core import exceptions as langchain_errors

from confkv_agents.errors import (
    ConfigError,
    ConfKVError,
    ConstraintError,
    EngineTimeoutError,
    ImageError,
    ModelNotFoundError,
    PromptError,
    PromptTooLongError,
)


class ChatPromptTooLongError(PromptTooLongError, langchain_errors.ContextOverflowError):
    """The prompt does not fit; also LangChain's `ContextOverflowError`, which its middleware handles."""


class ChatPromptError(PromptError, langchain_errors.ModelInvalidRequestError):
    """The messages cannot be given to the model; also LangChain's `ModelInvalidRequestError`."""


class ChatImageError(ImageError, langchain_errors.ModelInvalidRequestError):
    """A picture cannot be given to the model; also LangChain's `ModelInvalidRequestError`."""


class ChatModelNotFoundError(ModelNotFoundError, langchain_errors.ModelNotFoundError):
    """There is no such model; also LangChain's `ModelNotFoundError`."""


class ChatTimeoutError(EngineTimeoutError, langchain_errors.ModelTimeoutError):
    """A call did not finish in time; also LangChain's `ModelTimeoutError`, which may be retried."""


class ChatConfigError(ConfigError, langchain_errors.ModelInvalidRequestError):
    """A call's option has an impossible value; also LangChain's `ModelInvalidRequestError`."""


class ChatConstraintError(ConstraintError, langchain_errors.ModelInvalidRequestError):
    """An answer cannot be constrained as asked; also LangChain's `ModelInvalidRequestError`."""


class StructuredOutputError(ConfKVError, langchain_errors.OutputParserException):
    """An answer holds no object of the schema; also LangChain's `OutputParserException`.

    Attributes:
        llm_output: The answer's text.
    """

    def __init__(self, message: str, llm_output: str | None = None):
        super().__init__(message, llm_output=llm_output)


_TRANSLATED: dict[type[ConfKVError], Callable[..., ConfKVError]] = {
    PromptError: ChatPromptError,
    ImageError: ChatImageError,
    ModelNotFoundError: ChatModelNotFoundError,
    EngineTimeoutError: ChatTimeoutError,
    ConstraintError: ChatConstraintError,
    ConfigError: ChatConfigError,
}


@contextmanager
def langchain_errors_raised() -> Iterator[None]:
    """Raise our errors as classes that LangChain knows too."""
    try:
        yield
    except PromptTooLongError as error:
        raise ChatPromptTooLongError(str(error), error.n_prompt, error.n_limit) from error
    except ConfKVError as error:
        if type(error) in _TRANSLATED:
            raise _TRANSLATED[type(error)](str(error)) from error
        raise
