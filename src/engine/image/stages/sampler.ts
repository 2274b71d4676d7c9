// Computes the latents of the images of a request: each starts from noise, or from an image and noise, and runs the steps of the
// schedule. The denoiser is recorded once; images differ in their noise alone.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { allocateTensor, assertWanted } from '../recording/compute.ts';
import { Stepper, type DrawNoise, type Predictor } from '../recording/stepper.ts';
import type { ImageEvent } from '../calls/image-model.ts';
import type { NoiseStream } from './noise-cpu.ts';
import { SampleInputs, type InputsRequest } from './sample-inputs.ts';
import { Scope } from '../recording/scope.ts';

export interface SamplerRequest extends InputsRequest {
  /** Records the denoiser on these tensors. */
  predictor(latents: Tensor, output: Tensor, extra: Tensor | null): Promise<Predictor>;
}

export interface SampleRequest {
  noise: NoiseStream;
  signal: AbortSignal | undefined;
  /** Limit on the previews of the clean latents, and the function that displays one. */
  preview: { most: number; show(estimate: Tensor, step: number): Promise<void> } | null;
  /** Whether noise is drawn for the decoder to remove. */
  leavesNoise: boolean;
  onStep(event: Pick<Extract<ImageEvent, { type: 'step' }>, 'step' | 'steps' | 'milliseconds'>): void;
}

export interface Sampled {
  /** [frames, height, width, channels], in a buffer of their own. */
  latents: Tensor;
  /** Noise in their shape for the decoder to remove; null: none is drawn. */
  left: Float32Array | null;
}

export class LatentSampler implements Disposable {
  readonly #request: SamplerRequest;
  readonly #owner: Scope;
  readonly #inputs: SampleInputs;
  readonly #stepper: Stepper;
  readonly #predictor: Predictor;

  /** Records the denoiser. */
  static async open(request: SamplerRequest): Promise<LatentSampler> {
    const { device, shape, options } = request;
    using scope = new Scope(device);
    const inputs = new SampleInputs(request, scope);
    // What the denoiser allocates as it runs belongs to a scope that is moved with the others.
    const own = scope.use(new Scope(device));
    const stepper = new Stepper(device, own, shape, inputs.keeping, options);
    const { latents, output } = stepper;
    const predictor = scope.use(await request.predictor(latents, output, inputs.extra));
    return new LatentSampler(request, scope.move(), { inputs, stepper, predictor });
  }

  private constructor(
    request: SamplerRequest,
    owner: Scope,
    parts: { inputs: SampleInputs; stepper: Stepper; predictor: Predictor },
  ) {
    this.#request = request;
    this.#owner = owner;
    this.#inputs = parts.inputs;
    this.#stepper = parts.stepper;
    this.#predictor = parts.predictor;
  }

  /** Throws NotFiniteError. */
  async sample(request: SampleRequest): Promise<Sampled> {
    const { device, shape } = this.#request;
    const draw = this.#inputs.drawsFrom(request.noise);
    await this.#inputs.write(request.noise);
    await this.#start();
    await this.#runSteps(request, draw);
    const result = allocateTensor(device, 'latents', shape);
    copy(device, this.#stepper.latents, result);
    this.#predictor.finish?.(result);
    return { latents: result, left: request.leavesNoise ? draw() : null };
  }

  /** Adds the GPU times of the denoiser's kernels in all images to the request's profile. */
  async profile(): Promise<void> {
    await this.#request.options.profiler?.add(() => this.#predictor.times());
  }

  /** Sets the first latents. */
  #start(): Promise<void> {
    const { plan } = this.#request;
    const { image, noise, startsAnew } = this.#inputs;
    if (!image || startsAnew) return this.#stepper.start({ image: 0, noise: plan.fromNoise }, null, noise);
    return this.#stepper.start(plan.fromImage, image, plan.fromImage.noise === 0 ? null : noise);
  }

  async #runSteps({ signal, preview, onStep, noise }: SampleRequest, draw: DrawNoise): Promise<void> {
    const { device, shape, plan } = this.#request;
    const total = plan.steps.length;
    /** Previews are shown between this many parts of equal length. */
    const parts = Math.min(preview?.most ?? 0, total - 1) + 1;
    const partOf = (taken: number): number => Math.floor((taken * parts) / total);
    using scope = new Scope(device);
    const estimate = preview ? scope.hold(allocateTensor(device, 'preview', shape)) : null;
    for (const [i, step] of plan.steps.entries()) {
      assertWanted(signal);
      const startedAt = performance.now();
      const shows = preview && partOf(i + 1) > partOf(i) && i + 1 < total;
      const predict = (): Promise<void> => this.#predictor.run(step, i, (count) => noise.normals(count));
      await this.#stepper.step(step, predict, draw, shows ? estimate : null);
      onStep({ step: i + 1, steps: total, milliseconds: performance.now() - startedAt });
      if (shows) await preview.show(estimate!, i + 1);
    }
  }

  [Symbol.dispose](): void {
    this.#owner[Symbol.dispose]();
  }
}

function copy(device: Device, x: Tensor, y: Tensor): void {
  const encoder = device.gpu.createCommandEncoder();
  encoder.copyBufferToBuffer(x.region!.buffer, 0, y.region!.buffer, 0, y.region!.size);
  device.gpu.queue.submit([encoder.finish()]);
}
