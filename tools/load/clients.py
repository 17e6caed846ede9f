"""Clients of a service: many at once, or one request after another."""

from __future__ import annotations

import argparse
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Generator
from typing import cast
from urllib.parse import urlsplit

from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.trace import Event, Finished, Stage, Step
from hsd_viz.trace.events import ServerError
from tools.load.figures import TOKENS, memory, summary


def _decode(url: str, token: str | None, outcomes: list, number: int) -> None:
    """One client with an own place in the queue."""
    begun = time.monotonic()
    first = None
    try:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        body = {
            "prompt": f"# {number}\ndef main(",
            "stack": "db > target",
            "max_new_tokens": TOKENS,
        }
        headers = {"Content-Type": "application/json", "X-Visitor": str(number)}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("POST", "/decode", json.dumps(body), headers)
        answer = connection.getresponse()
        last = {}
        while line := answer.readline():
            last = json.loads(line)
            if last.get("event") == "step" and first is None:
                first = time.monotonic() - begun
        if "error" in last and "event" not in last:
            outcome = answer.status
        else:
            outcome = last.get("event", "nothing")
        outcomes.append((outcome, time.monotonic() - begun, first))
    except (OSError, http.client.HTTPException, ValueError) as error:
        outcomes.append((f"lost: {type(error).__name__}", time.monotonic() - begun, first))


def many_clients(args: argparse.Namespace) -> dict:
    outcomes: list = []
    threads = []
    for number in range(args.number):
        arguments = (args.url, args.token, outcomes, number)
        threads.append(threading.Thread(target=_decode, args=arguments))
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(str(outcome) for outcome, *_ in outcomes)
    finished = []
    first_tokens = []
    for outcome, seconds, first_token in outcomes:
        if outcome == "finished":
            finished.append(seconds)
            if first_token:
                first_tokens.append(first_token)
    result = {
        "clients": args.number,
        "answers": len(outcomes),
        "seconds": round(time.monotonic() - begun, 1),
        "outcomes": counts,
    }
    return result | {
        "finished": summary(finished),
        "first_token": summary(first_tokens),
    }


def soak(args: argparse.Namespace) -> dict:
    """Requests one after another; each tenth is cancelled at its first tokens, and timed until
    the next one runs.
    """
    engine = RemoteEngine(args.url, args.token)
    outcomes: Counter[str] = Counter()
    cancels = []
    sizes = []
    for number in range(args.number):
        if number % (args.number // 10) == 0:
            sizes.append(memory(args.pid))
        events = engine.decode(
            f"# {number}\ndef main(", "db > target", max_new_tokens=TOKENS if number % 10 else 1024
        )
        try:
            for event in events:
                if isinstance(event, Finished):
                    outcomes["finished"] += 1
                if isinstance(event, Step) and number % 10 == 0:
                    cast("Generator[Event, None, None]", events).close()
                    begun = time.monotonic()
                    for later_event in engine.decode("x", max_new_tokens=1):
                        if not isinstance(later_event, Stage):
                            cancels.append(time.monotonic() - begun)
                            break
                    outcomes["cancelled"] += 1
                    break
        except ServerError as error:
            outcomes[str(error)] += 1
    sizes.append(memory(args.pid))
    megabytes = []
    for size in sizes:
        megabytes.append(sum(value for kind, value in size.items() if not kind.endswith("count")))
    return {
        "outcomes": outcomes,
        "cancel_to_next_decode": summary(cancels),
        "memory_mb": megabytes,
    }
