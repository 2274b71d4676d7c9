// The transformer of HunyuanVideo 1.5 against diffusers, which sees the padding of texts under a mask.

import { describe, expect, it } from 'vitest';
import { readHunyuanConfig } from '../../../../src/models/image/clips/hunyuan-config.ts';
import { hunyuan } from '../../../../src/models/image/clips/hunyuan.ts';
import { clipPlaces } from '../../../../src/models/image/clips/wan-rope.ts';
import { rotationsAt } from '../../../../src/models/image/flux-rope.ts';
import { describeGoldens, expectAgreement, framesLast, load, type Values } from '../../image-golden.ts';

/** The first tokens of a text. */
const firstOf = ({ shape, values }: Values, count: number): Values => ({
  shape: [1, count, shape[2]!],
  values: values.slice(0, count * shape[2]!),
});

function meanOf({ shape, values }: Values): Values {
  const [, count, columns] = shape as [number, number, number];
  const mean = Float32Array.from({ length: columns }, (_, column) => {
    let sum = 0;
    for (let row = 0; row < count; row++) sum += values[row * columns + column]!;
    return sum / count;
  });
  return { shape: [1, columns], values: mean };
}

describeGoldens(['hunyuan', 'hunyuan-image'], async (golden, device, run) => {
  const config = readHunyuanConfig(golden.config);
  const model = await load(device, golden, (weights) =>
    hunyuan(config, weights, { seesImages: golden.inputs.has('image') }),
  );
  const given = (name: string) => golden.inputs.get(name)!;
  const latents = framesLast(given('latents'));
  const [frames, rows, columns] = latents.shape as [number, number, number];
  const turns = rotationsAt(clipPlaces({ frames, rows, columns }), config.axes, config.theta);
  const [words, bytes] = given('counts').values;
  const text = firstOf(given('text'), words!);
  const [image, next] = ['image', 'timestep_r'].map((name) => golden.inputs.get(name));
  const { values } = await run((_, input) => [
    model.forward({
      latents: input(latents),
      time: input({ shape: [1, 1], values: given('timestep').values }),
      next: next ? input({ shape: [1, 1], values: next.values }) : null,
      text: input(text),
      mean: input(meanOf(text)),
      glyphs: model.conditionGlyphs(input(firstOf(given('glyphs'), bytes!))),
      image: image ? model.conditionImage(input(image)) : null,
      rotations: input({ shape: [turns.length / config.dims, config.dims], values: turns }),
    }),
  ]);
  expectAgreement(values[0]!, framesLast(golden.outputs.get('sample')!));
});

describe('configurations of HunyuanVideo 1.5', () => {
  it('the defaults are those of the published models', () => {
    expect(readHunyuanConfig({})).toMatchObject({
      ...{ hidden: 2048, layers: 54, refinerLayers: 2, inputs: 65, channels: 32 },
      ...{ textDims: 3584, glyphDims: 1472, imageDims: 1152, axes: [16, 56, 56], theta: 256, ffn: 8192 },
    });
  });

  it.each([
    [{ mlp_ratio: 3 }, 'config.json: mlp_ratio 3 is not built; choose a checkpoint that has 4'],
    [
      { rope_axes_dim: [16, 56] },
      'config.json: rope_axes_dim is [16,56], three even numbers are needed that make up heads of 128 dimensions',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readHunyuanConfig(config)).toThrow(message);
  });
});
