"""Where addresses of sites come from, and which one wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.options import PlayOptions
from confkv_agents.evaluation.preparing import wanted_sites, with_sites_of
from confkv_agents.evaluation.site_urls import site_urls
from confkv_agents.web.tasks import Task

A, B, C, D = (f"http://127.0.0.1:{port}" for port in (1, 2, 3, 4))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sites.toml"
    path.write_text(f'shopping = "{C}"\nreddit = "{C}"\nwikipedia = "{C}"\ngitlab = "{C}"\n')
    return path


def test_options_come_before_the_suite_before_variables_before_the_file(file: Path) -> None:
    variables = {"CONFKV_SITE_SHOPPING": B, "CONFKV_SITE_REDDIT": B, "CONFKV_SITE_WIKIPEDIA": B, "HOME": "/"}
    found = site_urls([f"shop={A}"], file, variables, given={"reddit": D})
    assert found == {"shop": A, "reddit": D, "wikipedia": B, "gitlab": C}  # shop and shopping are one site


def test_the_file_may_be_named_by_a_variable_and_an_option_names_another(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(f'map = "{D}"\n')
    assert set(site_urls([], None, {"CONFKV_SITES": str(file)})) == {"shopping", "reddit", "wikipedia", "gitlab"}
    assert site_urls([], other, {"CONFKV_SITES": str(file)}) == {"map": D}


def test_names_of_several_words_and_empty_variables() -> None:
    assert site_urls([], None, {"CONFKV_SITE_SHOPPING_ADMIN": A, "CONFKV_SITE_MAP": ""}) == {"shopping_admin": A}


@pytest.mark.parametrize(
    ("content", "variables", "message"),
    [
        ("shopping = 3", {}, "shopping is 3; give an address"),
        ("shopping = ", {}, "is no TOML"),
        (None, {}, "cannot be read"),
        ("", {"CONFKV_SITE_MAP": "127.0.0.1"}, "CONFKV_SITE_MAP is '127.0.0.1'; give an address"),
    ],
)
def test_what_is_no_address_is_refused(
    content: str | None, variables: dict[str, str], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "sites.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        site_urls([], file, variables)


def test_addresses_of_sites_that_no_task_names_are_not_used() -> None:
    raw: dict[str, Any] = {
        "sites": ["shopping"],
        "intent": "x",
        "start_url": "__SHOPPING__ |AND| __REDDIT__",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
    }
    task = Task.read(raw)
    options = with_sites_of(PlayOptions(sites={"shop": A, "gitlab": B}), [task])
    assert options.sites == {"shop": A}
    assert wanted_sites([task], options.sites) == {"shop": A, "reddit": None}
