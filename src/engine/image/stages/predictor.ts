// The denoiser of a run, put together of those of its steps: the first ones may see all keys where later ones see a part of them, some may have
// no pass for the negative prompt, and some may reuse what others gave.

import { AUTO_ATTENTION, type AttentionChoice } from '../../../gpu/tape-options.ts';
import type { Device } from '../../../gpu/device.ts';
import { badRequest } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import type { DenoiserPage, StepTensors } from '../blocks/family.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import { reusePredictions } from '../recording/prediction-reuse.ts';
import type { Predictor } from '../recording/stepper.ts';
import { CACHE_OPTION, type StepReuseSettings } from '../step-cache/cache-settings.ts';
import type { PipelineAttention } from './attention.ts';

/** What distinguishes steps of a run. */
export interface StepWays {
  attention?: PipelineAttention | undefined;
  reuse?: StepReuseSettings | undefined;
  /** Number of steps of the run. */
  steps: number;
}

/** Records the denoiser of all steps. Throws bad_request for an interval of guidance where there is no second pass to leave out. */
export async function predictorOf(
  device: Device,
  { attention: all, reuse, steps }: StepWays,
  denoiser: DenoiserPage,
  on: StepTensors,
  options: ComputeOptions,
): Promise<Predictor> {
  const attention = all?.denoiser;
  const rule = reuse?.rule && { rule: reuse.rule, second: reuse.second ?? reuse.rule, steps };
  const within = rule && rule.rule.of !== 'prediction' ? { reuse: rule } : {};
  const withAttention = (choice: AttentionChoice | undefined, texts: StepTensors['texts']) =>
    denoiser.record({ ...on, texts }, { ...options, attention: choice, ...within });
  const recorded = async (texts: StepTensors['texts']): Promise<Predictor> => {
    if (!attention || attention.fullSteps === 0 || options.plain)
      return withAttention(attention?.choice, texts);
    const { choice, fullSteps } = attention;
    const first = await withAttention(AUTO_ATTENTION, texts);
    return inTurn(
      first,
      () => withAttention(choice, texts),
      (index) => index < fullSteps,
    );
  };
  const guided = async (): Promise<Predictor> => {
    const interval = reuse?.guidance;
    if (interval && on.texts.length < 2)
      throw badRequest(
        say`${option(CACHE_OPTION)} has guidance_interval, and the denoiser has no second pass of its own here: it is drawn without guidance, or computes both passes at once; leave guidance_interval out, or raise guidance where that gives a second pass`,
        CACHE_OPTION,
      );
    const usual = await recorded(on.texts);
    if (!interval) return usual;
    const [start, stop] = interval.map((share) => share * steps) as [number, number];
    return inTurn(
      usual,
      () => recorded(on.texts.slice(0, 1)),
      (index) => index >= start && index < stop,
    );
  };
  const made = await guided();
  return rule && rule.rule.of === 'prediction'
    ? reusePredictions(device, made, on.output, rule, options)
    : made;
}

/** A predictor for the steps that `isFirst` tells, and one for the others; owns the first one also if the other cannot be recorded. */
async function inTurn(
  first: Predictor,
  record: () => Promise<Predictor>,
  isFirst: (index: number) => boolean,
): Promise<Predictor> {
  let then: Predictor;
  try {
    then = await record();
  } catch (error) {
    first[Symbol.dispose]();
    throw error;
  }
  let last = first;
  return {
    run(step, index, normals) {
      last = isFirst(index) ? first : then;
      return last.run(step, index, normals);
    },
    finish: (latents) => last.finish?.(latents),
    ...((first.reused ?? then.reused) && { reused: () => last.reused?.() ?? 0 }),
    times: async () => [...(await first.times()), ...(await then.times())],
    [Symbol.dispose]() {
      first[Symbol.dispose]();
      then[Symbol.dispose]();
    },
  };
}
