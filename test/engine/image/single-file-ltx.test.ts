// LTX-Video from one file with the names of its makers, and from the transformer alone: it draws bit for bit what the diffusers layout draws.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLTXConfig } from '../../../src/models/image/clips/ltx-config.ts';
import { ltx } from '../../../src/models/image/clips/ltx.ts';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { ggufOf } from './coded-tensors.ts';
import { originalLTX, originalLTXAutoencoder } from './original-ltx.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { newFolder, scratch } from './tiny-pipelines.ts';
import { randomTensors, readTensors, writeComponent } from './tiny-tensors.ts';

/** As many heads as published models have. */
const TRANSFORMER = {
  _class_name: 'LTXVideoTransformer3DModel',
  in_channels: 6,
  out_channels: 6,
  num_attention_heads: 32,
  attention_head_dim: 4,
  cross_attention_dim: 128,
  num_layers: 1,
  caption_channels: 48,
};

const IMAGE = {
  width: 32,
  height: 16,
  data: Uint8Array.from({ length: 3 * 32 * 16 }, (_, i) => (i * 37) % 256),
};

it(
  'LTX-Video draws from a file with the text encoder and the autoencoder, and from a transformer with files beside it',
  { timeout: 120_000 },
  async () => {
    const folder = newFolder('ltx');
    cpSync(tinyPipeline('ltx'), folder, { recursive: true });
    rmSync(join(folder, 'transformer'), { recursive: true });
    const transformer = randomTensors([(table) => ltx(readLTXConfig(TRANSFORMER), table)], 71);
    writeComponent(join(folder, 'transformer'), TRANSFORMER, transformer);
    // Files do not say from which distance on keys share a class.
    const config = join(folder, 'text_encoder', 'config.json');
    const text = JSON.parse(readFileSync(config, 'utf8')) as object;
    writeFileSync(config, JSON.stringify({ ...text, relative_attention_max_distance: 128 }));
    const t5 = await readTensors(join(folder, 'text_encoder', 'model.safetensors'));
    const stored = (checkpoint: string) =>
      readTensors(join(checkpoint, 'diffusion_pytorch_model.safetensors'));
    const vae = await stored(join(folder, 'vae'));
    const pipeline = { folder, tensors: {} };
    const request = { prompt: 'a house', guidance: 1, frames: 5, maxSequenceLength: 16, image: IMAGE };
    const tokenizer = join(folder, 'tokenizer');

    const whole = write(
      'ltx',
      originalLTX(transformer),
      originalLTXAutoencoder(vae),
      prefixed(t5, 'text_encoders.t5xxl.transformer.'),
    );
    await expect(draw({ model: whole }, request)).rejects.toThrow(
      /holds the transformer and no tokenizer: give it with `componentPaths`.* such as Lightricks\/LTX-Video/,
    );
    await expectSame(pipeline, { model: whole, componentPaths: { tokenizer } }, request);

    const beside = { tokenizer, text_encoder: folder, vae: folder };
    const named = write('ltx of diffusers', prefixed(transformer, ''));
    await expectSame(pipeline, { model: named, componentPaths: beside }, request);

    // The later autoencoder has other blocks, which add noise of the request's seed.
    const noisy = tinyPipeline('autoencoder-ltx-noisy');
    const original = originalLTXAutoencoder(await stored(noisy));
    const later = write('ltx autoencoder', original);
    const options = (vae: string) => ({ model: folder, componentPaths: { vae } });
    const { images } = await draw(options(noisy), request);
    expect((await draw(options(later), request)).images).toEqual(images);
    const silenced = original.map((tensor) =>
      tensor.name.includes('per_channel_scale')
        ? { ...tensor, bytes: new Uint8Array(tensor.bytes.length) }
        : tensor,
    );
    const silent = write('ltx autoencoder without noise', silenced);
    expect((await draw(options(silent), request)).images).not.toEqual(images);

    const coded = ggufOf(originalLTX(transformer, ''), 'ltxv');
    const model = join(scratch, 'ltx in codes.gguf');
    writeFileSync(model, coded.file);
    const { pixels } = await draw({ model, componentPaths: beside }, request);
    const numbers = write('ltx of those codes', coded.numbers);
    const wanted = await draw({ model: numbers, componentPaths: beside }, request);
    const far = pixels[0]!.filter((value, i) => Math.abs(value - wanted.pixels[0]![i]!) > 1);
    expect(far.length).toBeLessThanOrEqual(0.001 * pixels[0]!.length);
  },
);

it('a file of LTX-2 is refused by its sound', async () => {
  const transformer = randomTensors([(table) => ltx(readLTXConfig(TRANSFORMER), table)], 72);
  const name = 'model.diffusion_model.audio_patchify_proj.weight';
  const model = write('ltx-2', originalLTX(transformer), [
    { name, dtype: 'F16', shape: [1], bytes: new Uint8Array(2) },
  ]);
  await expect(draw({ model })).rejects.toThrow(
    /tensor audio_patchify_proj\.weight is of LTX-2, which makes videos and their sound, .* choose a file of LTX-Video/,
  );
});
