// Single steps of any schedule's plan on the device: the recorded denoiser, then the step's updates; stages/sampler.ts has the loop. Tensors of the latents' size hold the latents, the model's
// output, fresh noise and the plan's history; each update is one linear combination of them. A method that limits its prediction
// has one more tensor for that.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { KernelTime } from '../../../gpu/kernel-times.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { blend } from '../../../kernels/blend.ts';
import { clampTo } from '../../../kernels/clamp.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { threshold } from '../../../kernels/threshold.ts';
import {
  NotFiniteError,
  allocateTensor,
  recordTape,
  type ComputeOptions,
  type Recording,
} from './compute.ts';
import { createScalars, type Scalars } from './scope.ts';
import type { Scope } from './scope.ts';
import type { Limit, Mix, Operand, Step, Term } from '../schedules/schedule.ts';

/** Returns the next standard normal values of a result's stream. */
export type DrawNormals = (count: number) => Float32Array;

/** The recorded model: reads the latents, writes its guided output. */
export interface Predictor extends Disposable {
  /** `index`: that of the step in its plan; `normals`: noise of models that read some. Resolves when all is submitted. */
  run(step: Step, index: number, normals: DrawNormals): Promise<void>;
  /** Changes the latents after the last step; left out: they stay. */
  finish?(latents: Tensor): void;
  /** Share of the passes of the last step that took what its blocks give from earlier steps; left out: none ever does. */
  reused?(): number;
  /** GPU times of the kernels in all runs so far. */
  times(): Promise<KernelTime[]>;
}

/** Returns standard normal values in the latents' order, [height, width, channels]. */
export type DrawNoise = () => Float32Array;

/** Inputs of inpainting: where the mask is 0, the latents are reset to the image's at the step's noise level. */
export interface Keeping {
  mask: Tensor;
  image: Tensor;
  noise: Tensor;
}

/** The part of one image in the latents that a denoiser reads, and in its output. */
export type BatchedLatents = Readonly<Record<'latents' | 'output', Tensor>>;

/** Number of coefficients of one update, and of the blend of inpainting. */
const MOST_SCALARS = 16;

export class Stepper {
  /** [frames, height, width, channels] */
  readonly latents: Tensor;
  readonly output: Tensor;
  readonly #device: Device;
  readonly #scope: Scope;
  readonly #shape: readonly number[];
  readonly #keeping: Keeping | null;
  readonly #options: ComputeOptions;
  readonly #tensors = new Map<Operand, Tensor>();
  readonly #recordings = new Map<string, Recording>();
  readonly #scalars: Scalars;
  readonly #flag: Region;

  /** `scope` owns all allocations of the denoiser. `batched`: latents and output of an image of a batch; left out: they are allocated. */
  constructor(
    device: Device,
    scope: Scope,
    {
      shape,
      keeping,
      batched,
    }: { shape: readonly number[]; keeping: Keeping | null; batched?: BatchedLatents },
    options: ComputeOptions,
  ) {
    this.#device = device;
    this.#scope = scope;
    this.#shape = shape;
    this.#keeping = keeping;
    this.#options = options;
    for (const name of ['latents', 'output'] as const) if (batched) this.#tensors.set(name, batched[name]);
    this.latents = this.#tensorOf('latents');
    this.output = this.#tensorOf('output');
    this.#scalars = scope.use(createScalars(device, 'coefficients', MOST_SCALARS));
    this.#flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1))).region!;
  }

  /** Sets the first latents to mix.image · image + mix.noise · noise; a null tensor is left out. */
  async start(mix: Mix, image: Tensor | null, noise: Tensor | null): Promise<void> {
    this.#device.gpu.queue.writeBuffer(this.#flag.buffer, 0, new Uint32Array(1));
    const terms = [image, noise].filter((x) => x !== null);
    const recording = await this.#combination(terms, 'start', this.latents);
    this.#scalars.write([...(image ? [mix.image] : []), ...(noise ? [mix.noise] : [])]);
    await recording.run();
  }

  /** Runs a step after `predict` wrote the output, and writes its predicted clean latents into `estimate`. Throws NotFiniteError. */
  async step(
    step: Step,
    predict: () => Promise<void>,
    draw: DrawNoise,
    estimate: Tensor | null,
  ): Promise<void> {
    await predict();
    if (step.limits) await this.#limit(step.limits.terms, step.limits.by);
    if (estimate) await this.#combine(step.estimate, 'estimate', estimate);
    if (step.drawsNoise) writeRows(this.#device, this.#tensorOf('noise'), draw());
    for (const { into, terms } of step.updates)
      await this.#combine(terms, String(into), this.#tensorOf(into));
    if (this.#keeping) await this.#keep(this.#keeping, step.after);
    await this.#assertFinite();
  }

  #tensorOf(operand: Operand): Tensor {
    const known = this.#tensors.get(operand);
    if (known) return known;
    const made = this.#scope.hold(allocateTensor(this.#device, `latents ${operand}`, this.#shape));
    this.#tensors.set(operand, made);
    return made;
  }

  async #recorded(key: string, into: Tensor, record: (tape: Tape) => readonly Tensor[]): Promise<Recording> {
    const known = this.#recordings.get(key);
    if (known) return known;
    const made = this.#scope.use(await recordTape(this.#device, this.#options, record, [into]));
    this.#recordings.set(key, made);
    return made;
  }

  /** Returns the recorded combination of these operands into a tensor; it is recorded once. */
  #combination(terms: readonly Tensor[], key: string, into: Tensor): Promise<Recording> {
    return this.#recorded(key, into, (tape) => {
      const operands = terms.map((x) => x.on(tape));
      return [linearCombination(operands, this.#scalars.region, this.#flag)];
    });
  }

  async #combine(terms: readonly Term[], name: string, into: Tensor): Promise<void> {
    const operands = terms.map(({ operand }) => operand);
    const tensors = operands.map((operand) => this.#tensorOf(operand));
    const recording = await this.#combination(tensors, `${name}=${operands.join('+')}`, into);
    this.#scalars.write(terms.map(({ coefficient }) => coefficient));
    await recording.run();
  }

  /**
   * Computes and limits the clean latents that a step predicts. Their sum is checked before, because a limit hides values that are
   * not finite.
   */
  async #limit(terms: readonly Term[], by: Limit): Promise<void> {
    const clean = this.#tensorOf('clean');
    await this.#combine(terms, 'clean', clean);
    const recording = await this.#recorded(`limit ${JSON.stringify(by)}`, clean, (tape) => {
      const x = clean.on(tape);
      return [by.kind === 'clip' ? clampTo(x, by.range) : threshold(x, by)];
    });
    await recording.run();
  }

  async #keep({ mask, image, noise }: Keeping, after: Mix): Promise<void> {
    const recording = await this.#recorded('keep', this.latents, (tape) => {
      const known = {
        image: image.on(tape),
        noise: noise.on(tape),
        scalars: this.#scalars.region,
        imageScalar: 0,
        noiseScalar: 1,
      };
      return [blend(this.latents.on(tape), mask.on(tape), known)];
    });
    this.#scalars.write([after.image, after.noise]);
    await recording.run();
  }

  async #assertFinite(): Promise<void> {
    const [failed] = new Uint32Array(await this.#device.read(this.#flag));
    const lost = this.#device.takeError();
    if (lost) throw lost;
    if (failed !== 0) throw new NotFiniteError();
  }
}

/** Writes values, or the words of packed ones, row by row into a tensor and zeros into its padding. */
export function writeRows(device: Device, tensor: Tensor, values: Float32Array | Uint32Array): void {
  const { columns, stride } = tensor;
  const rows = values.length / columns;
  const padded =
    values instanceof Float32Array ? new Float32Array(rows * stride) : new Uint32Array(rows * stride);
  for (let row = 0; row < rows; row++)
    padded.set(values.subarray(row * columns, (row + 1) * columns), row * stride);
  device.gpu.queue.writeBuffer(tensor.region!.buffer, 0, padded);
}
