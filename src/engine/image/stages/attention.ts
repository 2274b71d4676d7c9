// How the components of a pipeline attend.

import { AUTO_ATTENTION, type AttentionChoice } from '../../../gpu/tape-options.ts';
import type { DenoiserPage, StepTensors } from '../blocks/family.ts';
import type { ComputeOptions } from '../recording/compute.ts';
import type { Predictor } from '../recording/stepper.ts';

/** How one component attends. */
export interface ComponentAttention {
  choice: AttentionChoice;
  /** First steps that see all keys. */
  fullSteps: number;
}

/** How the components of a pipeline attend. Text encoders and image encoders do alike, and so do the experts of a denoiser. */
export interface PipelineAttention {
  textEncoder: ComponentAttention;
  denoiser: ComponentAttention;
  autoencoder: ComponentAttention;
}

/** The options with which a component computes. */
export function optionsFor(
  { options, attention }: { options: ComputeOptions; attention?: PipelineAttention },
  component: keyof PipelineAttention,
): ComputeOptions {
  return attention ? { ...options, attention: attention[component].choice } : options;
}

/** The denoiser, of whose first steps queries may see all keys where they see a part of them in later ones. */
export async function predictorOf(
  all: PipelineAttention | undefined,
  denoiser: DenoiserPage,
  step: StepTensors,
  options: ComputeOptions,
): Promise<Predictor> {
  const attention = all?.denoiser;
  const recorded = (choice: AttentionChoice | undefined): Promise<Predictor> =>
    denoiser.record(step, { ...options, attention: choice });
  if (!attention || attention.fullSteps === 0 || options.plain) return recorded(attention?.choice);
  return inTurn(await recorded(AUTO_ATTENTION), await recorded(attention.choice), attention.fullSteps);
}

/** A predictor for the first steps, and one for the others. */
function inTurn(first: Predictor, then: Predictor, steps: number): Predictor {
  let last = first;
  return {
    run(step, index, normals) {
      last = index < steps ? first : then;
      return last.run(step, index, normals);
    },
    finish: (latents) => last.finish?.(latents),
    times: async () => [...(await first.times()), ...(await then.times())],
    [Symbol.dispose]() {
      first[Symbol.dispose]();
      then[Symbol.dispose]();
    },
  };
}
