// Plans against the engine: memory of runners on a real device with the same limits, refusals, and changes that make a model fit.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/architectures.ts';
import { DEFAULTS } from '../../../src/options/limits.ts';
import { fit } from '../../../src/engine/plan/fit.ts';
import type { ModelPlan, PlannedChoice, PlanOptions } from '../../../src/engine/plan/model-plan.ts';
import { planFolder } from '../../../src/engine/plan/plan.ts';
import { runnerSizes } from '../../../src/engine/text/load.ts';
import { openRunner } from '../../../src/engine/text/step/open-runner.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { shippedFolder } from '../../../src/files/shipped.ts';
import { openDiskFolder } from '../../../src/files/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { readShader } from '../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../src/gpu/paper-device.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { openTestDevice } from '../../gpu/test-device.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));
const MIB = 2 ** 20;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Plans for the adapter of the tests. */
function plan(path: string, options: Partial<PlanOptions> = {}): Promise<ModelPlan> {
  const openDevice = (memoryBudget: number): Device =>
    openPaperDevice({ shaders: readShader, memoryBudget, like: device.summary });
  return planFolder(
    path,
    { model: path, memoryBudget: 1024 * MIB, ...options },
    { openDevice, openFolder: openDiskFolder },
  );
}

/** Copies a folder without its weights. */
function withoutWeights(path: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'svc-plan-'));
  for (const name of readdirSync(path))
    if (!name.endsWith('.safetensors')) copyFileSync(join(path, name), join(copy, name));
  return copy;
}

describe('a language model', () => {
  it.each([
    ['qwen3', 'none'],
    ['llama', 'int8'],
    ['qwen3-moe', 'int4'],
    ['gemma3', 'none'],
  ] as const)('%s as %s takes the bytes that are planned', async (name, quantization) => {
    const checkpoint = await openCheckpoint(await openDiskFolder(GOLDEN + name), TEXT_CLASSES);
    const declaration = readText(checkpoint.config, checkpoint.architecture);
    const sizes = runnerSizes(device, declaration, { slots: DEFAULTS.runningRequests, endTokens: 1 });
    // A device of its own, because an arena keeps the slots of earlier models.
    const own = await openTestDevice();
    const options = { pages: null, packed: null, adapters: () => Promise.resolve() };
    const runner = await openRunner(
      own,
      checkpoint,
      declaration,
      { ...sizes, ...options, quantization },
      {
        onProgress: () => {},
        onNote: () => {},
      },
    );
    await checkpoint.close();
    const memory = own.memory();
    own.destroy();
    const planned = await plan(GOLDEN + name, { quantization });
    const choice = planned.choices.find((one) => one.quantization === quantization)!;
    expect(choice.weights).toBe(memory.weights);
    expect(choice.scratch).toBe(memory.arena + memory.step);
    expect(choice.contextLength).toBe(runner.contextLength);
    // One page is kept for copies.
    expect(planned.cache!.tokenBytes * 32 * (runner.pages + 1)).toBe(memory.kv);
    expect([planned.parameters, planned.fits, planned.source]).toEqual([runner.parameters, true, 'headers']);
  });

  it('is planned from its configuration alone where the weights are not there', async () => {
    const copy = withoutWeights(`${GOLDEN}qwen2`);
    try {
      const [there, missing] = [await plan(`${GOLDEN}qwen2`), await plan(copy)];
      expect(missing.source).toBe('config');
      expect({ ...missing, source: 'headers', model: there.model }).toEqual(there);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it('within another says which modules are not read', async () => {
    const planned = await plan(`${GOLDEN}wrappers/llava`);
    expect(planned.architecture).toBe('LlamaForCausalLM');
    expect(planned.wrapper).toBe('LlavaForConditionalGeneration');
    expect(planned.ignored.modules).toEqual(['multi_modal_projector', 'vision_tower']);
    expect(planned.ignored.tensors).toBeGreaterThan(10);
  });

  it('opens with a shorter context, another quantization or a larger budget, and these fit', async () => {
    const path = shippedFolder('svc-chat-mini')!;
    const { choices } = await plan(path);
    const [stored, , int4] = choices as [PlannedChoice, PlannedChoice, PlannedChoice];
    const shorter = await plan(path, { memoryBudget: stored.weights + stored.scratch + 2 * MIB });
    expect([shorter.opens, shorter.fits]).toEqual([true, false]);
    expect(shorter.change!.contextLength).toBeGreaterThan(500);
    const again = { memoryBudget: shorter.budget, ...shorter.change };
    expect((await plan(path, again)).fits).toBe(true);

    const smaller = await plan(path, { memoryBudget: int4.weights + int4.scratch + MIB });
    expect([smaller.opens, smaller.change!.quantization]).toEqual([false, 'int4']);
    expect((await plan(path, { memoryBudget: smaller.budget, ...smaller.change })).fits).toBe(true);

    const larger = await plan(path, { memoryBudget: MIB });
    expect(Object.keys(larger.change!)).toEqual(['memoryBudget']);
    expect((await plan(path, larger.change!)).fits).toBe(true);
    const less = larger.change!.memoryBudget! - 100_000;
    expect((await plan(path, { memoryBudget: less })).fits).toBe(false);
  });

  it('is refused as opening it would refuse it', async () => {
    const copy = withoutWeights(`${GOLDEN}qwen2`);
    const refused = (name: string): Promise<unknown> => {
      const config = JSON.parse(readFileSync(join(copy, 'config.json'), 'utf8')) as object;
      writeFileSync(join(copy, 'config.json'), JSON.stringify({ ...config, architectures: [name] }));
      return plan(copy).catch((error: unknown) => error);
    };
    try {
      expect(await refused('GPTNeoXForCausalLM')).toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining('the architecture is GPTNeoXForCausalLM'),
      });
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});

it('an embedding model is planned by its weights', async () => {
  const planned = await plan(`${GOLDEN}embedding/bert`);
  expect([planned.kind, planned.architecture, planned.stored]).toEqual(['embedding', 'BertModel', ['F16']]);
  expect(planned.fits).toBe(true);
  expect((await plan(`${GOLDEN}embedding/bert`, { memoryBudget: 150_000 })).change).toEqual({
    quantization: 'int8',
  });
});

it('an image pipeline is planned component by component', async () => {
  const planned = await plan(shippedFolder('svc-scenes-mini')!);
  expect([planned.kind, planned.architecture]).toEqual(['image', 'StableDiffusionPipeline']);
  expect(planned.components.map(({ name }) => name)).toEqual(['text_encoder', 'unet', 'vae']);
  for (const { weights } of planned.components) {
    expect(weights.int4).toBeLessThan(weights.int8);
    expect(weights.int8).toBeLessThan(weights.none);
  }
  const [stored] = planned.choices;
  expect(stored!.weights).toBe(Math.max(...planned.components.map(({ weights }) => weights.none)));
  // At least an image of 128 × 128 with 32 channels in f32.
  expect(stored!.scratch).toBeGreaterThan(128 * 128 * 32 * 4);
  const tight = await plan(shippedFolder('svc-scenes-mini')!, { memoryBudget: MIB });
  expect([tight.opens, tight.change!.memoryBudget! > MIB]).toEqual([false, true]);
});

describe('the smallest change', () => {
  const choice = (quantization: PlannedChoice['quantization'], contextLength: number): PlannedChoice => ({
    quantization,
    weights: 0,
    scratch: 0,
    contextLength,
    opens: contextLength > 0,
  });
  const choices = [choice('none', 0), choice('int8', 100), choice('int4', 1000)];
  const wanted = { quantization: 'none', contextLength: 1000 } as const;

  it('prefers a shorter context to another quantization, and the larger quantization to the smaller', () => {
    expect(fit(choices, wanted, () => 7).change).toEqual({ quantization: 'int8', contextLength: 100 });
    expect(fit(choices, { ...wanted, quantization: 'int8' }, () => 7).change).toEqual({ contextLength: 100 });
    expect(fit(choices, { ...wanted, quantization: 'int4' }, () => 7).change).toBeNull();
  });

  it('is a larger budget where no quantization opens', () => {
    const none = choices.map(({ quantization }) => choice(quantization, 0));
    expect(fit(none, wanted, () => 7)).toEqual({ fits: false, opens: false, change: { memoryBudget: 7 } });
  });
});
