// Where the weights of towers are: in host memory where the pages need the budget, and away from the device where something else needs memory
// while they are idle. The tokens are the same.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type {
  TextModel,
  TextModelOptions,
  TextRequest,
} from '../../../../src/engine/text/calls/text-model.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { planModel } from '../../../../src/host/node/plan.ts';
import { FOLDER } from '../../../models/vision/internvl-golden.ts';
import { requestOf as conversationOf, run, type Conversation } from '../media/conversations.ts';
import { openMediaGolden, openMediaModel, requestOf } from '../media/media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Asked {
  request: TextRequest;
  greedy: number[];
}

interface Family {
  path: string;
  /** With images of their own. */
  requests: Asked[];
}

async function qwen(): Promise<Family> {
  const golden = await openMediaGolden('qwen2-5-vl');
  const cases = golden.cases.slice(0, 2);
  return {
    path: golden.path,
    requests: cases.map((one) => ({ request: requestOf(golden, one), greedy: one.greedy })),
  };
}

type Limited = Conversation & { limits: { max_patches?: number } };

async function internvl(): Promise<Family> {
  const text = await readFile(`${FOLDER}/qwen3.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Limited> };
  const cases = ['one', 'two'].map((name) => conversations[name]!);
  return {
    path: `${FOLDER}/qwen3`,
    requests: cases.map((one) => ({
      request: {
        ...conversationOf(one),
        ...(one.limits.max_patches && { maxTiles: one.limits.max_patches }),
      },
      greedy: one.greedy,
    })),
  };
}

const SIZES = { contextLength: 1024 };

async function opened(path: string, options: Partial<TextModelOptions> = {}) {
  const devices: Device[] = [];
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(given) {
      const device = await nodePlatform.openDevice(given);
      devices.push(device);
      return device;
    },
  };
  const notes: string[] = [];
  const onEvent = (event: { type: string; message?: unknown }): void => {
    if (event.type === 'note') notes.push(String(event.message));
  };
  const model = await openMediaModel({ path }, { ...SIZES, ...options }, { platform, onEvent });
  return { model, device: devices[0]!, notes };
}

async function expectTokens(model: TextModel, { request, greedy }: Asked): Promise<void> {
  await model.flushCache();
  expect((await run(model, request)).ids).toEqual(greedy);
}

describe.each([
  ['Qwen2.5-VL', qwen],
  ['InternVL', internvl],
])('a tower of %s', (_, open) => {
  it('has layers in host memory if the pages take what the budget leaves, as planned', async () => {
    const family = await open();
    const ample = await opened(family.path);
    const { memory } = ample.model.info;
    const { towers } = await ample.model.metrics();
    expect(towers).toMatchObject({ hostBytes: 0 });
    await ample.model.close();
    // Less than all that was allocated, so that resident towers cost pages.
    const memoryBudget = Math.floor(memory.weights + 0.25 * memory.kv + memory.arena);
    const tight = await opened(family.path, { memoryBudget });
    try {
      const { memory: less } = tight.model.info;
      expect(tight.notes.join()).toContain('are in host memory');
      expect(less.weights + less.kv + less.arena).toBeLessThanOrEqual(memoryBudget);
      const { deviceBytes, hostBytes } = (await tight.model.metrics()).towers!;
      expect(hostBytes).toBeGreaterThan(0);
      expect(deviceBytes + hostBytes).toBe(towers!.deviceBytes);
      expect(memory.weights - less.weights).toBe(hostBytes);
      for (const asked of family.requests) await expectTokens(tight.model, asked);
      const plan = await planModel({ model: family.path, memoryBudget, ...SIZES });
      const choice = plan.choices.find(({ quantization }) => quantization === 'none')!;
      expect(choice).toMatchObject({ opens: true, weights: less.weights });
    } finally {
      await tight.model.close();
    }
  });

  it('leaves while it is idle and something needs memory, and returns with the next medium', async () => {
    const family = await open();
    const { model, device } = await opened(family.path);
    try {
      await expectTokens(model, family.requests[0]!);
      const { towers } = await model.metrics();
      const used = device.memory().weights;
      expect(await device.reserve(2 ** 40)).toBe(false);
      expect((await model.metrics()).towers).toEqual({ deviceBytes: 0, hostBytes: 0 });
      expect(used - device.memory().weights).toBe(towers!.deviceBytes);
      await model.flushCache();
      const text: TextRequest = { prompt: { text: 'Hello' }, temperature: 0, maxTokens: 3 };
      expect((await run(model, text)).ids.length).toBeGreaterThan(0);
      expect((await model.metrics()).towers).toEqual({ deviceBytes: 0, hostBytes: 0 });
      await expectTokens(model, family.requests[1]!);
      expect((await model.metrics()).towers).toEqual(towers);
      expect(device.memory().weights).toBe(used);
    } finally {
      await model.close();
    }
  });
});

it('a LoRA that is loaded gets the room of an idle tower', async () => {
  const folder = fileURLToPath(new URL('../../../golden/pixtral', import.meta.url));
  const { conversations, adapted } = JSON.parse(await readFile(`${folder}/mistral3.json`, 'utf8')) as {
    conversations: Record<string, Conversation>;
    adapted: Record<string, number[]>;
  };
  const one = conversations['one']!;
  const { model, device } = await opened(`${folder}/mistral3`, { maxLoras: 1, memoryBudget: 2 ** 26 });
  try {
    const before = (await model.metrics()).towers!;
    expect(before.deviceBytes).toBeGreaterThan(0);
    const others = device.allocate('step', 'others', device.memoryBudget - device.memoryUsed - 4096);
    await model.loadLora('own', `${folder}/mistral3-adapter`);
    expect((await model.metrics()).towers).toEqual({ deviceBytes: 0, hostBytes: 0 });
    device.free(others);
    const request = { ...conversationOf(one), lora: 'own' };
    expect((await run(model, request)).ids).toEqual(adapted['one']);
    const after = (await model.metrics()).towers!;
    expect(after.deviceBytes + after.hostBytes).toBe(before.deviceBytes);
  } finally {
    await model.close();
  }
});
