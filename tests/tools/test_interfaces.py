"""Types of TypeScript from dataclasses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hsd_viz.views.app.traffic_spec import DrafterSpec, SettingSpec
from tools.reference.interfaces import interface


@dataclass
class Meaningless:
    """A class.

    Attributes:
        other: not its field.
    """

    field: int


@dataclass
class Foreign:
    """A class.

    Attributes:
        field: bytes, which JSON does not have.
    """

    field: bytes


def test_an_interface_has_its_own_fields_and_extends_its_base():
    lines = interface(SettingSpec).splitlines()
    assert lines[1] == "export interface Setting extends Measured {"
    assert "  /** The number of draft tokens. */" in lines
    assert "  present: boolean;" in lines
    assert "  low: number | null;" not in lines


def test_an_enumeration_is_the_union_of_its_values():
    assert '  pays: "yes" | "unclear" | "no";' in interface(DrafterSpec).splitlines()


def test_a_field_without_a_meaning_is_refused():
    with pytest.raises(KeyError, match="field"):
        interface(Meaningless)


def test_a_type_that_json_does_not_have_is_refused():
    with pytest.raises(TypeError, match="cannot be <class 'bytes'>"):
        interface(Foreign)
