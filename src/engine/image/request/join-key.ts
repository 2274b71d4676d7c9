// Which requests may be drawn together: those that ask for the same but for their texts, seeds, numbers of results and previews.

import type { Resolved } from '../stages/resolved.ts';

/** Requests of equal keys may be drawn together; null: the request is drawn alone, because it has images of its own. */
export function joinKey({ request, event: { values }, call, loras = [] }: Resolved): string | null {
  const { image, furtherImages, lastImage, mask, ipAdapterImage, controlImages, ...others } = request;
  const images = [image, furtherImages, lastImage, mask, ipAdapterImage, controlImages];
  if (images.some((one) => one !== undefined)) return null;
  const { prompt: _, negativePrompt: _1, seed: _2, samples: _3, previews = 0, kwargs: _4, ...asked } = others;
  const { negativePrompt: _5, samples: _6, ...resolved } = values;
  const rest = Object.entries(asked)
    .filter(([key]) => !(key in values))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const applied = loras.map(({ lora, scale }) => [numberOf(lora), scale]);
  return JSON.stringify([rest, resolved, call, previews > 0, applied]);
}

/** Numbers of open LoRAs: a file that has changed is another one of the same name. */
const numbers = new WeakMap<object, number>();
let count = 0;

function numberOf(lora: object): number {
  const known = numbers.get(lora) ?? count++;
  numbers.set(lora, known);
  return known;
}
