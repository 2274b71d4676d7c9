// Which requests may be drawn together: those that ask for the same but for their texts, seeds, numbers of results and previews.

import type { Resolved } from '../stages/resolved.ts';

/** Requests of equal keys may be drawn together; null: the request is drawn alone, because it has images of its own. */
export function joinKey({ request, event: { values }, call, loras = [] }: Resolved): string | null {
  const { image, furtherImages, lastImage, mask, ipAdapterImage, controlImages, ...others } = request;
  const images = [image, furtherImages, lastImage, mask, ipAdapterImage, controlImages];
  if (images.some((one) => one !== undefined)) return null;
  const { prompt: _, negativePrompt: _1, seed: _2, samples: _3, previews: _4, kwargs: _5, ...asked } = others;
  const { negativePrompt: _6, samples: _7, ...resolved } = values;
  return JSON.stringify([asked, resolved, call, loras.map(({ lora, scale }) => [lora.name, scale])]);
}
