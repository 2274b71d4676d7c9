// Decodes latents to pixels; the decoder stays on the device until it is disposed.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { scaleAndCut } from '../../../kernels/scale-and-cut.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { readFrames, type Autoencoder } from '../blocks/autoencoder.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import type { Drawing } from './drawing.ts';
import type { Frames } from '../calls/image-model.ts';
import { ClipChunks } from './clip-chunks.ts';
import { Scope } from '../recording/scope.ts';

export type DecoderPage = ReturnType<Autoencoder['decoder']>;

export interface Decoder extends Disposable {
  decode(latents: Tensor): Promise<Frames>;
}

/** `tilingOf` is called when the decoder's weights are on the device. */
export async function openDecoder(
  drawing: Drawing,
  tilingOf: (page: DecoderPage) => Promise<Tiling>,
): Promise<Decoder> {
  const { components, autoencoder, options, cutTo } = drawing;
  const { device } = components;
  using scope = new Scope(device);
  const { page } = scope.use(
    await components.load(autoencoder.component, 'decoder', autoencoder.decoder, options),
  );
  const tiling = await tilingOf(page);
  const owner = scope.move();
  return {
    decode: (latents) =>
      finitely(device, options, 'the decoder', async (way, notFinite) => {
        using chunks = new ClipChunks(device, latents, autoencoder);
        const made: Frames[] = [];
        for (const { on, carried } of chunks)
          made.push(
            await computePixels(device, way, (tape) => {
              const image = page(on(tape), { ...tiling, carried });
              return toPixels(cutTo ? scaleAndCut(image, cutTo) : image, notFinite);
            }),
          );
        return joined(made);
      }),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

function joined(chunks: readonly Frames[]): Frames {
  const [first, ...others] = chunks as [Frames, ...Frames[]];
  if (others.length === 0) return first;
  const frames = chunks.reduce((sum, chunk) => sum + (chunk.frames ?? 1), 0);
  const data = new Uint8Array(3 * frames * first.width * first.height);
  let at = 0;
  for (const chunk of chunks) {
    data.set(chunk.data, at);
    at += chunk.data.length;
  }
  return { width: first.width, height: first.height, frames, data };
}

/** Runs a recording that ends in packed pixels and reads these back. */
export async function computePixels(
  device: Device,
  options: ComputeOptions,
  record: (tape: Tape) => Tensor,
): Promise<Frames> {
  const made = await compute(device, options, (tape) => [record(tape)]);
  return readFrames(device, made[0]!).finally(() => freeTensors(device, made));
}
