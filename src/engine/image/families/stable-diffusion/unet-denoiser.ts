// The UNet of Stable Diffusion as a predictor, recorded for one size of latents. Guidance takes a pass with and one without the
// prompt, or is an input of models that were distilled to follow a guidance scale. ControlNets run before it in the calls in which
// they take part.

import type { Device } from '../../../../gpu/device.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { guidance, keepSpread } from '../../../../kernels/guidance.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import type { UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import type { Control, ImagePrompt } from '../../../../models/image/unet/unet-steering.ts';
import type { UNet } from '../../../../models/image/unet/unet.ts';
import {
  allocateTensor,
  recordTape,
  timesOf,
  type ComputeOptions,
  type Recording,
} from '../../recording/compute.ts';
import { activeIn, type ControlRule } from '../../calls/control.ts';
import { joinedPredictions, ownItems, ownTexts } from '../../blocks/passes.ts';
import type { TextStates } from '../../blocks/family.ts';
import { joinItems } from '../../recording/join-items.ts';
import { writeRows, type Predictor } from '../../recording/stepper.ts';
import { createScalars, Scope, type Scalars } from '../../recording/scope.ts';
import { recorderOf, type ReuseRecorder } from '../../recording/reuse-recorder.ts';
import type { Step } from '../../schedules/schedule.ts';
import {
  computeConditions,
  onTape,
  tensorsOf,
  type ConditionRequest,
  type Conditions,
  type LoadedControl,
} from './unet-conditions.ts';

export interface UNetRequest extends ConditionRequest {
  guidanceRescale: number;
  /** ControlNets, each with how it takes part. */
  controls: readonly (LoadedControl & { rule: ControlRule })[];
  /** Keys and values of an image for each cross-attention, and how strongly they count; null: there is none. */
  imagePrompt: { keyValues: readonly Tensor[]; scale: number } | null;
  /** Calls of the denoiser in the whole plan. */
  calls: number;
  /** Inpainting UNets: mask and masked image, [1, height, width, 1 + channels]. */
  extra: Tensor | null;
  images: number;
  /** [images, height, width, channels] */
  latents: Tensor;
  output: Tensor;
}

/** Indices of a step's scalars. */
const INPUT_SCALE = 0;
const GUIDANCE = 1;
const ONE = 2;

export async function unetPredictor(
  device: Device,
  config: UNetConfig,
  unet: UNet,
  request: UNetRequest,
  options: ComputeOptions,
): Promise<Predictor> {
  const { controls, calls, images, sizeIds } = request;
  const { exchange } = options;
  using scope = new Scope(device);
  const [text] = ownTexts(device, scope, [request.text], exchange) as [TextStates];
  const batch = text.states.shape[0] as number;
  const passes = batch / images;
  const ownIds = exchange && sizeIds ? [sizeIds[exchange.ranks - 1 - exchange.rank]!] : sizeIds;
  const own = { ...request, text, sizeIds: ownIds };
  const conditions = await computeConditions(device, config, unet, own, options);
  for (const tensor of tensorsOf(conditions)) scope.hold(tensor);
  const { imagePrompt } = request;
  const keyValues = imagePrompt?.keyValues
    .map((x) => (exchange ? ownItems(device, scope, x, exchange) : x))
    .map((x) => (images === 1 ? x : scope.hold(joinItems(device, Array<Tensor>(images).fill(x)))));
  const given = { ...own, imagePrompt: imagePrompt && keyValues ? { ...imagePrompt, keyValues } : null };
  const scalars = scope.use(createScalars(device, 'scalars of a step', 3));
  const time = scope.hold(allocateTensor(device, 'time step', [batch, 1, 1]));
  const step: RecordedStep = { unet, request: given, conditions, passes, scalars, time };
  const rules = controls.map(({ rule }) => rule);
  const activeOf = (call: number): number[] => activeIn(rules, call, calls);
  const recorder = recorderOf(device, scope, options, 1);
  const recordings = new Map<string, Recording>();
  for (let call = 0; call < calls; call++) {
    const active = activeOf(call);
    if (recordings.has(active.join())) continue;
    const recording = await recordStep(device, { ...step, recorder }, active, scope, options);
    recordings.set(active.join(), scope.use(recording));
  }
  return scope.give({
    ...(recorder && { reused: () => recorder.reused }),
    run({ inputScale, timestep }: Step, index: number) {
      scalars.write([inputScale, request.guidance, 1]);
      writeRows(device, time, new Float32Array(batch).fill(timestep));
      const recording = recordings.get(activeOf(index).join())!;
      return recorder ? recorder.run(recording, index) : recording.run();
    },
    times: () => timesOf(recordings.values()),
  });
}

interface RecordedStep {
  unet: UNet;
  request: UNetRequest;
  conditions: Conditions;
  /** Passes of a step, of which the first has the negative prompt if there are two; they are items of one batch. */
  passes: number;
  scalars: Scalars;
  time: Tensor;
  /** Left out: all steps compute everything. */
  recorder?: ReuseRecorder | null;
}

/** Records a step in which some of the ControlNets take part; `scope` takes over what the recording reads. */
async function recordStep(
  device: Device,
  { unet, request, conditions, passes, scalars, time, recorder }: RecordedStep,
  active: readonly number[],
  scope: Scope,
  options: ComputeOptions,
): Promise<Recording> {
  const { latents, output, extra, controls } = request;
  const scales = scope.use(createScalars(device, 'scales of ControlNets', 1 + active.length));
  scales.write([1, ...active.map((i) => controls[i]!.rule.scale)]);
  const notFinite = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1))).region!;
  const prompt = request.imagePrompt;
  const imageScales = scope.use(createScalars(device, 'scale of an image', 2));
  imageScales.write([1, prompt?.scale ?? 0]);
  const batched = (x: Tensor): Tensor => (passes === 1 ? x : repeat(x, passes, scalars.region, ONE));
  const record = (tape: Tape): readonly Tensor[] => {
    const { unet: conditioning, controls: controlled } = onTape(conditions, tape);
    const scaled = repeat(latents.on(tape), 1, scalars.region, INPUT_SCALE);
    const x = batched(scaled);
    const control: Control | null =
      active.length === 0
        ? null
        : {
            residuals: active.map((i) => {
              const { conditioning: own, hint } = controlled[i]!;
              return controls[i]!.page.forward(x, time.on(tape), hint, own);
            }),
            scales: scales.region,
            notFinite,
          };
    const image: ImagePrompt | null = prompt && {
      keyValues: prompt.keyValues.map((one) => one.on(tape)),
      scales: imageScales.region,
      notFinite,
    };
    const input = extra ? batched(concat(scaled, extra.on(tape))) : x;
    const predicted = unet.forward(input, time.on(tape), conditioning, { control, image });
    const { exchange } = options;
    if (passes === 1 && !exchange) return [predicted];
    const both = joinedPredictions(predicted, exchange);
    const guided = guidance(both, scalars.region, GUIDANCE);
    if (request.guidanceRescale > 0) keepSpread(guided, both, request.guidanceRescale);
    return [guided];
  };
  return await recordTape(device, options, record, [output], recorder);
}
