// Plans of a model in which some layers look back on a window and others see all tokens: KV bytes as the engine allocates them.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import type { ModelPlan, PlanOptions } from '../../../src/engine/plan/model-plan.ts';
import { planFolder } from '../../../src/host/plan.ts';
import type { Loras } from '../../../src/engine/text/lora/loras.ts';
import { loadOnto, runnerSizes } from '../../../src/engine/text/load.ts';
import { openRunner } from '../../../src/engine/text/step/open-runner.ts';
import type { KeptSizes } from '../../../src/engine/text/step/runner-options.ts';
import type { Runner } from '../../../src/engine/text/step/text-runner.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { readShader } from '../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../src/gpu/paper-device.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { DEFAULTS } from '../../../src/options/limits.ts';
import { writeTokenizer } from '../checkpoint-folder.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/gemma3', import.meta.url));
const CONTEXT = 32768;
const AMPLE = 2 ** 32;

const path = mkdtempSync(join(tmpdir(), 'svc-plan-windows-'));
beforeAll(() => {
  cpSync(GOLDEN, path, { recursive: true });
  writeTokenizer(path);
  const config = JSON.parse(readFileSync(join(GOLDEN, 'config.json'), 'utf8')) as object;
  const longer = { ...config, max_position_embeddings: CONTEXT };
  writeFileSync(join(path, 'config.json'), JSON.stringify(longer));
});
afterAll(() => rmSync(path, { recursive: true }));

const NO_ADAPTERS = { attach: () => Promise.resolve() } as unknown as Loras;

const openDevice = (memoryBudget: number): Device => openPaperDevice({ shaders: readShader, memoryBudget });

function plan(options: Partial<PlanOptions>): Promise<ModelPlan> {
  const asked = { model: path, memoryBudget: AMPLE, ...options };
  return planFolder(path, asked, { openDevice, openFolder: openDiskFolder, memory: AMPLE });
}

async function open(
  memoryBudget: number,
  contextLength: number,
  slots: number,
  kept: KeptSizes | null = null,
): Promise<Runner> {
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  await checkpoint.close();
  const device = openDevice(memoryBudget);
  const declaration = readText(checkpoint.config, checkpoint.architecture);
  const options = {
    ...runnerSizes(device, declaration, { slots, contextLength, ownBiases: 1 }),
    ...{ quantization: 'none' as const, kept, packed: null, unread: true },
    loras: () => Promise.resolve(),
  };
  return openRunner(device, checkpoint, declaration, options, { onProgress: () => {}, onNote: () => {} });
}

it.each([4096, 16384, CONTEXT])('a context of %d tokens takes the planned KV bytes', async (tokens) => {
  const planned = await plan({ contextLength: tokens });
  const { bytes } = planned.cache!.lengths.at(-1)!;
  const { device, layout, pages } = await open(AMPLE, tokens, 1);
  expect(layout.windows).toEqual([null, 8, 8]);
  expect(pages).toBe(layout.pagesOf(tokens));
  // One page is kept for copies.
  expect(device.memory().kv).toBe(bytes + layout.pageBytes);
  // All layers with all tokens would take more than twice as many.
  expect(bytes).toBeLessThan(0.45 * tokens * planned.cache!.tokenBytes);
});

it('a budget gives the planned context, nearly three times as long as without releasing pages', async () => {
  const ample = await plan({});
  const { weights, scratch } = ample.choices[0]!;
  const { layout } = await open(AMPLE, CONTEXT, 1);
  const pages = layout.pagesOf(CONTEXT / 2);
  const memoryBudget = weights + scratch + (pages + 1) * layout.pageBytes;
  const planned = await plan({ memoryBudget });
  expect(planned).toMatchObject({ fits: false, opens: true, change: { contextLength: CONTEXT / 2 } });
  const runner = await open(memoryBudget, CONTEXT, DEFAULTS.runningRequests);
  expect(runner.pages).toBe(pages);
  expect(runner.contextLength).toBe(CONTEXT / 2);
  const whole = (pages / layout.groups.length) * 32;
  expect(runner.contextLength / whole).toBeGreaterThan(2.5);
});

it('a device that replaces another keeps the page layout of running sequences', async () => {
  const { layout, rows } = await open(AMPLE, 64, 1);
  expect(layout.windows).toEqual([null]);
  const kept = { layout, rows, pages: layout.pagesOf(CONTEXT) };
  const runner = await open(AMPLE, CONTEXT, 1, kept);
  expect(runner.layout).toBe(layout);
  expect(runner.pages).toBe(kept.pages);
  expect((await open(AMPLE, CONTEXT, 1)).layout.windows).toEqual([null, 8, 8]);
});

it('a device that has no room for the pages of the lost one is refused', async () => {
  const { layout, rows } = await open(AMPLE, 64, 1);
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  await checkpoint.close();
  const declaration = readText(checkpoint.config, checkpoint.architecture);
  const kept = { layout, rows, pages: 2 ** 30 };
  const files = { checkpoint, config: declaration, media: null, speech: { endIds: [0], suppressedIds: [] } };
  const options = { model: path, maxRunningRequests: 1 };
  const parts = { packed: null, loras: NO_ADAPTERS, kept };
  await expect(loadOnto(openDevice(AMPLE), files, options, parts, () => {})).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/binds at most .* KV pages: open the model/),
  });
});
