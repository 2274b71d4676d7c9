// Ranks that divide the tokens of a result draw what one rank draws.

import { expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModelOptions } from '../../../../src/index.ts';
import { openPipelineGolden } from '../pipeline-golden.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

async function drawn(golden: string, options: Partial<ImageModelOptions>) {
  const { model, request } = await openPipelineGolden(`pipeline-${golden}`, options);
  await using _ = model;
  const kwargs = { ...request.kwargs, num_inference_steps: 2 };
  const events: ImageEvent[] = [];
  for await (const event of model.generate({ ...request, kwargs, samples: 1 })) events.push(event);
  const images = events.flatMap((event) => (event.type === 'image' ? [event.image.data] : []));
  const exchanges = events.flatMap((event) => (event.type === 'exchange' ? [event] : []));
  return { data: images[0]!, exchange: exchanges[0] };
}

/** The largest difference of two images, of 255. */
function distance(a: Uint8Array, b: Uint8Array): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

// 35 tokens of an image, and texts of 40, 60 and 25.
it.each<[golden: string, Partial<ImageModelOptions>]>([
  ['flux', { numGpus: 2 }],
  ['flux2-klein-guided', { numGpus: 4 }],
  ['chroma', { numGpus: 3, kvGatherDegree: 3, enableCfgParallel: false }],
])('tokens of golden %s with %j on several ranks draw the image of one rank', async (golden, options) => {
  const alone = await drawn(golden, { backend: 'generic' });
  const apart = await drawn(golden, { backend: 'generic', logicalRanks: true, ...options });
  expect(distance(apart.data, alone.data)).toBeLessThanOrEqual(1);
  expect(apart.exchange).toMatchObject({ ranks: options.numGpus });
});

it('tokens that see a part of the others are not divided', async () => {
  const given = { numGpus: 2, logicalRanks: true, attentionBackend: 'sparse' };
  const config = { attentionBackendConfig: { sparsity: 0.5 } };
  await expect(openPipelineGolden('pipeline-flux', { ...given, ...config })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/^`attentionBackend` sparse .* `spDegree` 2/) as unknown,
  });
});
