// How a computation on the device is recorded and run, and what it tells while it runs.

import type { AttentionChoice, PartSums, TokenRanks } from '../../../gpu/tape-options.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { Exchange } from '../../async/exchange.ts';
import type { DecisionSums } from '../ranks/exchange.ts';
import type { ReuseRule } from '../step-cache/decisions.ts';
import type { Profiler } from './profiler.ts';

export interface ComputeOptions {
  /** Whether to use plain f32 kernels. */
  plain: boolean;
  /** Kernels of dense attention; left out: `auto`. */
  attention?: AttentionChoice | undefined;
  /** How steps of the denoiser, of so many, reuse what others computed, and those of a second denoiser; left out: they compute everything. */
  reuse?: { rule: ReuseRule; second: ReuseRule; steps: number } | undefined;
  /** Called with the names of the shaders of what is computed next. */
  onShaders?: ((names: ReadonlySet<string>) => void) | undefined;
  /** Collects the GPU times of kernels. */
  profiler?: Profiler | undefined;
  /** Called for the kernels that are compiled for the next computation. */
  onKernels?: ((done: number, total: number) => void) | undefined;
  /** Called with the name of a result that is not finite and is therefore computed again in plain f32. */
  onNotFinite?: ((what: string) => void) | undefined;
  /** Compiles kernels without computing anything. */
  compileOnly?: boolean;
  /** The device computes nothing: of the parts that take equal memory few are recorded. */
  onPaper?: boolean;
  /** Gives this device the passes of guidance that others compute; left out: it computes all. */
  exchange?: Exchange | undefined;
  /** How this device and others divide tokens; left out: it has all. */
  tokens?: TokenRanks | undefined;
  /** Gives this device the sums of what others computed with their parts of the denoiser's matrices; left out: it has them whole. */
  matrices?: PartSums | undefined;
  /** Gives this device what all that decide with it measured; left out: it decides alone. */
  decides?: DecisionSums | undefined;
  /** Ends a single run between two segments. */
  signal?: AbortSignal | undefined;
  /** Finds the fastest kernel variants before a computation is recorded that will be replayed many times. */
  tune?: ((record: Recorded, attention?: AttentionChoice) => Promise<void>) | undefined;
}

/** Records a computation, and returns its results. */
export type Recorded = (tape: Tape) => readonly Tensor[];
