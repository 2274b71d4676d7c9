// Ranks that divide the tokens of a result draw what one rank draws.

import { expect, it, vi } from 'vitest';
import type { ImageModelOptions } from '../../../../src/index.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { goldenRequest, openPipelineGolden } from '../pipeline-golden.ts';
import { distance, drawn } from './ranked-drawing.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const GATHER = { numGpus: 2, kvGatherDegree: 2 };
const HEADS = { numGpus: 2, ulyssesDegree: 2 };
const RING = { numGpus: 2, ringDegree: 2 };
/** Texts are filled up to 512 tokens where nothing else is said. */
const SHORT = { max_sequence_length: 24 };

// Each family divides its tokens in one form: keys gathered (two and three ranks), heads by Ulysses (the same; filled in where no degree is given),
// rings, both, and ranks for the negative prompt beside. Most numbers of tokens are not divisible by those of ranks.
it.each<[golden: string, Partial<ImageModelOptions>, kwargs?: Record<string, unknown>]>([
  ['flux', GATHER],
  ['flux2-klein-guided', { numGpus: 2, enableCfgParallel: false }],
  ['chroma', { numGpus: 3, kvGatherDegree: 3, enableCfgParallel: false }],
  ['sd3-dual', { numGpus: 4, ulyssesDegree: 2, cfgParallelSize: 2 }],
  ['qwen-image-edit', RING],
  ['z-image', { numGpus: 4, ulyssesDegree: 2, ringDegree: 2 }],
  ['lumina2', GATHER],
  ['pixart', { numGpus: 3, ulyssesDegree: 3, backend: 'generic' }, SHORT],
  ['wan', { numGpus: 3, ulyssesDegree: 3 }, { ...SHORT, num_frames: 1 }],
  ['wan-frames', { ...RING, enableCfgParallel: false }, SHORT],
  ['ltx-image', HEADS, SHORT],
  ['hunyuan', RING, { num_frames: 1 }],
])('tokens of golden %s with %j on several ranks draw what one rank draws', async (golden, options, more) => {
  const { backend = 'svc' } = options;
  const kwargs = { num_inference_steps: 1, ...more };
  const alone = await drawn(golden, { backend }, kwargs);
  const apart = await drawn(golden, { backend, logicalRanks: true, ...options }, kwargs);
  expect(distance(apart.data, alone.data)).toBeLessThanOrEqual(1);
  expect(apart.exchange).toMatchObject({ ranks: options.numGpus });
});

it('the loss of a device in a ring ends its result, and all are opened anew for the next one', async () => {
  const devices: Device[] = [];
  const platform = {
    ...nodePlatform,
    async openDevice(given: Parameters<typeof nodePlatform.openDevice>[0]) {
      const device = await nodePlatform.openDevice(given);
      devices.push(device);
      return device;
    },
  };
  const { options, request } = await goldenRequest('pipeline-z-image');
  const own = { ...options, ...RING, logicalRanks: true } as const;
  await using model = await openInline(IMAGE, platform, own);
  const draw = async (lose: boolean): Promise<Uint8Array | undefined> => {
    let image: Uint8Array | undefined;
    for await (const event of model.generate({ ...request, samples: 1 })) {
      if (event.type === 'step' && lose) devices[1]!.destroy('somebody pulled it out');
      if (event.type === 'image') image = event.image.data;
    }
    return image;
  };
  const drawn = await draw(false);
  await expect(draw(true)).rejects.toMatchObject({ code: 'device_lost' });
  expect(await draw(false)).toEqual(drawn);
});

it.each<[Partial<ImageModelOptions>, message: RegExp]>([
  [
    { numGpus: 2, attentionBackend: 'sparse', attentionBackendConfig: { sparsity: 0.5 } },
    /^`attentionBackend` sparse .* `kvGatherDegree` 2 .* choose `ulyssesDegree` 2/,
  ],
  [
    { ...RING, attentionBackend: 'sage' },
    /^`attentionBackend` sage .* `ringDegree` 2 .* choose `ulyssesDegree` 2/,
  ],
])('kernels of attention that do not compute what devices divide are refused: %j', async (given, message) => {
  await expect(openPipelineGolden('pipeline-flux', { ...given, logicalRanks: true })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(message) as unknown,
  });
});
