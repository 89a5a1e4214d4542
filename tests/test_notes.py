"""The reader of scripted notes finds what could not have been read."""

from __future__ import annotations

from tests.notes import facts, unread


def test_quoted_names_amounts_codes_and_addresses_are_facts():
    note = "'Ada's Wedding', $1,058 and $21: code JZ87X, SKU ST425, FL-768, lena@mail.test; 3 red mugs"
    assert facts(note) == ["Ada's Wedding", "$1,058", "$21", "ST425", "FL-768", "lena@mail.test"]


def test_a_fact_must_have_been_read():
    read = ["Buy 'Elba Red Mug' with the code.", "heading 'Offers'\ntext 'Use KG97Z for  15% off'"]
    assert unread("code 'KG97Z'", read, read[-1]) == []
    assert unread("'Elba Red Mug' is first", read, read[-1]) == []
    assert unread("code 'KG97Y', $21", read, read[-1]) == ["KG97Y", "$21"]
    assert unread("Use 'KG97Z for 15%'", read, read[-1]) == [], "blanks and quotes do not matter"


def test_only_a_picture_in_sight_excuses_a_serial_number():
    assert unread("serial 'ZN813'", ["x"], "img 'Camera, photo 3'", pictures=True) == []
    assert unread("serial 'ZN813'", ["x"], "link 'Photo 3'", pictures=True) == ["ZN813"]
    assert unread("serial 'ZN813'", ["x"], "img 'Camera, photo 3'") == ["ZN813"]
    assert unread("code 'ZN813'", ["x"], "img 'Camera, photo 3'", pictures=True) == ["ZN813"]
