// Encodes the images of a clip's first and last frame: the first one alone, or a clip of both with grey frames between them, in chunks of the
// frames that a frame of latents stands for.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { uploadImage } from '../blocks/autoencoder.ts';
import type { Pixels } from '../calls/image-model.ts';
import { allocateTensor, compute, finitely, freeTensors } from '../recording/compute.ts';
import { Scope } from '../recording/scope.ts';
import { CarriedLayers } from './carried-layers.ts';
import { shapeOfLatents } from './latent-shape.ts';
import type { StageContext } from './stage-context.ts';

/** Returns the latents of a clip, or of an image, [frames, height, width, channels], which are means: no noise is drawn. The caller frees them. */
export async function encodeFrames(
  { components, autoencoder, latents, resolved, runner, options }: StageContext,
  images: readonly Pixels[],
  tiling: Tiling,
): Promise<Tensor> {
  const { device } = components;
  const { framesPerLatent = 1, latentChannels } = autoencoder;
  const { values } = resolved.event;
  const frames = runner.frameImages?.encoded === 'image' ? 1 : values.frames;
  const shape = shapeOfLatents({ ...latents, channels: latentChannels }, { ...values, frames });
  const [count, ...ofFrame] = shape as [number, number, number, number];
  using inputs = new Scope(device);
  const held = (label: string, extents: readonly number[], data: Float32Array): Tensor =>
    inputs.hold(device.tensor('step', label, [...extents], data));
  const zerosOf = (label: string, extents: readonly number[]): Tensor =>
    held(label, extents, new Float32Array(extents.reduce((product, extent) => product * extent, 1)));
  const grey = zerosOf('a grey frame', [1, values.height, values.width, 3]);
  const noise = zerosOf('no noise', [1, ...ofFrame]);
  const one = held('one', [1], Float32Array.of(1));
  const [first, last] = images.map((image) => {
    const upload = uploadImage(device, image);
    inputs.hold(upload.bytes);
    return upload;
  });
  const frameOn = (tape: Tape, index: number): Tensor => {
    if (index === 0) return first!.on(tape);
    return index === frames - 1 && last ? last.on(tape) : grey.on(tape);
  };
  /** The frames that a frame of latents stands for. */
  const chunkOn = (tape: Tape, latent: number): Tensor => {
    if (latent === 0) return frameOn(tape, 0);
    const before = 1 + (latent - 1) * framesPerLatent;
    const parts = Array.from({ length: framesPerLatent }, (_, i) => frameOn(tape, before + i));
    return joinRows(parts, [framesPerLatent, values.height, values.width]);
  };
  using encoder = await components.load(autoencoder.component, 'encoder', autoencoder.encoder, options);
  using results = new Scope(device);
  const made = results.hold(allocateTensor(device, 'latents of frames', shape));
  await finitely(device, options, 'the encoder', async (way, notFinite) => {
    using layers = new CarriedLayers(device);
    for (let latent = 0; latent < count; latent++) {
      const carried = count === 1 ? null : layers.carried(latent > 0);
      const chunk = await compute(device, way, (tape) => {
        const encoded = encoder.page(chunkOn(tape, latent), { ...tiling, carried });
        return [linearCombination([autoencoder.sample(encoded, noise.on(tape))], one.region!, notFinite)];
      });
      const commands = device.gpu.createCommandEncoder();
      const bytes = (4 * made.stride * made.rows({})) / count;
      commands.copyBufferToBuffer(chunk[0]!.region!.buffer, 0, made.region!.buffer, latent * bytes, bytes);
      device.gpu.queue.submit([commands.finish()]);
      freeTensors(device, chunk);
    }
  });
  results.release();
  return made;
}
