// Denoisers and text encoders whose files hold codes: FP8, NF4 and GGUF draw what the numbers draw that the codes stand for.

import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ggufOfFolder } from '../../files/gguf/from-folder.ts';
import { float8, ggufOf, named, nf4 } from './coded-tensors.ts';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { openOnDevice } from '../../../src/engine/image/opened-pipeline.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { unet } from '../../../src/models/image/unet/unet.ts';
import { readUNetConfig } from '../../../src/models/image/unet/unet-config.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { draw, expectNear, expectSame, write } from './drawn-files.ts';
import { originalAutoencoder, originalUNet, originalZImage } from './original-names.ts';
import { newFolder, scratch, tinySD1, tinyXL } from './tiny-pipelines.ts';
import { tinyZImage } from './tiny-transformers.ts';
import { writeComponent, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';

const REQUEST = { prompt: 'a house', guidance: 0 };

/** Matrices that files keep in 8 bits: ComfyUI leaves embedders and norms in 16. */
const isMatrix = ({ name, shape }: StoredTensor): boolean =>
  shape.length === 2 && /\.(attention|feed_forward)\./.test(name);

describe('a transformer in FP8', () => {
  it.each([
    ['scaled as ComfyUI does it', 'scale_weight', ['scaled_fp8']],
    ['cast without scales', null, []],
  ] as const)('%s draws', async (_, scale, marks) => {
    const stored: StoredTensor[] = [];
    const isCoded = (tensor: StoredTensor): boolean =>
      scale === null ? tensor.dtype === 'F16' : isMatrix(tensor);
    // Queries, keys and values share one scale, as the file has them in one tensor.
    const pipeline = tinyZImage(`fp8-${scale}`, (tensors) => {
      const fused = originalZImage(tensors, '').map((tensor) => {
        if (!isCoded(tensor)) return tensor;
        const coded = float8(tensor, scale);
        stored.push(...coded.stored);
        return coded.numbers;
      });
      stored.push(...fused.filter(({ name }) => !stored.some((one) => one.name === name)));
      return unfused(tensors, fused);
    });
    const extra = marks.map((name): StoredTensor => ({
      name,
      dtype: 'F8_E4M3',
      shape: [2],
      bytes: new Uint8Array(2),
    }));
    const file = write(`fp8 ${scale}`, stored, extra);
    await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath: file }, REQUEST);
  });
});

/** The tensors of a page with the values of the file's. */
function unfused(tensors: StoredTensors, fused: readonly StoredTensor[]): StoredTensors {
  const values = named(fused);
  const own = [...tensors.values()].map((tensor) => {
    const [, module, part] = /^(.*\.attention)\.to_([qkv])\.weight$/.exec(tensor.name) ?? [];
    if (part === undefined) {
      const [name] = originalZImage(new Map([[tensor.name, tensor]]), '').map((one) => one.name);
      return { ...values.get(name!)!, name: tensor.name };
    }
    const all = values.get(`${module}.qkv.weight`)!;
    const size = all.bytes.length / 3;
    const at = 'qkv'.indexOf(part) * size;
    return { ...all, name: tensor.name, shape: tensor.shape, bytes: all.bytes.slice(at, at + size) };
  });
  return named(own);
}

describe('a transformer in NF4', () => {
  it('draws with its own codes, those of fused matrices included', async () => {
    const stored: StoredTensor[] = [];
    const pipeline = tinyZImage('nf4', (tensors) => {
      const fused = originalZImage(tensors, '').map((tensor) => {
        if (!isMatrix(tensor)) return tensor;
        const coded = nf4(tensor);
        stored.push(...coded.stored);
        return coded.numbers;
      });
      stored.push(...fused.filter(({ name }) => !stored.some((one) => one.name === name)));
      return unfused(tensors, fused);
    });
    const file = write('nf4', stored);
    await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath: file }, REQUEST);
    const coded = { model: pipeline.folder, transformerWeightsPath: file };
    await expect(draw({ ...coded, quantization: 'int8' }, REQUEST)).rejects.toThrow(/quantized already/);
  });
});

describe('a denoiser in GGUF', () => {
  it("of a transformer draws, in place of a model's own and as a model", async () => {
    let coded = { file: new Uint8Array(), numbers: [] as StoredTensor[] };
    let original: StoredTensor[] = [];
    const pipeline = tinyZImage('gguf', (tensors) => {
      original = originalZImage(tensors, '');
      coded = { ...ggufOf(original, 'lumina2') } as typeof coded;
      return unfused(tensors, coded.numbers);
    });
    const { folder } = pipeline;
    const transformerWeightsPath = join(scratch, 'lumina2.gguf');
    writeFileSync(transformerWeightsPath, coded.file);
    await expectNear(pipeline, { model: folder, transformerWeightsPath }, REQUEST);
    // stable-diffusion.cpp writes no architecture.
    const model = join(scratch, 'no architecture.gguf');
    writeFileSync(model, ggufOf(original, null).file);
    const componentPaths = { tokenizer: folder, text_encoder: folder, vae: folder };
    await expectNear(pipeline, { model, componentPaths }, REQUEST);
  });

  it.each([
    ['Stable Diffusion 1', () => tinySD1(), 'sd1'],
    ['Stable Diffusion XL', () => tinyXL(), 'sdxl'],
  ] as const)(
    'of the UNet of %s draws, whose convolutions are laid out in rows of blocks',
    async (_, make, architecture) => {
      const pipeline = make();
      const own = pipeline.tensors['unet']!;
      const coded = ggufOf(originalUNet(own, ''), architecture);
      const path = join(scratch, `${architecture}.gguf`);
      writeFileSync(path, coded.file);
      const originals = originalUNet(own, '').map(({ name }) => name);
      const byName = named(coded.numbers);
      const numbers = [...own.values()].map((tensor, i) => ({
        ...byName.get(originals[i]!)!,
        name: tensor.name,
      }));
      const config: object = await import(`${pipeline.folder}/unet/config.json`, {
        with: { type: 'json' },
      }).then((module: { default: object }) => module.default);
      writeComponent(join(pipeline.folder, 'unet'), config, named(numbers));
      await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath: path });
      if (architecture !== 'sd1') return;
      // The budget does not hold a text encoder with all of CLIP's words as it is stored, and the denoiser keeps its codes.
      const { folder: model } = tinySD1('published');
      const device = await openModelTestDevice({ memoryBudget: 9 * 2 ** 20 });
      const { components } = await openOnDevice(
        device,
        nodePlatform,
        await openPipeline(model, openDiskFolder, knownPipelines()),
        { model, transformerWeightsPath: path, quantization: 'auto' },
        () => {},
      );
      expect(components.quantization).toBe('int8');
      const page = await components.loadEmpty('unet', 'denoiser', (table, { config: json }) =>
        unet(readUNetConfig(json), table),
      );
      page[Symbol.dispose]();
      await components.close();
      device.destroy();
    },
  );
});

it('Z-Image draws from three files, with the tokenizer and the template in that of the text encoder', async () => {
  const pipeline = tinyZImage('gguf-text');
  const folder = newFolder('language');
  for (const part of ['text_encoder', 'tokenizer'])
    cpSync(join(pipeline.folder, part), folder, { recursive: true });
  const text = join(scratch, 'qwen3-F16.gguf');
  const ends = { 'tokenizer.ggml.bos_token_id': 1, 'tokenizer.ggml.eos_token_id': 1 };
  writeFileSync(text, await ggufOfFolder(folder, ends));
  const model = write('z-image three', originalZImage(pipeline.tensors['transformer']!));
  const vae = write('ae three', originalAutoencoder(pipeline.tensors['vae']!, ''));
  await expectSame(pipeline, { model, componentPaths: { text_encoder: text, vae } }, REQUEST);
});
