"""The public names of the package: what type checkers see is what loads on first use."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import hsd_viz
from hsd_viz.names.lazy import lazily_as_in, names_in_stub

STUB = Path(hsd_viz.__file__).with_suffix(".pyi")


def test_the_public_names_are_those_of_the_stub_for_type_checkers():
    names = names_in_stub(STUB)
    assert hsd_viz.__all__ == sorted(names)
    assert {"run", "views", "serving_metrics", "__version__"} <= set(names)


@pytest.mark.parametrize("name", hsd_viz.__all__)
def test_every_public_name_loads_from_its_place(name):
    module, own_name = names_in_stub(STUB)[name]
    value = getattr(hsd_viz, name)
    assert value is not None
    home = import_module(module)
    assert value is getattr(home, own_name)


def test_a_name_of_a_stub_may_be_a_module_or_have_another_name(tmp_path):
    stub = tmp_path / "__init__.pyi"
    stub.write_text(
        "from json import decoder as decoder\n"
        "from json.decoder import JSONDecoder\n"
        "\n"
        "Decoder = JSONDecoder\n"
    )
    load, _, public = lazily_as_in(stub, "json")
    assert public == ["Decoder", "decoder"]
    assert load("decoder").JSONDecoder is load("Decoder")
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'encode'"):
        load("encode")
