// FLUX.1 against diffusers: with the guidance scale as an input, and without it beside a reference image.

import { describe, expect, it } from 'vitest';
import { readFluxConfig } from '../../../src/models/image/flux-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../src/models/image/flux-rope.ts';
import { flux } from '../../../src/models/image/flux.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';

describeGoldens(['flux', 'flux-references'], async (golden, device, run) => {
  const config = readFluxConfig(golden.config);
  const model = await load(device, golden, (weights) => flux(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const sides = given('sides').values;
  const grids = Array.from({ length: sides.length / 2 }, (_, image) => ({
    image,
    rows: sides[2 * image]!,
    columns: sides[2 * image + 1]!,
  }));
  const text = fluxTextRotations(config, given('text').shape[1]!);
  const image = grids.flatMap((grid) => [...fluxRotations(config, grid)]);
  const { values } = await run((_, input) => {
    const table = (rows: readonly number[]) =>
      input({ shape: [rows.length / config.dims, config.dims], values: Float32Array.from(rows) });
    const number = (value: number) => input({ shape: [1, 1], values: Float32Array.of(value) });
    const step = {
      patches: input(given('patches')),
      time: number(1000 * given('timestep').values[0]!),
      guidance: config.distilledGuidance ? number(1000 * given('guidance').values[0]!) : null,
      text: model.condition(input(given('text'))),
      pooled: input(given('pooled')),
      rotations: { text: table([...text]), image: table(image), both: table([...text, ...image]) },
      denoised: grids[0]!.rows * grids[0]!.columns,
    };
    return [model.forward(step)];
  });
  expectAgreement(values[0]!, golden.outputs.get('sample')!);
});

describe('configurations of FLUX.1', () => {
  it.each([
    [{ patch_size: 2 }, 'unsupported', 'patch_size 2 is not built; choose a checkpoint that has 1'],
    [{ in_channels: 66, out_channels: 64 }, 'bad_checkpoint', 'in_channels is 66, a multiple of 4 is needed'],
    [{ out_channels: 66 }, 'bad_checkpoint', 'out_channels is 66, a multiple of 4 is needed'],
    [
      { axes_dims_rope: [16, 56] },
      'bad_checkpoint',
      'axes_dims_rope is [16,56], three even numbers are needed that make up heads of 128 dimensions',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readFluxConfig(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
