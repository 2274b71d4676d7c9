// The prefix cache below the device, on a fake device: pages move between device, host and files, get damaged and lost, and the
// tokens equal those of the request alone.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasBytes } from '../../../../src/engine/text/cache/cached-page.ts';
import { HEADER_BYTES, pageName } from '../../../../src/files/pages/stored-page.ts';
import { randomInteger, randomOf } from '../../random.ts';
import { allFinished, until } from '../paper-engine.ts';
import { generated, paperSequence, type PaperSequence } from '../paper-sequence.ts';
import { cached, expectAlone, folders, PAGE_BYTES, prompt, startTiered } from '../tiered-engine.ts';

describe('the tier in host memory', () => {
  it('gives back what the device had no room for', async () => {
    const engine = await startTiered({ pages: 8, hostPages: 64 });
    await engine.run(paperSequence(prompt(200), 3));
    await engine.settled();
    await engine.run(paperSequence(prompt(200, 1), 3));
    const again = paperSequence(prompt(200), 3);
    await engine.run(again);
    expectAlone(again);
    const { device, host, storage } = cached(again) as Record<string, number>;
    expect([device! + host!, storage]).toEqual([192, 0]);
    expect(host).toBeGreaterThanOrEqual(96);
    expect(engine.scheduler.pages.loaded * 32).toBe(host);
  });

  it.each([150, 350])('gets what the next request of %d tokens takes the place of at once', async (next) => {
    const engine = await startTiered({ pages: 12, hostPages: 64 });
    await engine.run(paperSequence(prompt(300), 1), paperSequence(prompt(next, 1), 1));
    await engine.settled();
    expect(engine.scheduler.pages.match(paperSequence(prompt(300), 1))).toHaveLength(9);
  });

  it('keeps to its bytes', async () => {
    const engine = await startTiered({ pages: 8, hostPages: 10 });
    for (let seed = 0; seed < 8; seed++) await engine.run(paperSequence(prompt(200, seed), 3));
    await engine.settled();
    const { used, total } = engine.tiers.host;
    expect(total).toBe(10 * PAGE_BYTES);
    expect(used).toBeGreaterThan(5 * PAGE_BYTES);
    expect(used).toBeLessThanOrEqual(total);
  });

  it('outlives the device', async () => {
    const engine = await startTiered({ pages: 16, hostPages: 64 });
    await engine.run(paperSequence(prompt(200), 3));
    await engine.settled();
    await engine.loop.close();
    engine.scheduler.restart();
    const again = paperSequence(prompt(200), 3);
    expect(engine.scheduler.pages.match(again)).toHaveLength(6);
    expect(engine.scheduler.pages.available).toBe(16);
  });

  it('is emptied with the device', async () => {
    const engine = await startTiered({ pages: 16, hostPages: 64 });
    await engine.run(paperSequence(prompt(200), 3));
    await engine.settled();
    expect(engine.tiers.host.used).toBe(6 * PAGE_BYTES);
    await engine.loop.close();
    expect(engine.scheduler.flush()).toBe(true);
    expect(engine.tiers.host.used).toBe(0);
    expect(engine.scheduler.pages.pool.free).toBe(16);
  });

  it('leaves pages to other requests if one is given up while its pages are loaded', async () => {
    const engine = await startTiered({ pages: 8, hostPages: 64 });
    await engine.run(paperSequence(prompt(200), 3));
    await engine.settled();
    await engine.run(paperSequence(prompt(200, 1), 3));
    const busy = engine.start(paperSequence([1], 100));
    await until(() => generated(busy).length > 2);
    const [gone, stays] = [paperSequence(prompt(200), 3), paperSequence(prompt(200), 3)];
    engine.start(gone);
    engine.start(stays);
    await until(() => gone.placement.isLoading || gone.finished);
    engine.loop.abort([gone]);
    await allFinished([stays, busy]);
    [stays, busy].forEach(expectAlone);
    expect(engine.scheduler.pages.available).toBe(8);
  });
});

describe('the tier in storage', () => {
  it('leaves nothing in the tree of a page that lost its bytes while it was written', async () => {
    const engine = await startTiered({ pages: 12, folder: await folders({}), stagingPages: 1 });
    const { storage } = engine.tiers;
    const write = storage!.write.bind(storage);
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    storage!.write = (...page) => held.then(() => write(...page));
    const first = paperSequence(prompt(300), 1);
    await engine.run(first);
    const nodes = engine.scheduler.pages.match(first);
    await engine.run(paperSequence(prompt(350, 1), 1));
    goOn();
    await until(() => nodes.every(({ pages: [cached], forgotten }) => hasBytes(cached!) || forgotten));
    expect(nodes.some(({ forgotten }) => forgotten)).toBe(true);
  });

  it('survives a restart, for the same model and scope', async () => {
    const folder = await folders({});
    const first = await startTiered({ folder });
    await first.run(paperSequence(prompt(200), 3), paperSequence(prompt(100, 1), 3, { scope: 'salt' }));
    await first.tiers.close();
    const second = await startTiered({ folder });
    const [same, salted, other] = [
      paperSequence(prompt(200), 3),
      paperSequence(prompt(100, 1), 3, { scope: 'salt' }),
      paperSequence(prompt(100, 1), 3),
    ];
    await second.run(same, salted, other);
    [same, salted, other].forEach(expectAlone);
    expect([same, salted, other].map(cached)).toMatchObject([
      { storage: 192 },
      { storage: 96 },
      { storage: 0 },
    ]);
    const foreign = await startTiered({ folder, model: 'another' });
    const asked = paperSequence(prompt(200), 3);
    await foreign.run(asked);
    expect(cached(asked)).toMatchObject({ device: 0, host: 0, storage: 0 });
  });

  it('keeps, when full, the head that all share and what was asked for last, over a restart', async () => {
    const folder = await folders({});
    const storageBytes = 24 * (PAGE_BYTES + HEADER_BYTES);
    const ask = (user: number): PaperSequence =>
      paperSequence([...prompt(200), ...prompt(100, user + 1)], 1, { scope: '' });
    // The head of the prompt stays on the device, so that storage is not asked for it.
    const first = await startTiered({ pages: 64, folder, storageBytes });
    for (let user = 0; user < 10; user++) {
      await first.run(ask(user));
      await first.settled();
    }
    await first.tiers.close();
    expect(first.tiers.storage!.used).toBeLessThanOrEqual(storageBytes);
    const second = await startTiered({ pages: 64, folder, storageBytes });
    const [last, other] = [ask(9), ask(0)];
    await second.run(last);
    await second.run(other);
    [last, other].forEach(expectAlone);
    expect(cached(last)).toMatchObject({ storage: 288 });
    expect(cached(other)).toMatchObject({ device: 200, storage: 0 });
  });

  it('counts what is found on the device as used', async () => {
    const folder = await folders({});
    const storageBytes = 24 * (PAGE_BYTES + HEADER_BYTES);
    const first = await startTiered({ pages: 64, folder, storageBytes });
    for (let user = 0; user < 10; user++) {
      await first.run(paperSequence(prompt(200), 1));
      await first.run(paperSequence(prompt(100, user + 1), 1));
      await first.settled();
    }
    await first.tiers.close();
    const second = await startTiered({ pages: 64, folder, storageBytes });
    const again = paperSequence(prompt(200), 1);
    await second.run(again);
    expect(cached(again)).toMatchObject({ storage: 192 });
  });

  it('writes on closing what it has not written yet', async () => {
    const folder = await folders({});
    const first = await startTiered({ pages: 32, folder });
    first.start(paperSequence(prompt(900), 1));
    await allFinished(first.scheduler.running as PaperSequence[]);
    await until(() => first.scheduler.running.length === 0);
    await first.tiers.close();
    const second = await startTiered({ pages: 32, folder });
    const again = paperSequence(prompt(900), 1);
    await second.run(again);
    expect(cached(again)).toMatchObject({ storage: 896 });
  });

  it.each([
    ['to the device, however little the host holds', 32, 8, 896],
    ['and leaves what is beyond the free pages to half of the staging memory', 6, 8, 320],
    ['and ends at once where half of the staging memory is less than a page', 2, 1, 96],
  ])('brings a long prompt %s', async (_, spare, stagingPages, found) => {
    const folder = await folders({});
    const first = await startTiered({ pages: 64, folder });
    await first.run(paperSequence(prompt(900), 1));
    await first.tiers.close();
    const second = await startTiered({ pages: 40, folder, stagingPages });
    const { pool } = second.scheduler.pages;
    const held = Array.from({ length: 40 - spare }, () => pool.take()!);
    const again = paperSequence(prompt(900), 1);
    await second.tiers.fetch(again);
    expect(second.tiers.host.used).toBeLessThanOrEqual(stagingPages * PAGE_BYTES);
    expect(again.placement.prefix.fetched[1] * 32).toBe(found);
    pool.give(held);
    second.start(again);
    await allFinished([again]);
    expectAlone(again);
    expect(cached(again)).toMatchObject({ device: 0, host: 0, storage: found });
  });

  it('gives the pages before a damaged one', async () => {
    const folder = await folders({});
    const first = await startTiered({ folder });
    await first.run(paperSequence(prompt(200), 3));
    await first.tiers.close();
    let name: string | null = null;
    const names = Array.from({ length: 4 }, (_, page) => {
      const ids = prompt(200).slice(32 * page, 32 * page + 32);
      const key = String.fromCharCode(...ids.flatMap((id) => [id & 0xffff, id >>> 16]));
      return (name = pageName('model', name, '', key));
    });
    const file = join(folder, names[3]!.slice(0, 2), `${names[3]}.page`);
    const bytes = readFileSync(file);
    bytes[100]! ^= 1;
    writeFileSync(file, bytes);
    const second = await startTiered({ folder });
    const again = paperSequence(prompt(200), 3);
    await second.run(again);
    expectAlone(again);
    expect(cached(again)).toMatchObject({ storage: 96 });
  });
});

describe('all tiers at once: few pages, little host memory, files that are damaged and lost, restarts', () => {
  it.each([
    { seed: 1, pages: 14, windows: [null], copies: 0 },
    { seed: 5, pages: 28, windows: [null, 40, 70], copies: 0 },
    { seed: 7, pages: 30, windows: [null, null, 40], copies: 0 },
    { seed: 8, pages: 14, windows: [null], copies: 5 },
    { seed: 10, pages: 28, windows: [null, 40], copies: 5 },
  ])('%j', async ({ seed, pages, windows, copies }) => {
    const random = randomInteger(seed);
    const folder = await folders({});
    const histories: number[][] = [prompt(150), prompt(40, 1)];
    const totals = { device: 0, host: 0, storage: 0 };
    for (let life = 0; life < 4; life++) {
      const engine = await startTiered(
        { pages, windows, copies, hostPages: life % 2 ? pages - 2 : 0, folder },
        random,
      );
      const all: PaperSequence[] = [];
      const runs: Promise<void>[] = [];
      for (let i = 0; i < 25; i++) {
        const ids = [...randomOf(random, histories), ...prompt(1 + random(30), random(3))].slice(0, 300);
        const request = { seed: random(2), scope: randomOf(random, ['', 'salt']) };
        const group = [paperSequence(ids, 1 + random(40), request)];
        if (random(3) === 0)
          group.push(paperSequence(ids, 1 + random(40), { ...request, seed: 9, leader: group[0]! }));
        all.push(...group);
        runs.push(engine.run(...group));
        for (let turn = random(40); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
        if (group[0]!.finished) histories.push(group[0]!.progress.ids.slice(0, 250));
        if (random(10) === 0) engine.loop.abort([randomOf(random, all)]);
        if (random(10) === 0) spoil(folder, random);
      }
      await Promise.all(runs);
      all.forEach(expectAlone);
      expect(engine.scheduler.pages.available).toBe(pages);
      for (const tier of ['device', 'host', 'storage'] as const)
        totals[tier] += engine.scheduler.lookups[tier];
      await engine.tiers.close();
    }
    expect(totals.device).toBeGreaterThan(0);
    expect(totals.host).toBeGreaterThan(0);
    expect(totals.storage).toBeGreaterThan(0);
  });
});

/** Damages or removes a random file of the folder. */
function spoil(folder: string, random: (below: number) => number): void {
  const files = readdirSync(folder).flatMap((part) =>
    readdirSync(join(folder, part)).map((name) => join(folder, part, name)),
  );
  const pages = files.filter((file) => file.endsWith('.page'));
  if (pages.length === 0) return;
  const file = randomOf(random, pages);
  if (random(2) === 0) return rmSync(file);
  const bytes = readFileSync(file);
  if (bytes.length === 0) return;
  bytes[random(bytes.length)]! ^= 16;
  writeFileSync(file, random(2) ? bytes : bytes.subarray(0, random(bytes.length)));
}
