"""What actions do on the elements that pages are made of, one tiny page for each."""

from __future__ import annotations

import pytest

from tests.web.conftest import Driver

pytestmark = pytest.mark.browser


def test_stale_element_is_refused_at_once_with_its_name(driver: Driver) -> None:
    driver.open('<button onclick="gone.remove()">Remove</button><button id=gone>Gone</button>')
    observation = driver.env._observation
    gone = driver.id_of("Gone")
    driver.env.step(f"click [{driver.id_of('Remove')}]")
    driver.env._observation = observation  # as if the page changed after it was read
    result = driver.env.step(f"click [{gone}]")
    assert result.error == "button 'Gone' [2] is gone; the page changed meanwhile"


def test_unknown_id_names_the_ids_there_are(driver: Driver) -> None:
    driver.open("<button>One</button>")
    assert driver.env.step("click [7]").error == "there is no element [7]; ids go from 1 to 1"


def test_elements_in_frames_can_be_used_and_their_boxes_are_the_windows(driver: Driver) -> None:
    driver.pages.pages["/inner"] = (
        "<body style='margin:0'><button style='margin:30px' onclick=\"this.textContent='Done'\">In</button>"
    )
    driver.open("<body style='margin:0'><iframe src=/inner style='margin:100px;border:5px solid;padding:7px'></iframe>")
    element = next(element for element in driver.env._observation.elements if element.name == "In")  # type: ignore[union-attr]
    assert element.box is not None
    assert (round(element.box.x), round(element.box.y)) == (142, 142)
    result = driver.env.step(f"click [{element.id}]")
    assert "button 'Done'" in result.observation.text


def test_elements_in_nested_shadow_roots_can_be_used(driver: Driver) -> None:
    driver.open(
        "<div id=a></div><script>const b = document.createElement('div'); a.attachShadow({mode:'open'}).append(b);"
        "b.attachShadow({mode:'open'}).innerHTML = '<button>Deep</button>';"
        "b.shadowRoot.querySelector('button').onclick = () => document.title = 'deep'</script>"
    )
    assert driver.env.step(f"click [{driver.id_of('Deep')}]").observation.title == "deep"


def test_select_by_label_case_or_value_and_refuses_others(driver: Driver) -> None:
    driver.open("<select aria-label=Sort><option value=p>Price, low<option value=n>Name</select>")
    number = driver.id_of("Sort")
    assert "value 'Price, low' options 'Price, low', 'Name'" in driver.env._observation.text  # type: ignore[union-attr]
    assert "value 'Name'" in driver.env.step(f"select [{number}] [name]").observation.text
    assert "value 'Price, low'" in driver.env.step(f"select [{number}] [p]").observation.text
    result = driver.env.step(f"select [{number}] [Colour]")
    assert result.error == "'Colour' is no option of combobox 'Sort' [1]; options: 'Price, low', 'Name'"
    clicked = driver.env.step(f"click [{number}]")
    assert "select [1] [option]" in (clicked.error or "")


def test_select_that_the_page_takes_back_is_told(driver: Driver) -> None:
    driver.open("<select aria-label=Sort onchange='this.selectedIndex=0'><option>A<option>B</select>")
    assert "did not keep it" in driver.env.step("select [1] [B]").observation.outcome


def test_made_up_list_is_opened_and_its_option_clicked(driver: Driver) -> None:
    driver.open(
        "<div role=combobox tabindex=0 aria-label=Size onclick='list.hidden=false'>-</div>"
        "<div role=listbox id=list hidden><div role=option onclick=\"document.title='M'\">Medium</div></div>"
    )
    assert driver.env.step("select [1] [Medium]").observation.title == "M"


def test_covered_element_names_what_covers_it(driver: Driver) -> None:
    driver.open(
        "<button>Buy</button><div role=dialog aria-label='Cookie notice' style='position:fixed;inset:0'>"
        "<button onclick='this.parentElement.remove()'>Agree</button></div>"
    )
    result = driver.env.step(f"click [{driver.id_of('Buy')}]")
    assert result.error is not None
    assert "is covered by dialog 'Cookie notice'" in result.error
    driver.env.step(f"click [{driver.id_of('Agree')}]")
    assert driver.env.step(f"click [{driver.id_of('Buy')}]").error is None


def test_hidden_checkbox_is_ticked_through_its_label(driver: Driver) -> None:
    driver.open(
        "<label style='position:relative'>"
        "<input type=checkbox style='opacity:0;width:1px;height:1px;position:absolute'>"
        "<span style='position:absolute;inset:0;background:red'></span>Agree</label>"
    )
    number = driver.id_of("Agree", "checkbox")
    assert f"checkbox 'Agree' [{number}] checked" in driver.env.step(f"click [{number}]").observation.text


def test_link_that_wraps_is_hit_on_its_text(driver: Driver) -> None:
    driver.pages.pages["/long"] = "<title>Hit</title>"
    driver.open(
        "<div style='width:200px;font:20px monospace'>xxxxxxxxxxxx <a href=/long>aaa bbbbbbbbbbbbb</a> xxx</div>"
    )
    assert driver.env.step("click [1]").observation.title == "Hit"


def test_click_without_effect_is_told(driver: Driver) -> None:
    driver.open("<button>Nothing</button><button onclick='this.textContent=1'>Some</button>")
    driver.env.step("click [1]")  # takes the focus, which shows
    assert "nothing on the page changed" in driver.env.step("click [1]").observation.outcome
    assert "nothing" not in driver.env.step("click [2]").observation.outcome


def test_typing_replaces_and_enter_submits(driver: Driver) -> None:
    driver.pages.pages["/find"] = "<title>Found</title>"
    driver.open("<form action=/find><input name=q aria-label=Query value=old></form>")
    driver.env.step("type [1] [new words]")
    assert "value 'new words'" in driver.env._observation.text  # type: ignore[union-attr]
    result = driver.env.step("type [1] [red [bag]] [1]")
    assert result.observation.title == "Found"
    assert driver.pages.paths()[-1].startswith("/find?q=red+%5Bbag%5D")


def test_typing_says_what_the_field_made_of_it_and_refuses_other_elements(driver: Driver) -> None:
    driver.open(
        "<input aria-label=Code oninput='this.value = this.value.toUpperCase().slice(0, 3)'>"
        "<input type=number aria-label=Count><input type=checkbox aria-label=Tick>"
        "<input aria-label=Fixed readonly value=1><textarea aria-label=Note></textarea>"
    )
    assert "which now holds 'ABC'" in driver.env.step("type [1] [abcdef]").observation.outcome
    assert "numbers only" in (driver.env.step("type [2] [many]").error or "")
    assert "takes no text" in (driver.env.step("type [3] [x]").error or "")
    assert "read-only" in (driver.env.step("type [4] [x]").error or "")
    assert driver.env.step("type [5] [two\nlines]").error is None


def test_editable_parts_without_a_role_are_fields(driver: Driver) -> None:
    driver.open("<p>Note</p><div style='padding:9px'><div contenteditable>old <b>text</b></div></div>")
    assert "textbox '' [1] value 'old text'" in driver.env._observation.text  # type: ignore[union-attr]
    assert "value 'new'" in driver.env.step("type [1] [new]").observation.text


def test_scroll_moves_the_page_or_a_container_and_says_where_it_is(driver: Driver) -> None:
    rows = "".join(f"<p style='height:40px;margin:0'>row {number}</p>" for number in range(50))
    box = "<div style='height:100px;overflow:auto' tabindex=0 role=region aria-label=Box><button>Inside</button>"
    observation = driver.open(f"{box}{rows}</div>{rows}")
    assert "Page 1 of 3 (scroll down for more)" in observation.text
    result = driver.env.step(f"scroll [{driver.id_of('Inside')}] [down]")
    assert "scrolled 90 pixels down around" in result.observation.outcome
    result = driver.env.step("scroll [down]")
    assert result.observation.scroll.top > 300
    driver.env.step("scroll [down]")
    driver.env.step("scroll [down]")
    assert "cannot be scrolled further down" in (driver.env.step("scroll [down]").error or "")


def test_page_that_scrolls_a_box_instead_of_itself_is_scrolled(driver: Driver) -> None:
    driver.open(
        "<body style='margin:0;overflow:hidden'><div style='height:700px;overflow:auto'>"
        "<div style='height:2000px'>tall</div></div>"
    )
    assert driver.env.step("scroll [down]").error is None


def test_history_and_relative_addresses(driver: Driver) -> None:
    driver.pages.pages["/two"] = "<title>Two</title>"
    driver.open("<title>One</title>")
    assert driver.env.step("goto [/two]").observation.title == "Two"
    assert driver.env.step("go_back").observation.title == "One"
    assert driver.env.step("go_forward").observation.title == "Two"
    assert "no next page" in (driver.env.step("go_forward").error or "")
    assert driver.env.step("goto [http://pages.test/]").observation.title == "One"


def test_upload_takes_files_of_the_tasks_folder_only(driver: Driver) -> None:
    driver.open("<input type=file aria-label=Photo onchange='document.title=this.files[0].name'>")
    assert driver.env.step("upload [1] [conftest.py]").observation.title == "conftest.py"
    for file in ("../conftest.py", "/etc/passwd", "missing.txt"):
        assert "has no file" in (driver.env.step(f"upload [1] [{file}]").error or "")


def test_drag_hover_and_keys(driver: Driver) -> None:
    driver.open(
        "<style>#menu span{display:none} #menu:hover span{display:inline}</style>"
        "<button id=menu>Menu<span> open</span></button>"
        "<div role=button tabindex=0 draggable=true "
        "ondragstart=\"event.dataTransfer.setData('text/plain','x')\">Card</div>"
        "<div role=button tabindex=0 ondragover='event.preventDefault()' "
        "ondrop=\"event.preventDefault(); document.title='dropped'\">Bin</div>"
        "<input aria-label=Field onkeydown='if (event.ctrlKey) document.title=event.key'>"
    )
    assert "Menu open" in driver.env.step(f"hover [{driver.id_of('Menu')}]").observation.text
    card, bin_ = driver.id_of("Card"), driver.id_of("Bin")
    assert driver.env.step(f"drag [{card}] [{bin_}]").observation.title == "dropped"
    driver.env.step(f"click [{driver.id_of('Field')}]")
    assert driver.env.step("press [ctrl+K]").observation.title == "k"
    assert "no key" in (driver.env.step("press [Foo]").error or "")
