// Limits of the clean latents that a step predicts: clipping ("clip_sample") and dynamic thresholding ("thresholding",
// arXiv 2205.11487). Neither is a linear combination, so a method with a limit reads the limited tensor as one
// more operand of its linear combinations.

import type { ConfigReader } from './config.ts';
import type { Estimates } from './prediction.ts';
import type { Limit } from './schedule.ts';
import { CLEAN_LATENTS, combine, LATENTS, type Draft, type Sum } from './sum.ts';

/** Reads the limit; thresholding precedes clipping. `clips`: default of "clip_sample"; left out: the class has no clipping. */
export function readLimit(
  config: ConfigReader,
  { clips, thresholds = true }: { clips?: boolean; thresholds?: boolean } = {},
): Limit | null {
  if (thresholds && config.flag('thresholding', false)) {
    const ratio = config.number('dynamic_thresholding_ratio', 0.995);
    return { kind: 'threshold', ratio, most: config.number('sample_max_value', 1) };
  }
  if (clips === undefined || !config.flag('clip_sample', clips)) return null;
  return { kind: 'clip', range: config.number('clip_sample_range', 1) };
}

/** Operand that replaces the predicted clean latents in a method, and the `limits` entry of the draft. */
export function limited(limit: Limit | null, clean: Sum): { clean: Sum; limits: Draft['limits'] } {
  return limit === null
    ? { clean, limits: null }
    : { clean: CLEAN_LATENTS, limits: { of: clean, by: limit } };
}

/** Estimates with limited clean latents, of latents x = α·clean + σ·noise. The noise estimate is (x − α·limited clean) / σ. */
export function limitedModel(
  limit: Limit | null,
  { clean, noise }: Estimates,
  { alpha, sigma }: { alpha: number; sigma: number },
): Estimates & { limits: Draft['limits'] } {
  if (limit === null) return { clean, noise, limits: null };
  const rest = combine([1 / sigma, LATENTS], [-alpha / sigma, CLEAN_LATENTS]);
  return { clean: CLEAN_LATENTS, noise: rest, limits: { of: clean, by: limit } };
}
