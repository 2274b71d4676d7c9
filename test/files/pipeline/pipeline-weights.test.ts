import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  chooseWeights,
  openComponentWeights,
  openDenoiserWeights,
} from '../../../src/files/pipeline/pipeline-weights.ts';
import { safetensorsHead, tensorBytes, type TensorSpec } from '../../../src/files/tensors/safetensors.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { temporaryFolders, type Files } from '../folders.ts';

const folderOf = temporaryFolders();

function safetensors(...specs: TensorSpec[]): Uint8Array {
  const bytes = specs.reduce((sum, spec) => sum + tensorBytes(spec), 0);
  return Buffer.concat([safetensorsHead(specs), Buffer.alloc(bytes)]);
}
const tensor = (name: string, dtype: TensorSpec['dtype'] = 'F32') =>
  safetensors({ name, dtype, shape: [2, 2] });

describe('weights of a component', () => {
  it.each<[string[], string]>([
    [
      ['diffusion_pytorch_model.fp16.safetensors', 'diffusion_pytorch_model.safetensors'],
      'diffusion_pytorch_model.fp16.safetensors',
    ],
    [['model.bf16.safetensors', 'model.fp32.safetensors', 'model.safetensors'], 'model.safetensors'],
    [['model.fp16.safetensors', 'pytorch_model.bin', 'config.json'], 'model.fp16.safetensors'],
    [
      ['diffusion_pytorch_model.bf16.safetensors', 'diffusion_pytorch_model.fp16.safetensors'],
      'diffusion_pytorch_model.fp16.safetensors',
    ],
    [
      ['diffusion_pytorch_model.non_ema.safetensors', 'diffusion_pytorch_model.fp16.safetensors'],
      'diffusion_pytorch_model.fp16.safetensors',
    ],
    [
      [
        'model-00001-of-00002.safetensors',
        'model-00002-of-00002.safetensors',
        'model.safetensors.index.json',
      ],
      'model.safetensors.index.json',
    ],
    [
      [
        'diffusion_pytorch_model.fp16-00001-of-00001.safetensors',
        'diffusion_pytorch_model.safetensors.index.fp16.json',
      ],
      'diffusion_pytorch_model.safetensors.index.fp16.json',
    ],
    [['taesd.safetensors'], 'taesd.safetensors'],
    [['diffusion_pytorch_model.bin', 'diffusion_pytorch_model.fp16.bin'], 'diffusion_pytorch_model.fp16.bin'],
    [['pytorch_model.bin.index.json', 'pytorch_model-00001-of-00001.bin'], 'pytorch_model.bin.index.json'],
  ])('of %j are %s', async (names, expected) => {
    const folder = await openDiskFolder(await folderOf(Object.fromEntries(names.map((name) => [name, '']))));
    expect(chooseWeights(folder, await folder.names())).toBe(expected);
  });

  it.each([
    [
      ['diffusion_pytorch_model.bin'],
      'bad_checkpoint',
      /model\.bin in .* is not a sound file of torch\.save/,
    ],
    [['unet-Q4.gguf'], 'unsupported', /holds GGUF weights of several models/],
    [['config.json'], 'bad_checkpoint', /has no safetensors weights \(diffusion_pytorch_model\.safetensors/],
  ])('are not %j', async (names, code, message) => {
    const folder = await openDiskFolder(await folderOf(Object.fromEntries(names.map((name) => [name, '']))));
    const error: unknown = await openComponentWeights(folder).catch((error: unknown) => error);
    expect(error).toMatchObject({ code });
    expect(String(error)).toMatch(message);
  });

  it('are read from shards, each tensor from where the index says', async () => {
    const index = { weight_map: { a: 'model-1.safetensors', b: 'model-2.safetensors' } };
    const files = { 'model-1.safetensors': tensor('a'), 'model-2.safetensors': tensor('b') };
    const folder = await openDiskFolder(await folderOf({ ...files, 'model.safetensors.index.json': index }));
    const { tensors, sources } = await openComponentWeights(folder);
    expect([...tensors.values()].map(({ name, source }) => [name, source.name])).toEqual([
      ['a', 'model-1.safetensors'],
      ['b', 'model-2.safetensors'],
    ]);
    for (const source of sources) await source.close();
  });

  it.each<[string, Files, RegExp]>([
    [
      'a missing shard',
      { a: 'one.safetensors', b: 'two.safetensors' },
      /two\.safetensors is missing from .* \(1 of 2 tensors\)/,
    ],
    [
      'a tensor elsewhere',
      { a: 'one.safetensors', b: 'one.safetensors' },
      /tensor b should stand in one\.safetensors by model\.safetensors\.index\.json, and does not/,
    ],
    ['a path that leaves the folder', { a: '../one.safetensors' }, /which is not a file name in the folder/],
  ])('with %s are refused', async (_, map, message) => {
    const files = { 'one.safetensors': tensor('a'), 'model.safetensors.index.json': { weight_map: map } };
    const folder = await openDiskFolder(await folderOf(files));
    await expect(openComponentWeights(folder)).rejects.toThrow(message);
  });

  it('of a denoiser apart are a file or a folder of plain numbers', async () => {
    const path = await folderOf({
      'diffusion_pytorch_model.safetensors': tensor('a'),
      'other.safetensors': tensor('b', 'BF16'),
    });
    for (const [place, name] of [
      [path, 'a'],
      [join(path, 'other.safetensors'), 'b'],
    ] as const) {
      const { tensors, sources } = await openDenoiserWeights(openDiskFolder, place, []);
      expect([...tensors.keys()]).toEqual([name]);
      for (const source of sources) await source.close();
    }
    await expect(
      openDenoiserWeights(openDiskFolder, join(path, 'none.safetensors'), []),
    ).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });

  it.each<[string, TensorSpec['dtype'], RegExp]>([
    ['x.weight', 'I8', /quantized already \(x\.weight is I8\) in a way that is not read/],
    ['x.qweight', 'I32', /tensor x\.qweight/],
    ['x.wscales', 'BF16', /tensor x\.wscales/],
  ])('are refused where %s is %s', async (name, dtype, message) => {
    const path = await folderOf({ 'w.safetensors': tensor(name, dtype) });
    const error: unknown = await openDenoiserWeights(openDiskFolder, path, []).catch(
      (error: unknown) => error,
    );
    expect(error).toMatchObject({ code: 'bad_request', param: 'transformerWeightsPath' });
    expect(String(error)).toMatch(message);
  });
});
