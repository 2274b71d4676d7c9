// What the steps of one image read beside its latents: the noise that it starts from, the latents of the image that it starts from or
// fills, and further channels of denoisers that take some. Each has one tensor, into which every image of a request writes its own.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { channelsLast, type Autoencoder } from '../blocks/autoencoder.ts';
import { allocateTensor, computeInto, type ComputeOptions } from '../recording/compute.ts';
import { writeRows, type DrawNoise, type Keeping } from '../recording/stepper.ts';
import type { Encoded } from './encoding.ts';
import type { NoiseStream } from './noise-cpu.ts';
import type { SchedulePlan } from '../schedules/schedule.ts';
import type { Scope } from '../recording/scope.ts';

export interface InputsRequest {
  device: Device;
  autoencoder: Autoencoder;
  /** [frames, height, width, channels] of the latents. */
  shape: readonly number[];
  plan: SchedulePlan;
  strength: number | null;
  encoded: Encoded | null;
  /** Whether latents of the image beside are drawn behind the noise of those that are denoised. */
  besideLast: boolean;
  /** Whether latents of images are means, like those of reference images: no noise is drawn for them. */
  takesMeans: boolean;
  options: ComputeOptions;
}

export class SampleInputs {
  /** Latents of the source image; null: there is none, or it has no effect. */
  readonly image: Tensor | null;
  /** Noise of the first latents; null: the source image has it already. */
  readonly noise: Tensor | null;
  /** Further inputs of the denoiser: the mask and the masked image, or the image that it sees beside the latents; null: it takes none. */
  readonly extra: Tensor | null;
  /** Whether the first latents are noise alone, although there is a source image. */
  readonly startsAnew: boolean;
  readonly #request: InputsRequest;
  readonly #encoderNoise: Tensor | null;
  readonly #masked: Tensor | null;

  /** `scope` owns the tensors. */
  constructor(request: InputsRequest, scope: Scope) {
    const { device, autoencoder, shape, plan, strength, encoded, takesMeans } = request;
    const { image = null, mask = null, beside = null } = encoded ?? {};
    const tensor = (label: string, of = shape): Tensor => scope.hold(allocateTensor(device, label, of));
    const frame = [1, ...shape.slice(1)];
    // A partly denoised image is taken for the first latents as it is.
    const continues = image !== null && plan.fromImage.noise === 0;
    this.#request = request;
    this.startsAnew = mask !== null && strength === 1 && !continues;
    // A UNet for inpainting that redraws all of an image needs no latents of it.
    this.image =
      image && !(this.startsAnew && mask?.input === 'coarse') ? tensor('latents of the image') : null;
    this.noise = continues && !mask ? null : tensor('noise');
    this.#masked = mask?.masked ? tensor('latents of the masked image') : null;
    this.extra = beside && tensor('latents of the image beside', frame);
    if (mask?.masked) {
      const channels = shape.at(-1)! + mask.latents.columns;
      const wide = [...shape.slice(0, -1), channels];
      this.extra = scope.hold(allocateTensor(device, 'mask and masked image', wide));
    }
    const encodes = [this.image, this.#masked, beside].some((one) => one !== null);
    const isFrame = !this.image && !this.#masked;
    this.#encoderNoise =
      encodes && (takesMeans || autoencoder.samples)
        ? tensor('noise of the encoder', isFrame ? frame : shape)
        : null;
    if (this.#encoderNoise && takesMeans)
      writeRows(device, this.#encoderNoise, new Float32Array(sizeOf(this.#encoderNoise.shape as number[])));
  }

  /** What denoisers that are not made for inpainting keep of the image under a mask; null: nothing. */
  get keeping(): Keeping | null {
    const { image, noise } = this;
    const mask = this.#request.encoded?.mask;
    return mask && image && noise && !this.#masked ? { mask: mask.latents, image, noise } : null;
  }

  /** Returns the function that draws noise from a stream in the latents' order, [frames, height, width, channels]. */
  drawsFrom(stream: NoiseStream, shape: readonly number[] = this.#request.shape): DrawNoise {
    return () => channelsLast(stream.normals(sizeOf(shape)), shape.at(-1)!);
  }

  /** Writes the inputs of an image. The order in which random numbers are drawn is that of diffusers. */
  async write(stream: NoiseStream): Promise<void> {
    const { device, autoencoder, encoded, besideLast } = this.#request;
    const { image = null, mask = null, beside = null } = encoded ?? {};
    const draw = this.drawsFrom(stream);
    // diffusers encodes the masked image for every UNet, and draws noise for it: before all other noise if there is an image beside it.
    const wastes = mask !== null && !mask.masked && autoencoder.samples;
    if (wastes && beside) draw();
    if (!besideLast) await this.#encodeBeside(stream);
    if (image && this.image) await this.#encode(image, this.image, draw);
    if (this.noise) writeRows(device, this.noise, draw());
    if (besideLast) await this.#encodeBeside(stream);
    if (mask?.masked) await this.#encode(mask.masked, this.#masked!, draw);
    if (wastes && !beside) draw();
    if (mask && this.#masked) await this.#joinMask(mask, this.#masked);
  }

  async #encodeBeside(stream: NoiseStream): Promise<void> {
    const { beside = null } = this.#request.encoded ?? {};
    const into = this.extra!;
    if (beside) await this.#encode(beside, into, this.drawsFrom(stream, into.shape as number[]));
  }

  /** Writes the latents of an encoded image. */
  async #encode(moments: Tensor, into: Tensor, draw: DrawNoise): Promise<void> {
    const { device, autoencoder, takesMeans } = this.#request;
    const noise = this.#encoderNoise;
    if (noise && !takesMeans) writeRows(device, noise, draw());
    await this.#compute(into, (tape) => autoencoder.sample(moments.on(tape), (noise ?? moments).on(tape)));
  }

  /** Joins the mask and the latents of the unmasked part. */
  async #joinMask({ latents: mask, input }: NonNullable<Encoded['mask']>, masked: Tensor): Promise<void> {
    const [first, second] = input === 'folded' ? [masked, mask] : [mask, masked];
    await this.#compute(this.extra!, (tape) => concat(first.on(tape), second.on(tape)));
  }

  async #compute(into: Tensor, record: (tape: Tape) => Tensor): Promise<void> {
    const { device, options } = this.#request;
    await computeInto(device, options, (tape) => [record(tape)], [into]);
  }
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);
