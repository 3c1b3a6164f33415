"""The line protocol of `tests/bench` over a queue: a verb per line on standard input, one line of JSON for each on
standard output. `tests/bench/src/peers/adapter.rs` is the other side, `../src/line.rs` the same in Rust.

A queue has: setup(), fill(kind, count), left(), load(begin, end), push(job), and work(width, seen), which gives what
stops it; `seen(job)` is what every handler does and waits for.
"""

import asyncio
import json
import sys
from time import perf_counter


def say(what):
    print(json.dumps(what), flush=True)


class Sightings:
    """When each job was first seen, and how often one was seen again."""

    def __init__(self, expected=None):
        self.first = {}
        self.double = 0
        self.expected = expected
        self.all = asyncio.Event()

    async def see(self, job):
        if job in self.first:
            self.double += 1
        else:
            self.first[job] = perf_counter()
        if len(self.first) == self.expected:
            self.all.set()

    async def all_within(self, seconds):
        try:
            await asyncio.wait_for(self.all.wait(), seconds)
        except TimeoutError:
            pass

    def waits(self, committed):
        """Milliseconds from each commit to its sighting, of those that were seen."""
        seen = [(self.first[job], at) for job, at in committed.items() if job in self.first]
        return [max(0.0, (first - at) * 1e3) for first, at in seen]


async def enqueue(queue, count, producers):
    began = perf_counter()
    jobs = iter(range(count))

    async def produce():
        for job in jobs:
            await queue.push(job)

    await asyncio.gather(*(produce() for _ in range(producers)))
    return {"seconds": perf_counter() - began}


async def drain(queue, count, width, bound):
    sightings = Sightings(count)
    began = perf_counter()
    stop = await queue.work(width, sightings.see)
    await sightings.all_within(bound)
    seconds = perf_counter() - began
    await stop()
    return {"seconds": seconds, "done": len(sightings.first), "double": sightings.double}


async def open_loop(queue, rate, seconds, width):
    count = rate * seconds
    sightings = Sightings(count)
    stop = await queue.work(width, sightings.see)
    await asyncio.sleep(1)
    committed = {}

    async def push(job):
        await queue.push(job)
        committed[job] = perf_counter()

    began = perf_counter()
    pushes = []
    for job in range(count):
        await asyncio.sleep(max(0.0, began + job / rate - perf_counter()))
        pushes.append(asyncio.create_task(push(job)))
    await asyncio.gather(*pushes)
    await sightings.all_within(3)
    await stop()
    return {"waits": sightings.waits(committed), "of": count, "double": sightings.double}


async def idle(queue, tries, width):
    sightings = Sightings()
    stop = await queue.work(width, sightings.see)
    committed = {}
    for job in range(tries):
        await asyncio.sleep(1 + job * 137 % 500 / 1e3)
        await queue.push(job)
        committed[job] = perf_counter()
        while job not in sightings.first and perf_counter() - committed[job] < 10:
            await asyncio.sleep(0.001)
    await stop()
    return {"waits": sightings.waits(committed), "of": tries, "double": sightings.double}


async def hold(queue, width):
    """Takes jobs and never finishes one, until it is killed."""

    async def held(job):
        say({"started": job})
        await asyncio.Event().wait()

    await queue.work(width, held)
    return {"ready": True}


async def answer(queue, verb, words):
    numbers = [int(word) for word in words if word.isdecimal()]
    match verb:
        case "setup":
            return await queue.setup() or {}
        case "fill":
            return await queue.fill(words[0], numbers[0]) or {}
        case "left":
            return {"left": await queue.left()}
        case "load":
            return await queue.load(*numbers) or {}
        case "prepare":
            return {}
        case "enqueue":
            return await enqueue(queue, *numbers)
        case "drain":
            return await drain(queue, *numbers)
        case "open":
            return await open_loop(queue, *numbers)
        case "idle":
            return await idle(queue, *numbers)
        case "hold":
            return await hold(queue, *numbers)
        case _:
            raise ValueError(f"no verb is called {verb}")


async def serve(queue):
    """Answers line after line until there are no more."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        verb, *words = line.decode().split()
        say(await answer(queue, verb, words))
