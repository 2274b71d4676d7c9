// Transformers of Stable Diffusion 3.5, FLUX.2 dev and Chroma whose files hold codes, in the layouts that ComfyUI, ComfyUI-GGUF and
// stable-diffusion.cpp write: each draws what the numbers draw that the codes stand for.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHROMA_FILES } from '../../../src/engine/image/families/chroma/chroma-layout.ts';
import { FLUX2_FILES } from '../../../src/engine/image/families/flux2/flux2-layout.ts';
import { SD3_FILES } from '../../../src/engine/image/families/sd3/sd3-layout.ts';
import type { FileLayouts } from '../../../src/files/pipeline/file-layout.ts';
import { float8, ggufOf, named, nf4, type CodedTensor } from './coded-tensors.ts';
import { draw, expectNear, write } from './drawn-files.ts';
import { ggufT5, originalFlux } from './original-flux.ts';
import { originalSD3 } from './original-sd3.ts';
import { tinyChroma, tinyFlux2 } from './tiny-flux2.ts';
import { scratch, type TinyPipeline } from './tiny-pipelines.ts';
import { tinySD3 } from './tiny-sd3.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';
import { unfused } from './unfused-tensors.ts';

type Change = (tensors: StoredTensors) => StoredTensors;

interface Family {
  make(name: string, transformer: Change): TinyPipeline;
  original(tensors: StoredTensors): StoredTensor[];
  files: FileLayouts;
  /** general.architecture of the files of ComfyUI-GGUF. */
  architecture: string;
  request: object;
  /** Those of CODES that are tested with it: each with one family, as none reads codes by itself. */
  codes: readonly string[];
}

const FAMILIES: Record<string, Family> = {
  'Stable Diffusion 3.5': {
    make: (name, transformer) => tinySD3({ name, values: { transformer } }),
    original: (tensors) => originalSD3(tensors, 1),
    files: SD3_FILES,
    architecture: 'sd3',
    request: { prompt: 'a house', maxSequenceLength: 12, steps: 1 },
    codes: ['FP8 with scale_weight'],
  },
  'FLUX.2 dev': {
    make: (_, transformer) => tinyFlux2({ transformer }),
    original: (tensors) => originalFlux(tensors, ''),
    files: FLUX2_FILES,
    architecture: 'flux2',
    request: { prompt: 'a house', maxSequenceLength: 240, steps: 1 },
    codes: ['FP8 with comfy_quant'],
  },
  Chroma: {
    make: (_, transformer) => tinyChroma({ transformer }),
    original: (tensors) => originalFlux(tensors, ''),
    files: CHROMA_FILES,
    architecture: 'chroma',
    request: { prompt: 'a house', maxSequenceLength: 20, guidance: 2, steps: 1 },
    codes: ['NF4'],
  },
};

/** Matrices of the blocks, which files keep in 8 or 4 bits. */
const isMatrix = ({ name, shape }: StoredTensor): boolean =>
  shape.length === 2 && /_blocks\./.test(name) && name.endsWith('.weight');

const text = (name: string, content: string): StoredTensor => {
  const bytes = new TextEncoder().encode(content);
  return { name, dtype: 'U8', shape: [bytes.length], bytes };
};

/** E4M3 as newer files of ComfyUI state it: the format in JSON, and a scale of activations, which is not read. */
function stated(tensor: StoredTensor): CodedTensor {
  const { stored, numbers } = float8(tensor, 'weight_scale');
  const module = tensor.name.replace(/\.weight$/, '');
  const format = text(`${module}.comfy_quant`, JSON.stringify({ format: 'float8_e4m3fn' }));
  return { stored: [...stored, format, { ...stored[1]!, name: `${module}.input_scale` }], numbers };
}

const CODES: Record<string, (tensor: StoredTensor) => CodedTensor> = {
  'FP8 with scale_weight': (tensor) => float8(tensor, 'scale_weight'),
  'FP8 with comfy_quant': stated,
  NF4: nf4,
};

/** The layout of a family's original names, for tensors with those names. */
function renameOf({ files }: Family, tensors: readonly StoredTensor[]) {
  const headers = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  return files.parts['transformer']![0]!.names(headers);
}

describe.each(Object.entries(FAMILIES))('the transformer of %s in codes', (title, family) => {
  it('draws from codes of 8 or 4 bits in safetensors files, those of fused matrices included', async () => {
    for (const [codes, code] of family.codes.map((one) => [one, CODES[one]!] as const)) {
      let stored: StoredTensor[] = [];
      const pipeline = family.make(`${title} ${codes}`, (tensors) => {
        const all = family
          .original(tensors)
          .map((one) => (isMatrix(one) ? code(one) : { stored: [one], numbers: one }));
        stored = all.flatMap((one) => one.stored);
        const numbers = all.map((one) => one.numbers);
        return unfused(renameOf(family, numbers), numbers);
      });
      expect(stored.length).toBeGreaterThan(0);
      const transformerWeightsPath = write(`${title} ${codes}`, stored);
      await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath }, family.request);
    }
  });

  it('draws from GGUF, in place of the denoiser of a folder and as a model', async () => {
    const file = join(scratch, `${family.architecture}-codes.gguf`);
    const pipeline = family.make(`${title} gguf`, (tensors) => {
      const { file: bytes, numbers } = ggufOf(family.original(tensors), family.architecture);
      writeFileSync(file, bytes);
      return unfused(renameOf(family, numbers), numbers);
    });
    const { folder } = pipeline;
    const inFolder = await expectNear(
      pipeline,
      { model: folder, transformerWeightsPath: file },
      family.request,
    );
    const names = Object.keys(family.files.parts).filter((name) => name !== 'transformer');
    const tokenizers = names.map((name) => name.replace('text_encoder', 'tokenizer'));
    const given = [...names, ...tokenizers].map((name) => [name, folder] as const);
    const componentPaths = Object.fromEntries(given.filter(([name]) => name !== 'vae' || folder));
    const { pixels } = await draw({ model: file, componentPaths }, family.request);
    expect(pixels).toEqual(inFolder);
  });
});

it('a table of positions without its first dimension, as in stable-diffusion.cpp, keeps its positions', async () => {
  const file = join(scratch, 'sd3-places.gguf');
  const pipeline = tinySD3({
    name: 'sd3-places',
    values: {
      transformer(tensors) {
        const flat = originalSD3(tensors, 1).map((tensor) =>
          tensor.name === 'pos_embed' ? { ...tensor, shape: tensor.shape.slice(1) } : tensor,
        );
        const { file: bytes, numbers } = ggufOf(flat, null);
        writeFileSync(file, bytes);
        return unfused(renameOf(FAMILIES['Stable Diffusion 3.5']!, numbers), numbers);
      },
    },
  });
  const { folder } = pipeline;
  const numbers = ['', '_2', '_3'];
  const names = ['vae', ...numbers.flatMap((end) => [`text_encoder${end}`, `tokenizer${end}`])];
  const componentPaths = Object.fromEntries(names.map((name) => [name, folder]));
  const { request } = FAMILIES['Stable Diffusion 3.5']!;
  await expectNear(pipeline, { model: file, componentPaths }, request);
});

it('Stable Diffusion 3 reads T5 from a GGUF file of llama.cpp', async () => {
  const file = join(scratch, 'sd3-t5xxl.gguf');
  const pipeline = tinySD3({
    name: 'sd3-t5-gguf',
    values: {
      text_encoder_3(tensors) {
        const { file: bytes, numbers } = ggufOf(ggufT5(tensors), 't5encoder');
        writeFileSync(file, bytes);
        const names = [...tensors.keys()];
        return named(numbers.map((tensor, i) => ({ ...tensor, name: names[i]! })));
      },
    },
  });
  const { folder } = pipeline;
  const { request } = FAMILIES['Stable Diffusion 3.5']!;
  await expectNear(pipeline, { model: folder, componentPaths: { text_encoder_3: file } }, request);
});
