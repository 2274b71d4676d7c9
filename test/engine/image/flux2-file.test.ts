// FLUX.2 and Chroma in one file: each layout draws bit for bit what the diffusers layout of the same tensors draws.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FLUX2_FILES } from '../../../src/engine/image/families/flux2/flux2-layout.ts';
import { float8, ggufOf } from './coded-tensors.ts';
import { draw, expectNear, expectSame, prefixed, write } from './drawn-files.ts';
import { originalFlux } from './original-flux.ts';
import { originalAutoencoder } from './original-names.ts';
import { tinyChroma, tinyFlux2, tinyKlein } from './tiny-flux2.ts';
import { scratch } from './tiny-pipelines.ts';
import { unfused as underNames } from './unfused-tensors.ts';
import { readTensors, type StoredTensor, type StoredTensors } from './tiny-tensors.ts';

const REQUEST = { prompt: 'a house', maxSequenceLength: 20, guidance: 2 };

/** The autoencoder as Black Forest Labs store it: the convolutions around the latents belong to encoder and decoder. */
function flux2Autoencoder(tensors: StoredTensors): StoredTensor[] {
  return originalAutoencoder(tensors, '').map((tensor) => ({
    ...tensor,
    name: tensor.name
      .replace(/^quant_conv/, 'encoder.quant_conv')
      .replace(/^post_quant_conv/, 'decoder.post_quant_conv'),
  }));
}

it("FLUX.2 klein draws from a transformer of its makers' layout with files of Qwen3 and the autoencoder beside it", async () => {
  const pipeline = tinyKlein();
  const { transformer, vae } = pipeline.tensors;
  const model = write('klein base', originalFlux(transformer!, ''));
  const text = await readTensors(`${pipeline.folder}/text_encoder/model.safetensors`);
  const componentPaths = {
    tokenizer: pipeline.folder,
    text_encoder: write('qwen_3_4b', [...text.values()]),
    vae: write('flux2-vae', flux2Autoencoder(vae!)),
  };
  await expect(draw({ model }, REQUEST)).rejects.toThrow(
    /holds the transformer and no .*text_encoder.* such as black-forest-labs\/FLUX\.2-klein-4B/,
  );
  await expectSame(pipeline, { model, componentPaths }, REQUEST);
  const named = write('klein of diffusers base', prefixed(transformer!, 'transformer.'));
  await expectSame(
    pipeline,
    { model: named, componentPaths: { ...componentPaths, vae: pipeline.folder } },
    REQUEST,
  );
});

const unfused = (fused: readonly StoredTensor[]): StoredTensors =>
  underNames(FLUX2_FILES.parts['transformer']![0]!.names(new Map()), fused);

it('FLUX.2 klein draws from a transformer in GGUF, in its own codes', async () => {
  let coded = { file: new Uint8Array(), numbers: [] as StoredTensor[] };
  const pipeline = tinyKlein((tensors) => {
    coded = { ...ggufOf(originalFlux(tensors, ''), 'flux') } as typeof coded;
    return unfused(coded.numbers);
  });
  const transformerWeightsPath = join(scratch, 'klein.gguf');
  writeFileSync(transformerWeightsPath, coded.file);
  await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath }, REQUEST);
});

it('FLUX.2 klein draws from a transformer in FP8, with a scale for each matrix', async () => {
  const stored: StoredTensor[] = [];
  const pipeline = tinyKlein((tensors) => {
    const fused = originalFlux(tensors, '').map((tensor) => {
      if (tensor.shape.length !== 2 || !/_blocks\./.test(tensor.name)) return tensor;
      const coded = float8(tensor, 'scale_weight');
      stored.push(...coded.stored);
      return coded.numbers;
    });
    stored.push(...fused.filter(({ name }) => !stored.some((one) => one.name === name)));
    return unfused(fused);
  });
  const transformerWeightsPath = write('klein fp8', stored);
  await expectNear(pipeline, { model: pipeline.folder, transformerWeightsPath }, REQUEST);
});

/** The vocabulary, which ComfyUI's files of Mistral have as a tensor. */
const TEKKEN: StoredTensor = { name: 'tekken_model', dtype: 'U8', shape: [4], bytes: new Uint8Array(4) };

it('FLUX.2 dev draws with a language model that was cut behind the last layer that is read', async () => {
  const pipeline = tinyFlux2();
  const { transformer, vae, text_encoder: text } = pipeline.tensors;
  const model = write('flux2', originalFlux(transformer!));
  const cut = [...text!.values()].filter(({ name }) => !/^model\.(layers\.30|norm)\./.test(name));
  expect(cut.length).toBeLessThan(text!.size);
  const componentPaths = {
    tokenizer: `${pipeline.folder}/tokenizer`,
    text_encoder: write('mistral', cut, [TEKKEN]),
    vae: write('flux2 ae', flux2Autoencoder(vae!)),
  };
  const request = { ...REQUEST, maxSequenceLength: 240 };
  const { pipeline: name } = await expectSame(pipeline, { model, componentPaths }, request);
  expect(name).toBe('Flux2Pipeline');
});

it("Chroma draws from a transformer of its makers' layout with files of T5 and the autoencoder beside it", async () => {
  const pipeline = tinyChroma();
  const { transformer, vae, text_encoder: text } = pipeline.tensors;
  const model = write('chroma', originalFlux(transformer!, ''));
  const componentPaths = {
    tokenizer: pipeline.folder,
    text_encoder: write('chroma t5xxl', [...text!.values()], [{ ...TEKKEN, name: 'spiece_model' }]),
    vae: write('chroma ae', originalAutoencoder(vae!, '')),
  };
  await expectSame(pipeline, { model, componentPaths }, REQUEST);
  const named = write('chroma of diffusers', prefixed(transformer!, 'transformer.'));
  await expectSame(pipeline, { model: named, componentPaths }, REQUEST);
});
