// The line protocol of `tests/bench` over a queue: a verb per line on standard input, one line of JSON for each on
// standard output. `tests/bench/src/peers/adapter.rs` is the other side, `../src/line.rs` the same in Rust.
//
// A queue has: setup(), fill(kind, count), left(), load(from, to), push(job), and work(width, seen) → stop(), where
// `seen(job)` is what every handler does and waits for.

import { createInterface } from "node:readline";

const now = () => performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");

/** When each job was first seen, and how often one was seen again. */
class Sightings {
  first = new Map();
  double = 0;

  constructor(expected) {
    this.all = new Promise((resolve) => {
      this.see = async (job) => {
        if (this.first.has(job)) this.double += 1;
        else this.first.set(job, now());
        if (this.first.size >= expected) resolve();
      };
    });
  }

  allWithin(ms) {
    return Promise.race([this.all, sleep(ms)]);
  }

  /** Milliseconds from each commit to its sighting, of those that were seen. */
  waits(committed) {
    return committed.flatMap((at, job) => (this.first.has(job) ? [Math.max(0, this.first.get(job) - at)] : []));
  }
}

async function enqueue(queue, count, producers) {
  const began = now();
  let next = 0;
  const produce = async () => {
    while (next < count) await queue.push(next++);
  };
  await Promise.all(Array.from({ length: producers }, produce));
  return { seconds: (now() - began) / 1e3 };
}

async function drain(queue, count, width, bound) {
  const sightings = new Sightings(count);
  const began = now();
  const stop = await queue.work(width, sightings.see);
  await sightings.allWithin(bound * 1e3);
  const seconds = (now() - began) / 1e3;
  await stop();
  return { seconds, done: sightings.first.size, double: sightings.double };
}

async function open(queue, rate, seconds, width) {
  const count = rate * seconds;
  const sightings = new Sightings(count);
  const stop = await queue.work(width, sightings.see);
  await sleep(1000);
  const began = now();
  const pushes = [];
  for (let job = 0; job < count; job++) {
    const ahead = began + (job * 1e3) / rate - now();
    if (ahead > 0) await sleep(ahead);
    pushes.push(queue.push(job).then(now));
  }
  const committed = await Promise.all(pushes);
  await sightings.allWithin(3000);
  await stop();
  return { waits: sightings.waits(committed), of: count, double: sightings.double };
}

async function idle(queue, tries, width) {
  const sightings = new Sightings(Infinity);
  const stop = await queue.work(width, sightings.see);
  const committed = [];
  for (let job = 0; job < tries; job++) {
    await sleep(1000 + ((job * 137) % 500));
    await queue.push(job);
    const at = now();
    committed.push(at);
    while (!sightings.first.has(job) && now() - at < 10_000) await sleep(1);
  }
  await stop();
  return { waits: sightings.waits(committed), of: tries, double: sightings.double };
}

/** Takes jobs and never finishes one, until it is killed. */
async function hold(queue, width) {
  await queue.work(width, (job) => {
    say({ started: job });
    return new Promise(() => {});
  });
  return { ready: true };
}

async function answer(queue, [verb, ...words]) {
  const numbers = words.map(Number);
  switch (verb) {
    case "setup": return (await queue.setup()) ?? {};
    case "fill": return (await queue.fill(words[0], numbers[1])) ?? {};
    case "left": return { left: await queue.left() };
    case "load": return (await queue.load(numbers[0], numbers[1])) ?? {};
    case "prepare": return {};
    case "enqueue": return enqueue(queue, ...numbers);
    case "drain": return drain(queue, ...numbers);
    case "open": return open(queue, ...numbers);
    case "idle": return idle(queue, ...numbers);
    case "hold": return hold(queue, numbers[0]);
    default: throw new Error(`no verb is called ${verb}`);
  }
}

/** Answers line after line, and ends the process with the last. */
export async function serve(queue) {
  for await (const line of createInterface({ input: process.stdin })) say(await answer(queue, line.split(" ")));
  process.exit(0);
}
