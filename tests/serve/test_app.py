"""The service over an engine in this process: identical traces, limits, cancelling, refusals."""

import asyncio
import json
import re
import threading
import time

import httpx
import pytest

from hsd_viz.engine.remote import connect
from hsd_viz.errors import UserError
from hsd_viz.serve.requests import decode_with
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.trace import Stage
from hsd_viz.trace.events import ServerError
from tests.serve.serving import Slow, post, serving

STACKS = ("target", "db > target", "nano:4 > target", "db > nano:4 > small:6 > target")


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("stack", STACKS)
def test_a_remote_trace_equals_the_local_one(engine, address, stack, temperature):
    here, there = (
        place.run("def main(", stack, max_new_tokens=24, temperature=temperature, seed=3)
        for place in (engine, connect(address))
    )
    assert there.token_rows == here.token_rows
    assert there.draft_rows == here.draft_rows
    assert there.pieces == here.pieces
    without_times = []
    for trace in (here, there):
        rows = trace.round_rows + trace.call_rows
        without_times.append([row._replace(start_ns=0, duration_ns=0) for row in rows])
    assert without_times[0] == without_times[1]
    times = {"created", "prefill_ns", "wall_ns"}
    assert {k: v for k, v in there.meta.items() if k not in times} == json.loads(
        json.dumps({k: v for k, v in here.meta.items() if k not in times})
    )
    assert there.meta["wall_ns"] > there.meta["prefill_ns"] > 0
    assert there.metrics().keys() == here.metrics().keys()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"prompt": "x", "stack": "gpt2/x > target"},
            "stack: the model 'gpt2/x' is not offered here",
        ),
        (
            {"prompt": "x", "stack": "/etc/passwd"},
            "stack: the model '/etc/passwd' is not offered here",
        ),
        ({"prompt": "x", "stack": "db >"}, "stack: "),
        ({"prompt": "x" * 20_001}, "prompt: 20001 is too long, the limit is 20000"),
        (
            {"prompt": "x", "max_new_tokens": 5000},
            "max_new_tokens: 5000 is above the limit of 1024",
        ),
        ({"prompt": "x", "temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"prompt": "x", "seed": 2**63}, "seed: Input should be less than"),
        ({"prompt": "x", "rule": "best"}, "rule: unknown verification rule 'best'"),
        ({"prompt": "x", "tempature": 1}, "tempature: Extra inputs are not permitted"),
        ({}, "prompt.*: Field required"),
        (b"[1, 2", "the body: Invalid JSON"),
        (b"[" * 100_000, "the body: Invalid JSON"),
    ],
)
def test_bad_requests_get_one_line(address, body, message):
    status, _, (answer,) = post(address, body)
    assert status == 422
    assert re.match(message.replace("(", r"\("), answer["error"]), answer
    assert "\n" not in answer["error"]


def test_bad_values_found_by_the_engine_end_the_stream_with_one_line(address):
    _, _, lines = post(address, {"prompt": [99_999_999]})
    assert lines[-1]["event"] == "error"
    assert "token ids" in lines[-1]["message"]
    with pytest.raises(ServerError, match="token ids"):
        connect(address).run([99_999_999])


@pytest.mark.parametrize("value", ["hot", None, True])
def test_a_value_that_is_not_a_number_is_not_sent(address, value):
    with pytest.raises(UserError, match=f"the temperature {value} is not valid"):
        connect(address).run("x", temperature=value)


def test_media_types_and_schemes_have_no_case(address, engine):
    body = {"prompt": "x", "max_new_tokens": 1}
    for kind in ("Application/JSON", "APPLICATION/JSON; charset=UTF-8"):
        assert post(address, body, kind=kind)[0] == 200, kind
    with serving(Slow().decode, settings=ServerSettings(token="secret")) as address:
        for scheme in ("Bearer", "bearer", "BEARER"):
            headers = {"Authorization": f"{scheme} secret"}
            assert httpx.get(f"{address}/models", headers=headers).status_code == 200
        for wrong in ("secret", "Basic secret", "Bearer", "Bearer  secret"):
            headers = {"Authorization": wrong}
            assert httpx.get(f"{address}/models", headers=headers).status_code == 401, wrong


def test_every_route_but_health_needs_the_token():
    with serving(Slow().decode, settings=ServerSettings(token="secret")) as address:
        paths = httpx.get(
            f"{address}/openapi.json", headers={"Authorization": "Bearer secret"}
        ).json()["paths"]
        for path in (*paths, "/openapi.json"):
            for method in paths.get(path, {"get": None}):
                status = httpx.request(method, address + path).status_code
                assert status == (200 if path == "/health" else 401), path
        assert httpx.get(f"{address}/docs").status_code == 404


def test_a_server_with_a_token_works_behind_a_proxy_with_a_name():
    """As Caddy and nginx pass requests on: the public name, and the scheme of the visitor."""
    there = {"Host": "class.example.org", "X-Forwarded-Proto": "https"}
    there["Authorization"] = "Bearer secret"
    origin = {"Origin": "https://class.example.org"}
    with serving(Slow().decode, settings=ServerSettings(token="secret", hosts=("*",))) as address:
        assert httpx.get(f"{address}/models", headers=there | origin).status_code == 200
        other = {"Origin": "https://evil.example.org"}
        assert httpx.get(f"{address}/models", headers=there | other).status_code == 403


def test_bodies_of_other_types_and_sizes_are_refused(address):
    assert post(address, {"prompt": "x"}, kind="text/plain")[0] == 415
    assert post(address, b'{"prompt": "' + b"x" * (1 << 20) + b'"}')[0] == 413


def test_requests_of_web_pages_and_other_hosts_are_refused(address):
    body = {"prompt": "x", "max_new_tokens": 1}
    others = [
        address.replace("127.0.0.1", "localhost"),
        address.replace("http", "https"),
        f"{address}1",
        "null",
        "",
    ]
    for origin in ("http://evil.example", *others):
        assert post(address, body, origin=origin)[0] == 403, origin
    assert post(address, body, origin=address)[0] == 200, "the server's own page"
    assert httpx.get(f"{address}/models", headers={"Host": "evil.example"}).status_code == 400


def test_a_token_is_required_where_one_is_set(engine):
    with serving(decode_with(engine), settings=ServerSettings(token="secret")) as address:
        assert connect(address, "secret").model_names() == ["nano", "small", "target"]
        for wrong in (None, "Secret", "sécret"):
            with pytest.raises(ServerError, match="a valid token is required"):
                connect(address, wrong and wrong.encode().decode("latin-1"))
        assert post(address, {"prompt": "x"})[0] == 401
        assert httpx.get(f"{address}/health").status_code == 200


def test_the_page_is_made_once_and_needs_the_token():
    made = []
    script = 'x = "<é>"\n'
    right = "/?token=s/%C3%A9"

    def page(settings):
        made.append(settings.new_tokens)
        return f'<script type="module">{script}</script>'

    with serving(
        Slow().decode, page, settings=ServerSettings(token="s/é", new_tokens=7)
    ) as address:
        for path in (
            "/",
            "/?token=",
            "/?token=S/%C3%A9",
            "/?token=%FF",
            right.replace("?", "models?"),
        ):
            assert httpx.get(address + path).status_code == 401
            assert not made
        assert (
            httpx.post(address + right.replace("?", "decode?"), json={"prompt": "x"}).status_code
            == 401
        )
        assert (
            httpx.get(address + right, headers={"Origin": "http://evil.example"}).status_code == 403
        )
        assert [httpx.get(address + right).text for _ in range(2)] == [page(ServerSettings())] * 2
        headers = httpx.get(address + right).headers
    assert made == [7, 1024]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = {}
    for part in headers["Content-Security-Policy"].split(";"):
        policy[part.split()[0]] = part.split()[1:]
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", *policy["script-src"])
    assert policy["connect-src"] == ["'self'"]
    assert policy["default-src"] == policy["frame-ancestors"] == ["'none'"]
    with serving(Slow().decode) as address:
        assert httpx.get(address).status_code == 501
        assert "no page" in httpx.get(address).json()["error"]


@pytest.mark.parametrize("url", ["127.0.0.1:8800", "ftp://x", "", "http://"])
def test_an_address_that_is_none_gets_one_line(url):
    with pytest.raises(ValueError, match="is not the address of a server"):
        connect(url)


def test_a_cancelled_decode_stops_after_its_current_event():
    class Endless:
        def __init__(self):
            self.closed = threading.Event()

        def events(self, prompt, stack, options):
            try:
                while True:
                    yield Stage("decoding")
                    time.sleep(0.01)
            finally:
                self.closed.set()

    async def leave(engine):
        running = decode_with(engine)({})
        await anext(running)
        await running.aclose()
        assert await asyncio.to_thread(engine.closed.wait, 60)

    asyncio.run(leave(Endless()))


def test_a_request_of_another_family_is_refused(engine):
    with serving(decode_with(engine), settings=ServerSettings(family="code")) as address:
        assert httpx.get(f"{address}/models").json()["family"] == "code"
        body = {"prompt": "ab", "max_new_tokens": 2}
        assert post(address, body | {"family": "code"})[0] == 200
        status, _, lines = post(address, body | {"family": "smollm2"})
    assert status == 422
    assert "this server decodes the family code, not 'smollm2'" in lines[0]["error"]


def test_a_client_takes_the_family_of_its_server(engine):
    with serving(decode_with(engine), settings=ServerSettings(family="smollm2")) as address:
        assert connect(address).family == "smollm2"


@pytest.mark.parametrize(
    ("content", "words"),
    [("a", "has no chat template"), ("a" * 60, "prompt: 65 is too long, the limit is 60")],
)
def test_a_conversation_is_a_prompt_of_the_characters_in_it(engine, content, words):
    with serving(decode_with(engine), settings=ServerSettings(prompt_characters=60)) as address:
        message = {"role": "user", "content": content}
        _, _, lines = post(address, {"prompt": [message], "chat": True})
    assert words in json.dumps(lines)
