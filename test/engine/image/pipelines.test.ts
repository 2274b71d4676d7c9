// Whole pipelines against what diffusers draws on the same tiny checkpoints, noise included.

import { describe, expect, it } from 'vitest';
import type { ImageModelOptions, Pixels } from '../../../src/engine/image/image-model.ts';
import {
  listen,
  openPipelineGolden,
  PIPELINE_GOLDENS,
  picturesOf,
  storedPictures,
} from './pipeline-golden.ts';

/** Cold shader caches on a busy machine. */
const PATIENCE = 300_000;

async function drawGolden(name: string, options: Partial<ImageModelOptions>): Promise<Pixels[]> {
  const { model, request } = await openPipelineGolden(name, options);
  try {
    const events = await listen(model, request);
    expect(events.filter(({ type }) => type === 'note')).toEqual([]);
    return picturesOf(events);
  } finally {
    await model.close();
  }
}

/** Within 1 of 255, but for one value in a thousand. */
function expectSame(found: Pixels, wanted: Pixels): void {
  expect([found.width, found.height]).toEqual([wanted.width, wanted.height]);
  const far = wanted.data.reduce((sum, value, i) => sum + Number(Math.abs(value - found.data[i]!) > 1), 0);
  expect(far).toBeLessThanOrEqual(wanted.data.length / 1000);
}

describe.each([
  ['tuned', {}],
  ['generic', { backend: 'generic' }],
] satisfies [string, Partial<ImageModelOptions>][])('%s', (_, options) => {
  it.each(PIPELINE_GOLDENS)('%s', { timeout: PATIENCE }, async (name) => {
    const wanted = await storedPictures(name, 'outputs', 'pixels');
    const found = await drawGolden(name, options);
    expect(found.length).toBe(wanted.length);
    found.forEach((picture, i) => expectSame(picture, wanted[i]!));
  });
});

it('Z-Image guides from above 0 on, as diffusers does', { timeout: PATIENCE }, async () => {
  const { model, request } = await openPipelineGolden('pipeline-z-image');
  const draw = async (guidance: number) =>
    picturesOf(await listen(model, { ...request, samples: 1, guidance }))[0];
  const without = await draw(0);
  expect(await draw(1e-9)).toEqual(without); // pos + g · (pos − neg)
  expect(await draw(1)).not.toEqual(without);
  await model.close();
});
