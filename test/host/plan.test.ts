// Plans against the engine: memory of runners on a real device with the same limits, refusals, and changes that make a model fit.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbeddingModel, openTextModel } from '../../src/host/node/open.ts';
import { TEXT_CLASSES } from '../../src/engine/opening/architectures.ts';
import { DEFAULTS } from '../../src/options/limits.ts';
import type { ModelPlan, PlannedChoice, PlanOptions } from '../../src/engine/plan/model-plan.ts';
import { planFolder } from '../../src/host/plan.ts';
import type { PlanPlace } from '../../src/engine/plan/paper-model.ts';
import { runnerSizes } from '../../src/engine/text/load.ts';
import { openRunner } from '../../src/engine/text/step/open-runner.ts';
import { openCheckpoint } from '../../src/files/checkpoint/checkpoint.ts';
import { shippedFolder } from '../../src/files/shipped.ts';
import { openDiskFolder } from '../../src/files/disk/source-disk.ts';
import type { Folder } from '../../src/files/source.ts';
import type { Device } from '../../src/gpu/device.ts';
import { readShader } from '../../src/gpu/node.ts';
import { openPaperDevice } from '../../src/gpu/paper-device.ts';
import { readText } from '../../src/models/text/registry.ts';
import { disguise, openModelTestDevice } from '../gpu/test-device.ts';

const GOLDEN = fileURLToPath(new URL('../golden/', import.meta.url));
const MIB = 2 ** 20;

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Plans for the adapter of the tests. */
function plan(
  path: string,
  options: Partial<PlanOptions> & { memoryBudget?: number } = {},
  place: Partial<PlanPlace> = {},
): Promise<ModelPlan> {
  const openDevice = (memoryBudget: number): Device =>
    openPaperDevice({ shaders: readShader, memoryBudget, like: device.summary });
  return planFolder(
    path,
    { model: path, memoryBudget: 1024 * MIB, ...options },
    { openDevice, openFolder: withTokenizer, memory: 2 ** 40, ...place },
  );
}

/** A folder with the name of a tokenizer, which tiny checkpoints have not. */
async function withTokenizer(path: string): Promise<Folder> {
  const folder = await openDiskFolder(path);
  return { ...folder, names: async () => [...(await folder.names()), 'tokenizer.json'] };
}

/** Copies a folder without its weights. */
function withoutWeights(path: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'svc-plan-'));
  for (const name of readdirSync(path))
    if (!name.endsWith('.safetensors')) copyFileSync(join(path, name), join(copy, name));
  return copy;
}

describe('the plan of a language model', () => {
  it.each([
    ['qwen3', 'none'],
    ['llama', 'int8'],
    ['qwen3-moe', 'int4'],
    ['gemma3', 'none'],
  ] as const)('with weights %s as %s takes the bytes that are planned', async (name, quantization) => {
    const checkpoint = await openCheckpoint(await openDiskFolder(GOLDEN + name), TEXT_CLASSES);
    const declaration = readText(checkpoint.config, checkpoint.architecture);
    const sizes = runnerSizes(device, declaration, { slots: DEFAULTS.runningRequests, ownBiases: 1 });
    // A device of its own, because an arena keeps the slots of earlier models.
    const own = await openModelTestDevice();
    const options = { kept: null, packed: null, loras: () => Promise.resolve() };
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
    expect([planned.parameters, planned.fits]).toEqual([runner.parameters, true]);
  });

  it('with the kernels of a GPU and many requests takes the bytes that are planned, and no more while they are sampled', async () => {
    const gpu = disguise(await openModelTestDevice(), { profile: 'discrete', matvecRows: 2 });
    const path = `${GOLDEN}qwen3`;
    const slots = 64;
    const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
    const declaration = readText(checkpoint.config, checkpoint.architecture);
    const options = { quantization: 'none' as const, kept: null, packed: null };
    const runner = await openRunner(
      gpu,
      checkpoint,
      declaration,
      {
        ...runnerSizes(gpu, declaration, { slots, ownBiases: 1 }),
        ...{ ...options, loras: () => Promise.resolve() },
      },
      { onProgress: () => {}, onNote: () => {} },
    );
    await checkpoint.close();
    const opened = gpu.memory();
    await runner.warmUp(() => {});
    expect(gpu.memory()).toEqual(opened);
    const openDevice = (memoryBudget: number): Device =>
      openPaperDevice({ shaders: readShader, memoryBudget, profile: gpu.profile, like: gpu.summary });
    const given = { maxRunningRequests: slots, quantization: 'none' as const };
    const planned = await plan(path, given, { openDevice });
    const choice = planned.choices.find(({ quantization }) => quantization === 'none')!;
    expect(choice.scratch).toBe(opened.arena + opened.step);
    // Divided sampling lists a pair of words for each of 256 lanes in 64 classes of a row.
    expect(opened.arena).toBeGreaterThan(slots * 64 * 256 * 8);
  });

  it('is refused where weights or a tokenizer are missing, which are assumed for configurations alone', async () => {
    const copy = withoutWeights(`${GOLDEN}qwen2`);
    try {
      await expect(plan(copy)).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'model.safetensors' });
      const names = async () => [...readdirSync(copy), 'model.safetensors'];
      const openFolder = async (path: string) => ({ ...(await openDiskFolder(path)), names });
      const assumed = await plan(copy, {}, { openFolder, configsOnly: true });
      const there = await plan(`${GOLDEN}qwen2`);
      expect({ ...assumed, model: there.model }).toEqual(there);
      const withoutTokenizer = plan(`${GOLDEN}qwen2`, {}, { openFolder: openDiskFolder });
      await expect(withoutTokenizer).rejects.toMatchObject({
        code: 'bad_checkpoint',
        param: 'tokenizer.json',
      });
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

  it('that reads images counts its towers', async () => {
    const path = `${GOLDEN}media/qwen3-vl`;
    const planned = await plan(path);
    const text = await plan(path, {}, { openFolder: withoutProcessors });
    expect(planned.notes).toEqual([]);
    expect(planned.ignored.modules).toEqual([]);
    expect(text.notes).toHaveLength(1);
    expect(planned.choices[0]!.weights).toBeGreaterThan(1.5 * text.choices[0]!.weights);
    expect(planned.choices[0]!.scratch).toBeGreaterThan(text.choices[0]!.scratch);
    expect([planned.media, text.media]).toEqual([['image', 'video'], []]);
    expect(planned.parameters).toBeGreaterThan(text.parameters);
    const model = await openTextModel({ model: path, inline: true });
    const { parameters, media } = model.info;
    await model.close();
    expect(planned).toMatchObject({ parameters, media });
  });

  it('opens with a shorter context, another quantization or a larger budget, and these fit', async () => {
    const path = shippedFolder('svc-chat-mini')!;
    const { choices } = await plan(path);
    const [stored] = choices as [PlannedChoice];
    const shorter = await plan(path, { memoryBudget: stored.weights + stored.scratch + 2 * MIB });
    expect([shorter.opens, shorter.fits]).toEqual([true, false]);
    expect(shorter.change!.contextLength).toBeGreaterThan(500);
    const again = { memoryBudget: shorter.budget, ...shorter.change };
    expect((await plan(path, again)).fits).toBe(true);

    const smaller = await plan(path, { memoryBudget: 8 * MIB });
    expect([smaller.opens, smaller.change!.quantization]).toEqual([false, 'int4']);
    expect((await plan(path, { memoryBudget: smaller.budget, ...smaller.change })).fits).toBe(true);

    const larger = await plan(path, { memoryBudget: MIB });
    expect(Object.keys(larger.change!)).toEqual(['memoryBudget']);
    expect((await plan(path, larger.change!)).fits).toBe(true);
    const less = Math.floor(larger.change!.memoryBudget! * 0.98);
    expect((await plan(path, { memoryBudget: less })).fits).toBe(false);
  });

  it('is suggested no budget above the memory of the machine where smaller weights and a shorter context need less', async () => {
    const copy = withoutWeights(`${GOLDEN}qwen2`);
    try {
      for (const name of ['model.safetensors', 'config.json'])
        copyFileSync(`${GOLDEN}qwen2/${name}`, join(copy, name));
      const config = JSON.parse(readFileSync(join(copy, 'config.json'), 'utf8')) as object;
      const long = { ...config, max_position_embeddings: 65536 };
      writeFileSync(join(copy, 'config.json'), JSON.stringify(long));
      const { change } = await plan(copy, { memoryBudget: MIB / 4 }, { memory: 8 * MIB });
      expect(change).toMatchObject({ quantization: 'int4', contextLength: 4096 });
      expect(change!.memoryBudget).toBeLessThan(8 * MIB);
      expect((await plan(copy, change!)).fits).toBe(true);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it('is refused as opening it would refuse it', async () => {
    const copy = withoutWeights(`${GOLDEN}qwen2`);
    const refused = (name: string): Promise<unknown> => {
      const config = JSON.parse(readFileSync(join(copy, 'config.json'), 'utf8')) as object;
      writeFileSync(join(copy, 'config.json'), JSON.stringify({ ...config, architectures: [name] }));
      return plan(copy).catch((error: unknown) => error);
    };
    try {
      expect(await refused('RwkvForCausalLM')).toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining('the architecture is RwkvForCausalLM'),
      });
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});

it('an embedding model is planned with its pages and the batches that opening runs', async () => {
  const path = `${GOLDEN}embedding/bert`;
  const planned = await plan(path);
  expect([planned.kind, planned.architecture, planned.stored]).toEqual(['embedding', 'BertModel', ['F16']]);
  const model = await openEmbeddingModel({ model: path, inline: true });
  const { memory, contextLength } = model.info;
  await model.close();
  const [stored] = planned.choices;
  expect(stored).toMatchObject({ weights: memory.weights, scratch: memory.arena + memory.kv, contextLength });
  const tight = await plan(path, { memoryBudget: stored!.weights + stored!.scratch - 1 });
  expect(tight.opens).toBe(false);
  expect((await plan(path, { memoryBudget: tight.budget, ...tight.change })).fits).toBe(true);
});

it('an image pipeline is planned component by component', async () => {
  const path = shippedFolder('svc-scenes-mini')!;
  const planned = await plan(path);
  expect([planned.kind, planned.architecture]).toEqual(['image', 'StableDiffusionPipeline']);
  expect(planned.components.map(({ name }) => name)).toEqual(['text_encoder', 'unet', 'vae']);
  for (const { weights } of planned.components) {
    expect(weights.int4).toBeLessThan(weights.int8);
    expect(weights.int8).toBeLessThan(weights.none);
  }
  const whole = (choice: 'none' | 'int4'): number =>
    planned.components.reduce((sum, { weights }) => sum + weights[choice], 0);
  const [stored] = planned.choices;
  expect(Math.abs(whole('none') - stored!.weights)).toBeLessThan(0.02 * stored!.weights);
  const added = planned.components.map(({ winograd }) => winograd);
  expect(added[0]).toBe(0);
  expect(added[1]).toBeGreaterThan(2 * MIB);
  expect(planned.notes.map(({ message }) => message).join()).toContain("Winograd's form");
  // A budget that has no room for that form.
  const without = await plan(path, { memoryBudget: 24 * MIB });
  expect(without.components.map(({ winograd }) => winograd)).toEqual([0, 0, 0]);
  expect(without.notes.map(({ message }) => message).join()).not.toContain('Winograd');
  expect(without.choices[0]!.weights).toBeLessThan(stored!.weights / 2);
  const tight = await plan(path, { memoryBudget: MIB });
  expect(tight.opens).toBe(false);
  expect((await plan(path, tight.change!)).fits).toBe(true);
  await expect(plan(path, { contextLength: 512 })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'contextLength',
  });
});

it(
  'the plan of an image pipeline says how many results a GPU draws at once',
  { timeout: 300_000 },
  async () => {
    const gpu = disguise(device, { profile: 'discrete' });
    const openDevice = (memoryBudget: number): Device =>
      openPaperDevice({ shaders: readShader, memoryBudget, profile: gpu.profile, like: gpu.summary });
    const { notes } = await plan(shippedFolder('svc-scenes-mini')!, {}, { openDevice });
    expect(notes.map(({ message }) => message)).toContain(
      'up to 8 results of requests of one shape are drawn at once',
    );
  },
);

/** A folder without the configurations of processors, so that its towers are of no use. */
async function withoutProcessors(path: string) {
  const folder = await openDiskFolder(path);
  return {
    ...folder,
    names: async () => (await folder.names()).filter((name) => !name.includes('preprocessor')),
  };
}
