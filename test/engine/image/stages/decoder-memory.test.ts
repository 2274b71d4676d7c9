// An image too large to decode whole is decoded in strips, to the same bytes; one too large for that is refused before the first
// step.

import { expect, it } from 'vitest';
import type { ImageEvent, CompleteImageRequest } from '../../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { openInline } from '../../../../src/host/open.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { imagesOf, tinyPipeline } from '../pipeline-golden.ts';

const PATIENCE = 300_000;
const REQUEST: CompleteImageRequest = {
  prompt: 'a red balloon',
  seed: 7,
  width: 256,
  height: 256,
  steps: 1,
  guidance: 1,
};

/** Returns the events of an image on a budget, and the error. */
async function drawWith(
  memoryBudget: number,
  request: Partial<CompleteImageRequest> = {},
): Promise<{ events: ImageEvent[]; error: unknown }> {
  const model = await openInline(IMAGE, nodePlatform, { model: tinyPipeline('sd1'), memoryBudget });
  const events: ImageEvent[] = [];
  let error: unknown = null;
  try {
    for await (const event of model.generate({ ...REQUEST, ...request })) events.push(event);
  } catch (cause) {
    error = cause;
  }
  await model.close();
  return { events, error };
}

const peakOf = (events: readonly ImageEvent[]): number =>
  events.reduce(
    (most, event) =>
      event.type === 'stage' && event.name === 'decoding' ? Math.max(most, event.peakBytes) : most,
    0,
  );

it('the decoder works in strips if the whole image has no room', { timeout: PATIENCE }, async () => {
  const whole = await drawWith(1e8);
  const strips = await drawWith(1e8, { tiling: true });
  const [most, least] = [peakOf(whole.events), peakOf(strips.events)];
  expect(least).toBeLessThan(0.9 * most);
  const squeezed = await drawWith(0.97 * most);
  expect(squeezed.error).toBeNull();
  expect(peakOf(squeezed.events)).toBe(least);
  expect(imagesOf(squeezed.events)).toEqual(imagesOf(whole.events));

  const { events, error } = await drawWith(0.6 * least);
  expect(error).toMatchObject({
    code: 'out_of_memory',
    param: 'width',
    message: /^decoding 256 × 256 pixels takes/,
  });
  expect(events.some(({ type }) => type === 'step' || type === 'stage')).toBe(false);
});
