// Wan from one file with the names of its makers, as ComfyUI writes it, and from the transformer alone: it draws bit for bit what the diffusers
// layout draws.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { ggufOf } from './coded-tensors.ts';
import { originalWan } from './original-names.ts';
import { tinyWan } from './tiny-clips.ts';
import { scratch } from './tiny-pipelines.ts';

it(
  'Wan draws from a file with the text encoder, and from a transformer with files beside it',
  { timeout: 120_000 },
  async () => {
    const pipeline = await tinyWan();
    const { folder, tensors } = pipeline;
    const [transformer, umt5] = [tensors['transformer']!, tensors['text_encoder']!];
    const request = { prompt: 'a house', guidance: 1, frames: 3 };
    const [tokenizer, vae] = [join(folder, 'tokenizer'), folder];

    const whole = write(
      'wan',
      originalWan(transformer),
      prefixed(umt5, 'text_encoders.umt5xxl.transformer.'),
    );
    await expect(draw({ model: whole }, request)).rejects.toThrow(
      /holds the transformer and no tokenizer, vae: give each with `componentPaths`.* such as Wan-AI\/Wan2.1-T2V-1.3B-Diffusers/,
    );
    await expectSame(pipeline, { model: whole, componentPaths: { tokenizer, vae } }, request);

    const beside = { tokenizer, text_encoder: folder, vae };
    const named = write('wan of diffusers', prefixed(transformer, ''));
    await expectSame(pipeline, { model: named, componentPaths: beside }, request);

    const coded = ggufOf(originalWan(transformer, ''), 'wan');
    const model = join(scratch, 'wan in codes.gguf');
    writeFileSync(model, coded.file);
    const { pixels } = await draw({ model, componentPaths: beside }, request);
    const numbers = write('wan of those codes', coded.numbers);
    const wanted = await draw({ model: numbers, componentPaths: beside }, request);
    const far = pixels[0]!.filter((value, i) => Math.abs(value - wanted.pixels[0]![i]!) > 1);
    expect(far.length).toBeLessThanOrEqual(0.001 * pixels[0]!.length);
  },
);
