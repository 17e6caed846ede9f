"""A session with the official client, over the pipes of ``hsd-viz mcp``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.rows import column

ROOT = Path(__file__).resolve().parents[2]


async def session(folder: Path) -> tuple:
    """Return the tools, an answer, a prediction and a refusal of one session."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hsd_viz", "mcp", "--folder", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    async with stdio_client(server) as pipes, ClientSession(*pipes) as client:
        await client.initialize()
        tools = await client.list_tools()
        text = await client.call_tool("decode", {"prompt": "def main(", "max_new_tokens": 8})
        models = {"gpu": "H100", "models": ["llama-8b", "eagle3"]}
        prediction = await client.call_tool("predict", models)
        refusal = await client.call_tool("doctor", {"file": "../secret"})
        return tools, text, prediction, refusal


def plain(answer) -> dict:
    """Return a result of the client as JSON data, by the names of the protocol."""
    return json.loads(answer.model_dump_json(by_alias=True))


def test_the_official_client_calls_the_tools(tmp_path):
    tools, text, prediction, refusal = map(plain, asyncio.run(session(tmp_path)))
    assert set(column(tools["tools"], "name")) >= {"doctor", "predict", "replay", "decode"}
    assert len(text["structuredContent"]["token_ids"]) == 8
    assert prediction["structuredContent"]["rows"]
    assert refusal["isError"]
    assert "folder of this server" in refusal["content"][0]["text"]
