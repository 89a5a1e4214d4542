"""Errors of the package: one class per family of failure, all under `ConfKVError`.

Every message says what is wrong, where, and what to do about it. Command-line tools turn any of these into one
line and exit code 2; nothing else is caught on a user's behalf.
"""


class ConfKVError(Exception):
    """Base class of every error this package raises on purpose."""


class ConfigError(ConfKVError, ValueError):
    """A configuration value is out of range or contradicts another one."""


class ModelError(ConfKVError):
    """A model cannot be used as asked."""


class ModelNotFoundError(ModelError):
    """No model lies at the given path or hub id."""


class WeightsMissingError(ModelNotFoundError):
    """The weights of a model that goes by a name have not been fetched yet."""


class WheelError(ConfKVError):
    """Files that are fetched as a wheel are missing, damaged, or could not be fetched."""


class TextsMissingError(ConfKVError):
    """Texts for benchmarks could not be fetched."""


class UnsupportedModelError(ModelError):
    """The model's family, attention or library version is not supported."""


class PromptError(ConfKVError, ValueError):
    """A prompt cannot be given to the model (no chat template, unknown block, forged control token...)."""


class ImageError(PromptError):
    """A picture cannot be decoded, is too large, or the model takes no pictures."""


class PromptTooLongError(PromptError):
    """The prompt does not fit the model's positions or the session's memory.

    Attributes:
        n_prompt: Tokens of the prompt, if known.
        n_limit: Tokens that fit, if known.
    """

    def __init__(self, message: str, n_prompt: int | None = None, n_limit: int | None = None):
        super().__init__(message)
        self.n_prompt = n_prompt
        self.n_limit = n_limit


class CacheStateError(ConfKVError, RuntimeError):
    """The cache cannot do this in its present state, such as a rollback to evicted tokens."""


class SessionFileError(ConfKVError):
    """A session cannot be saved, or a file cannot be taken up as one; the message names the file."""


class TraceError(ConfKVError):
    """A trace cannot be written or read; the message names the file and the line."""


class PluginError(ConfKVError):
    """An agent, site or task is not found or does not expose what it must."""


class TaskError(ConfKVError, ValueError):
    """A task file is invalid; the message names file and field."""


class SiteError(ConfKVError):
    """A site is unknown, does not start, or does not answer."""


class ActionError(ConfKVError):
    """An action cannot be understood or carried out; the agent is told and the episode goes on."""


class BrowserError(ConfKVError):
    """The browser cannot be found, started or driven."""


class BrowserNotFoundError(BrowserError):
    """No Chromium was found; the message holds both remedies."""


class InfraError(ConfKVError):
    """The environment failed, not the agent: browser crash, site down, deadline passed."""


class WorkerLostError(InfraError):
    """A worker of a batch is gone with the episode that it played: its process or its machine ended."""


class AgentError(ConfKVError):
    """An agent cannot go on: the element it wants is not there, its model gives no usable answer."""


class RecordError(ConfKVError):
    """A run's folder cannot be written or read; the message names the file."""


class EngineClosedError(ConfKVError, RuntimeError):
    """The engine was closed while a request waited or ran, or before it was made."""


class EngineTimeoutError(ConfKVError, TimeoutError):
    """A request did not finish within its timeout."""


class ConstraintError(ConfKVError, ValueError):
    """An answer cannot be constrained as asked: a wrong grammar, or a JSON schema that cannot be held."""


class ExtraMissingError(ConfKVError, ImportError):
    """An optional package is needed for this; the message names the extra that installs it."""
