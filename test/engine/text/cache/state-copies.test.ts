// Copies of fixed states on a fake device, which checks that every sequence goes on from the state of its own tokens: where copies are
// made, which of them stay, and what the cache finds by them.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PageNames } from '../../../../src/engine/text/cache/page-names.ts';
import { allFinished, createPaperEngine, until, type PaperEngine } from '../paper-engine.ts';
import { generated, paperSequence, type PaperSequence } from '../paper-sequence.ts';
import { STATE_BYTES } from '../paper-states.ts';
import { cached, expectAlone, folders, PAGE_BYTES, prompt, startTiered } from '../tiered-engine.ts';

const LIMITS = { pages: 64, slots: 4, rows: 64, copies: 8 };

/** Runs a sequence alone, and returns the numbers of rows of its steps before the first token. */
async function prefill(engine: PaperEngine, sequence: PaperSequence): Promise<number[]> {
  const before = engine.runner.steps.length;
  await allFinished([engine.start(sequence)]);
  expectAlone(sequence);
  const parts = engine.runner.steps.slice(before).flat();
  const end = parts.findIndex(({ samples }) => samples);
  return parts.slice(0, end + 1).map(({ rows }) => rows);
}

/** Pages after which the cache has a copy of the states of a prompt. */
function copiesOf({ scheduler: { pages } }: PaperEngine, sequence: PaperSequence): number[] {
  const { keys, scope } = sequence.placement.prefix;
  const path = pages.tree.walk(scope, keys, keys.length);
  return path.flatMap(({ state, depth }) => (state!.page === null ? [] : [depth + 1]));
}

describe('copies of states are made', () => {
  it("at the end of the prompt's last full page, for which the prefill is cut", async () => {
    const engine = createPaperEngine(LIMITS);
    const first = paperSequence(prompt(150), 2);
    expect(await prefill(engine, first)).toEqual([64, 64, 22]);
    expect(copiesOf(engine, first)).toEqual([4]);
    expect(await prefill(engine, paperSequence(prompt(150), 2))).toEqual([22]);
    const short = paperSequence(prompt(50, 1), 2);
    expect(await prefill(engine, short)).toEqual([50]);
    expect(copiesOf(engine, short)).toEqual([]);
  });

  it('where prompts part: the second such prompt makes it, the third finds it', async () => {
    const engine = createPaperEngine(LIMITS);
    await prefill(engine, paperSequence(prompt(200), 2));
    const branch = (seed: number) => paperSequence([...prompt(110), ...prompt(50, seed)], 2);
    const second = branch(1);
    expect(await prefill(engine, second)).toEqual([64, 32, 64]);
    expect(copiesOf(engine, second)).toEqual([3, 5]);
    expect(await prefill(engine, branch(2))).toEqual([64]);
  });

  it('where prompts that run at once part, and the later one waits for it', async () => {
    const engine = createPaperEngine({ ...LIMITS, rows: 32 });
    const both = [1, 2].map((seed) => paperSequence([...prompt(140), ...prompt(50, seed)], 2));
    both.forEach(engine.start);
    await allFinished(both);
    both.forEach(expectAlone);
    expect(both.map(cached)).toMatchObject([{ device: 0 }, { device: 128 }]);
    expect(engine.loop.counters.promptTokens).toBe(190 + 62);
  });

  it('inside a long prompt, in a quarter of the places at most', async () => {
    const engine = createPaperEngine({ ...LIMITS, pages: 200, copies: 12 });
    const long = paperSequence(prompt(4500), 2);
    const rows = await prefill(engine, long);
    const copies = copiesOf(engine, long);
    expect(copies).toHaveLength(3);
    expect(copies.at(-1)).toBe(140);
    // No chunk was cut but the last: those before end at pages in any case.
    expect(rows).toEqual([...Array<number>(70).fill(64), 20]);
    const parting = paperSequence([...prompt(3000), ...prompt(40, 1)], 2);
    await prefill(engine, parting);
    expect(cached(parting)).toMatchObject({ device: 32 * copies.findLast((at) => at <= 3000 / 32)! });
  });

  it('of what is generated, one that moves along', async () => {
    const engine = createPaperEngine(LIMITS);
    const first = paperSequence(prompt(100), 150);
    await prefill(engine, first);
    expect(copiesOf(engine, first)).toEqual([3, 7]);
    const next = paperSequence([...first.progress.ids, 1, 2, 3], 2);
    expect(await prefill(engine, next)).toEqual([253 - 224]);
  });

  it.each([33, 70, 96])('for all choices of a prompt of %d tokens', async (length) => {
    const engine = createPaperEngine({ ...LIMITS, slots: 6 });
    const first = paperSequence(prompt(length), 6);
    const others = [1, 2, 3].map((seed) => paperSequence(prompt(length), 6, { seed, leader: first }));
    const all = [first, ...others];
    all.forEach((sequence) => engine.scheduler.add(sequence));
    engine.loop.wake();
    await allFinished(all);
    all.forEach(expectAlone);
    const copied = 32 * Math.floor((length - 1) / 32);
    const rows = engine.runner.steps.flat().reduce((sum, part) => sum + part.rows, 0);
    expect(rows).toBe(length + 3 * (length - copied) + 4 * 5);
  });
});

it('prompts beside each other are cut between pages, or wait for a step with room for a page', async () => {
  const engine = createPaperEngine({ ...LIMITS, rows: 80, decodeRows: 16 });
  const all = [100, 45, 90].map((length, seed) => paperSequence(prompt(length, seed), 9));
  all.forEach((sequence) => engine.scheduler.add(sequence));
  engine.loop.wake();
  await allFinished(all);
  all.forEach(expectAlone);
  const ends = engine.runner.steps
    .flat()
    .flatMap(({ first, rows, samples }) => (samples ? [] : [first + rows]));
  expect(ends).toEqual([64, 96, 64]);
});

it('a step that is shorter than a page takes what it can of a prompt', async () => {
  const engine = createPaperEngine({ ...LIMITS, rows: 20, decodeRows: 16 });
  expect(await prefill(engine, paperSequence(prompt(50), 2))).toEqual([20, 12, 18]);
});

describe('places for copies of states', () => {
  it('are those of the least recently used ones, whatever happens to pages', async () => {
    const engine = createPaperEngine({ ...LIMITS, pages: 100, copies: 2 });
    const [a, b, c] = [0, 1, 2].map((seed) => () => paperSequence(prompt(100, seed), 2));
    for (const make of [a!, b!, a!, c!]) await prefill(engine, make());
    expect(await prefill(engine, a!())).toEqual([4]);
    expect(await prefill(engine, b!())).toEqual([64, 32, 4]);
    expect(engine.scheduler.pages.evicted).toBe(0);
    expect(engine.scheduler.pages.states!.free).toBe(0);
  });

  it('are all free after the cache is emptied, after aborts and after the device is lost', async () => {
    const engine = createPaperEngine(LIMITS);
    const all = [0, 1, 2].map((seed) => engine.start(paperSequence(prompt(100, seed), 200)));
    await until(() => all.every((sequence) => generated(sequence).length > 40));
    expect(engine.scheduler.pages.states!.free).toBe(8 - 6);
    engine.loop.abort(all);
    await engine.loop.close();
    expect(engine.scheduler.flush()).toBe(true);
    expect(engine.scheduler.pages.states!.free).toBe(8);
    const again = paperSequence(prompt(100), 9);
    engine.scheduler.add(again);
    while (engine.scheduler.plan().length > 0 && !again.progress.isPromptComputed)
      engine.scheduler.takeMoves();
    engine.scheduler.restart();
    expect(engine.scheduler.pages.states!.free).toBe(8);
    expect(engine.scheduler.takeMoves()).toBeNull();
  });

  it('a copy that is still to be made keeps its place', async () => {
    const engine = createPaperEngine({ ...LIMITS, copies: 1, rows: 256 });
    const both = [0, 1].map((seed) => paperSequence(prompt(100, seed), 2));
    both.forEach((sequence) => engine.scheduler.add(sequence));
    engine.loop.wake();
    await allFinished(both);
    both.forEach(expectAlone);
    expect(copiesOf(engine, both[0]!)).toEqual([3]);
    expect(copiesOf(engine, both[1]!)).toEqual([]);
  });
});

describe('slower tiers with states', () => {
  it('hold copies beside pages, and count their bytes', async () => {
    const engine = await startTiered({ pages: 8, copies: 2, hostPages: 64 });
    const first = paperSequence(prompt(200), 3);
    await engine.run(first);
    await engine.settled();
    expect(engine.tiers.host.used).toBe(6 * PAGE_BYTES + STATE_BYTES);
    for (const seed of [1, 2]) await engine.run(paperSequence(prompt(200, seed), 3));
    expect(copiesOf(engine, first)).toEqual([]);
    const again = paperSequence(prompt(200), 3);
    await engine.run(again);
    expectAlone(again);
    expect(cached(again)).toMatchObject({ storage: 0 });
    expect(engine.runner.steps.flat().at(-3)).toMatchObject({ first: 192, rows: 8 });
  });

  it('outlive the device', async () => {
    const engine = await startTiered({ pages: 32, copies: 8, hostPages: 64 });
    await engine.run(paperSequence(prompt(200), 40));
    await engine.settled();
    await engine.loop.close();
    engine.scheduler.restart();
    const { pages } = engine.scheduler;
    const again = paperSequence(prompt(200), 2);
    const path = pages.match(again);
    expect(path).toHaveLength(6);
    expect(path.at(-1)!.state).toMatchObject({ page: null, loading: false });
    engine.scheduler.add(again);
    const moved = [];
    for (let step = 0; step < 9; step++) {
      engine.scheduler.plan();
      moved.push(...(engine.scheduler.takeMoves()?.states ?? []));
    }
    expect(again.progress.isPromptComputed).toBe(true);
    // From the host to a copy on the device, and from there to the slot.
    expect(moved).toMatchObject([
      { to: { copy: 0 } },
      { from: { copy: 0 }, to: { slot: again.placement.slot } },
    ]);
    expect(path.at(-1)!.state!.page).toBe(0);
  });

  it('get of a reply the last copy alone', async () => {
    const engine = await startTiered({ pages: 32, copies: 8, hostPages: 64 });
    let most = 0;
    const first = paperSequence(prompt(100), 150);
    first.onEvent = () => {
      most = Math.max(most, engine.tiers.host.used % PAGE_BYTES);
    };
    await engine.run(first);
    expect(most).toBe(STATE_BYTES);
    await engine.settled();
    expect(engine.tiers.host.used).toBe(7 * PAGE_BYTES + 2 * STATE_BYTES);
  });

  it('give a prefix up to the last copy that is whole', async () => {
    const folder = await folders({});
    const first = await startTiered({ pages: 32, copies: 8, folder });
    await first.run(paperSequence(prompt(100), 2));
    await first.run(paperSequence(prompt(250), 2));
    await first.tiers.close();
    const second = await startTiered({ pages: 32, copies: 8, folder });
    const found = paperSequence(prompt(250), 2);
    await second.run(found);
    expect(cached(found)).toMatchObject({ storage: 224 });
    const last = second.scheduler.pages.match(found).at(-1)!;
    const name = new PageNames(second.tiers.storage!).ofPage(last.state!);
    await second.tiers.close();
    const file = join(folder, name.slice(0, 2), `${name}.page`);
    const bytes = readFileSync(file);
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(file, bytes);
    const third = await startTiered({ pages: 32, copies: 8, folder });
    const again = paperSequence(prompt(250), 2);
    await third.run(again);
    [found, again].forEach(expectAlone);
    expect(cached(again)).toMatchObject({ device: 0, storage: 96 });
  });
});
