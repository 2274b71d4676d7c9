// Requests of models with draft models: their tokens are those without, however many run at once, and what is refused.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type {
  TextModel,
  TextModelOptions,
  TextRequest,
} from '../../../../src/engine/text/calls/text-model.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { writeTokenizer } from '../../checkpoint-folder.ts';
import { collect, greedy } from '../../fixture.ts';

const GOLDEN = fileURLToPath(new URL('../../../golden/', import.meta.url));
const devices: Device[] = [];
const platform: Platform = {
  ...nodePlatform,
  async openDevice(options) {
    const device = await nodePlatform.openDevice(options);
    devices.push(device);
    return device;
  },
};
const folders: string[] = [];
const opened: TextModel[] = [];
afterAll(async () => {
  for (const model of opened) await model.close();
  for (const path of folders) rmSync(path, { recursive: true });
});

function folderOf(name: string): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-draft-'));
  folders.push(path);
  cpSync(join(GOLDEN, name), path, { recursive: true });
  writeTokenizer(path);
  return path;
}

async function open(name: string, options: Partial<TextModelOptions> = {}): Promise<TextModel> {
  const model = await openInline(TEXT, platform, {
    ...{ model: folderOf(name), safe: true, memoryBudget: 2 ** 30, speculativeAdaptive: false },
    ...options,
  });
  opened.push(model);
  return model;
}

/** Prompts of several lengths, greedy and drawn; the first two begin alike. */
const REQUESTS: TextRequest[] = [9, 50, 3, 70, 33].map((length, i) => ({
  ...greedy(
    Array.from({ length }, (_, at) => (at * at * 31 + at * 7 + (i > 1 ? i * 13 : 0)) % 250),
    24 + i,
  ),
  ...(i % 2 === 1 && { temperature: 0.7, seed: i }),
}));

async function idsOf(model: TextModel): Promise<(readonly number[] | undefined)[]> {
  const all = REQUESTS.map((request) => collect(model.generate(request)));
  return (await Promise.all(all)).map(({ ids }) => ids[0]);
}

it.each([
  ['mtp', 'drafts/qwen3-5-mtp', null],
  ['mtp', 'drafts/qwen3-next-mtp', null],
  ['mtp', 'drafts/deepseek-v32-mtp', null],
  ['mtp', 'gemma4-e', 'drafts/gemma4-assistant'],
  ['eagle3', 'qwen3-moe', 'drafts/eagle3'],
  ['draft', 'qwen3-moe', 'qwen3'],
] as const)('%s of %s by %s changes no token', async (speculativeAlgorithm, name, draft) => {
  const plain = await open(name);
  const path = draft === null ? {} : { speculativeDraftModelPath: folderOf(draft) };
  const drafted = await open(name, {
    ...{ speculativeAlgorithm, speculativeNumDraftTokens: 4, prefillChunk: 32, maxRunningRequests: 3 },
    ...path,
  });
  expect(await idsOf(drafted)).toEqual(await idsOf(plain));
  const { speculation } = await drafted.metrics();
  expect(speculation!.proposed).toBeGreaterThan(20);
});

it('a model that guesses for itself is always right', async () => {
  const model = await open('qwen3', {
    ...{ speculativeAlgorithm: 'draft', speculativeDraftModelPath: folderOf('qwen3') },
    ...{ speculativeNumDraftTokens: 4, maxRunningRequests: 4 },
  });
  await Promise.all(REQUESTS.map((request) => collect(model.generate({ ...request, temperature: 0 }))));
  const { speculation } = await model.metrics();
  expect(speculation!.proposed).toBeGreaterThan(50);
  expect(speculation!.accepted).toBe(speculation!.proposed);
});

it('requests go on to the same tokens after the device was lost', async () => {
  const options = {
    speculativeAlgorithm: 'eagle3',
    speculativeDraftModelPath: folderOf('drafts/eagle3'),
  } as const;
  const model = await open('qwen3-moe', options);
  const expected = await idsOf(model);
  const { generatedTokens } = await model.metrics();
  const again = idsOf(model);
  while ((await model.metrics()).generatedTokens < generatedTokens + 30)
    await new Promise((resolve) => setTimeout(resolve, 2));
  devices.at(-1)!.destroy();
  expect(await again).toEqual(expected);
  expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, running: 0 });
});

it.each([
  ['mtp', 'qwen3', null, /checkpoint|qwen3|none that are built/i],
  ['draft', 'qwen3-moe', 'llama', /vocabulary has 288 tokens, and that of the model 331/],
  ['draft', 'qwen3-moe', 'qwen3-5', /states that guessed tokens change/],
  ['draft', 'qwen3-moe', 'drafts/eagle3', /is EAGLE3/],
  ['draft', 'qwen3-moe', 'seq2seq/t5', /T5ForConditionalGeneration cannot be .* writes about a source/],
  ['draft', 'seq2seq/t5', 'qwen3', /T5ForConditionalGeneration takes no draft model/],
  ['eagle3', 'llama', 'drafts/eagle3', /vocab_size is 331, and that of LlamaForCausalLM is 288/],
] as const)('%s of %s by %s is refused', async (speculativeAlgorithm, name, draft, message) => {
  const path = draft === null ? {} : { speculativeDraftModelPath: folderOf(draft) };
  await expect(open(name, { speculativeAlgorithm, ...path })).rejects.toThrow(message);
});
