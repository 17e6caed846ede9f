"""The index of ``tools/`` names each command that is there."""

import re
from pathlib import Path

import tools

FOLDER = Path(tools.__file__).parent


def test_the_index_names_every_module_and_package():
    names = {path.stem for path in FOLDER.glob("[a-z]*.py")}
    names |= {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert set(re.findall(r"^(?:- )?``(\w+)``", tools.__doc__, re.M)) == names
