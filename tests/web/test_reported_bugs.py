"""Bugs that users of other web-agent environments reported, held against this one.

Numbers are those of the list that was gone through. Each has a test, here or in the file named, or a reason.

 1  navigation during a step ends the episode  test_env_pages (navigates while it is read)
 2  frame detached while the tree is read      test_env_pages (navigates while it is read)
 3  more frames than ids                       test_a_page_with_sixty_frames_is_read
 4  evaluate without a timeout                 test_env_pages (busy page is killed)
 5  frame that never commits                   test_env_pages (frame that never loads)
 6  networkidle, load                          test_env_pages (polling page, hanging picture)
 7  idle at once because of the cache          test_hostile_pages (read when it has come to rest)
 8  click in a frame still loading             test_env_pages (frame never loads), test_acting (in frames)
 9  reset fails and the worker dies            evaluation/batch/test_workers (infra errors are tried again)
10  one failure stops the evaluation           evaluation/batch/test_workers (infra errors are tried again)
11  a click opens a tab, the old one is used   test_dialogs_and_tabs (new tab becomes the current one)
12  the current tab flips back                 test_dialogs_and_tabs (new tab becomes the current one, is told)
13  confirm() hangs the click                  test_dialogs_and_tabs (confirm is dismissed and told)
14  alert() while loading                      test_dialogs_and_tabs (alert while loading)
15  a dialog closed elsewhere stays            test_a_dialog_is_told_once_and_nothing_waits_for_it
16  popups and lists of options unseen         test_dialogs_and_tabs (dialogs), test_observation (options)
17  options have no box                        test_observation (lists of options), test_acting (select by label)
18  made-up lists                              test_acting (made-up list, select that the page takes back)
19  an overlay eats the click                  test_acting (covered element names what covers it)
20  a link that wraps                          test_acting (link that wraps)
21  ids change with each observation           test_env_loop (same element under another id)
22  a forced click hits what is on top         test_acting (covered element names what covers it)
23  own marks in the page                      test_looking_at_a_page_changes_nothing_in_it
24  nested shadow roots                        test_acting (nested shadow roots)
25  PDF viewer without elements                test_a_pdf_is_told_as_a_download_or_leaves_the_agent_able_to_go_on
26  one page overflows the context             test_observation (text never exceeds its bound)
27  a huge page crashes the reader             test_env_pages (huge page is cut)
28  a cut through a surrogate pair             test_observation (cutting keeps emoji), test_env_pages (surrogates)
29  screenshots of endless pages               test_a_page_of_sixty_thousand_pixels_costs_one_windows_picture
30  full-page pictures kept in history         test_a_page_of_sixty_thousand_pixels_costs_one_windows_picture,
                                               ../test_screenshots (old screenshots go in batches)
31  two dialects of must_include               evaluators/test_words (must_include in both dialects)
32  "0." is one token                          evaluators/test_words (tokens), deliberate differences in docs/tasks.md
33  exact_match with a unit                    evaluators/test_evaluators (string_match): kept as published
34  a URL that only begins alike               evaluators/test_evaluators (url_match_webarena): kept as published
35  |OR| ignored in WebArena's string_match    evaluators/test_words (must_include in both dialects)
36  an unknown locator loses the task          tasks/test_loader (bad files are refused)
37  plurals and paraphrases                    evaluators/test_judging; deterministic checks are kept as published
38  localhost against 127.0.0.1                evaluators/test_evaluators (url_match_vwa)
39  a reward above 0 counted as success        evaluators/test_site_reward
40  judges see success everywhere              evaluators/test_judging (after a failed exact check no judge is asked)
41  signed out by an earlier task              test_env_loop (episodes do not share cookies)
42  a flaky check of cookies                   every episode signs in anew: test_sites (signing in gives cookies)
43  a browser left per exception               test_browser (nothing is left however the program ends)
44  zombie processes                           test_browser (nothing is left after close)
45  memory grows over thousands of pages       test_browser (recycled after many contexts); `bench env`
46  root without --no-sandbox                  test_chromium (found browser starts), which CI runs as root
47  sync API inside asyncio                    ../test_web_tools (a tool works from asyncio)
48  answers without an action                  actions/test_grammar, ../agents/test_react (sent back once)
49  an exception never counts                  test_env_loop (three outputs without action), evaluation/test_episode
50  nobody can tell why a model fails          evaluation/test_episode (every step is recorded)
51  results that cannot be repeated            evaluation/test_records (configuration, versions, hashes)
52  seeds that are not                         test_env_loop (seed goes to the sites)
53  resume skips crashed tasks                 evaluation/batch/test_workers (killed at any write)
54  must_exclude never looked at               evaluators/test_evaluators (a condition beside a must_include)
55  `last` means the page opened before        evaluators/test_evaluators (last is the page the target before opened)
56  a judge loaded for every task              evaluators/test_judging (needs no judge)
57  success without stop                       test_every_step (browsergym only); others judge at the end
58  a variable used twice in fuzzy_match       does not apply: our own code
59  drawing needs half of the world            marks are drawn with Pillow: test_observation (marks)
60  observations kept as pickles               records are JSON lines and PNG: evaluation/test_records
"""

from __future__ import annotations

import io
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from PIL import Image

from tests.web.conftest import Driver

pytestmark = pytest.mark.browser
TESTS = Path(__file__).resolve().parents[1]


def test_the_list_is_whole_and_names_files_that_exist() -> None:
    text = __doc__ or ""
    assert [int(number) for number in re.findall(r"^ ?(\d+)  ", text, re.MULTILINE)] == list(range(1, 61))
    here = set(re.findall(r"\btest_(?:a|looking)_\w+", text))
    assert here <= set(globals())
    named = set(re.findall(r"[\w./]*test_\w+", text)) - here
    for name in named:
        path = (TESTS / "web" / f"{name}.py").resolve() if not name.startswith("evaluation") else TESTS / f"{name}.py"
        assert path.is_file(), name


def test_a_page_with_sixty_frames_is_read(driver: Driver) -> None:
    driver.pages.pages["/frame"] = "<button>Inside</button>"
    observation = driver.open("<h1>Frames</h1>" + "<iframe src=/frame width=90 height=40></iframe>" * 60)
    assert "heading 'Frames'" in observation.text
    for _ in range(5):  # frames may come after the page is at rest
        if len(observation.elements) >= 60:
            break
        observation = driver.env.step("wait [2]").observation
    assert [element.name for element in observation.elements] == ["Inside"] * 60
    assert driver.env.step("click [1]").error is None


def test_a_dialog_is_told_once_and_nothing_waits_for_it(driver: Driver) -> None:
    driver.open("<button onclick=\"alert('one')\">Ask</button><button>Other</button>")
    assert "one" in driver.env.step("click [1]").observation.outcome
    later = driver.env.step("click [2]").observation
    assert "one" not in later.outcome and later.dialog is None


def test_looking_at_a_page_changes_nothing_in_it(driver: Driver) -> None:
    driver.open("<main><button>A</button><input value=x><img alt=y></main>")
    session = driver.env._session
    assert session is not None
    before = driver.env.browser.call(lambda: session.page.content())
    driver.env.step("scroll [down]")
    assert driver.env.browser.call(lambda: session.page.content()) == before


def test_a_pdf_is_told_as_a_download_or_leaves_the_agent_able_to_go_on(driver: Driver) -> None:
    def pdf(handler: BaseHTTPRequestHandler) -> None:
        data = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
        handler.send_response(200)
        handler.send_header("Content-Type", "application/pdf")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    driver.pages.pages["/paper.pdf"] = pdf
    driver.open("<a href=/paper.pdf>Paper</a>")
    observation = driver.env.step("click [1]").observation
    if "was downloaded" not in observation.outcome:
        observation = driver.env.step("go_back").observation
    assert "link 'Paper'" in observation.text


def test_a_page_of_sixty_thousand_pixels_costs_one_windows_picture(driver: Driver) -> None:
    observation = driver.open("<h1>Top</h1><div style='height:60000px'></div><button>End</button>")
    assert Image.open(io.BytesIO(observation.screenshot)).size == (1280, 720)
    assert observation.scroll.total > 60000 and "heading 'Top'" in observation.text
