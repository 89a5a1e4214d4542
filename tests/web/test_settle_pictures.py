"""Which pictures a page is waited for: those in view that are still to come, lazy ones too where they can be seen."""

from __future__ import annotations

import pytest

from confkv_agents.web.settle import _STILL

from .conftest import Driver, hang

PICTURE = "<img {} src=/slow.png width=50 height=50>"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("html", "still"),
    [
        (PICTURE.format(""), False),
        (PICTURE.format("loading=lazy"), False),
        ("<p style='height:100px'>" + PICTURE.format("loading=lazy style='position:absolute;top:100px'"), False),
        ("<p style='height:9000px'></p>" + PICTURE.format("loading=lazy"), True),
        ("<div style='width:40px;overflow:hidden'><p style='width:900px;margin:0 0 0 500px'>" + PICTURE, True),
        (PICTURE.format("loading=lazy style='display:none'"), True),
        ("<p>none</p>", True),
    ],
)
def test_what_is_waited_for(driver: Driver, html: str, still: bool) -> None:
    driver.pages.pages["/slow.png"] = hang(driver.pages)
    driver.open(html.replace("{}", "loading=lazy"))
    session = driver.env._session
    assert session is not None
    said = driver.env.browser.call(lambda: session.page.evaluate(_STILL, [{"changed": 0}, 0, True]), 5)
    assert said is still
    driver.pages.release.set()
