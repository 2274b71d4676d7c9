// Whether there is room to decode an image, told before it is drawn: the decoder is recorded and not run. Where the whole
// image finds none, strips take less and give the same bytes.

import { EngineError } from '../../files/error.ts';
import { bytesText } from '../../files/bytes-text.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { toPixels } from '../../kernels/to-pixels.ts';
import type { Tiling } from '../../models/image/autoencoder-kl.ts';
import { allocateTensor, type ComputeOptions } from './compute.ts';
import type { Drawing } from './draw.ts';
import { createHeld } from './held.ts';
import { shapeOfLatents } from './latent-shape.ts';
import type { Autoencoder } from './autoencoder.ts';

/** Rows of pixels that an autoencoder in strips takes at a time. */
const STRIPS: Tiling = { stripRows: 32 };

/** Label of latents that stand in for those to come. */
export const FORESEEN = 'foreseen latents';

type Decoding = Pick<Drawing, 'components' | 'autoencoder' | 'latents' | 'resolved' | 'options'>;

/** How to decode, as far as it can be told before the image is drawn; `out_of_memory` where there is room for no way. */
export function foreseeTiling(decoding: Decoding): Promise<Tiling> {
  const { components, autoencoder, options, resolved } = decoding;
  // Nothing is computed then.
  if (options.compileOnly) return Promise.resolve(resolved.request.tiling ? STRIPS : {});
  return components.foresee(autoencoder.component, 'decoder', autoencoder.decoder, (decoder) =>
    tilingOf(decoding, decoder),
  );
}

/** The same of a decoder on the device, when all is there that stays beside it. Nothing may hold a place in the arena. */
export async function tilingOf(
  { components: { device }, autoencoder, latents: shapes, resolved, options }: Decoding,
  decoder: ReturnType<Autoencoder['decoder']>,
): Promise<Tiling> {
  const { tiling = false } = resolved.request;
  const asked = tiling ? STRIPS : {};
  // Nothing is computed then.
  if (options.compileOnly) return asked;
  const { width, height } = resolved.event.values;
  const shape = shapeOfLatents(shapes, { width, height });
  const held = createHeld(device);
  try {
    const latents = held.hold(allocateTensor(device, FORESEEN, shape));
    const notFinite = held.hold(allocateTensor(device, 'finite check', [1]));
    const room = (strips: Tiling): Promise<Room> =>
      roomFor(device, options, (tape) =>
        tape.keep(toPixels(decoder(latents.on(tape), strips), notFinite.region!)),
      );
    const first = await room(asked);
    if (first.fits) return asked;
    const least = autoencoder.tiles && !tiling ? await room(STRIPS) : first;
    if (!least.fits) throw refusal(device, { width, height }, least);
    return STRIPS;
  } finally {
    held.free();
  }
}

interface Room {
  fits: boolean;
  /** All that is on the device then, and the largest piece of what is computed. */
  bytes: number;
  largest: number;
}

/** Of a tape that is recorded and thrown away. */
async function roomFor(
  device: Device,
  { plain }: ComputeOptions,
  record: (tape: Tape) => Tensor,
): Promise<Room> {
  const tape = new Tape(device, {}, { plain });
  try {
    const result = record(tape);
    tape.finish();
    const { largest } = device.arena;
    const bytes = device.memoryUsed + device.arena.growth() + result.heldBytes({}); // it is copied out
    const fits = largest <= device.capabilities.maxBufferSize && (await device.reserve(bytes));
    return { fits, bytes, largest };
  } finally {
    tape.destroy();
    device.arena.clear();
  }
}

function refusal(
  device: Device,
  { width, height }: { width: number; height: number },
  { bytes, largest }: Room,
): EngineError {
  const { maxBufferSize } = device.capabilities;
  const limit =
    largest > maxBufferSize
      ? `${bytesText(largest)} in one piece, the adapter allows ${bytesText(maxBufferSize)}: choose a smaller size`
      : `${bytesText(bytes)}, the memory budget is ${bytesText(device.memoryBudget)}: choose a smaller size or raise \`memoryBudget\``;
  const message = `decoding ${width} × ${height} pixels takes ${limit}`;
  return new EngineError('out_of_memory', message, { param: 'width' });
}
