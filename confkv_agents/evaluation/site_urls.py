"""Sites of one's own or running elsewhere: options, environment variables, a file, in this order of precedence.

`--site shopping=http://127.0.0.1:7770`, the variable CONFKV_SITE_SHOPPING, and a line `shopping = "http://..."` in a
TOML file, which `--sites-file` or the variable CONFKV_SITES names, say the same. A site has the name of its folder
(`shop`) or the one task files use (`shopping`); the two are one site. In place of an address may stand the path of a
site's folder (`--site mugs=./mugs`): it is started for the run; its placeholder is `__MUGS__`, or what its `site.toml`
says.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from confkv_agents.errors import ConfigError
from confkv_agents.paths import user_path

PREFIX = "CONFKV_SITE_"
FILE = "CONFKV_SITES"


def site_urls(
    pairs: Sequence[str],
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Addresses of sites by name, from everywhere they may be given.

    Args:
        pairs: What the command line says, `name=url` each.
        file: A TOML file; None takes the one that the variable CONFKV_SITES names, if it is set.
        environment: Variables; None takes the process's.
        given: What a suite file says; it comes after the command line and before variables.

    Raises:
        ConfigError: An entry is not `name=url`, a variable or a value of the file is no address, or the file cannot
            be read.
    """
    variables = os.environ if environment is None else environment
    named = {name.removeprefix(PREFIX).lower(): url for name, url in variables.items() if name.startswith(PREFIX)}
    if file is None and variables.get(FILE):
        file = Path(variables[FILE])
    sites = _of_options(pairs)
    _add(sites, {name: _address(url, f"sites.{name}") for name, url in (given or {}).items()})
    _add(sites, {name: _address(url, f"{PREFIX}{name.upper()}") for name, url in named.items() if url})
    _add(sites, _of_file(file) if file is not None else {})
    return sites


def _of_options(pairs: Sequence[str]) -> dict[str, str]:
    sites = {}
    for pair in pairs:
        name, equals, url = pair.partition("=")
        if not equals or not name.strip() or not (_is_address(url.strip()) or _is_site_folder(url.strip())):
            raise ConfigError(
                f"--site {pair!r}: write name=url, such as shop=http://127.0.0.1:8000, or name=folder with a site.py"
            )
        sites[name.strip()] = url.strip()
    return sites


def _of_file(file: Path) -> dict[str, str]:
    path = user_path(file)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the file of sites {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the file of sites {path} is no TOML: {error}") from error
    return {name: _address(url, f"{path}: {name}") for name, url in content.items()}


def _add(sites: dict[str, str], more: Mapping[str, str]) -> None:
    """Add sites that no source of higher precedence gives, under whatever name."""
    from confkv_agents.web.sites import installed_sites

    alike = {name: info.names for info in installed_sites().values() for name in info.names}
    taken = {each for name in sites for each in alike.get(name, {name})}
    sites |= {name: url for name, url in more.items() if name not in taken}


def _address(url: object, where: str) -> str:
    if not isinstance(url, str) or not (_is_address(url.strip()) or _is_site_folder(url.strip())):
        raise ConfigError(
            f"{where} is {url!r}; give an address, such as http://127.0.0.1:8000, or a folder with a site.py"
        )
    return url.strip()


def _is_site_folder(text: str) -> bool:
    return "://" not in text and (user_path(text or ".") / "site.py").is_file()


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not match
        return False
