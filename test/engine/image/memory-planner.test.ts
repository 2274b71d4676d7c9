// Which requests have a plan in common, and how many plans are kept.

import { beforeEach, expect, it, vi } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { MemoryPlanner } from '../../../src/engine/image/memory-planner.ts';
import type { OpenedPipeline } from '../../../src/engine/image/opened-pipeline.ts';
import type { Resolved } from '../../../src/engine/image/stages/resolved.ts';

const measure = vi.hoisted(() => vi.fn());
vi.mock('../../../src/engine/image/paper-drawing.ts', async (load) => ({
  ...(await load<object>()),
  measure,
}));
beforeEach(() => {
  measure.mockReset();
  measure.mockResolvedValue({ stages: new Map(), peak: 1, host: 0, weights: new Map() });
});

/** A planner of a pipeline whose tokens are words. */
function planner(isBatchFixed = false): MemoryPlanner {
  const tokenizer = { encode: (text: string) => text.split(' ').filter((word) => word !== '') };
  const components = {
    isSmall: false,
    quantization: 'none',
    tokenizerNames: ['tokenizer'],
    tokenizer: async () => tokenizer,
    reside: () => {},
  };
  const device = { memoryBudget: 1000, mayGrow: false };
  const parts = { device, components } as unknown as OpenedPipeline;
  return new MemoryPlanner(parts, {
    roles: new Map(),
    asked: new Map(),
    prefetch: 1,
    changes: [],
    isBatchFixed,
    openPaper: async () => ({}) as OpenedPipeline,
  });
}

function request(
  words: number,
  { negative = '', width = 64, prompt = Array(words).fill('a').join(' ') } = {},
) {
  const given = { strength: null, negativePrompt: negative, samples: 1, guidance: 5 };
  const values = { ...given, width, height: 64, upscalingScale: null };
  return { event: { values }, request: { prompt }, call: {} } as unknown as Resolved;
}

it('prompts of about as many tokens share a memory plan, longer ones and several windows do not', async () => {
  const memory = planner();
  const plans = async (...given: Parameters<typeof request>): Promise<number> => {
    measure.mockClear();
    await memory.apply(request(...given));
    return measure.mock.calls.length;
  };
  expect(await plans(3)).toBe(1);
  expect(await plans(25)).toBe(0);
  expect(await plans(26)).toBe(1);
  expect(await plans(50)).toBe(0);
  expect(await plans(1)).toBe(0);
  expect(await plans(3, { negative: 'b' })).toBe(1);
  expect(await plans(3, { prompt: 'a BREAK c' })).toBe(1);
  expect(await plans(3, { prompt: 'a b c' })).toBe(0);
});

it('memory plans of the latest requests are kept', async () => {
  const memory = planner();
  for (let i = 0; i < 300; i++) await memory.apply(request(3, { width: 8 * (i + 1) }));
  expect(measure).toHaveBeenCalledTimes(300);
  await memory.apply(request(3, { width: 8 * 300 }));
  expect(measure).toHaveBeenCalledTimes(300);
  await memory.apply(request(3, { width: 8 }));
  expect(measure).toHaveBeenCalledTimes(301);
});

it('a batch has as many images as memory takes beside the weights, or as are asked for', async () => {
  const fits = (most: number) =>
    measure.mockImplementation(async (_, { batch = 1 }: Resolved) => {
      if (batch > most) throw new EngineError('out_of_memory', `no room for ${batch}`);
      return { stages: new Map(), peak: batch, host: 0, weights: new Map() };
    });
  const ofBatch = (batch: number, words: number): Resolved => ({ ...request(words), batch });
  fits(4);
  expect(await planner().apply(ofBatch(8, 3))).toBe(4);
  expect(measure.mock.calls.map(([, { batch }]) => batch as number)).toEqual([1, 8, 4]);
  expect(await planner().plan(ofBatch(8, 3))).toMatchObject({ peak: 4, batch: 4 });
  fits(1);
  expect(await planner().apply(ofBatch(3, 3))).toBe(1);
  fits(5);
  expect(await planner().apply(ofBatch(5, 3))).toBe(5);
  expect(await planner(true).apply(ofBatch(5, 3))).toBe(5);
  await expect(planner(true).apply(ofBatch(6, 3))).rejects.toMatchObject({ code: 'out_of_memory' });
});
