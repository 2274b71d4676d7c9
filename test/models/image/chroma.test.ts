// Chroma against diffusers.

import { describe, expect, it } from 'vitest';
import { readChromaConfig } from '../../../src/models/image/chroma-config.ts';
import { chroma, chromaPlaces } from '../../../src/models/image/chroma.ts';
import { fluxRotations, fluxTextRotations } from '../../../src/models/image/flux-rope.ts';
import { describeGoldens, expectAgreement, load } from '../image-golden.ts';

describeGoldens(['chroma'], async (golden, device, run) => {
  const config = readChromaConfig(golden.config);
  const model = await load(device, golden, (weights) => chroma(config, weights));
  const given = (name: string) => golden.inputs.get(name)!;
  const [rows, columns] = given('sides').values as unknown as [number, number];
  const text = fluxTextRotations(config, given('text').shape[1]!);
  const image = fluxRotations(config, { image: 0, rows, columns });
  const places = chromaPlaces(config);
  const { values } = await run((_, input) => {
    const table = (turns: Float32Array) =>
      input({ shape: [turns.length / config.dims, config.dims], values: turns });
    const time = input({ shape: [1, 1], values: Float32Array.of(1000 * given('timestep').values[0]!) });
    const modulation = model.modulate(
      time,
      input({ shape: [places.rows, places.columns], values: places.values }),
    );
    const step = {
      patches: input(given('patches')),
      text: model.condition(input(given('text'))),
      rotations: {
        text: table(text),
        image: table(image),
        both: table(Float32Array.from([...text, ...image])),
      },
      modulation,
    };
    return [model.forward(step)];
  });
  expectAgreement(values[0]!, golden.outputs.get('sample')!);
});

describe('configurations of Chroma', () => {
  it.each([
    [
      { approximator_num_channels: 60 },
      'bad_checkpoint',
      'approximator_num_channels is 60, a multiple of 8 is needed',
    ],
    [
      { in_channels: 128, out_channels: 64 },
      'unsupported',
      'in_channels is 128, and the model gives fewer channels: models of Chroma that take more than latents are not built; choose Chroma1-HD',
    ],
    [
      { axes_dims_rope: [64, 64] },
      'bad_checkpoint',
      'axes_dims_rope is [64,64], three even numbers are needed that make up heads of 128 dimensions',
    ],
  ])('%j is refused', (config, code, message) => {
    expect(() => readChromaConfig(config)).toThrow(
      expect.objectContaining({ code, message: `config.json: ${message}` }) as Error,
    );
  });
});
