// The engine without batch invariance: steps of many requests use the products of prompts, and their replies are right; other steps, and models
// that are opened without the option, have the kernels of decode rows. The adapter is forced into the profile of a GPU.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { batchNotes } from '../../../src/engine/text/request/defaults.ts';
import { Recordings } from '../../../src/engine/text/step/recordings.ts';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { modelOption } from '../../../src/options/names.ts';
import { PROFILES } from '../../../src/gpu/adapter-profile.ts';
import { textOf } from '../../../src/files/message.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import { disguise, type Disguise } from '../../gpu/test-device.ts';
import { collect, goldenCases, goldenModel, greedy, openGolden } from '../fixture.ts';

const platformAs = (as: Disguise): typeof nodePlatform => ({
  ...nodePlatform,
  openDevice: async (options) => disguise(await nodePlatform.openDevice(options), as),
});
// Tiles of few columns occupy such a GPU.
const GPU = platformAs({ profile: 'discrete', matvecRows: 2, sharedTiles: 1, sharedRows: 16, promptSums: 4 });

const opened: TextModel[] = [];
async function open(options: Parameters<typeof openGolden>[1], platform = GPU): Promise<TextModel> {
  const model = await openGolden('qwen3', options, platform);
  opened.push(model);
  return model;
}
afterAll(async () => {
  for (const model of opened) await model.close();
});

const { config, greedy: golden } = goldenCases('qwen3').find(
  ({ greedy: tokens, weights, rope }) => tokens && weights === 'stored' && rope.rule !== 'static',
)!;
const REQUEST = greedy(golden!.prompt_ids, 12);
const COMPANY = 18;

/** Replies to as many equal requests at once, and the names of the kernels of each decode step by its rows. */
async function replies(
  model: TextModel,
  count: number,
): Promise<{ ids: number[][]; steps: Map<number, Set<string>> }> {
  const found = vi.spyOn(Recordings.prototype, 'find');
  try {
    const done = await Promise.all(Array.from({ length: count }, () => collect(model.generate(REQUEST))));
    const steps = new Map<number, Set<string>>();
    found.mock.calls.forEach(([sizes, phase], i) => {
      const { value } = found.mock.results[i]! as { value: ReturnType<Recordings['find']> };
      if (phase === 'decode')
        steps.set(sizes.rows, new Set(value.forward.encodables(sizes).map(({ name }) => name)));
    });
    return { ids: done.map(({ ids }) => ids[0]!), steps };
  } finally {
    found.mockRestore();
  }
}

let model: TextModel;
beforeAll(async () => {
  model = await open({ config, batchInvariance: false, maxRunningRequests: 32, prefixCache: false });
}, 120_000);

it('batch invariance multiplies many requests as prompts are, with attention of its own', async () => {
  const { ids, steps } = await replies(model, COMPANY);
  expect([...steps.get(COMPANY)!]).toEqual(expect.arrayContaining(['gemm.wgsl', 'attention-decode.wgsl']));
  expect([...steps.get(COMPANY)!]).not.toContain('matvec.wgsl');
  for (const reply of ids) expect(reply).toEqual(golden!.tokens.slice(0, 12));
});

it('batch invariance multiplies few requests with the kernels of decode rows', async () => {
  const { ids, steps } = await replies(model, 3);
  expect([...steps.keys()]).toContain(3);
  for (const names of steps.values()) {
    expect([...names]).toContain('matvec.wgsl');
    expect([...names]).not.toContain('gemm.wgsl');
  }
  for (const reply of ids) expect(reply).toEqual(golden!.tokens.slice(0, 12));
});

it('batch invariance is the default, and all decode steps have the kernels of decode rows', async () => {
  const usual = await open({ config, maxRunningRequests: 32, prefixCache: false });
  const { steps } = await replies(usual, COMPANY);
  expect([...steps.keys()]).toContain(COMPANY);
  for (const names of steps.values()) expect([...names]).not.toContain('gemm.wgsl');
});

it('batch invariance changes nothing on a software adapter, which a note states', async () => {
  const folder = goldenModel('qwen3', config);
  const notes: string[] = [];
  const options = {
    model: folder.path,
    memoryBudget: 2 ** 30,
    batchInvariance: false,
    maxRunningRequests: 32,
  };
  const cpu = await openInline(TEXT, platformAs({ profile: 'cpu' }), options, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  opened.push(cpu);
  folder.remove();
  expect(notes).toEqual([
    '`batchInvariance` changes nothing: this adapter has the same kernels for prompts and replies',
  ]);
  expect((await collect(cpu.generate(REQUEST))).ids[0]).toEqual(golden!.tokens.slice(0, 12));
});

it('a note states from how many requests on batch invariance has an effect', () => {
  const profile = PROFILES.find(({ name }) => name === 'discrete')!;
  const notes = (slots: number, given = {}) =>
    batchNotes({ batchInvariance: false, ...given }, { profile }, slots);
  const typed = (slots: number) => notes(slots).map((message) => textOf(message, { option: modelOption }));
  expect(typed(64)).toEqual([
    expect.stringMatching(/^--disable-batch-invariance: products of steps of more than 16 requests use/),
  ]);
  expect(typed(16)).toEqual([
    expect.stringMatching(
      /^--disable-batch-invariance changes nothing with at most 16 requests at once.*raise --max-running-requests/,
    ),
  ]);
  expect(notes(64, { batchInvariance: true })).toEqual([]);
});
