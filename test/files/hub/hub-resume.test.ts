// Downloads in separate processes: killed and resumed, two of the same file, and one after the lock's holder has died.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { HubEvent } from '../../../src/files/hub/hub.ts';
import { builtUrl } from '../../built-hooks.mjs';
import { noise, sha256, tinyModel } from './mock-hub.ts';
import { STALLED, eventsOf, hubFixture, WEIGHTS, type Fixture } from './mock-hub-fixture.ts';

const weights = noise(600_000, 8);
const blob = sha256(weights);

/** Pulls the model in a child process that prints its events; `onEvent` is called with each. */
function pullInChild(fixture: Fixture, onEvent: (event: HubEvent) => void = () => {}) {
  const program = `
    import { resolveModel } from ${JSON.stringify(builtUrl(new URL('../../../src/files/hub/hub.ts', import.meta.url).href))};
    const onProgress = (event) => console.log(JSON.stringify(event));
    await resolveModel('acme/tiny', { limits: { partBytes: 65536, stallMs: 10000 }, onProgress });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env['PATH'], HOME: fixture.home, ...fixture.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const events: HubEvent[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line) as HubEvent;
    events.push(event);
    onEvent(event);
  });
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  return { child, events, ended };
}

test.each(['SIGINT', 'SIGKILL'] as const)(
  'a download ended by %s goes on where it stopped',
  async (signal) => {
    const fixture = await hubFixture(tinyModel(weights));
    fixture.hub.fault = (path, count) =>
      path === WEIGHTS && count >= 5 ? { after: 1000, finish: 'stall' } : undefined;
    const first = pullInChild(fixture);
    const partial = join(fixture.repo, 'blobs', `${blob}.incomplete`);
    await vi.waitFor(async () => expect((await stat(partial)).size).toBeGreaterThan(100_000), 10_000);
    first.child.kill(signal);
    expect(await first.ended).toEqual([null, signal]);
    const { size } = await stat(partial);
    // At any time the file on disk is a prefix of the complete file, without holes.
    expect((await readFile(partial)).equals(weights.subarray(0, size))).toBe(true);
    expect(await readdir(join(fixture.repo, 'snapshots'))).toEqual([]);

    fixture.hub.fault = () => undefined;
    fixture.hub.seen.length = 0;
    const { path } = await fixture.resolve();
    expect(sha256(await readFile(join(path, WEIGHTS)))).toBe(blob);
    const [resume] = eventsOf(fixture, 'resume');
    expect(resume?.files).toContainEqual({ path: WEIGHTS, received: size, size: 600_000 });
    expect(resume?.percent).toBeGreaterThan(10);
    const starts = fixture.hub.seenOf(WEIGHTS).map(({ range }) => Number(/\d+/.exec(range ?? '')?.[0] ?? 0));
    expect(Math.min(...starts)).toBe(size);
  },
);

test('two processes that want the same model fetch it once', async () => {
  const fixture = await hubFixture(tinyModel(weights));
  let oneWaits = (): void => {};
  const waiting = new Promise<void>((resolve) => (oneWaits = resolve));
  fixture.hub.fault = async (path) => {
    if (path === WEIGHTS) await waiting;
    return undefined;
  };
  const noteWait = (event: HubEvent): void => {
    if (event.type === 'wait' && event.path === WEIGHTS) oneWaits();
  };
  const pulls = [pullInChild(fixture, noteWait), pullInChild(fixture, noteWait)];
  for (const { ended } of pulls) expect(await ended).toEqual([0, null]);
  const fetched = pulls.map(({ events }) => events.find((event) => event.type === 'done')?.fetched ?? -1);
  expect(fetched[0]! + fetched[1]!).toBe(600_000 + 5021);
  expect(fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'store').length).toBe(
    Math.ceil(600_000 / 65_536),
  );
  expect(sha256(await readFile(join(fixture.repo, 'blobs', blob)))).toBe(blob);
});

test('a process that dies while another waits is replaced by it', async () => {
  const fixture = await hubFixture(tinyModel(weights));
  fixture.hub.fault = (path, count) =>
    path === WEIGHTS && count < 4 ? { after: 20_000, finish: 'stall' } : undefined;
  const first = pullInChild(fixture, (event) => {
    if (event.type === 'progress' && event.received > 65_000) second();
  });
  const waiting: Promise<unknown>[] = [];
  const second = (): void => {
    if (waiting.length > 0) return;
    const pull = fixture.resolve({
      limits: STALLED,
      onProgress: (event) => {
        fixture.events.push(event);
        if (event.type === 'wait' && event.path === WEIGHTS) first.child.kill('SIGKILL');
      },
    });
    waiting.push(pull);
  };
  expect(await first.ended).toEqual([null, 'SIGKILL']);
  await Promise.all(waiting);
  expect(eventsOf(fixture, 'wait')[0]?.pid).toBe(first.child.pid);
  expect(sha256(await readFile(join(fixture.repo, 'blobs', blob)))).toBe(blob);
});

test('calls in one process share the work as well', async () => {
  const fixture = await hubFixture(tinyModel(weights));
  const models = await Promise.all(Array.from({ length: 8 }, () => fixture.resolve()));
  for (const model of models) expect(model).toEqual(models[0]);
  const fetched = eventsOf(fixture, 'done').map(({ fetched }) => fetched);
  expect(fetched.length).toBe(8);
  expect(fetched.reduce((x, y) => x + y)).toBe(600_000 + 5021);
});

test.each([
  ['a process that no longer runs', { pid: 2 ** 22 + 1, host: hostname() }, 0],
  ['a machine silent for long', { pid: 1, host: 'elsewhere' }, 60],
])('the lock of %s is taken over', async (_, holder, secondsAgo) => {
  const fixture = await hubFixture();
  const locks = join(fixture.home, 'hub', '.locks', 'models--acme--tiny');
  const lock = join(locks, `${sha256(tinyModel().get(WEIGHTS) ?? Buffer.alloc(0))}.svc.lock`);
  await mkdir(locks, { recursive: true });
  await writeFile(lock, JSON.stringify(holder));
  const then = new Date(Date.now() - 1000 * secondsAgo);
  await utimes(lock, then, then);
  await fixture.resolve();
  expect(eventsOf(fixture, 'wait')).toEqual([]);
  expect(await readdir(locks)).toEqual([]);
});
