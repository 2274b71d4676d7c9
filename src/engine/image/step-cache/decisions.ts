// When a step computes the blocks of a denoiser, and when it takes what they gave from earlier steps. Each pass of a step (for the prompt, for
// the negative prompt) decides for itself.

import { roundHalfEven } from '../schedules/spacing.ts';

/** What a step compares. `residual`: what the first blocks add, with the last computed step's; `probe`: the input of the first block, with the last step's. */
export type Measure = 'residual' | 'probe' | null;

/** What is known of a pass when it decides. */
export interface PassState {
  /** Steps of this pass so far. */
  step: number;
  /** Steps since the last computed one, and reused ones in all. */
  inRow: number;
  reused: number;
  /** Mean of the absolute change of what is measured, as a share of the mean of its absolute values; null: nothing is measured. */
  change: number | null;
}

/** Returns whether a step reuses; the first step never asks. Called once for each other step. */
export type Decision = (state: PassState) => boolean;

export interface DecisionRule {
  measure: Measure;
  /** Returns the decision of a pass, which may count. `steps`: those of the whole run. */
  decide(steps: number): Decision;
}

/** How steps reuse what blocks gave. */
export interface ReuseRule {
  /** What is reused: what blocks of a transformer add, what the deep part of a UNet gives, or the whole prediction. */
  of: 'blocks' | 'deep' | 'prediction';
  decision: DecisionRule;
  /** First blocks and last blocks, which every step computes. */
  firstBlocks: number;
  lastBlocks: number;
  /** Whether models with fewer blocks have as many first ones as they can; left out: they are refused. */
  orFewer?: boolean;
  /** Highest divided difference that continues what was kept; 0: it is taken as it is. */
  order: number;
  /** Levels of a UNet that every step computes beside the first. */
  levels: number;
}

/** Limits of DBCache. source: cache-dit's BasicCacheConfig */
export interface Limits {
  /** First steps that are computed, of which only each `warmupInterval`-th has to be. */
  warmup: number;
  warmupInterval: number;
  /** Most steps that reuse, and most of them one after the other. */
  most: number;
  mostInRow: number;
}

export const NO_LIMITS: Limits = { warmup: 0, warmupInterval: 1, most: Infinity, mostInRow: Infinity };

const allows = ({ warmup, warmupInterval, most, mostInRow }: Limits, state: PassState): boolean => {
  const { step, inRow, reused } = state;
  const warms = step < warmup && step % warmupInterval === 0;
  return !warms && reused < most && inRow < mostInRow;
};

/** Reuses while the first blocks add what they added in the last computed step, up to a share of it. source: First Block Cache, DBCache */
export const byChange = (threshold: number, limits: Limits): DecisionRule => ({
  measure: 'residual',
  decide: () => (state) => allows(limits, state) && threshold > 0 && state.change! <= threshold,
});

/** Reuses in the steps that a mask has as false, all of them or those in which `rule` agrees. source: cache-dit's steps_computation_mask */
export const byMask = (
  maskOf: (steps: number) => readonly boolean[],
  rule: DecisionRule | null,
): DecisionRule => ({
  measure: rule?.measure ?? null,
  decide(steps) {
    const mask = maskOf(steps);
    const agrees = rule?.decide(steps) ?? (() => true);
    return (state) => agrees(state) && mask[state.step] === false;
  },
});

/** Steps that compute at intervals: the first ones, one of so many from `from` on, and all from `until` on. */
export interface Interval {
  interval: number;
  first: number;
  from: number;
  until: number;
}

/** source: diffusers' TaylorSeerCacheConfig, DeepCache */
export const byInterval = ({ interval, first, from, until }: Interval): DecisionRule => ({
  measure: null,
  decide: () => (state) => {
    const { step } = state;
    const isComputed = step < first || (step - from) % interval === 0 || step >= until;
    return !isComputed;
  },
});

/** Steps between which TeaCache reuses. */
export interface Range {
  /** The first step, counted from 0, that may reuse. */
  first: number;
  /** Steps at the end that never do. */
  last: number;
}

/** Reuses until the changes of the input, each estimated as the change of the output by a polynomial, add up to a threshold. source: TeaCache */
export const byProbe = (threshold: number, coefficients: readonly number[], range: Range): DecisionRule => ({
  measure: 'probe',
  decide(steps) {
    let moved = 0;
    return ({ step, change }) => {
      const isInside = step >= range.first && step < steps - range.last;
      moved += coefficients.reduce((value, coefficient) => value * change! + coefficient, 0);
      const reuses = isInside && threshold > 0 && moved < threshold;
      if (!reuses) moved = 0;
      return reuses;
    };
  },
});

export interface MagnitudeOptions {
  threshold: number;
  mostInRow: number;
  /** Share of the steps, from the first on, that are computed. */
  retained: number;
  /** The norm of what all blocks add as a multiple of that in the step before, for each step of a run of any number of them. */
  ratios: readonly number[];
}

/** Reuses while the product of known ratios stays near to 1. source: diffusers' MagCacheConfig */
export const byMagnitude = ({ threshold, mostInRow, retained, ratios }: MagnitudeOptions): DecisionRule => ({
  measure: null,
  decide(steps) {
    const scaled = nearest(ratios, steps);
    const first = Math.trunc(retained * steps + 0.5);
    let product = 1;
    let error = 0;
    let count = 0;
    return ({ step }) => {
      if (step < first) return false;
      product *= scaled[step] ?? 1;
      error += Math.abs(1 - product);
      count++;
      if (threshold > 0 && error <= threshold && count <= mostInRow) return true;
      product = 1;
      error = 0;
      count = 0;
      return false;
    };
  },
});

/** As many values, each the nearest of those given. */
function nearest(values: readonly number[], count: number): number[] {
  if (values.length === count) return [...values];
  if (count === 1) return [values.at(-1)!];
  const scale = (values.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => values[roundHalfEven(i * scale)]!);
}
