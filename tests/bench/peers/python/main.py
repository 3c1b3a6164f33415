"""procrastinate behind the line protocol."""

import asyncio

from line import serve
from tasks import app, queue


async def main():
    async with app.open_async():
        await serve(queue)


asyncio.run(main())
