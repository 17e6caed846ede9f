"""Random combinations of options: no command ends with a traceback."""

from __future__ import annotations

import argparse
import random
from itertools import chain

import pytest

from hsd_viz.cli import build_parser, main
from hsd_viz.errors import UserError

VALUES = "-1 0 1 2 1e999 nan x a/b . auto ? -- - 1,2,, [ é \udcff".split(" ")
VALUES = ["", *VALUES, "9" * 30, "db > target", "nano:4 > target"]
#: Commands that serve or work until they are stopped when their options are valid; only their
#: parsing is tried.
ENDLESS = {"dashboard", "serve", "classroom", "rebuild", "train", "evaluate"}

#: Work of seconds or minutes that valid options start.
HEAVY = (
    "hsd_viz.measure.audit.exact.exact",
    "hsd_viz.measure.audit.statistical.audit_endpoints",
    "hsd_viz.views.site.build",
    "hsd_viz.views.lessons.add_figures",
    "hsd_viz.views.lessons.deck",
)


def commands(parser, words=()):
    """Yield the words and the parser of each command that runs."""
    children = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    for action in children:
        for name, child in action.choices.items():
            yield from commands(child, (*words, name))
    if not children:
        yield words, parser


#: Combinations for each command.
COUNT = 1000
COMMANDS = dict(commands(build_parser()))


def words_of(parser, chance) -> list[str]:
    """Return some options of a parser with values that may fit, in any order."""
    options = []
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    for action in chance.sample(actions, chance.randint(0, min(6, len(actions)))):
        values = [*VALUES, *map(str, action.choices or ())] if action.nargs != 0 else ()
        count = {None: 1, "+": 2, "*": 1, "?": 1}.get(action.nargs, action.nargs)
        words = []
        if values:
            number = count if chance.random() < 0.95 else count + 1
            words = [chance.choice(values) for _ in range(number)]
        if action.option_strings:
            words = [chance.choice(action.option_strings), *words]
        options.append(words)
    chance.shuffle(options)
    return list(chain(*options))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_random_options_end_without_a_traceback(name, tmp_path, monkeypatch, capfd):
    """At least 1 000 for each command: nearly all are refused while they are parsed, the others
    run up to the engine.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hsd_viz.engine.local.LocalEngine.of", _no_engine)
    for heavy in HEAVY:
        monkeypatch.setattr(heavy, _no_engine)
    chance = random.Random(" ".join(name))
    codes = set()
    parser = build_parser()
    monkeypatch.setattr("hsd_viz.cli.build_parser", lambda command: parser)
    for _ in range(COUNT):
        words = [*name, *words_of(COMMANDS[name], chance)]
        if ENDLESS & set(name):
            try:
                parser.parse_args(words)
                codes.add(0)
            except SystemExit as stop:
                codes.add(stop.code)
        else:
            codes.add(main(words))
        assert "Traceback" not in capfd.readouterr().err, words
    some = any(action.nargs not in (0, "*") for action in COMMANDS[name]._actions)
    assert codes <= {0, 1, 2, 130}
    assert (2 in codes) == some


def _no_engine(*args, **kwargs):
    raise UserError("no engine in this test")
