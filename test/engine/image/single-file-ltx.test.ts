// LTX-Video from one file with the names of its makers, and from the transformer alone: it draws bit for bit what the diffusers layout draws.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { ggufOf } from './coded-tensors.ts';
import { originalLTX, originalLTXAutoencoder } from './original-ltx.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { tinyLTX } from './tiny-clips.ts';
import { scratch } from './tiny-pipelines.ts';
import { readTensors } from './tiny-tensors.ts';

const IMAGE = {
  width: 32,
  height: 16,
  data: Uint8Array.from({ length: 3 * 32 * 16 }, (_, i) => (i * 37) % 256),
};

it(
  'LTX-Video draws from a file with the text encoder and the autoencoder, and from a transformer with files beside it',
  { timeout: 120_000 },
  async () => {
    const pipeline = await tinyLTX();
    const { folder, tensors } = pipeline;
    const [transformer, t5, vae] = [tensors['transformer']!, tensors['text_encoder']!, tensors['vae']!];
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
    const original = originalLTXAutoencoder(
      await readTensors(join(noisy, 'diffusion_pytorch_model.safetensors')),
    );
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
  const { tensors } = await tinyLTX();
  const name = 'model.diffusion_model.audio_patchify_proj.weight';
  const model = write('ltx-2', originalLTX(tensors['transformer']!), [
    { name, dtype: 'F16', shape: [1], bytes: new Uint8Array(2) },
  ]);
  await expect(draw({ model })).rejects.toThrow(
    /tensor audio_patchify_proj\.weight is of LTX-2, which makes videos and their sound, .* choose a file of LTX-Video/,
  );
});
