"""What people may be called beside the name of their bot, and the nearest name for one."""

from __future__ import annotations

from itertools import islice

import pytest

from protocol.display_names import (
    MAX_DISPLAY_LENGTH,
    describe_invalid_bot_name,
    is_display_name,
    iter_candidate_names,
    nearest_bot_name,
    normalize_display,
)
from protocol.errors import UsageFault
from protocol.names import is_bot_name


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Chloé", "Chloe"),
        ("O'Brien", "OBrien"),
        ("Wang Wei", "Wang-Wei"),
        ("Fátima  Ñúñez", "Fatima-Nunez"),
        ("Søren Kierkegård", "Soren-Kierkegard"),
        ("Łukasz Groß", "Lukasz-Gross"),
        ("Đặng Thị Ænn", "Dang-Thi-AEnn"),
        ("İpek Işık", "Ipek-Isk".replace("Isk", "Isik")),
        (" .Ann_2 ", "Ann_2"),
        ("x" * 40, "x" * 32),
        ("王伟", ""),
        ("Ольга", ""),
        ("👩‍💻", ""),
    ],
)
def test_the_nearest_name_for_a_bot_is_plain_letters_of_it(name: str, near: str) -> None:
    assert nearest_bot_name(name) == near
    assert near == "" or is_bot_name(near)


@pytest.mark.parametrize(
    "name",
    [
        "Chloé",
        "O'Brien",
        "Wang Wei",
        "王伟",
        "Ольга",
        "نور الهدى",
        "อรุณ",
        "नमस्ते",
        "Jean-Luc (3b)",
        "x" * MAX_DISPLAY_LENGTH,
    ],
)
def test_names_of_people_in_any_script_are_display_names(name: str) -> None:
    assert normalize_display(f"  {name} ") == name


def test_a_display_name_is_kept_composed_and_with_single_blanks() -> None:
    assert normalize_display("Chloe\u0301\t  Du\u00a0Pont") == "Chloé Du Pont"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "...",
        "a\x00b",
        "a\x1b[31mb",
        "ann\u202egnirts",
        "a\u2066b",
        "a\u200bb",
        "a\u200eb",
        "a\ufeffb",
        "a\ue000b",
        "a\udc80b",
        "a\u3164b",
        "z" + "\u0335\u0336\u0337\u0338\u0316",
        "\u0301a",
        "x" * (MAX_DISPLAY_LENGTH + 1),
    ],
)
def test_what_could_move_hide_or_overdraw_other_text_is_no_display_name(text: str) -> None:
    assert not is_display_name(text)
    with pytest.raises(UsageFault, match="is not a display name: 1 to 48 characters"):
        normalize_display(text)


def test_a_taken_name_is_proposed_with_a_number_and_never_longer_than_a_name_may_be() -> None:
    assert list(islice(iter_candidate_names("Chloe"), 3)) == ["Chloe", "Chloe-2", "Chloe-3"]
    assert all(map(is_bot_name, islice(iter_candidate_names("x" * 32), 12)))
    assert describe_invalid_bot_name("Chloé").endswith("; try Chloe")
    assert "try" not in describe_invalid_bot_name("王伟")
