// Experts in host memory with slots on the device: replies are those of a model on the device, log probabilities included, with any number of
// slots.

import { afterEach, expect, it, vi } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextEvent, TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { goldenModel, greedy, type GoldenName } from '../fixture.ts';

vi.setConfig({ testTimeout: 120_000 });

const PROMPTS = [40, 3, 17].map((length) => Array.from({ length }, (_, i) => (i * 37 + length) % 40));
const TOKENS = 8;

const removed: (() => void)[] = [];
afterEach(() => removed.splice(0).forEach((remove) => remove()));

function model(name: GoldenName): string {
  const golden = goldenModel(name);
  removed.push(golden.remove);
  return golden.path;
}

/** The replies to several prompts at once, and to the first of them again, whose beginning is cached by then. */
async function replies(options: TextModelOptions, platform = nodePlatform) {
  const notes: string[] = [];
  const opened = await openInline(TEXT, platform, { safe: true, contextLength: 128, ...options }, (event) => {
    if (event.type === 'note') notes.push(event.message);
  });
  try {
    const ask = async (ids: number[]): Promise<TextEvent[]> => {
      const deltas: TextEvent[] = [];
      for await (const event of opened.generate({ ...greedy(ids, TOKENS), logprobs: 3 }))
        if (event.type === 'delta') deltas.push(event);
      return deltas;
    };
    const together = await Promise.all(PROMPTS.map(ask));
    const told = [...together, await ask(PROMPTS[0]!)];
    const { experts } = await opened.metrics();
    return { told, experts, notes, info: opened.info };
  } finally {
    await opened.close();
  }
}

it.each<[GoldenName, 'none' | 'int4']>([
  ['qwen3-moe', 'none'],
  ['olmoe', 'int4'],
])('%s has equal replies with any number of slots, quantization %s', async (name, quantization) => {
  const options = { model: model(name), quantization, memoryBudget: 2 ** 30 };
  const whole = await replies(options);
  expect(whole.experts).toBeUndefined();
  for (const cpuMoeSlots of [1, 2, 3, 64]) {
    const slotted = await replies({ ...options, cpuMoe: true, cpuMoeSlots });
    expect(slotted.told).toEqual(whole.told);
  }
});
