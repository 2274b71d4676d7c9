// Ranks that divide the matrices of a denoiser draw what one rank draws.

import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import type { ImageModelOptions } from '../../../../src/index.ts';
import { openPipelineGolden } from '../pipeline-golden.ts';
import { distance, drawn } from './ranked-drawing.ts';

const LORA = new URL('../../../golden/image/lora-lumina2/', import.meta.url);

const TWO_STEPS = { num_inference_steps: 2 };
/** A clip of one frame, whose text would be filled up to 512 tokens. */
const SHORT = { max_sequence_length: 24, num_frames: 1 };

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

// Ranges of one tensor; heads of keys that several of queries share, with both passes; attention that stays whole; a UNet.
it.each<[golden: string, options: Partial<ImageModelOptions>, kwargs?: Record<string, unknown>]>([
  ['flux2-klein', { numGpus: 3, tpSize: 3 }],
  ['lumina2', { numGpus: 4, tpSize: 2 }],
  ['wan', { numGpus: 2, tpSize: 2, enableCfgParallel: false }, SHORT],
  ['sd1', { numGpus: 2, tpSize: 2 }],
])(
  'matrices of golden %s with %j on several ranks draw the image of one rank',
  async (golden, options, more) => {
    const kwargs = { ...TWO_STEPS, ...more };
    const alone = await drawn(golden, { backend: 'generic' }, kwargs);
    const apart = await drawn(golden, { backend: 'generic', logicalRanks: true, ...options }, kwargs);
    expect(distance(apart.data, alone.data)).toBeLessThanOrEqual(1);
    expect(apart.exchange).toMatchObject({ ranks: options.numGpus });
  },
);

it('heads that cannot be divided are refused before weights are read', async () => {
  const given = { numGpus: 2, tpSize: 2, logicalRanks: true };
  await expect(openPipelineGolden('pipeline-flux', given)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/3 heads of attention, which `tpSize` 2 does not divide/) as unknown,
  });
});

it('LoRAs, which change whole matrices, are refused beside divided ones', async () => {
  const given = { numGpus: 2, tpSize: 2, logicalRanks: true, enableCfgParallel: false };
  const loraPath = [fileURLToPath(new URL('adapter-0.safetensors', LORA))];
  await expect(drawn('lumina2', { ...given, loraPath }, TWO_STEPS)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(
      /^LoRAs \(`loraPath`, .* change whole matrices, and `tpSize` 2 divides them/,
    ) as unknown,
  });
});

it('matrices of int8 that are divided, and copied from host memory, draw the image of whole ones', async () => {
  const given = { quantization: 'int8', enableCfgParallel: false } as const;
  const divided = { numGpus: 2, tpSize: 2, logicalRanks: true, ditLayerwiseOffload: true };
  const [alone, apart] = [
    await drawn('lumina2', given, TWO_STEPS),
    await drawn('lumina2', { ...given, ...divided }, TWO_STEPS),
  ];
  expect(distance(apart.data, alone.data)).toBeLessThanOrEqual(2);
});
