"""Tokens of servers: where they come from, and where they do not go."""

from __future__ import annotations

import os

import pytest

import hsd_viz.views.app.server as dashboard
from hsd_viz.cli import main, serve
from hsd_viz.errors import UserError
from hsd_viz.machine import TOKEN_VARIABLE, access_token, check_address, free_port


def test_a_token_comes_from_a_file_before_the_environment_which_loses_it(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    monkeypatch.setenv(TOKEN_VARIABLE, "of-the-environment")
    assert access_token(file) == "of-the-file"
    assert TOKEN_VARIABLE not in os.environ
    monkeypatch.setenv(TOKEN_VARIABLE, "of-the-environment")
    assert access_token(None) == "of-the-environment"
    assert TOKEN_VARIABLE not in os.environ
    assert access_token(None) is None


@pytest.mark.parametrize("token", ["s\u00e9cret", "a b", "a\tb", "a\0b", "\u200bx", "a\nb"])
def test_tokens_that_clients_send_differently_are_refused_at_the_start(token, tmp_path, capsys):
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    for command in ("dashboard", "serve", "classroom"):
        assert main([command, "--port", str(free_port()), "--token-file", str(file)]) == 2
        assert "not visible ASCII" in capsys.readouterr().err
    with pytest.raises(UserError, match="not visible ASCII"):
        check_address("127.0.0.1", free_port(), token)


def test_a_token_file_that_is_missing_or_empty_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot read the token file"):
        access_token(tmp_path / "none")
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(UserError, match="is empty"):
        access_token(tmp_path / "token")


@pytest.mark.parametrize("command", ["dashboard", "serve", "classroom"])
def test_no_command_takes_a_token_as_a_word(command, capsys):
    assert main([command, "--token", "secret"]) == 2
    assert "--token" in capsys.readouterr().err


def test_the_engine_of_pages_has_its_token_in_a_file(monkeypatch):
    monkeypatch.setenv(dashboard.ENGINE_TOKEN, "old")
    engine = ("http://127.0.0.1:1", "engine-secret")
    arguments, environment, folder = dashboard.command("127.0.0.1", 1, "secret", engine=engine)
    with folder:
        words = [*arguments, *environment.values()]
        assert not [word for word in words if "secret" in word or word == "old"]
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert dashboard.engine_token() == "engine-secret"


def test_a_server_of_a_token_accepts_any_name_and_others_local_ones(monkeypatch):
    asked = []
    monkeypatch.setattr("hsd_viz.serve.app.run", lambda *words: asked.append(words[2]) or 0)
    for token, hosts in ((None, ("127.0.0.1", "localhost")), ("secret", ("*",))):
        if token:
            monkeypatch.setenv(TOKEN_VARIABLE, token)
        assert main(["serve", "--port", str(free_port())]) == 0
        assert asked[-1].hosts == hosts
        assert asked[-1].token == token
    assert serve.serve
