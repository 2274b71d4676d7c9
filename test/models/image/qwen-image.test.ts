// Qwen-Image against diffusers: one image, and an image with references that are modulated as at time 0.

import { describe, expect, it } from 'vitest';
import { readQwenImageConfig } from '../../../src/models/image/qwen-image-config.ts';
import { qwenImageRotations } from '../../../src/models/image/qwen-image-rope.ts';
import { qwenImage } from '../../../src/models/image/qwen-image.ts';
import { describeGoldens, expectAgreement, load, type Values } from '../image-golden.ts';

/** Rows [first, first + count) of [1, tokens, columns]. */
function tokensOf({ shape, values }: Values, first: number, count: number): Values {
  const columns = shape[2]!;
  return { shape: [1, count, columns], values: values.slice(first * columns, (first + count) * columns) };
}

describeGoldens(['qwen-image', 'qwen-image-references'], async (golden, device, run) => {
  const config = readQwenImageConfig(golden.config);
  const model = await load(device, golden, (weights) => qwenImage(config, weights));
  const [patches, text, sides, timestep] = ['patches', 'text', 'sides', 'timestep'].map((name) =>
    golden.inputs.get(name)!,
  ) as [Values, Values, Values, Values];
  const grids = Array.from({ length: sides.shape[0]! }, (_, i) => ({
    rows: sides.values[2 * i]!,
    columns: sides.values[2 * i + 1]!,
  }));
  const tables = qwenImageRotations(config, text.shape[1]!, grids);
  let first = 0;
  const images = grids.map(({ rows, columns }) => {
    const part = tokensOf(patches, first, rows * columns);
    first += rows * columns;
    return part;
  });
  const { values } = await run((_, input) => {
    const table = (rows: Float32Array) =>
      input({ shape: [rows.length / config.dims, config.dims], values: rows });
    const number = (value: number) => input({ shape: [1, 1], values: Float32Array.of(value) });
    const [image, ...references] = images.map((one, i) => ({
      patches: input(one),
      rotations: table(tables.images[i]!),
    }));
    const step = {
      patches: image!.patches,
      time: number(1000 * timestep.values[0]!),
      zero: number(0),
      text: model.condition(input(text)),
      rotations: { text: table(tables.text), image: image!.rotations },
      references,
    };
    return [model.forward(step)];
  });
  expectAgreement(values[0]!, golden.outputs.get('sample')!);
});

describe('configurations of Qwen-Image', () => {
  it.each([
    [{ guidance_embeds: true }, 'guidance_embeds true is not built; choose a checkpoint that has false'],
    [{ use_layer3d_rope: true }, 'use_layer3d_rope true is not built; choose a checkpoint that has false'],
  ])('%j is refused', (config, message) => {
    expect(() => readQwenImageConfig(config)).toThrow(
      expect.objectContaining({ code: 'unsupported', message: `config.json: ${message}` }) as Error,
    );
  });

  it.each([
    [
      { axes_dims_rope: [16, 56, 54] },
      'axes_dims_rope is [16,56,54], three even numbers are needed that make up heads of 128 dimensions',
    ],
    [
      { in_channels: 60 },
      'in_channels is 60, and patches of 2 × 2 latents with the 16 of out_channels have 64',
    ],
  ])('%j does not fit', (config, message) => {
    expect(() => readQwenImageConfig(config)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message: `config.json: ${message}` }) as Error,
    );
  });

  it('prompts and sizes beyond the positions that the model knows are refused', () => {
    const config = readQwenImageConfig({});
    expect(() => qwenImageRotations(config, 4033, [{ rows: 128, columns: 2 }])).toThrow(
      "a prompt of 4033 tokens behind an image of 128 patches a side exceeds the model's 4096 positions: shorten the prompt, or choose a smaller image",
    );
    expect(() => qwenImageRotations(config, 1, [{ rows: 8, columns: 8193 }])).toThrow(
      "a prompt of 1 tokens behind an image of 8192 patches a side exceeds the model's 4096 positions",
    );
  });
});
