// Computes the latents of one image: starts from noise, or from an image and noise, and runs the steps of the schedule.

import type { Device } from '../../gpu/device.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { concat } from '../../kernels/concat.ts';
import { EngineError } from '../../files/error.ts';
import { allocateTensor, compute, type ComputeOptions } from './compute.ts';
import { Denoiser, writeRows, type Keeping, type Predictor } from './denoiser.ts';
import type { Encoded } from './encoding.ts';
import type { ImageEvent } from './image-model.ts';
import type { NoiseStream } from './noise.ts';
import { channelsLast, type Autoencoder } from './autoencoder.ts';
import { Scope } from './scope.ts';
import type { Plan } from './schedules/schedule.ts';

export interface SampleRequest {
  device: Device;
  autoencoder: Autoencoder;
  /** [frames, height, width, channels] of the latents. */
  shape: readonly number[];
  plan: Plan;
  strength: number | null;
  encoded: Encoded | null;
  /** Whether the image's latents are means, like those of reference images: no noise is drawn for them. */
  takesMeans: boolean;
  noise: NoiseStream;
  options: ComputeOptions;
  signal: AbortSignal | undefined;
  /** Records the denoiser on these tensors. */
  predictor(latents: Tensor, output: Tensor, extra: Tensor | null): Promise<Predictor>;
  /** Limit on the previews of the clean latents, and the function that displays one. */
  preview: { most: number; show(estimate: Tensor, step: number): Promise<void> } | null;
  onStep(event: Pick<Extract<ImageEvent, { type: 'step' }>, 'step' | 'steps' | 'milliseconds'>): void;
}

/** Returns the latents, [frames, height, width, channels], in a buffer of their own. */
export async function sampleLatentsOf(request: SampleRequest): Promise<Tensor> {
  const { device, autoencoder, shape, plan, encoded, takesMeans, noise: stream, options } = request;
  const { samples } = autoencoder;
  using scope = new Scope(device);
  const count = shape.reduce((product, length) => product * length, 1);
  const draw = (): Float32Array => channelsLast(stream.normals(count), shape.at(-1)!);
  const drawInto = (label: string): Tensor => {
    const tensor = scope.hold(allocateTensor(device, label, shape));
    writeRows(device, tensor, draw());
    return tensor;
  };
  const encode = async (moments: Tensor): Promise<Tensor> => {
    const label = 'noise of the encoder';
    const noise = takesMeans ? scope.hold(zeros(device, label, shape)) : samples ? drawInto(label) : moments;
    const [latents] = await compute(device, options, (tape) => [
      autoencoder.sample(moments.on(tape), noise.on(tape)),
    ]);
    return scope.hold(latents!);
  };

  const mask = encoded?.mask ?? null;
  // A partly denoised image is used as the first latents without noise.
  const given = encoded?.image ?? null;
  const continues = given !== null && plan.fromImage.noise === 0;
  const anew = mask !== null && request.strength === 1 && !continues;
  // The order of random draws follows diffusers. An inpainting UNet needs no latents of the image if all of it is redrawn.
  const isUnneeded = anew && mask.input === 'coarse';
  const drawsMasked = mask !== null && !mask.masked && samples;
  if (drawsMasked && encoded?.control) draw();
  const control = encoded?.control ? await encode(encoded.control) : null;
  const image = given === null || isUnneeded ? null : await encode(given);
  const noise = continues && !mask ? null : drawInto('noise');
  const masked = mask?.masked ? await encode(mask.masked) : null;
  // diffusers encodes the masked image for every UNet, and so draws noise for it, beside a control image before all other noise.
  if (drawsMasked && !control) draw();
  const extra = masked ? scope.hold(await inpaintingInput(device, mask!, masked, options)) : control;
  const keeping: Keeping | null =
    mask && image && noise && !masked ? { mask: mask.latents, image, noise } : null;
  const denoiser = new Denoiser(device, scope, shape, keeping, options);
  const { latents, output } = denoiser;
  const predictor = scope.use(await request.predictor(latents, output, extra));
  const start =
    image && !anew
      ? { mix: plan.fromImage, image, noise: continues ? null : noise }
      : { mix: { image: 0, noise: plan.fromNoise }, image: null, noise };
  await denoiser.start(start.mix, start.image, start.noise);
  await steps(request, denoiser, predictor, draw);
  await options.profiler?.add(() => predictor.times());
  const result = allocateTensor(device, 'latents', shape);
  copy(device, latents, result);
  return result;
}

async function steps(
  { device, plan, signal, preview, onStep }: SampleRequest,
  denoiser: Denoiser,
  predictor: Predictor,
  draw: () => Float32Array,
): Promise<void> {
  const total = plan.steps.length;
  /** Previews are shown between this many parts of equal length. */
  const parts = Math.min(preview?.most ?? 0, total - 1) + 1;
  const partOf = (taken: number): number => Math.floor((taken * parts) / total);
  using scope = new Scope(device);
  const shape = denoiser.latents.shape as number[];
  const estimate = preview ? scope.hold(allocateTensor(device, 'preview', shape)) : null;
  for (const [i, step] of plan.steps.entries()) {
    if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
    const startedAt = performance.now();
    const shows = preview && partOf(i + 1) > partOf(i) && i + 1 < total;
    await denoiser.step(step, predictor, draw, shows ? estimate : null);
    onStep({ step: i + 1, steps: total, milliseconds: performance.now() - startedAt });
    if (shows) await preview.show(estimate!, i + 1);
  }
}

/** Additional channels of a denoiser made for inpainting: the mask, and the latents of the unmasked part. */
async function inpaintingInput(
  device: Device,
  { latents: mask, input }: NonNullable<Encoded['mask']>,
  masked: Tensor,
  options: ComputeOptions,
): Promise<Tensor> {
  const parts = input === 'folded' ? ([masked, mask] as const) : ([mask, masked] as const);
  const [extra] = await compute(device, options, (tape) => [concat(parts[0].on(tape), parts[1].on(tape))]);
  return extra!;
}

function zeros(device: Device, label: string, shape: readonly number[]): Tensor {
  const count = shape.reduce((product, length) => product * length, 1);
  return device.tensor('step', label, [...shape], new Float32Array(count));
}

function copy(device: Device, x: Tensor, y: Tensor): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.copyBufferToBuffer(x.region!.buffer, 0, y.region!.buffer, 0, y.region!.size);
  device.gpu.queue.submit([encoder.finish()]);
}
