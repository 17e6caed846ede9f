"""``hsd-viz serve`` as a process: what it listens on, how it ends, and how a Ray of its own is
closed to others.
"""

import os
import signal
import subprocess
import sys
from itertools import chain

import psutil
import pytest

from hsd_viz import connect, serve
from hsd_viz.machine import free_port
from tests.patience import PATIENCE


def test_one_engine_needs_no_ray_and_ends_in_silence(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "hsd_viz", "serve", "--port", str(port)]
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        try:
            address = process.stdout.readline().split()[1]
            assert connect(address).run("def f(", max_new_tokens=4).text
            family = [
                psutil.Process(process.pid),
                *psutil.Process(process.pid).children(recursive=True),
            ]
            connections = chain(*(process.net_connections() for process in family))
            listening = []
            for c in connections:
                if c.status == "LISTEN":
                    listening.append(tuple(c.laddr))
            assert listening == [("127.0.0.1", port)]
            os.killpg(process.pid, signal.SIGINT)  # Ctrl-C reaches all of its processes
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
    assert (tmp_path / "errors").read_text() == "loading the models\n"


def test_a_ray_of_our_own_is_on_loopback_with_a_secret_of_its_own(monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.setenv(name, "")
    serve.prepare("ray://elsewhere:10001")
    assert os.environ["RAY_AUTH_MODE"] == os.environ["RAY_AUTH_TOKEN"] == ""
    serve.prepare()
    first = os.environ["RAY_AUTH_TOKEN"]
    serve.prepare()
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(first) >= 64
    assert os.environ["RAY_AUTH_TOKEN"] != first
    assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"


LISTENS = """
import psutil
from hsd_viz.serve import start
start()
family = psutil.Process().children(recursive=True)
print({c.laddr.ip for p in family for c in p.net_connections() if c.status == "LISTEN"})
"""


def with_ray(code: str) -> subprocess.CompletedProcess:
    pytest.importorskip("ray")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    if "timed out during startup" in done.stderr:
        pytest.skip("Ray does not start on a machine as busy as this one")
    return done


@pytest.mark.slow
def test_no_port_of_ray_is_reached_from_another_machine():
    done = with_ray(LISTENS)
    assert set(eval(done.stdout)) <= {"127.0.0.1", "::ffff:127.0.0.1"}, done.stderr


ASKS = """
import grpc, psutil
from hsd_viz.serve import start
ray = start()
from ray import serve
from ray.serve.generated import serve_pb2, serve_pb2_grpc
@serve.deployment
def idle(request): ...
serve.run(idle.bind())
for process in psutil.Process().children(recursive=True):
    for c in process.net_connections():
        if c.status == "LISTEN" and c.laddr.ip not in ("127.0.0.1", "::ffff:127.0.0.1"):
            channel = grpc.insecure_channel(f"127.0.0.1:{c.laddr.port}")
            stub = serve_pb2_grpc.ASGIServiceStub(channel)
            guessed = (("authorization", "Bearer guessed"),)
            try:
                stub.HandleRequest(serve_pb2.ASGIRequest(), timeout=30, metadata=guessed)
                print("code OK")
            except grpc.RpcError as error:
                print("code", error.code().name)
serve.shutdown()
ray.shutdown()
"""


@pytest.mark.slow
def test_ports_of_replicas_refuse_calls_without_the_token():
    done = with_ray(ASKS)
    codes = {line for line in done.stdout.splitlines() if line.startswith("code")}
    assert codes == {"code UNAUTHENTICATED"}, done.stderr
