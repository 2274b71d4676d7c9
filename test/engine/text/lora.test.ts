// LoRAs in the engine: the tokens equal those of merged weights in any batch, while LoRAs are loaded and unloaded; and
// the LoRAs that a request may name.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { openTextModel } from '../../../src/index.ts';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import { NAN, spoilTensor } from '../checkpoint-folder.ts';
import { collect, goldenModel, greedy, openGolden } from '../fixture.ts';

import { randomInteger } from '../random.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/', import.meta.url));
const folderOf = (name: string): string => join(GOLDEN, 'lora', name);

interface LoraCase {
  name: string;
  greedy: { prompt_ids: number[]; tokens: number[] };
}

const { cases } = JSON.parse(readFileSync(`${GOLDEN}lora.json`, 'utf8')) as { cases: LoraCase[] };
const wanted = (name: string) => cases.find((of) => of.name === name)!.greedy;

/** Random factors for the head of the llama checkpoint. */
function writeHeadAdapter(path: string): void {
  const [rank, hidden, vocabulary] = [4, 64, 288];
  const random = randomInteger(7);
  const specs = [
    { name: 'base_model.model.lm_head.lora_A.weight', dtype: 'F32' as const, shape: [rank, hidden] },
    { name: 'base_model.model.lm_head.lora_B.weight', dtype: 'F32' as const, shape: [vocabulary, rank] },
  ];
  const data = specs.map(({ shape }) =>
    Float32Array.from({ length: shape[0]! * shape[1]! }, () => (random(2001) - 1000) / 1000),
  );
  const bytes = data.map(({ buffer }) => new Uint8Array(buffer));
  writeFileSync(
    join(path, 'adapter_model.safetensors'),
    Buffer.concat([safetensorsHead(specs, {}), ...bytes]),
  );
  const config = { ...readConfig('llama-some'), r: rank, lora_alpha: rank, target_modules: ['lm_head'] };
  writeFileSync(join(path, 'adapter_config.json'), JSON.stringify(config));
}

const readConfig = (name: string): object =>
  JSON.parse(readFileSync(join(folderOf(name), 'adapter_config.json'), 'utf8')) as object;

const ids = async (model: TextModel, prompt: number[], lora: string | null, count = 32): Promise<number[]> =>
  (await collect(model.generate({ ...greedy(prompt, count), ...(lora !== null && { lora }) }))).ids[0]!;

test('a model that has slept has the LoRAs it had, and no others', { timeout: 240_000 }, async () => {
  const folder = goldenModel('llama');
  const model = await openTextModel({
    model: folder.path,
    memoryBudget: 2 ** 28,
    loraPaths: [folderOf('llama-some')],
    sleepAfter: 100,
  });
  await model.loadLora('late', folderOf('llama-all'));
  await model.unloadLora('llama-some');
  await vi.waitFor(() => expect(model.asleep).toBe(true), { timeout: 30_000 });
  const names = async () => (await model.loadedLoras()).map(({ name }) => name);
  expect([await names(), model.asleep]).toEqual([['late'], true]);
  const { prompt_ids: prompt, tokens } = wanted('llama-all.stored');
  expect(await ids(model, prompt, 'late')).toEqual(tokens);
  expect([await names(), model.asleep]).toEqual([['late'], false]);
  await model.close();
  folder.remove();
});

describe('LoRAs named by the options', () => {
  let model: TextModel;
  beforeAll(async () => {
    model = await openGolden('llama', {
      loraPaths: [`all=${folderOf('llama-all')}`, folderOf('llama-some')],
      prefillChunk: 16,
      maxRunningRequests: 4,
    });
  }, 240_000);
  afterAll(() => model.close());

  test('give the tokens of the merged weights, and a request without one those of the model alone', async () => {
    const all = wanted('llama-all.stored');
    const some = wanted('llama-some.stored');
    expect(await ids(model, all.prompt_ids, 'all')).toEqual(all.tokens);
    expect(await ids(model, some.prompt_ids, 'llama-some')).toEqual(some.tokens);
    const plain = await openGolden('llama', { prefillChunk: 16, maxRunningRequests: 4 });
    // Cached pages of the same prompt with a LoRA must not be used here.
    const alone = await ids(plain, all.prompt_ids, null);
    expect(await ids(model, all.prompt_ids, null)).toEqual(alone);
    expect(alone).not.toEqual(all.tokens);
    await plain.close();
  });

  test('give the tokens of single requests in a batch of several and none', async () => {
    const loras = ['all', null, 'llama-some', 'all', null, 'llama-some'];
    const prompt = (i: number) => Array.from({ length: 5 + 7 * i }, (_, k) => (k * k * 31 + i * 13) % 250);
    const single = [];
    for (const [i, lora] of loras.entries()) single.push(await ids(model, prompt(i), lora, 6 + 3 * i));
    const before = await model.metrics();
    const together = await Promise.all(loras.map((lora, i) => ids(model, prompt(i), lora, 6 + 3 * i)));
    expect(together).toEqual(single);
    expect((await model.metrics()).sharedSteps).toBeGreaterThan(before.sharedSteps);
    expect(before.adapters).toEqual({ loaded: 2, most: 8 });
  });

  test('come and go while requests run', async () => {
    const { prompt_ids: prompt, tokens } = wanted('llama-all.stored');
    await model.loadLora('again', folderOf('llama-all'));
    expect((await model.loadedLoras()).map(({ name, rank }) => [name, rank])).toContainEqual(['again', 33]);
    const got: number[] = [];
    for await (const event of model.generate({ ...greedy(prompt, 32), lora: 'again' })) {
      if (event.type !== 'delta') continue;
      got.push(...event.ids);
      if (got.length < 4 || got.length - event.ids.length >= 4) continue;
      const left = await model.unloadLora('again');
      expect(left.map(({ name }) => name)).not.toContain('again');
      await expect(ids(model, prompt, 'again')).rejects.toMatchObject({
        code: 'model_not_found',
        param: 'lora',
      });
      await model.loadLora('other', folderOf('llama-some'));
    }
    expect(got).toEqual(tokens);
    const some = wanted('llama-some.stored');
    expect(await ids(model, some.prompt_ids, 'other')).toEqual(some.tokens);
    await model.unloadLora('other');
    expect(await ids(model, prompt, 'all')).toEqual(tokens);
    await expect(model.unloadLora('other')).rejects.toMatchObject({
      code: 'model_not_found',
      param: 'name',
      message: expect.stringContaining('there is no LoRA "other" here; loaded are') as string,
    });
    await expect(model.loadLora('all', folderOf('llama-some'))).rejects.toMatchObject({
      code: 'bad_request',
      param: 'name',
    });
  });
});

describe('LoRAs named by requests', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-loras-'));
  const allowed = join(home, 'allowed');
  let model: TextModel;
  beforeAll(async () => {
    mkdirSync(allowed);
    for (const name of ['one', 'two', 'three'])
      cpSync(folderOf('llama-some'), join(allowed, name), { recursive: true });
    cpSync(folderOf('llama-some'), join(home, 'outside'), { recursive: true });
    symlinkSync(join(home, 'outside'), join(allowed, 'link'));
    mkdirSync(join(allowed, 'bare'));
    cpSync(folderOf('qwen3-all'), join(allowed, 'foreign'), { recursive: true });
    model = await openGolden('llama', {
      loraDir: allowed,
      maxLoras: 2,
      maxLoraRank: 32,
      maxRunningRequests: 1,
    });
  }, 240_000);
  afterAll(async () => {
    await model.close();
    rmSync(home, { recursive: true });
  });

  test('are loaded from a folder that is allowed, and make room for the next', async () => {
    const { prompt_ids: prompt, tokens } = wanted('llama-some.stored');
    for (const name of ['one', join(allowed, 'two'), 'three', 'one'])
      expect(await ids(model, prompt, name)).toEqual(tokens);
    expect((await model.loadedLoras()).map(({ name }) => name)).toEqual(['three', 'one']);
  });

  test.each([
    ['nothing', 'model_not_found', 'there is no LoRA "nothing" here'],
    ['../outside', 'bad_request', '`loraDir`'],
    [join(home, 'outside'), 'bad_request', '`loraDir`'],
    ['link', 'model_not_found', 'there is no LoRA "link" here'],
    ['/nowhere', 'bad_request', '`loraDir`'],
    ['bare', 'model_not_found', 'no adapter_config.json'],
    ['foreign', 'bad_request', 'trained on another model'],
  ])('are refused: %s is %s', async (lora, code, message) => {
    await expect(ids(model, [5, 6], lora)).rejects.toMatchObject({
      code,
      param: 'lora',
      message: expect.stringContaining(message) as string,
    });
  });

  test('are refused with a rank above the option', async () => {
    await expect(model.loadLora('all', folderOf('llama-all'))).rejects.toThrow(/rank 33.*`maxLoraRank`/);
  });

  test('are refused if they were trained on another model', async () => {
    await expect(model.loadLora('other', folderOf('qwen3-all'))).rejects.toMatchObject({
      code: 'bad_checkpoint',
      param: 'path',
      message: expect.stringContaining('trained on another model') as string,
    });
    expect((await model.loadedLoras()).map(({ name }) => name)).not.toContain('other');
  });
});

test('a LoRA with NaN in a factor is refused by tensor and count, and is not loaded', async () => {
  const path = mkdtempSync(join(tmpdir(), 'svc-lora-'));
  cpSync(folderOf('llama-some'), path, { recursive: true });
  const tensor = 'base_model.model.model.layers.0.self_attn.v_proj.lora_A.weight';
  spoilTensor(path, tensor, NAN, [3, 9], 'adapter_model.safetensors');
  const model = await openGolden('llama');
  await expect(model.loadLora('spoiled', path)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'path',
    message: expect.stringContaining(
      `${tensor} of adapter_model.safetensors has 2 values that are NaN`,
    ) as string,
  });
  expect(await model.loadedLoras()).toEqual([]);
  await model.close();
  rmSync(path, { recursive: true });
});

test('a folder for LoRAs that is not there is refused as the model opens', async () => {
  await expect(openGolden('llama', { loraDir: '/nowhere/at/all' })).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'loraDir',
    message: expect.stringContaining('there is no folder /nowhere/at/all') as string,
  });
});

test('a path of a LoRA is refused without the options that allow folders, which are named', async () => {
  const model = await openGolden('llama', { maxRunningRequests: 1 });
  await expect(ids(model, [5, 6], '/some/folder')).rejects.toMatchObject({
    code: 'bad_request',
    param: 'lora',
    message: expect.stringContaining('`loraDir` or `loraPaths`') as string,
  });
  await expect(ids(model, [5, 6], 'name')).rejects.toMatchObject({ code: 'model_not_found' });
  await model.close();
});

test('the head has the LoRA of the row that is sampled, whichever rows stand before it', async () => {
  const path = mkdtempSync(join(tmpdir(), 'svc-lora-head-'));
  writeHeadAdapter(path);
  const model = await openGolden('llama', { loraPaths: [`head=${path}`], prefillChunk: 64 });
  const loras = ['head', null, 'head', null];
  const prompt = (i: number) => Array.from({ length: 9 + 4 * i }, (_, k) => (k * k * 31 + i * 13) % 250);
  const single = [];
  for (const [i, lora] of loras.entries()) single.push(await ids(model, prompt(i), lora, 5));
  expect(await ids(model, prompt(0), null, 5)).not.toEqual(single[0]);
  expect(await Promise.all(loras.map((lora, i) => ids(model, prompt(i), lora, 5)))).toEqual(single);
  await model.close();
  rmSync(path, { recursive: true });
});
