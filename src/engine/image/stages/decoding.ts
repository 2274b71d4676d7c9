// Decodes latents to pixels; the decoder stays on the device until it is disposed.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { scaleAndCut } from '../../../kernels/scale-and-cut.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { readImage, type Autoencoder } from '../blocks/autoencoder.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import type { Drawing } from './drawing.ts';
import type { Pixels } from '../calls/image-model.ts';
import { Scope } from '../recording/scope.ts';

export type DecoderPage = ReturnType<Autoencoder['decoder']>;

export interface Decoder extends Disposable {
  decode(latents: Tensor): Promise<Pixels>;
}

/** `tilingOf` is called when the decoder's weights are on the device. */
export async function openDecoder(
  drawing: Drawing,
  tilingOf: (page: DecoderPage) => Promise<Tiling>,
): Promise<Decoder> {
  const { components, autoencoder, options, resolved, cutTo } = drawing;
  const { device } = components;
  using scope = new Scope(device);
  const { page } = scope.use(
    await components.load(autoencoder.component, 'decoder', autoencoder.decoder, options),
  );
  const tiling = await tilingOf(page);
  const owner = scope.move();
  const { width, height } = cutTo ?? resolved.event.values;
  return {
    decode: (latents) =>
      finitely(device, options, 'the decoder', (way, notFinite) =>
        computePixels(device, way, { width, height }, (tape) => {
          const image = page(latents.on(tape), tiling);
          return toPixels(cutTo ? scaleAndCut(image, cutTo) : image, notFinite);
        }),
      ),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

/** Runs a recording that ends in packed pixels and reads these back. */
export async function computePixels(
  device: Device,
  options: ComputeOptions,
  { width, height }: { width: number; height: number },
  record: (tape: Tape) => Tensor,
): Promise<Pixels> {
  const made = await compute(device, options, (tape) => [record(tape)]);
  return readImage(device, made[0]!, width, height).finally(() => freeTensors(device, made));
}
