// Memory that decoding an image takes, determined before the image is drawn: the decoder is recorded but not run. If the whole
// image does not fit, decoding in strips takes less memory and gives the same bytes.

import type { Size } from '../calls/image-model.ts';
import { option, say } from '../../../files/message.ts';
import { EngineError } from '../../../files/error.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { allocateTensor, type ComputeOptions } from '../recording/compute.ts';
import type { StageContext } from './stage-context.ts';
import { shapeOfLatents } from './latent-shape.ts';
import { ClipChunks } from './clip-chunks.ts';
import { Scope } from '../recording/scope.ts';
import { framesOf, type Autoencoder } from '../blocks/autoencoder.ts';

/** Rows of pixels in one strip. */
const STRIPS: Tiling = { stripRows: 32 };

/** Label of the latents that the memory check records the decoder on. */
const STAND_IN_LATENTS = 'stand-in latents';

type Decoding = Pick<StageContext, 'components' | 'autoencoder' | 'latents' | 'resolved' | 'options'>;

/** Chooses whole or strips before the image is drawn; throws out_of_memory if neither fits. */
export async function plannedTiling(decoding: Decoding): Promise<Tiling> {
  const { components, autoencoder, options, resolved } = decoding;
  // Nothing is computed in this mode, so memory is not checked.
  if (options.compileOnly) return resolved.request.tiling ? STRIPS : {};
  using decoder = await components.loadEmpty(autoencoder.component, 'decoder', autoencoder.decoder);
  return await tilingFor(decoding, decoder.page);
}

/** Chooses whole or strips with the decoder and everything else on the device. No tensor may occupy the arena at this point. */
export async function tilingFor(
  { components: { device }, autoencoder, latents: shape, resolved, options }: Decoding,
  decoder: ReturnType<Autoencoder['decoder']>,
): Promise<Tiling> {
  const { tiling = false } = resolved.request;
  const asked = tiling ? STRIPS : {};
  // Nothing is computed in this mode, so memory is not checked.
  if (options.compileOnly) return asked;
  const { values } = resolved.event;
  using scope = new Scope(device);
  const latents = scope.hold(allocateTensor(device, STAND_IN_LATENTS, shapeOfLatents(shape, values)));
  const notFinite = scope.hold(allocateTensor(device, 'finite check', [1]));
  // The last chunks of a clip take as much as any: layers keep frames of the chunks before them.
  const chunks = scope.use(new ClipChunks(device, latents, autoencoder, { isPlan: true }));
  const last = [...chunks].at(-1)!;
  const room = (strips: Tiling): Promise<Room> =>
    roomFor(
      device,
      options,
      (tape) =>
        Array.from(framesOf(decoder(last.on(tape), { ...strips, carried: last.carried })), (image) =>
          tape.keep(toPixels(image, notFinite.region!)),
        ),
      () => chunks.sharedBytes,
    );
  const first = await room(asked);
  if (first.fits) return asked;
  const least = autoencoder.tiles && !tiling ? await room(STRIPS) : first;
  if (!least.fits) throw refusal(device, values, least);
  return STRIPS;
}

export interface Room {
  fits: boolean;
  /** Total bytes on the device while it decodes, and bytes of the largest buffer. */
  bytes: number;
  largest: number;
}

/** Measures the memory of a tape, which is recorded and discarded; `carriedBytes`: those of a clip's frames beyond the device's. */
export async function roomFor(
  device: Device,
  { plain }: ComputeOptions,
  record: (tape: Tape) => readonly Tensor[],
  carriedBytes: () => number,
): Promise<Room> {
  const tape = new Tape(device, {}, { plain });
  try {
    const results = record(tape);
    tape.finish();
    const { largest } = device.arena;
    const held = results.reduce((sum, one) => sum + one.heldBytes({}), 0); // results are copied out of the arena
    const bytes = device.memoryUsed + device.arena.growth() + held + carriedBytes();
    const fits = largest <= device.capabilities.maxBufferSize && (await device.reserve(bytes));
    return { fits, bytes, largest };
  } finally {
    tape.destroy();
    device.arena.clear();
  }
}

function refusal(device: Device, { width, height }: Size, { bytes, largest }: Room): EngineError {
  const { maxBufferSize } = device.capabilities;
  const limit =
    largest > maxBufferSize
      ? `${bytesText(largest)} in one piece, the adapter allows ${bytesText(maxBufferSize)}: choose a smaller size`
      : say`${bytesText(bytes)}, the memory budget is ${bytesText(device.memoryBudget)}: choose a smaller size or raise ${option('memoryBudget')}`;
  const message = say`decoding ${width} × ${height} pixels takes ${limit}`;
  return new EngineError('out_of_memory', message, { param: 'width' });
}
