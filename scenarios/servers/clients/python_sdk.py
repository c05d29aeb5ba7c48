"""Plays the calls of a plan with the client of the Python SDK, and prints what it shows of each answer.

usage: python_sdk.py PLAN COMMAND...
"""

import asyncio
import json
import os
import sys

import mcp
from mcp import types


async def list_roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri=f"file://{PLAN['dir']}", name="dir")])


async def sample(_context, _params):
    return types.CreateMessageResult(model="none", role="assistant", content=types.TextContent(type="text", text="none"))


async def elicit(_context, _params):
    return types.ElicitResult(action="decline")


async def main():
    server = mcp.StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    with open(os.devnull, "w", encoding="utf-8") as errors:
        async with mcp.stdio_client(server, errlog=errors) as (read, write):
            session = mcp.ClientSession(
                read, write, sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=list_roots
            )
            async with session:
                await session.initialize()
                await session.list_tools()
                for call in PLAN["calls"]:
                    try:
                        result = await session.call_tool(call["name"], call["arguments"])
                        texts = [block.text for block in result.content if block.type == "text"]
                        fields = result.model_dump(by_alias=True)
                        shown = {"isError": bool(fields.get("isError")), "text": "\n\n".join(texts)}
                        if fields.get("structuredContent"):
                            shown["structured"] = fields["structuredContent"]
                    except Exception as error:  # What a client throws is what its user sees.
                        shown = {"thrown": str(error)}
                    print(json.dumps({**call, **shown}), flush=True)


with open(sys.argv[1], encoding="utf-8") as file:
    PLAN = json.load(file)
COMMAND = sys.argv[2:]
asyncio.run(main())
