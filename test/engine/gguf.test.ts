// The model that ships as a GGUF file: what opens the folder opens the file, with the same answers.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTextModel, planModel, shippedModelPath, type TextModel } from '../../src/index.ts';
import { ggufOfFolder, typeId } from '../files/gguf/from-folder.ts';
import { writeGguf, type Written } from '../files/gguf/write-gguf.ts';
import { collect } from './fixture.ts';

const SAMPLING = {
  'general.sampling.temp': { type: 'f32', value: 0.7 },
  'general.sampling.top_p': { type: 'f32', value: 0.95 },
  'general.sampling.top_k': { type: 'i32', value: 40 },
} as const;

let root = '';
let file = '';
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'svc-gguf-'));
  file = join(root, 'chat-mini-BF16.gguf');
  writeFileSync(file, await ggufOfFolder(shippedModelPath(), SAMPLING));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ask = async (model: TextModel) =>
  collect(
    model.generate({
      prompt: { messages: [{ role: 'user', content: 'Hello, who are you?' }] },
      temperature: 0,
      maxTokens: 16,
    }),
  );

describe('a GGUF file', () => {
  it('answers as the checkpoint that it was made of, in a thread of its own too', async () => {
    const folder = await openTextModel({ model: shippedModelPath(), inline: true });
    const wanted = await ask(folder);
    await folder.close();
    for (const inline of [true, false]) {
      const model = await openTextModel({ model: file, inline });
      expect((await ask(model)).ids).toEqual(wanted.ids);
      expect(model.info).toMatchObject({
        path: file,
        name: 'chat-mini-BF16',
        architecture: 'Qwen3ForCausalLM',
        contextLength: 4096,
        sampling: { temperature: 0.7, topP: 0.95, topK: 40 },
        weightFormats: ['bf16'],
        samplingSource: { temperature: 'gguf', topP: 'gguf', topK: 'gguf', minP: 'contract' },
      });
      await model.close();
    }
  }, 60_000);

  it('is quantised while it is loaded, as other checkpoints are', async () => {
    const model = await openTextModel({ model: file, inline: true, quantization: 'int8' });
    expect(model.info).toMatchObject({ quantization: 'int8', weightFormats: ['int8'] });
    expect((await ask(model)).ids[0]!.length).toBeGreaterThan(0);
    await model.close();
  }, 60_000);

  it('is opened by its folder where it is the only one', async () => {
    const plan = await planModel({ model: root });
    const folder = await planModel({ model: shippedModelPath() });
    expect({ ...plan, model: '', budget: 0 }).toMatchObject({
      kind: 'text',
      architecture: 'Qwen3ForCausalLM',
      // The folder has a tower, too.
      parameters: 4_658_176,
      stored: folder.stored,
      contextLength: folder.contextLength,
      cache: folder.cache,
    });
  });

  it('among others is named by its file, or by its quantization', async () => {
    const several = join(root, 'several');
    mkdirSync(several);
    for (const tag of ['Q4_K_M', 'Q8_0']) writeFileSync(join(several, `m-${tag}.gguf`), writeGguf({}));
    await expect(planModel({ model: several })).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringMatching(
        /holds 2 models as GGUF files, Q4_K_M \(m-Q4_K_M\.gguf\), Q8_0 \(m-Q8_0\.gguf\): name one by its file, or by its quantization as .*several:Q4_K_M/,
      ),
    });
  });

  it('with a type that is never computed is refused with another file to fetch', async () => {
    const path = join(root, 'refused');
    mkdirSync(path);
    const tensors = [
      { name: 'output.weight', type: typeId('Q8_K'), shape: [1, 256], bytes: new Uint8Array(292) },
    ];
    writeFileSync(
      join(path, 'm.gguf'),
      writeGguf({ metadata: { 'general.architecture': 'llama' }, tensors }),
    );
    await expect(planModel({ model: path })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(
        /output\.weight is stored as Q8_K, which is not read: fetch the file of another quantization/,
      ),
    });
  });

  it('with a value that no model has is refused by its name, and not by config.json', async () => {
    const path = join(root, 'layers.gguf');
    writeFileSync(path, await ggufOfFolder(shippedModelPath(), { 'qwen3.block_count': 100_000 }));
    await expect(planModel({ model: path })).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(/^layers\.gguf: qwen3\.block_count is 100000, an integer/),
    });
  });

  it.each([
    [
      'flux',
      /^flux\.gguf holds no language model \(general\.architecture flux\): .* img_in\.weight; .*`openImageModel` draws with it/,
    ],
    [null, /^unnamed\.gguf holds no language model: its tensors have names such as img_in\.weight/],
  ])('of an image model is refused by what it is: %s', async (architecture, message) => {
    const path = join(root, `${architecture ?? 'unnamed'}.gguf`);
    const metadata: Record<string, Written> =
      architecture === null ? {} : { 'general.architecture': architecture };
    const tensors = [{ name: 'img_in.weight', shape: [2, 2], type: 0, bytes: new Uint8Array(16) }];
    writeFileSync(path, writeGguf({ metadata, tensors }));
    await expect(openTextModel({ model: path, inline: true })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(message) as string,
    });
  });

  it('of an architecture that is not built is refused with those that are', async () => {
    const path = join(root, 'mamba.gguf');
    writeFileSync(path, writeGguf({ metadata: { 'general.architecture': 'mamba' } }));
    await expect(openTextModel({ model: path, inline: true })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(
        /mamba\.gguf: general\.architecture mamba is not built; choose a model of .*bert, .*llama, .*qwen3moe/,
      ),
    });
  });
});
