// Models whose denoiser is one transformer, by what their families declare: texts are encoded before it is loaded, and a step is recorded for
// one size of latents and replayed with other numbers.

import { badRequest } from '../../../files/error.ts';
import { say } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { guidance, keepSpread } from '../../../kernels/guidance.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { repeat } from '../../../kernels/repeat.ts';
import { ConfigError } from '../../../models/config-values.ts';
import { joinFloats } from '../../../models/join-floats.ts';
import type { WeightTable } from '../../../models/weights.ts';
import {
  allocateTensor,
  compute,
  freeTensors,
  recordTape,
  timesOf,
  type ComputeOptions,
  type Recording,
} from '../recording/compute.ts';
import type { Exchange } from '../../async/exchange.ts';
import type { ComponentAccess } from '../components/components.ts';
import { switchExperts, type Experts } from './expert-switch.ts';
import { copyFirst } from './first-frame.ts';
import { allPredictions, joinedPredictions, ownTexts } from './passes.ts';
import { writeRows, type DrawNormals, type Predictor } from '../recording/stepper.ts';
import { createScalars, Scope } from '../recording/scope.ts';
import { recorderOf } from '../recording/reuse-recorder.ts';
import type { Step } from '../schedules/schedule.ts';
import type { FamilyModel, Prepared, RunRequest, StepTensors, TextStates } from './family.ts';

/** Most tokens of a prompt that T5 reads, and their number by default. */
export const MOST_TOKENS = 512;

export type { TextStates };

type Facts = Omit<FamilyModel, 'checkFiles' | 'prepare'>;

/** The part of a family's declaration that the denoiser reads. `Page`: the transformer with its weights. */
export interface TransformerDeclaration<Page>
  extends Pick<Facts, 'latentChannels' | 'guides'>, Partial<Omit<Facts, 'latentChannels' | 'guides'>> {
  page(table: WeightTable): Page;
  /** Most tokens of a prompt that are read; left out: those of T5. */
  mostTokens?: number;
  /** Throws bad_checkpoint for text encoders whose weights do not match their configurations or the transformer's, and damaged tokenizers. */
  checkTexts(): Promise<void>;
  /** Returns the states of the prompt and behind it, if the request is guided, those of the negative prompt; the caller frees them. */
  encode(request: RunRequest, guided: boolean): Promise<readonly TextStates[]>;
  /** Computes an input that needs weights of its own, before those of the transformer are loaded; left out: there is none. */
  before?(request: RunRequest): Promise<Tensor>;
  /** The component that computes a step, of several that are transformers of one kind; left out: all steps are those of `transformer`. */
  experts?: Experts;
  /** Prepares the inputs of all steps, which `scope` takes over, and returns how a step is recorded. */
  step(given: TransformerRequest<Page>, scope: Scope): Promise<RecordedStep> | RecordedStep;
}

/** Inputs of one recorded step. */
export interface TransformerRequest<Page> extends StepTensors {
  device: Device;
  page: Page;
  request: RunRequest;
  /** The result of `before`; null where the family has no `before`. */
  before: Tensor | null;
  /** Latents of the images that are seen beside those that are denoised, [1, height, width, channels], or of the clip of its frames. */
  references: readonly Tensor[];
  height: number;
  width: number;
  options: ComputeOptions;
}

/** Inputs that change from step to step, on the tape of the step. */
export interface StepInputs {
  /** [items, 1, 1] */
  time: Tensor;
  scalars: Region;
  /** Raised by values that are not finite. */
  flag: Region;
  /** See ComputeOptions. */
  exchange: Exchange | undefined;
}

export interface RecordedStep {
  /** Items of the transformer's batch, or frames, which have a time each; left out: 1, the time of all. */
  items?: number;
  /** Records the pass or passes of a step, and returns the guided prediction in the shape of the latents. */
  record(tape: Tape, inputs: StepInputs): Tensor;
  /** Records the steps that `values` marks as `isOther`; left out: there are none. */
  recordOther?(tape: Tape, inputs: StepInputs): Tensor;
  /** Writes inputs that fresh noise changes, before a step runs; left out: there are none. */
  refresh?(step: Step, normals: DrawNormals): void;
  /** Latents of a clip's first frame, which take the place of what was denoised; left out: nothing does. */
  firstFrame?: Tensor;
  /** `index`: that of the step in its plan. */
  values(step: Step, index: number): StepValues;
}

interface StepValues {
  /** That of all items, or one for each. */
  time: number | Float32Array;
  scalars: readonly number[];
  /** Whether the step is that of `recordOther`. */
  isOther?: boolean;
}

export function openTransformer<Page>(
  components: ComponentAccess,
  {
    page,
    mostTokens = MOST_TOKENS,
    checkTexts,
    encode,
    before,
    experts,
    step,
    ...facts
  }: TransformerDeclaration<Page>,
): FamilyModel {
  const { device } = components;
  return {
    fillsMasks: false,
    sampleSize: null,
    mostClipSkip: 0,
    unreadClipLayers: 0,
    batches: () => true,
    ...facts,
    checkRequest(request) {
      checkLength(request, mostTokens);
      facts.checkRequest?.(request);
    },
    async checkFiles() {
      await checkTexts();
      for (const name of experts?.names ?? [DENOISER]) components.check(name, page);
    },
    async prepare(request): Promise<Prepared> {
      const texts = await encode(request, facts.guides(request.values.guidance, request.call));
      return {
        tokens: texts[0]!.tokens ?? (texts[0]!.states.shape[1] as number),
        texts,
        async load(references) {
          using scope = new Scope(device);
          const early = before ? scope.hold(await before(request)) : null;
          const given = { device, request, before: early, references };
          const load = (name: string) => components.load(name, 'denoiser', page, request.options);
          const only = experts ? null : scope.use(await load(DENOISER));
          return scope.give({
            record(on: StepTensors, options: ComputeOptions) {
              const [, height, width] = on.latents.shape as [number, number, number];
              const record = (loaded: Page, own: ComputeOptions): Promise<Predictor> =>
                recordPredictor({ ...given, ...on, page: loaded, height, width, options: own }, step);
              if (only) return record(only.page, options);
              return Promise.resolve(switchExperts(device, experts!, load, record, options));
            },
          });
        },
        [Symbol.dispose]: () =>
          freeTensors(
            device,
            texts.flatMap(({ states, pooled, further }) => [states, pooled, further]),
          ),
      };
    },
  };
}

/** Component that holds the transformer. */
const DENOISER = 'transformer';

/** Throws bad_request for a limit above the number of tokens that a text encoder reads. */
function checkLength({ maxSequenceLength = 0 }: Pick<RunRequest, 'maxSequenceLength'>, most: number): void {
  if (maxSequenceLength <= most) return;
  const problem = say`maxSequenceLength is ${maxSequenceLength}; the model reads at most ${most} tokens of a prompt: choose at most that`;
  throw badRequest(problem, 'maxSequenceLength');
}

/** Records a step whose prediction is copied to `output`. */
async function recordPredictor<Page>(
  given: TransformerRequest<Page>,
  step: TransformerDeclaration<Page>['step'],
): Promise<Predictor> {
  const { device, output, options } = given;
  const { exchange } = options;
  using scope = new Scope(device);
  const texts = ownTexts(device, scope, given.texts, exchange);
  const {
    items = 1,
    record,
    recordOther,
    refresh,
    firstFrame,
    values,
  } = await step({ ...given, texts }, scope);
  const scalars = scope.use(createScalars(device, 'scalars of a step', 2));
  const flag = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1))).region!;
  const time = scope.hold(allocateTensor(device, 'time step', [items, 1, 1]));
  const inputs = { scalars: scalars.region, flag, exchange };
  const recorder = recorderOf(device, scope, options, given.texts.length);
  const recorded = async (way: RecordedStep['record'], reuse = recorder): Promise<Recording> => {
    const on = (tape: Tape) => [way(tape, { time: time.on(tape), ...inputs })];
    return scope.use(await recordTape(device, options, on, [output], reuse));
  };
  const usual = await recorded(record);
  const other = recordOther ? await recorded(recordOther, null) : usual;
  return scope.give({
    ...(recorder && { reused: () => recorder.reused }),
    run(planned: Step, index: number, normals: DrawNormals) {
      refresh?.(planned, normals);
      const now = values(planned, index);
      scalars.write(now.scalars);
      writeRows(
        device,
        time,
        typeof now.time === 'number' ? new Float32Array(items).fill(now.time) : now.time,
      );
      if (other !== usual && now.isOther === true) {
        recorder?.forget();
        return other.run();
      }
      return recorder ? recorder.run(usual, index) : usual.run();
    },
    ...(firstFrame && { finish: (latents: Tensor) => copyFirst(device, firstFrame, latents) }),
    times: () => timesOf(new Set([usual, other])),
  });
}

/** Texts of most families. */
export const promptsOf = ({ prompt, values }: RunRequest, guided: boolean): string[] =>
  guided ? [prompt, values.negativePrompt] : [prompt];

/** Throws bad_checkpoint if the states of text encoders are not as wide as a key of the transformer's configuration says. */
export function requireWidth(key: string, wanted: number, encoders: string, found: number): void {
  if (wanted === found) return;
  throw new ConfigError(
    'bad_checkpoint',
    'transformer/config.json',
    `${key} is ${wanted}, and the states of ${encoders} have ${found} columns: take the text encoders of the same pipeline`,
    key,
  );
}

/** Values of a text that are computed once for all steps, such as its states in the transformer's width. */
export async function conditionOnce<Page>(
  { device, options }: Pick<TransformerRequest<Page>, 'device' | 'options'>,
  scope: Scope,
  record: (tape: Tape) => Tensor,
): Promise<Tensor> {
  const [made] = await compute(device, options, (tape) => [record(tape)]);
  return scope.hold(made!);
}

/**
 * The prediction, or under guidance scalars[0] · prediction + scalars[1] · prediction for the negative prompt. `rescale`: the share of each image's
 * result that is rescaled to the deviation of its prediction.
 */
export function combineGuided(
  own: readonly Tensor[],
  { scalars, flag, exchange }: StepInputs,
  rescale = { share: 0, images: 1 },
): Tensor {
  const predictions = own.length > 1 ? own : allPredictions(own, exchange);
  const [prediction] = predictions;
  if (predictions.length === 1) return prediction!;
  const guided = linearCombination(predictions, scalars, flag);
  if (rescale.share > 0) keepSpread(guided, prediction!, rescale.share, rescale.images);
  return guided;
}

/** Scalars of `combineGuided` for a guidance scale. */
export const guidedScalars = (scale: number): readonly number[] => [scale, 1 - scale];

/** Indices of the scalars of a step whose texts are items of one batch: the guidance scale, and the factor on its input. */
const GUIDANCE = 0;
const INPUT = 1;

/** The input of all passes, multiplied by scalars[1]; x [images, …] → [passes · images, …] */
export const repeated = (x: Tensor, passes: number, { scalars }: StepInputs): Tensor =>
  passes === 1 ? x : repeat(x, passes, scalars, INPUT);

/** The prediction of all passes, guided by scalars[0] where there is one for negative prompts, which comes first; → [images, …] */
export const guidedItems = (y: Tensor, passes: number, { scalars, exchange }: StepInputs): Tensor =>
  passes === 1 && !exchange ? y : guidance(joinedPredictions(y, exchange), scalars, GUIDANCE);

/** Repeats tokens that all images see, once for each image: x [1, tokens, columns] → [images, tokens, columns] */
export const seenByAll = (x: Tensor, images: number): Tensor =>
  images === 1 ? x : joinRows(Array<Tensor>(images).fill(x), [images, x.shape[1] as number]);

/** Uploads the rotations of tokens, `dims` columns each, one part after the other; `scope` owns them. */
export function uploadRotations(
  device: Device,
  scope: Scope,
  { label, dims }: { label: string; dims: number },
  ...parts: readonly Float32Array[]
): Tensor {
  const values = joinFloats(parts);
  return scope.hold(device.tensor('step', label, [values.length / dims, dims], values));
}
