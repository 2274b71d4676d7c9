// The denoising loop: runs any schedule's plan on the device. Tensors of the latents' size hold the latents, the model's
// output, fresh noise and the plan's history; each update is one linear combination of them, and a method that limits what it
// predicts has one more tensor for that.

import type { Device } from '../../gpu/device.ts';
import type { Tape } from '../../gpu/tape.ts';
import type { KernelTime } from '../../gpu/kernel-times.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { blend } from '../../kernels/blend.ts';
import { clampTo } from '../../kernels/clamp.ts';
import { linearCombination } from '../../kernels/linear-combination.ts';
import { threshold } from '../../kernels/threshold.ts';
import {
  NotFiniteError,
  allocateTensor,
  recordTape,
  type ComputeOptions,
  type Recording,
} from './compute.ts';
import type { Held } from './held.ts';
import { createScalars } from './scalars.ts';
import type { Limit, Mix, Operand, Step, Term } from './schedules/schedule.ts';

/** The model, recorded: reads the latents, writes its guided output. */
export interface Predictor {
  run(step: Step): void;
  /** Where the time of a step goes. */
  times(): Promise<KernelTime[]>;
  destroy(): void;
}

/** Standard normal values in the latents' own order, [height, width, channels]. */
export type DrawNoise = () => Float32Array;

/** What inpainting keeps: where the mask is 0 the latents of the image at the step's noise level. */
export interface Keeping {
  mask: Tensor;
  image: Tensor;
  noise: Tensor;
}

export interface Denoiser {
  /** [1, height, width, channels] */
  readonly latents: Tensor;
  readonly output: Tensor;
  /** First latents: mix.image · image + mix.noise · noise, of what there is. */
  start(mix: Mix, image: Tensor | null, noise: Tensor | null): Promise<void>;
  /** One step; the clean latents as it sees them go into `estimate`. Throws NotFiniteError. */
  step(step: Step, predictor: Predictor, draw: DrawNoise, estimate: Tensor | null): Promise<void>;
}

/** Coefficients of one update, and of what inpainting keeps. */
const MOST_SCALARS = 16;

/** What it holds on the device is `held`'s. */
export function createDenoiser(
  device: Device,
  held: Held,
  shape: readonly number[],
  keeping: Keeping | null,
  options: ComputeOptions,
): Denoiser {
  const tensors = new Map<Operand, Tensor>();
  const tensorOf = (operand: Operand): Tensor => {
    const known = tensors.get(operand);
    if (known) return known;
    const made = held.hold(allocateTensor(device, `latents ${operand}`, shape));
    tensors.set(operand, made);
    return made;
  };
  const latents = tensorOf('latents');
  const output = tensorOf('output');
  const scalars = createScalars(device, 'coefficients', MOST_SCALARS);
  held.later(scalars.free);
  const flag = held.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const recordings = new Map<string, Recording>();
  const recorded = async (
    key: string,
    into: Tensor,
    record: (tape: Tape) => readonly Tensor[],
  ): Promise<Recording> => {
    const known = recordings.get(key);
    if (known) return known;
    const made = await recordTape(device, options, record, [into]);
    held.later(made.destroy);
    recordings.set(key, made);
    return made;
  };

  /** The combination with these operands into a tensor, recorded once. */
  const combination = (terms: readonly Tensor[], key: string, into: Tensor): Promise<Recording> =>
    recorded(key, into, (tape) => [
      linearCombination(
        terms.map((x) => x.on(tape)),
        scalars.region,
        flag.region!,
      ),
    ]);
  const combine = async (terms: readonly Term[], name: string, into: Tensor): Promise<void> => {
    const operands = terms.map(({ operand }) => operand);
    const recording = await combination(operands.map(tensorOf), `${name}=${operands.join('+')}`, into);
    scalars.write(terms.map(({ coefficient }) => coefficient));
    recording.run();
  };
  /** The clean latents that a step predicts, limited. Their sum is checked: a limit hides what is not finite. */
  const limit = async (terms: readonly Term[], by: Limit): Promise<void> => {
    const clean = tensorOf('clean');
    await combine(terms, 'clean', clean);
    const recording = await recorded(`limit ${JSON.stringify(by)}`, clean, (tape) => {
      const x = clean.on(tape);
      return [by.kind === 'clip' ? clampTo(x, by.range) : threshold(x, by)];
    });
    recording.run();
  };
  const keep = async ({ mask, image, noise }: Keeping, after: Mix): Promise<void> => {
    const recording = await recorded('keep', latents, (tape) => {
      const known = {
        image: image.on(tape),
        noise: noise.on(tape),
        scalars: scalars.region,
        imageScalar: 0,
        noiseScalar: 1,
      };
      return [blend(latents.on(tape), mask.on(tape), known)];
    });
    scalars.write([after.image, after.noise]);
    recording.run();
  };
  const assertFinite = async (): Promise<void> => {
    const [failed] = new Uint32Array(await device.read(flag.region!));
    const lost = device.takeError();
    if (lost) throw lost;
    if (failed !== 0) throw new NotFiniteError();
  };

  return {
    latents,
    output,
    async start(mix, image, noise) {
      device.gpu.queue.writeBuffer(flag.region!.buffer, 0, new Uint32Array(1));
      const terms = [image, noise].filter((x) => x !== null);
      const recording = await combination(terms, 'start', latents);
      scalars.write([...(image ? [mix.image] : []), ...(noise ? [mix.noise] : [])]);
      recording.run();
    },
    async step(step, predictor, draw, estimate) {
      predictor.run(step);
      if (step.limits) await limit(step.limits.terms, step.limits.by);
      if (estimate) await combine(step.estimate, 'estimate', estimate);
      if (step.drawsNoise) writeRows(device, tensorOf('noise'), draw());
      for (const { into, terms } of step.updates) await combine(terms, String(into), tensorOf(into));
      if (keeping) await keep(keeping, step.after);
      await assertFinite();
    },
  };
}

/** Values row by row into a tensor, its padding zero. */
export function writeRows(device: Device, tensor: Tensor, values: Float32Array): void {
  const { columns, stride } = tensor;
  const rows = values.length / columns;
  const padded = new Float32Array(rows * stride);
  for (let row = 0; row < rows; row++)
    padded.set(values.subarray(row * columns, (row + 1) * columns), row * stride);
  device.gpu.queue.writeBuffer(tensor.region!.buffer, 0, padded);
}
