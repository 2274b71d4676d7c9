// Encodes clips to latents chunk by chunk, one frame and then as many as a latent frame stands for: what is on the device at a time does not
// grow with the clip. Autoencoders that stream frames take a clip whole.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { uploadImage, type Autoencoder } from '../blocks/autoencoder.ts';
import type { Pixels, Size } from '../calls/image-model.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';
import { KeptFrames, PAPER_CHUNKS, zeroTensor } from './clip-chunks.ts';

/** A clip as an encoder sees it. */
export interface GivenClip extends Size {
  /** One frame alone, or several: the first, then multiples of `framesPerLatent`. null: a frame of zeros, which is a middle grey. */
  frames: readonly (Pixels | null)[];
  /** Noise by which latents are drawn, in their shape; left out: latents are the means of what the encoder gives. */
  noise?: Tensor;
}

export interface ClipEncoder {
  device: Device;
  autoencoder: Pick<Autoencoder, 'factor' | 'framesPerLatent' | 'streams' | 'latentChannels' | 'sample'>;
  page: ReturnType<Autoencoder['encoder']>;
  tiling: Tiling;
  options: ComputeOptions;
}

/** Returns latents of the denoiser, [latent frames, height, width, channels]; the caller frees the tensor. Throws cancelled and out_of_memory. */
export async function encodeClip(encoder: ClipEncoder, clip: GivenClip): Promise<Tensor> {
  const { device, autoencoder, options } = encoder;
  using inputs = new Scope(device);
  const { width, height, frames } = clip;
  const { factor, latentChannels, framesPerLatent = 1, streams = false } = autoencoder;
  const count = 1 + (frames.length - 1) / framesPerLatent;
  const size = [height / factor, width / factor] as const;
  const noise = clip.noise ?? inputs.hold(zeroTensor(device, 'no noise', [count, ...size, latentChannels]));
  const grey = inputs.hold(zeroTensor(device, 'grey frame', [1, height, width, 3]));
  const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
  return await finitely(
    device,
    options,
    'the encoder',
    async (way, notFinite) => {
      using made = new Scope(device);
      using kept = new KeptFrames(device, count);
      const latents: Tensor[] = [];
      const most = streams ? count : 1;
      for (let first = 0; first < count; first += most) {
        if (options.onPaper && first >= PAPER_CHUNKS) {
          latents.push(made.hold(zeroTensor(device, 'latents', [most, ...size, latentChannels])));
          continue;
        }
        const place = (latent: number): number => (latent === 0 ? 0 : 1 + (latent - 1) * framesPerLatent);
        const chunk = frames.slice(place(first), place(first + most));
        const carried = most < count ? kept.carried(first > 0) : null;
        const noiseOn = (tape: Tape): Tensor =>
          takeRows(noise.on(tape), first * size[0] * size[1], [most, ...size]);
        latents.push(
          made.hold(await encodeChunk({ ...encoder, options: way }, { chunk, carried, grey, noiseOn })),
        );
      }
      const joined = (tape: Tape): Tensor =>
        joinRows(
          latents.map((x) => x.on(tape)),
          [count, ...size],
        );
      const [all] = await compute(device, way, (tape) => [
        linearCombination([joined(tape)], one.region!, notFinite),
      ]);
      return all!;
    },
    (all) => freeTensors(device, [all]),
  );
}

interface ClipChunk {
  chunk: GivenClip['frames'];
  carried: ReturnType<KeptFrames['carried']> | null;
  /** A frame of zeros. */
  grey: Tensor;
  noiseOn(tape: Tape): Tensor;
}

/** Encodes a chunk of frames, which are on the device until it is done. */
async function encodeChunk(
  { device, autoencoder, page, tiling, options }: ClipEncoder,
  { chunk, carried, grey, noiseOn }: ClipChunk,
): Promise<Tensor> {
  using uploads = new Scope(device);
  const frames = chunk.map((frame) => {
    if (frame === null) return (tape: Tape): Tensor => grey.on(tape);
    const upload = uploadImage(device, frame);
    uploads.hold(upload.bytes);
    return upload.on;
  });
  const [latents] = await compute(device, options, (tape) => {
    const images = frames.map((on) => on(tape));
    const x =
      images.length === 1
        ? images[0]!
        : joinRows(images, [images.length, ...(grey.shape.slice(1, -1) as number[])]);
    return [autoencoder.sample(page(x, { ...tiling, carried }), noiseOn(tape))];
  });
  return latents!;
}
