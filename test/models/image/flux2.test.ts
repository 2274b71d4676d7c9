// FLUX.2 against diffusers: without the guidance scale, and with it beside reference images.

import { describe, expect, it } from 'vitest';
import { readFlux2Config } from '../../../src/models/image/flux2-config.ts';
import { flux2Rotations, flux2TextRotations } from '../../../src/models/image/flux2-rope.ts';
import { flux2 } from '../../../src/models/image/flux2.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';

describeGoldens(['flux2', 'flux2-guidance'], async (golden, device, run) => {
  const config = readFlux2Config(golden.config);
  const model = await load(device, golden, (weights) => flux2(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const sides = given('sides').values;
  const grids = Array.from({ length: sides.length / 2 }, (_, image) => ({
    image,
    rows: sides[2 * image]!,
    columns: sides[2 * image + 1]!,
  }));
  const text = [...flux2TextRotations(config, given('text').shape[1]!)];
  const image = grids.flatMap((grid) => [...flux2Rotations(config, grid)]);
  const { values } = await run((_, input) => {
    const table = (rows: readonly number[]) =>
      input({ shape: [rows.length / config.dims, config.dims], values: Float32Array.from(rows) });
    const number = (value: number) => input({ shape: [1, 1], values: Float32Array.of(value) });
    const step = {
      patches: input(given('patches')),
      time: number(1000 * given('timestep').values[0]!),
      guidance: config.distilledGuidance ? number(1000 * given('guidance').values[0]!) : null,
      text: model.condition(input(given('text'))),
      rotations: { text: table(text), image: table(image), both: table([...text, ...image]) },
      denoised: grids[0]!.rows * grids[0]!.columns,
    };
    return [model.forward(step)];
  });
  expectAgreement(values[0]!, golden.outputs.get('sample')!);
});

describe('configurations of FLUX.2', () => {
  it.each([
    [{ patch_size: 2 }, 'unsupported', 'patch_size 2 is not built; choose a checkpoint that has 1'],
    [
      { out_channels: 64 },
      'unsupported',
      'out_channels is 64 and in_channels 128: models that take a mask or a control image beside the latents are not built; choose FLUX.2 dev or klein',
    ],
    [
      { axes_dims_rope: [64, 64] },
      'bad_checkpoint',
      'axes_dims_rope is [64,64], four even numbers are needed that make up heads of 128 dimensions',
    ],
    [
      { mlp_ratio: 2.71 },
      'unsupported',
      'mlp_ratio gives 16650 columns for 6144, a multiple of 4 is needed; choose FLUX.2 dev or klein',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readFlux2Config(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
