// Textual inversions: the ids of their words, the files that they are in, and files for other models.

import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ClipWords } from '../../../src/engine/image/blocks/clip-words.ts';
import { openEmbeddedWord, type EmbeddedWord } from '../../../src/files/pipeline/embedded-words.ts';
import { safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import { EngineError } from '../../../src/files/error.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { FIRST_EXTRA_ID } from '../../../src/kernels/embed-extra.ts';
import { mutations } from '../../files/gguf/mutations.ts';
import { memorySource } from '../../files/memory-source.ts';
import { draw } from './drawn-files.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { newFolder } from './tiny-pipelines.ts';
import { writeTensors, type StoredTensor } from './tiny-tensors.ts';

vi.setConfig({ testTimeout: 120_000 });

const rowsOf = (name: string, ...shape: number[]): StoredTensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  const values = Float32Array.from({ length: count }, (_, i) => Math.sin(i));
  return { name, dtype: 'F32', shape, bytes: new Uint8Array(values.buffer) };
};

const fileOf = (name: string, ...tensors: StoredTensor[]): string =>
  writeTensors(join(newFolder('words'), name), tensors);

const word = (text: string, rows: number): EmbeddedWord => ({
  path: `${text}.safetensors`,
  word: text,
  rows: { rows, columns: 4, values: new Float32Array(4 * rows) },
});

describe('ids of words in a prompt', () => {
  const words = new ClipWords(
    [word('Cat', 2), word('<cat-toy>', 1), word('cat.2', 3)],
    'text_encoder',
    4,
    false,
  );
  const letters = (text: string): number[] => Array.from(text, (one) => one.charCodeAt(0));
  const at = (...rows: number[]): number[] => rows.map((row) => FIRST_EXTRA_ID + row);

  it.each<[string, number[]]>([
    ['', []],
    ['ab', letters('ab')],
    ['cat', at(0, 1)],
    ['a CAT b', [...letters('a '), ...at(0, 1), ...letters(' b')]],
    ['<cat-toy>cats', [...at(2, 0, 1), ...letters('s')]],
    ['cat.2 catx2', [...at(3, 4, 5), ...letters(' '), ...at(0, 1), ...letters('x2')]],
    ['embedding:cat', at(0, 1)],
  ])('of "%s"', (text, ids) => expect(words.encode(text, letters)).toEqual(ids));
});

describe('files with embeddings of words', () => {
  it.each<[string, StoredTensor[], string, number[]]>([
    ['learned_embeds.safetensors', [rowsOf('<toy>', 8)], '<toy>', [1, 8]],
    ['a style.safetensors', [rowsOf('emb_params', 3, 8)], 'a style', [3, 8]],
  ])('%s', async (name, tensors, text, shape) => {
    const { word: found, rows } = await openEmbeddedWord(await openDiskFolder(fileOf(name, ...tensors)));
    expect(found).toBe(text);
    expect(rows).toMatchObject({
      rows: shape[0],
      columns: shape[1],
      values: { length: shape[0]! * shape[1]! },
    });
  });

  it.each<[string, () => string, RegExp]>([
    [
      'for XL',
      () => fileOf('x.safetensors', rowsOf('clip_l', 2, 768), rowsOf('clip_g', 2, 1280)),
      /rows for two text encoders.*it fits Stable Diffusion XL/,
    ],
    [
      'for Stable Diffusion 2',
      () => fileOf('x.safetensors', rowsOf('emb_params', 1024)),
      /rows of 1024 columns, and the model takes one of 64 columns; it fits Stable Diffusion 2/,
    ],
    [
      'of no known model',
      () => fileOf('x.safetensors', rowsOf('emb_params', 60)),
      /it was trained on another model/,
    ],
    [
      'that is a LoRA',
      () => fileOf('x.safetensors', rowsOf('a.lora_A.weight', 4, 4), rowsOf('a.lora_B.weight', 4, 4)),
      /is not a textual inversion: it has 2 tensors/,
    ],
    [
      'of torch without a matrix',
      () => fileURLToPath(new URL('../../golden/torch/network.pth', import.meta.url)),
      /tensor params_ema\.conv\.weight is of \[2, 1, 3, 3\]/,
    ],
    ['with too many rows', () => fileOf('x.safetensors', rowsOf('emb_params', 300, 64)), /up to 256 rows/],
    [
      'whose word is longer than any',
      () => fileOf('x.safetensors', rowsOf('x'.repeat(70_000), 64)),
      /x\.safetensors: the name of its tensor is its word and has 70000 characters, and 1 to 256 are needed/,
    ],
    [
      'whose word is empty',
      () => fileOf('x.safetensors', rowsOf('', 64)),
      /x\.safetensors: the name of its tensor is its word and has 0 characters/,
    ],
    [
      'of three dimensions',
      () => fileOf('x.safetensors', rowsOf('emb_params', 1, 2, 64)),
      /tensor emb_params is of \[1, 2, 64\]/,
    ],
  ])('%s are refused', async (_, path, problem) => {
    const textualInversionPath = [path()];
    await expect(draw({ model: tinyPipeline('sd1'), textualInversionPath })).rejects.toThrow(problem);
  });

  it('of one width are refused for XL, and all for families without CLIP', async () => {
    const textualInversionPath = [fileOf('x.safetensors', rowsOf('emb_params', 768))];
    await expect(draw({ model: tinyPipeline('sdxl'), textualInversionPath })).rejects.toThrow(
      /takes rows for two text encoders, clip_l and clip_g; it fits Stable Diffusion 1/,
    );
    await expect(draw({ model: tinyPipeline('z-image'), textualInversionPath })).rejects.toThrow(
      /for Stable Diffusion 1, 2 and XL, and this is a model of z-image/,
    );
    const twice = [...textualInversionPath, fileOf('X.safetensors', rowsOf('emb_params', 64))];
    await expect(draw({ model: tinyPipeline('sd1'), textualInversionPath: twice })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'textualInversionPath',
    });
  });

  it('that are damaged are refused with a reason, or read as they were', async () => {
    const tensor = rowsOf('emb_params', 3, 8);
    const whole = Uint8Array.from(Buffer.concat([safetensorsHead([tensor]), tensor.bytes]));
    const open = (bytes: Uint8Array) =>
      openEmbeddedWord({
        path: 'w.safetensors',
        names: async () => ['w.safetensors'],
        open: async (name) => memorySource(name, bytes),
      });
    const wanted = await open(whole);
    let refused = 0;
    for (const head of mutations(whole.subarray(0, whole.length - tensor.bytes.length), 120)) {
      const found = await open(Buffer.concat([head, tensor.bytes])).catch((error: unknown) => {
        expect(error).toBeInstanceOf(EngineError);
        expect((error as EngineError).code).not.toBe('internal');
        refused++;
        return null;
      });
      if (found === null || found.word !== wanted.word) continue;
      expect(found.rows).toMatchObject({ values: { length: 24 } });
    }
    expect(refused).toBeGreaterThan(30);
  });
});
