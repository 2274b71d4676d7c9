// From latents to pixels: the decoder, and previews of what a step has come to.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { latentColours } from '../../kernels/latent-colours.ts';
import { toPixels } from '../../kernels/to-pixels.ts';
import type { Tiling } from '../../models/image/autoencoder-kl.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from './compute.ts';
import { tilingOf } from './decoder-room.ts';
import type { Drawing } from './draw.ts';
import { createHeld } from './held.ts';
import type { Pixels } from './image-model.ts';
import { readImage, type Autoencoder } from './autoencoder.ts';

/** Shows a step's clean latents: by a linear map where one is known, or by a decoder that stays on the device. */
export function preview(drawing: Drawing, sample: number) {
  const { components, colours = null, options, emit } = drawing;
  const { device } = components;
  if (colours === null && components.resident) {
    return async (estimate: Tensor, step: number): Promise<void> => {
      const image = await decoderOf(
        drawing,
        async () => drawing.tiling,
        (decode) => decode(estimate),
      );
      emit({ type: 'preview', sample, step, image });
    };
  }
  if (colours === null) {
    const message =
      'there are no previews of this model: its latents have no known colours, and its decoder waits its turn';
    emit({ type: 'note', message });
    return null;
  }
  const { factors, side } = colours;
  return async (estimate: Tensor, step: number): Promise<void> => {
    const [, height, width] = estimate.shape as number[];
    const held = createHeld(device);
    try {
      const table = held.hold(device.tensor('step', 'colours', [factors.length], factors));
      const unread = held.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
      const image = await computeImage(drawing, options, side * width!, side * height!, (tape) =>
        toPixels(latentColours(estimate.on(tape), table.region!, side), unread.region!),
      );
      emit({ type: 'preview', sample, step, image });
    } finally {
      held.free();
    }
  };
}

type Decode = (latents: Tensor) => Promise<Pixels>;

/** The decoder's weights are on the device while `body` runs, and nothing else has a place in the arena. */
export function withDecoder<T>(drawing: Drawing, body: (decode: Decode) => Promise<T>): Promise<T> {
  return decoderOf(drawing, (decoder) => tilingOf(drawing, decoder), body);
}

function decoderOf<T>(
  drawing: Drawing,
  tilingFor: (decoder: ReturnType<Autoencoder['decoder']>) => Promise<Tiling>,
  body: (decode: Decode) => Promise<T>,
): Promise<T> {
  const { components, autoencoder, options, resolved } = drawing;
  const { device } = components;
  const { width, height } = resolved.event.values;
  return components.use(autoencoder.component, 'decoder', autoencoder.decoder, async (decoder) => {
    const tiling = await tilingFor(decoder);
    return body((latents) =>
      finitely(device, options, 'the decoder', (way, notFinite) =>
        computeImage(drawing, way, width, height, (tape) =>
          toPixels(decoder(latents.on(tape), tiling), notFinite),
        ),
      ),
    );
  });
}

/** What `record` makes of pixels, read back. */
async function computeImage(
  { components: { device } }: Drawing,
  options: ComputeOptions,
  width: number,
  height: number,
  record: (tape: Tape) => Tensor,
): Promise<Pixels> {
  const made = await compute(device, options, (tape) => [record(tape)]);
  return readImage(device, made[0]!, width, height).finally(() => freeTensors(device, made));
}
