// What models have in common whose denoiser is one transformer: texts are encoded before it is loaded, and a step is recorded for one size
// of latents and replayed with other numbers.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { allocateTensor, freeTensors, recordTape, type ComputeOptions } from '../recording/compute.ts';
import { CountedRecording, timesOf } from '../recording/counted-recording.ts';
import type { ComponentAccess } from '../components/components.ts';
import { writeRows, type Predictor } from '../recording/denoiser.ts';
import { createScalars } from '../recording/scalars.ts';
import type { Scope } from '../recording/scope.ts';
import type { Step } from '../schedules/schedule.ts';
import type { FamilyModel, Prepared, RunRequest } from './family.ts';

/** Facts about a transformer without a trained size of images, which takes no masks, beside text encoders without clip skip. */
export const TRANSFORMER: Pick<
  FamilyModel,
  'fillsMasks' | 'sampleSize' | 'mostClipSkip' | 'unreadClipLayers'
> = {
  fillsMasks: false,
  sampleSize: null,
  mostClipSkip: 0,
  unreadClipLayers: 0,
};

/** Throws bad_checkpoint if the states of text encoders are not as wide as a key of the transformer's configuration says. */
export function requireWidth(key: string, wanted: number, encoders: string, found: number): void {
  if (wanted === found) return;
  throw new EngineError(
    'bad_checkpoint',
    `transformer/config.json: ${key} is ${wanted}, and the states of ${encoders} have ${found} columns: take the text encoders of the same pipeline`,
    { param: key },
  );
}

/** Inputs of one recorded step. `Page`: the transformer with its weights. */
export interface TransformerRequest<Page> {
  components: ComponentAccess;
  page: Page;
  request: RunRequest;
  /** Latents of the images that are seen beside those that are denoised, [1, height, width, channels]. */
  references: readonly Tensor[];
  latents: Tensor;
  output: Tensor;
  /** Channels that the transformer takes beside the latents, [1, height, width, …]; null: none. */
  extra: Tensor | null;
  options: ComputeOptions;
}

interface EncodedTexts<Page> {
  /** All tensors of the texts, which are freed at the end. */
  tensors: readonly Tensor[];
  /** Tokens of the prompt. */
  tokens: number;
  predictor(given: TransformerRequest<Page>): Promise<Predictor>;
}

/** The texts of a request, and the transformer as it is loaded for them. */
export function prepareTransformer<Page>(
  components: ComponentAccess,
  page: (table: WeightTable) => Page,
  request: RunRequest,
  { tensors, tokens, predictor }: EncodedTexts<Page>,
): Prepared {
  return {
    tokens,
    async load(references) {
      const weights = await components.load('transformer', 'denoiser', page, request.options);
      const given = { components, page: weights.page, request, references };
      return {
        record: (latents, output, extra, options) => predictor({ ...given, latents, output, extra, options }),
        [Symbol.dispose]: () => weights[Symbol.dispose](),
      };
    },
    [Symbol.dispose]: () => freeTensors(components.device, tensors),
  };
}

/** Inputs that change from step to step, on the tape of the step. */
export interface StepInputs {
  /** [items, 1] */
  time: Tensor;
  scalars: Region;
  /** Raised by values that are not finite. */
  flag: Region;
}

export interface RecordedStep {
  /** Items of the transformer's batch, which have one time; left out: 1. */
  items?: number;
  /** Records the pass or passes of a step, and returns the guided prediction in the shape of the latents. */
  record(tape: Tape, inputs: StepInputs): Tensor;
  /** Records the steps that `values` marks as `isOther`; left out: there are none. */
  recordOther?(tape: Tape, inputs: StepInputs): Tensor;
  /** `index`: that of the step in its plan. */
  values(step: Step, index: number): StepValues;
}

interface StepValues {
  time: number;
  scalars: readonly number[];
  /** Whether the step is that of `recordOther`. */
  isOther?: boolean;
}

/** Number of scalars of a step. */
const MOST_SCALARS = 2;

/** Records a step whose prediction is copied to `output`; the predictor takes over what `scope` holds. */
export async function recordPredictor(
  device: Device,
  scope: Scope,
  { output, options }: { output: Tensor; options: ComputeOptions },
  { items = 1, record, recordOther, values }: RecordedStep,
): Promise<Predictor> {
  const scalars = scope.use(createScalars(device, 'scalars of a step', MOST_SCALARS));
  const flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1))).region!;
  const time = scope.hold(allocateTensor(device, 'time step', [items, 1]));
  const inputs = { scalars: scalars.region, flag };
  const recorded = async (step: RecordedStep['record']): Promise<CountedRecording> => {
    const on = (tape: Tape) => [step(tape, { time: time.on(tape), ...inputs })];
    return new CountedRecording(scope.use(await recordTape(device, options, on, [output])));
  };
  const usual = await recorded(record);
  const other = recordOther ? await recorded(recordOther) : usual;
  const owner = scope.move();
  return {
    run(step, index) {
      const now = values(step, index);
      scalars.write(now.scalars);
      writeRows(device, time, new Float32Array(items).fill(now.time));
      return (now.isOther === true ? other : usual).run();
    },
    times: () => timesOf(new Set([usual, other])),
    [Symbol.dispose]: () => owner[Symbol.dispose](),
  };
}

/** The prediction, or under guidance scalars[0] · prediction + scalars[1] · prediction for the negative prompt. */
export function combineGuided(predictions: readonly Tensor[], { scalars, flag }: StepInputs): Tensor {
  return predictions.length === 1 ? predictions[0]! : linearCombination(predictions, scalars, flag);
}

/** Scalars of `combineGuided` for a guidance scale. */
export const guidedScalars = (scale: number): readonly number[] => [scale, 1 - scale];

/** Uploads the rotations of tokens, `dims` columns each, one part after the other; `scope` owns them. */
export function uploadRotations(
  device: Device,
  scope: Scope,
  { label, dims }: { label: string; dims: number },
  ...parts: readonly Float32Array[]
): Tensor {
  const values = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    values.set(part, at);
    at += part.length;
  }
  return scope.hold(device.tensor('step', label, [values.length / dims, dims], values));
}
