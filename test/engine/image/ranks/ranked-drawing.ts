// Draws a golden's pipeline on one device or on several, and compares the images.

import { expect } from 'vitest';
import type { ImageEvent, ImageModelOptions } from '../../../../src/index.ts';
import { openPipelineGolden } from '../pipeline-golden.ts';

/** The first image of a golden's request, and what its ranks exchanged. `kwargs` come before those of the golden. */
export async function drawn(
  golden: string,
  options: Partial<ImageModelOptions>,
  kwargs: Record<string, unknown>,
) {
  const { model, request } = await openPipelineGolden(`pipeline-${golden}`, options);
  await using _ = model;
  const asked = { ...request, kwargs: { ...request.kwargs, ...kwargs }, samples: 1 };
  const events: ImageEvent[] = [];
  for await (const event of model.generate(asked)) events.push(event);
  const images = events.flatMap((event) => (event.type === 'image' ? [event.image.data] : []));
  const exchanges = events.flatMap((event) => (event.type === 'exchange' ? [event] : []));
  return { data: images[0]!, exchange: exchanges[0] };
}

/** The largest difference of two images, of 255. */
export function distance(a: Uint8Array, b: Uint8Array): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}
