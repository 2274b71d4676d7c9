// Previews: a step's clean latents as an image, by a linear map if one is known, or by a decoder that stays on the device.

import type { Tensor } from '../../../gpu/tensor.ts';
import { latentColours } from '../../../kernels/latent-colours.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { computePixels, openDecoder } from './decoding.ts';
import type { Drawing } from './drawing.ts';
import type { Frames } from '../calls/image-model.ts';
import type { ColourMap } from './latent-colours.ts';
import { Scope } from '../recording/scope.ts';

/** Displays the clean latents of a step. */
export type Preview = (estimate: Tensor, step: number) => Promise<void>;

/** Returns null, and emits a note, if this model's latents cannot be displayed. */
export function previewer(drawing: Drawing, sample: number, tiling: Tiling): Preview | null {
  const { components, colours = null, emit } = drawing;
  const show =
    (render: (estimate: Tensor) => Promise<Frames>): Preview =>
    async (estimate, step) =>
      emit({ type: 'preview', sample, step, image: await render(estimate) });
  if (colours !== null) return show((estimate) => renderColours(drawing, colours, estimate));
  if (components.resident) return show((estimate) => renderDecoded(drawing, tiling, estimate));
  const message =
    'there are no previews of this model: its latents have no known colours, and its decoder waits its turn';
  emit({ type: 'note', message });
  return null;
}

async function renderDecoded(drawing: Drawing, tiling: Tiling, estimate: Tensor): Promise<Frames> {
  using decoder = await openDecoder(drawing, async () => tiling);
  return await decoder.decode(estimate);
}

async function renderColours(
  { components: { device }, options }: Drawing,
  { factors, side }: ColourMap,
  estimate: Tensor,
): Promise<Frames> {
  using scope = new Scope(device);
  const table = scope.hold(device.tensor('step', 'colours', [factors.length], factors));
  const unread = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  return await computePixels(device, options, (tape) =>
    toPixels(latentColours(estimate.on(tape), table.region!, side), unread.region!),
  );
}
