// FLUX.1 in the files that people have: the transformer in FP8, NF4 and GGUF with its makers' names, T5 in FP8 and GGUF, and the models that
// take images in one file.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { FLUX_FILES } from '../../../src/engine/image/families/flux/flux-layout.ts';
import { openPipeline } from '../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Written } from '../../files/gguf/write-gguf.ts';
import { float8, ggufOf, named, nf4, type CodedTensor } from './coded-tensors.ts';
import { expectNear, expectSame, prefixed, write } from './drawn-files.ts';
import { ggufT5, originalFlux } from './original-flux.ts';
import { originalAutoencoder } from './original-names.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { scratch } from './tiny-pipelines.ts';
import { unfused as underNames } from './unfused-tensors.ts';
import { readTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';
import { tinyFlux } from './tiny-transformers.ts';

const REQUEST = { prompt: 'a house', maxSequenceLength: 12, steps: 1 };

/** Matrices of the blocks, which files keep in 8 or 4 bits. */
const isMatrix = ({ name, shape }: StoredTensor): boolean =>
  shape.length === 2 && /^(double|single)_blocks\./.test(name);

const unfused = (fused: readonly StoredTensor[]): StoredTensors =>
  underNames(FLUX_FILES.parts['transformer']![0]!.names(new Map()), fused);

/** The metadata of a Unigram tokenizer, as llama.cpp writes T5's. */
function tokenizerMetadata(): Record<string, Written> {
  const { model, added_tokens: added } = JSON.parse(
    readFileSync(join(tinyPipeline('flux'), 'tokenizer_2', 'tokenizer.json'), 'utf8'),
  ) as { model: { vocab: [string, number][] }; added_tokens: { id: number }[] };
  const controls = new Set(added.map(({ id }) => id));
  return {
    'tokenizer.ggml.model': 't5',
    'tokenizer.ggml.tokens': { items: 'string', values: model.vocab.map(([token]) => token) },
    'tokenizer.ggml.scores': { items: 'f32', values: model.vocab.map(([, score]) => score) },
    'tokenizer.ggml.token_type': {
      items: 'i32',
      values: model.vocab.map((_, id) => (controls.has(id) ? 3 : 1)),
    },
    'tokenizer.ggml.eos_token_id': 1,
    'tokenizer.ggml.padding_token_id': 0,
    'tokenizer.ggml.unknown_token_id': 2,
    'tokenizer.ggml.remove_extra_whitespaces': true,
  };
}

type Code = (tensor: StoredTensor) => CodedTensor | null;

/** The numbers that codes stand for, and the tensors of the file with the codes. */
function coded(
  tensors: readonly StoredTensor[],
  code: Code,
): { numbers: StoredTensor[]; stored: StoredTensor[] } {
  const all = tensors.map((tensor) => code(tensor) ?? { stored: [tensor], numbers: tensor });
  return { numbers: all.map(({ numbers }) => numbers), stored: all.flatMap(({ stored }) => stored) };
}

describe('FLUX.1 from files of codes', () => {
  it.each<[string, Code]>([
    ['FP8, scaled as ComfyUI does it', (one) => (isMatrix(one) ? float8(one, 'scale_weight') : null)],
    ['NF4', (one) => (isMatrix(one) ? nf4(one) : null)],
  ])('draws from a transformer in %s, fused matrices included', async (name, code) => {
    let stored: StoredTensor[] = [];
    const transformer = (tensors: StoredTensors): StoredTensors => {
      const made = coded(originalFlux(tensors, ''), code);
      stored = made.stored;
      return unfused(made.numbers);
    };
    const { folder } = tinyFlux({ name: `flux-${name}`, values: { transformer } });
    const mark: StoredTensor = { name: 'scaled_fp8', dtype: 'F8_E4M3', shape: [2], bytes: new Uint8Array(2) };
    const transformerWeightsPath = write(`flux ${name}`, stored, name.includes('ComfyUI') ? [mark] : []);
    await expectNear({ folder }, { model: folder, transformerWeightsPath }, REQUEST);
  });

  it('draws from a transformer and T5 in FP8 without scales', async () => {
    const files: Record<string, StoredTensor[]> = {};
    const cast = (name: string, tensors: Iterable<StoredTensor>): StoredTensor[] => {
      const { numbers, stored } = coded([...tensors], (one) => float8(one, null));
      files[name] = stored;
      return numbers;
    };
    const { folder } = tinyFlux({
      name: 'flux-fp8',
      values: {
        transformer: (tensors) => unfused(cast('transformer', originalFlux(tensors, ''))),
        text_encoder_2: (tensors) => named(cast('t5', tensors.values())),
      },
    });
    const transformerWeightsPath = write('flux fp8', files['transformer']!);
    const componentPaths = { text_encoder_2: write('t5xxl fp8', files['t5']!) };
    await expectNear({ folder }, { model: folder, transformerWeightsPath, componentPaths }, REQUEST);
  });

  it("draws from a transformer in ComfyUI's GGUF and T5 in llama.cpp's, with the tokenizer in the latter", async () => {
    const paths = ['flux.gguf', 't5xxl.gguf'].map((name) => join(scratch, name));
    const written = (path: string, ...given: Parameters<typeof ggufOf>): StoredTensor[] => {
      const { file, numbers } = ggufOf(...given);
      writeFileSync(path, file);
      return numbers;
    };
    const [model, text] = paths as [string, string];
    const { folder } = tinyFlux({
      name: 'flux-gguf',
      values: {
        transformer: (tensors) => unfused(written(model, originalFlux(tensors, ''), 'flux')),
        text_encoder_2: (tensors) => {
          const numbers = written(text, ggufT5(tensors), 't5encoder', tokenizerMetadata());
          const names = [...tensors.keys()];
          return named(numbers.map((tensor, i) => ({ ...tensor, name: names[i]! })));
        },
      },
    });
    const componentPaths = { tokenizer: folder, text_encoder: folder, text_encoder_2: text, vae: folder };
    await expectNear({ folder }, { model, componentPaths }, REQUEST);
  });
});

describe('FLUX.1 in one file', () => {
  const image = { width: 32, height: 16, data: Uint8Array.from({ length: 1536 }, (_, i) => (i * 7) % 256) };
  const mask = { ...image, data: image.data.map((_, i) => (i % 96 < 48 ? 255 : 0)) };

  it('is Fill by its channels', async () => {
    const pipeline = tinyFlux({ name: 'flux-fill', words: 'published', fills: true });
    const { transformer, vae, text_encoder_2: text } = pipeline.tensors;
    const clip = await readTensors(`${pipeline.folder}/text_encoder/model.safetensors`);
    const model = write(
      'fill',
      originalFlux(transformer!),
      originalAutoencoder(vae!, 'vae.'),
      prefixed(clip, 'text_encoders.clip_l.transformer.'),
      prefixed(text!, 'text_encoders.t5xxl.transformer.'),
    );
    const componentPaths = { tokenizer_2: pipeline.folder };
    const drawn = await expectSame(pipeline, { model, componentPaths }, { ...REQUEST, image, mask });
    expect(drawn).toMatchObject({
      pipeline: 'FluxFillPipeline',
      defaults: { steps: 50, guidance: 30 },
      notes: [],
    });
  });

  it('is Kontext by its name or the class that is asked for', async () => {
    const { folder, tensors } = tinyFlux({ name: 'flux-kontext' });
    const names = ['tokenizer_2', 'text_encoder', 'text_encoder_2', 'vae'];
    const componentPaths = Object.fromEntries(names.map((name) => [name, folder]));
    const original = originalFlux(tensors['transformer']!);
    const classOf = async (name: string, options: object = {}) => {
      const given = { componentPaths, ...options };
      const opened = await openPipeline(write(name, original), openDiskFolder, knownPipelines(), given);
      return opened.className;
    };
    const pipelineClassName = 'FluxKontextPipeline';
    expect(await classOf('flux1-kontext')).toBe(pipelineClassName);
    expect(await classOf('flux1-other')).toBe('FluxPipeline');
    expect(await classOf('flux1-other', { pipelineClassName })).toBe(pipelineClassName);
    expect(await classOf('flux1-kontext', { pipelineClassName: 'FluxInpaintPipeline' })).toBe(
      'FluxInpaintPipeline',
    );
  });
});
