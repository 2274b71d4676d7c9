import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HUB_LIMITS, type Session } from '../../../src/files/hub/hub-http.ts';
import { makeSlots, orderedBytes } from '../../../src/files/hub/hub-parts.ts';
import { noise, sha256, tinyModel, type Fault } from './mock-hub.ts';
import {
  eventsOf,
  expectWeights,
  firstly,
  hubFixture,
  IMPATIENT,
  STALLED,
  ONE_PART,
  reasons,
  WEIGHTS,
  weightsOf,
  writePartial,
} from './mock-hub-fixture.ts';

test('a large file is fetched in parts over several connections, after one request to the hub', async () => {
  const weights = noise(1_000_000, 4);
  const fixture = await hubFixture(tinyModel(weights));
  let arrived = 0;
  let allArrived = (): void => {};
  const three = new Promise<void>((resolve) => (allArrived = resolve));
  fixture.hub.fault = async (path, count) => {
    if (path !== WEIGHTS || count === 0) return undefined;
    if (++arrived === 3) allArrived();
    // No request is answered before three are waiting: a client that opens one connection after another would never finish.
    await three;
    return undefined;
  };
  const { path } = await fixture.resolve({ limits: { ...IMPATIENT, stallMs: 2000 } });
  await expectWeights(fixture, path, weights);
  const parts = fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'store');
  expect(parts.length).toBe(Math.ceil(1_000_000 / 65_536));
  expect(parts.every(({ range }) => range !== undefined)).toBe(true);
  expect(fixture.hub.mostAtOnce(WEIGHTS)).toBeLessThanOrEqual(4);
  expect(new Set(fixture.hub.seen.map(({ encoding }) => encoding))).toEqual(new Set(['identity']));
  expect(fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'hub').length).toBe(1);
});

test('several files are fetched at once', async () => {
  const files = tinyModel();
  for (let i = 0; i < 6; i++) files.set(`model-0000${i}-of-00006.safetensors`, noise(60_000, 10 + i));
  const fixture = await hubFixture(files);
  const running = new Set<string>();
  let most = 0;
  fixture.hub.fault = () => ({ pauseMs: 10 });
  await fixture.resolve({
    limits: IMPATIENT,
    onProgress: (event) => {
      if (event.type !== 'file') return;
      if (event.state === 'started') running.add(event.path);
      else running.delete(event.path);
      most = Math.max(most, running.size);
    },
  });
  expect(most).toBe(4);
});

test('bytes on the disk are not fetched again, and the events count them', async () => {
  const fixture = await hubFixture();
  await writePartial(fixture, weightsOf().subarray(0, 120_000));
  const { path } = await fixture.resolve();
  await expectWeights(fixture, path);
  const starts = fixture.hub
    .seenOf(WEIGHTS)
    .flatMap(({ range }) => (range ? [Number(/\d+/.exec(range)?.[0])] : []));
  expect(Math.min(...starts)).toBe(120_000);
  const [resume] = eventsOf(fixture, 'resume');
  expect(resume?.files).toEqual([{ path: WEIGHTS, received: 120_000, size: 300_000 }]);
  expect(resume?.percent).toBeCloseTo((100 * 120_000) / 305_021, 0);
  expect(eventsOf(fixture, 'done')[0]?.fetched).toBe(305_021 - 120_000);
});

test('a partial file of the full length is verified without a request', async () => {
  const fixture = await hubFixture();
  await writePartial(fixture, weightsOf());
  const { path } = await fixture.resolve();
  await expectWeights(fixture, path);
  expect(fixture.hub.seenOf(WEIGHTS)).toEqual([]);
});

test('a signed address that expires between parts is asked for anew', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path, count) => (path === WEIGHTS && count === 1 ? { status: 403 } : undefined);
  const { path } = await fixture.resolve({ limits: { ...IMPATIENT, partsAhead: 1 } });
  await expectWeights(fixture, path);
  expect(reasons(fixture).length).toBe(1);
  expect(fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'hub').length).toBe(2);
});

test.each([
  ['stalls', { after: 32_768, finish: 'stall' }, 'no bytes for 1 s'],
  ['stalls before the first byte', { after: 0, finish: 'stall' }, 'no bytes for 1 s'],
  ['drops the connection', { after: 32_768, finish: 'drop' }, 'other side closed'],
  ['ends too early', { after: 50_000, finish: 'end' }, 'other side closed'],
  ['sends less than all as if it were all', { after: 50_000, finish: 'end', chunked: true }, 'closed early'],
  ['answers 500', { status: 500 }, 'answered 500'],
  ['answers 429', { status: 429 }, 'answered 429'],
  ['answers 408', { status: 408 }, 'answered 408'],
  ['says its signed address has expired', { status: 403 }, 'answered 403'],
] as [string, Fault, string][])('a server that %s is asked for the rest', async (_, fault, reason) => {
  const fixture = await hubFixture();
  fixture.hub.fault = firstly(fault);
  const { partBytes } = ONE_PART.limits;
  const limits = { ...(fault.finish === 'stall' ? STALLED : IMPATIENT), partBytes };
  const { path } = await fixture.resolve({ limits });
  await expectWeights(fixture, path);
  expect(reasons(fixture).length).toBe(1);
  expect(reasons(fixture)[0]).toContain(reason);
  const asked = fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'store');
  const got = Math.min(fault.after ?? 0, 300_000);
  expect(asked[1]?.range ?? '').toMatch(got === 0 ? /^$/ : /^bytes=[1-9]\d*-299999$/);
});

test('faults in some of the parts leave the others alone', async () => {
  const weights = noise(1_000_000, 5);
  const fixture = await hubFixture(tinyModel(weights));
  fixture.hub.fault = (path, count) => {
    if (path !== WEIGHTS || count % 3 !== 1) return undefined;
    return [
      { after: 20_000, finish: 'drop' } as const,
      { status: 503 },
      { after: 1, finish: 'stall' } as const,
    ][(count % 4) % 3];
  };
  const { path } = await fixture.resolve({ limits: STALLED });
  await expectWeights(fixture, path, weights);
  const { fetched } = eventsOf(fixture, 'done')[0] ?? { fetched: 0 };
  expect(fetched).toBe(1_000_000 + 5021);
});

test('Retry-After is obeyed unless its time is too long', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = firstly({ status: 429, headers: { 'retry-after': '1' } });
  const began = Date.now();
  await fixture.resolve();
  expect(eventsOf(fixture, 'retry')[0]).toMatchObject({ path: WEIGHTS, waitMs: 1000, attempt: 1 });
  expect(Date.now() - began).toBeGreaterThanOrEqual(990);

  const busy = await hubFixture();
  busy.hub.fault = () => ({ status: 503, headers: { 'retry-after': '7200' } });
  await expect(busy.resolve()).rejects.toMatchObject({
    code: 'network',
    message: expect.stringContaining('7200 s'),
  });
});

test('a server that stays broken is given up after six tries without progress, the partial file stays', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path, count) => {
    if (path !== WEIGHTS) return undefined;
    return count === 0 ? { after: 100_000, finish: 'drop' } : { status: 502 };
  };
  const error = await fixture.resolve(ONE_PART).catch((e) => e);
  expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('answered 502, 6 times') });
  const partial = join(fixture.repo, 'blobs', `${sha256(weightsOf())}.incomplete`);
  expect((await stat(partial)).size).toBeGreaterThanOrEqual(65_536);
  fixture.hub.fault = () => undefined;
  const { path } = await fixture.resolve();
  await expectWeights(fixture, path);
  expect(eventsOf(fixture, 'resume').length).toBe(1);
});

test('steady progress over a bad line never runs out of tries', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path) => (path === WEIGHTS ? { after: 32_768, finish: 'drop' } : undefined);
  const { path } = await fixture.resolve(ONE_PART);
  await expectWeights(fixture, path);
  expect(reasons(fixture).length).toBeGreaterThan(6);
});

test('a server that ignores Range still delivers, also the rest of a partial file', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = () => ({ ignoreRange: true });
  await expectWeights(fixture, (await fixture.resolve()).path);
  expect(fixture.hub.seenOf(WEIGHTS).filter(({ origin }) => origin === 'store').length).toBe(1);

  const second = await hubFixture();
  await writePartial(second, weightsOf().subarray(0, 100_001));
  second.hub.fault = () => ({ ignoreRange: true });
  await expectWeights(second, (await second.resolve()).path);
  expect(reasons(second)).toEqual([]);
});

test('a cancelled download keeps its partial file', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path) => (path === WEIGHTS ? { pauseMs: 10 } : undefined);
  const controller = new AbortController();
  const pending = fixture.resolve({
    ...ONE_PART,
    signal: controller.signal,
    onProgress: (event) => {
      if (event.type === 'progress' && event.received > 100_000) controller.abort();
    },
  });
  await expect(pending).rejects.toMatchObject({ code: 'cancelled' });
  const partial = await stat(join(fixture.repo, 'blobs', `${sha256(weightsOf())}.incomplete`));
  expect(partial.size).toBeGreaterThan(50_000);
  fixture.hub.fault = () => undefined;
  await expectWeights(fixture, (await fixture.resolve()).path);
  await expect(fixture.resolve({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
});

test('progress is reported at most about ten times a second and never runs backwards', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = () => ({ pauseMs: 20 });
  const began = Date.now();
  await fixture.resolve(ONE_PART);
  const progress = eventsOf(fixture, 'progress');
  expect(progress.length).toBeGreaterThan(2);
  expect(progress.length).toBeLessThanOrEqual(3 + (Date.now() - began) / 100);
  expect(progress.every(({ received }, i) => received >= (progress[i - 1]?.received ?? 0))).toBe(true);
});

test('a loop of redirects ends', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path) =>
    path === 'list'
      ? { status: 302, headers: { location: '/api/models/acme/tiny/revision/main' } }
      : undefined;
  await expect(fixture.resolve()).rejects.toMatchObject({
    code: 'network',
    message: expect.stringContaining('redirects more than'),
  });
});

test('the first failure ends the other files at once', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = (path) => (path === 'config.json' ? { status: 404 } : { after: 0, finish: 'stall' });
  const began = Date.now();
  await expect(fixture.resolve({ limits: { ...IMPATIENT, stallMs: 60_000 } })).rejects.toMatchObject({
    code: 'network',
  });
  expect(Date.now() - began).toBeLessThan(3000);
});

test('a slow disk holds the connection back instead of filling memory', async () => {
  const weights = noise(8_000_000, 6);
  const { hub } = await hubFixture(tinyModel(weights));
  hub.fault = () => ({ ignoreRange: true });
  const session: Session = {
    limits: { ...HUB_LIMITS, ...IMPATIENT, stallMs: 5000 },
    signal: undefined,
    inPage: false,
    credentials: { origin: hub.url, headers: {} },
    onRetry: () => {},
  };
  let arrived = 0;
  let written = 0;
  let most = 0;
  const file = { path: WEIGHTS, url: `${hub.url}/acme/tiny/resolve/main/${WEIGHTS}`, size: weights.length };
  for await (const chunk of orderedBytes(file, 0, session, makeSlots(4), (count) => (arrived += count))) {
    if (written < 500_000) await setTimeout(5);
    most = Math.max(most, arrived - written);
    written += chunk.length;
  }
  expect(written).toBe(weights.length);
  // One part may wait, together with the chunks in transfer.
  expect(most).toBeLessThan(1_000_000);
});
