// How the components of a pipeline attend.

import type { AttentionChoice } from '../../../gpu/tape-options.ts';
import type { ComputeOptions } from '../recording/compute.ts';

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
