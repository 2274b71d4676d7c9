// Computes the latents of the images of a request: each starts from noise, or from an image and noise, and runs the steps of the
// schedule. The denoiser is recorded once for a batch of images, which take each step together.

import type { Device } from '../../../gpu/device.ts';
import { EngineError } from '../../../files/error.ts';
import { Tensor } from '../../../gpu/tensor.ts';
import { allocateTensor, assertWanted, NotFiniteError } from '../recording/compute.ts';
import {
  Stepper,
  type BatchedLatents,
  type DrawNoise,
  type DrawNormals,
  type Predictor,
} from '../recording/stepper.ts';
import type { ImageEvent } from '../calls/image-model.ts';
import type { NoiseStream } from './noise-cpu.ts';
import { SampleInputs, type InputsRequest } from './sample-inputs.ts';
import { Scope } from '../recording/scope.ts';

export interface SamplerRequest extends InputsRequest {
  /** Images of a batch. */
  images: number;
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
  /** Numbers of values of the noise that layers of the decoder add, which is drawn behind all other noise. */
  injects: readonly number[];
  onStep(
    event: Pick<Extract<ImageEvent, { type: 'step' }>, 'step' | 'steps' | 'milliseconds' | 'reused'>,
  ): void;
}

export interface Sampled {
  /** [frames, height, width, channels], in a buffer of their own. */
  latents: Tensor;
  /** Noise in their shape for the decoder to remove; null: none is drawn. */
  left: Float32Array | null;
  /** Noise that layers of the decoder add, in their order. */
  injected: readonly Float32Array[];
}

/** An image of the batch. */
interface BatchItem {
  inputs: SampleInputs;
  stepper: Stepper;
}

export class LatentSampler implements Disposable {
  readonly #request: SamplerRequest;
  readonly #owner: Scope;
  readonly #items: readonly BatchItem[];
  readonly #predictor: Predictor;

  /** Records the denoiser. */
  static async open(request: SamplerRequest): Promise<LatentSampler> {
    const { device, shape, options, images } = request;
    using scope = new Scope(device);
    // What the denoiser allocates as it runs belongs to a scope that is moved with the others.
    const own = scope.use(new Scope(device));
    const batch = images > 1 ? batchOf(device, own, shape, images) : null;
    const items = Array.from({ length: images }, (_, i): BatchItem => {
      const inputs = new SampleInputs(request, scope);
      const batched = batch && {
        latents: partOf(batch.latents, i, shape),
        output: partOf(batch.output, i, shape),
      };
      const { keeping } = inputs;
      return {
        inputs,
        stepper: new Stepper(device, own, { shape, keeping, ...(batched && { batched }) }, options),
      };
    });
    const [{ inputs, stepper }] = items as [BatchItem];
    const { latents, output } = batch ?? stepper;
    const predictor = scope.use(await request.predictor(latents, output, inputs.extra));
    return new LatentSampler(request, scope.move(), { items, predictor });
  }

  private constructor(
    request: SamplerRequest,
    owner: Scope,
    parts: { items: readonly BatchItem[]; predictor: Predictor },
  ) {
    this.#request = request;
    this.#owner = owner;
    this.#items = parts.items;
    this.#predictor = parts.predictor;
  }

  /**
   * Returns the latents of each image of the batch, [frames, height, width, channels], in buffers of their own; an error for one that was
   * cancelled, or has a step that is not finite: the others go on without it.
   */
  async sample(requests: readonly SampleRequest[]): Promise<(Sampled | EngineError)[]> {
    const { device, shape } = this.#request;
    const runs = requests.map((request, i): SampleRun => {
      const { inputs, stepper } = this.#items[i]!;
      return { request, inputs, stepper, draw: inputs.drawsFrom(request.noise), failure: null };
    });
    for (const { request, inputs, stepper } of runs) {
      await inputs.write(request.noise);
      await this.#start(inputs, stepper);
    }
    await this.#runSteps(runs);
    return runs.map(({ request, stepper, draw, failure }) => {
      if (failure) return failure;
      const result = allocateTensor(device, 'latents', shape);
      copy(device, stepper.latents, result);
      this.#predictor.finish?.(result);
      const left = request.leavesNoise ? draw() : null;
      return {
        latents: result,
        left,
        injected: request.injects.map((count) => request.noise.normals(count)),
      };
    });
  }

  /** Adds the GPU times of the denoiser's kernels in all images to the request's profile. */
  async profile(): Promise<void> {
    await this.#request.options.profiler?.add(() => this.#predictor.times());
  }

  /** Sets the first latents. */
  #start({ image, noise, startsAnew }: SampleInputs, stepper: Stepper): Promise<void> {
    const { plan } = this.#request;
    if (!image || startsAnew) return stepper.start({ image: 0, noise: plan.fromNoise }, null, noise);
    return stepper.start(plan.fromImage, image, plan.fromImage.noise === 0 ? null : noise);
  }

  async #runSteps(runs: readonly SampleRun[]): Promise<void> {
    const { device, shape, plan } = this.#request;
    const total = plan.steps.length;
    using scope = new Scope(device);
    const isShown = runs.some(({ request }) => request.preview !== null);
    const estimate = isShown ? scope.hold(allocateTensor(device, 'preview', shape)) : null;
    // Models that read noise in their steps take one image at once.
    const normals: DrawNormals = (count) => runs[0]!.request.noise.normals(count);
    for (const [i, step] of plan.steps.entries()) {
      let predict = (): Promise<void> => this.#predictor.run(step, i, normals);
      // All images of a batch are told the time since the beginning of their step, but that of previews.
      let startedAt = performance.now();
      for (const run of runs.filter(({ failure }) => failure === null)) {
        const { preview, onStep } = run.request;
        const shows = preview && isShownAfter(i, total, preview.most);
        run.failure = await failureOf(run, () =>
          run.stepper.step(step, predict, run.draw, shows ? estimate : null),
        );
        if (run.failure?.code === 'cancelled') continue;
        // One pass predicts for the whole batch.
        predict = async () => {};
        if (run.failure) continue;
        const reused = this.#predictor.reused?.();
        const milliseconds = performance.now() - startedAt;
        onStep({ step: i + 1, steps: total, milliseconds, ...(reused !== undefined && { reused }) });
        const shownAt = performance.now();
        if (shows) run.failure = await failureOf(run, () => preview.show(estimate!, i + 1));
        startedAt += performance.now() - shownAt;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#owner[Symbol.dispose]();
  }
}

interface SampleRun extends BatchItem {
  request: SampleRequest;
  draw: DrawNoise;
  /** Why it has no further steps. */
  failure: EngineError | null;
}

/** Runs a step, and returns an error that ends its image alone. */
async function failureOf({ request }: SampleRun, step: () => Promise<void>): Promise<EngineError | null> {
  try {
    assertWanted(request.signal);
    await step();
    return null;
  } catch (error) {
    const isCancelled = error instanceof EngineError && error.code === 'cancelled';
    if (error instanceof NotFiniteError || (isCancelled && request.signal?.aborted)) return error;
    throw error;
  }
}

/** Whether a preview is shown after a step: between parts of equal length. */
function isShownAfter(step: number, total: number, most: number): boolean {
  const parts = Math.min(most, total - 1) + 1;
  const partAt = (taken: number): number => Math.floor((taken * parts) / total);
  return partAt(step + 1) > partAt(step) && step + 1 < total;
}

/** Places of bindings are multiples of so many bytes. */
const BINDING = 256;

/** Whether parts of a batch of latents lie at places that can be bound. */
export const isDivisible = (shape: readonly number[]): boolean => bytesOf(shape) % BINDING === 0;

const bytesOf = (shape: readonly number[]): number => new Tensor(shape, 'f32').bytes({});

/** The latents of a batch, which a denoiser reads in one piece, and its output. */
function batchOf(
  device: Device,
  scope: Scope,
  [frames = 1, ...rest]: readonly number[],
  images: number,
): BatchedLatents {
  const tensor = (label: string): Tensor =>
    scope.hold(allocateTensor(device, label, [images * frames, ...rest]));
  return { latents: tensor('latents of a batch'), output: tensor('output of a batch') };
}

function partOf({ region }: Tensor, image: number, shape: readonly number[]): Tensor {
  const size = bytesOf(shape);
  return new Tensor(shape, 'f32', { region: { buffer: region!.buffer, offset: image * size, size } });
}

function copy(device: Device, x: Tensor, y: Tensor): void {
  const encoder = device.gpu.createCommandEncoder();
  const { buffer, offset } = x.region!;
  encoder.copyBufferToBuffer(buffer, offset, y.region!.buffer, 0, x.bytes({}));
  device.gpu.queue.submit([encoder.finish()]);
}
