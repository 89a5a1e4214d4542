"""What is known about a site before it runs: the folders under `envs/`, and their `site.toml`."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from confkv_agents import plugins
from confkv_agents.errors import PluginError, SiteError


@dataclass(frozen=True)
class Login:
    """How to sign in: a form posted to `path`. Values are literal."""

    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class SiteInfo:
    """What is known about a site before it runs.

    Attributes:
        name: Folder name under `envs/`, or the name it was given with its URL.
        placeholder: How task files write its address, such as `__SHOPPING__`.
        title: For people.
        login: How to sign in for tasks that require it; None where sites need none.
    """

    name: str
    placeholder: str
    title: str = ""
    login: Login | None = None

    @property
    def names(self) -> frozenset[str]:
        """Every name a task may list this site under: its own and its placeholder's."""
        return frozenset({self.name, self.placeholder.strip("_").lower()})


def site_info(name_or_path: str | Path) -> SiteInfo:
    """Read `site.toml` of a site; without the file, as for a benchmark, the placeholder is `__NAME__`.

    Raises:
        PluginError: There is no such site.
        SiteError: `site.toml` is not valid.
    """
    folder = plugins.find_env(name_or_path)
    if folder.is_file():  # a benchmark
        return SiteInfo(folder.stem, f"__{folder.stem.upper()}__", folder.stem)
    file = folder / "site.toml"
    if not file.is_file():
        return SiteInfo(folder.name, f"__{folder.name.upper()}__", folder.name)
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SiteError(f"{file}: {error}") from error
    login = None
    if "login" in raw:
        try:
            fields = {str(key): str(value) for key, value in raw["login"]["fields"].items()}
            login = Login(str(raw["login"]["path"]), fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise SiteError(f"{file}: [login] needs a path and a table of fields ({error})") from error
    return SiteInfo(
        name=folder.name,
        placeholder=str(raw.get("placeholder", f"__{folder.name.upper()}__")),
        title=str(raw.get("title", folder.name)),
        login=login,
    )


def installed_sites() -> dict[str, SiteInfo]:
    """The sites under `envs/`, by folder name."""
    found = {}
    with contextlib.suppress(PluginError):
        for name in plugins.available("envs"):
            with contextlib.suppress(PluginError):
                found[name] = site_info(name)
    return found
