// Sources of sequences, which the encoder reads in whole before the first step of a sequence, and again after a retraction: its pages have gone.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PlacedSource } from '../step/source-reader.ts';
import type { Sequence } from './sequence.ts';
import type { PlanSource } from './step-plan.ts';

export interface SourceLimits {
  /** Tokens of the sources that are read together; left out: the model reads none. */
  sourceTokens?: number;
}

const NONE: ReadonlySet<Sequence> = new Set();

export class SourcePlan {
  readonly #most: number;
  #planned: Sequence[] = [];

  constructor({ sourceTokens = 0 }: SourceLimits) {
    this.#most = sourceTokens;
  }

  /** Plans the sources that are read before the next step, in the order of running sequences; they count as computed. */
  plan(running: Pick<PlanSource, 'running' | 'secure'>): void {
    this.#planned = [];
    let left = this.#most;
    // Making room retracts sequences behind the one that it is made for.
    for (const sequence of [...running.running]) {
      const { placement, progress, request, finished } = sequence;
      if (finished || placement.slot === null || !sequence.awaitsSource) continue;
      const { tokens, pages } = request.source!;
      if (tokens > left || !running.secure(sequence, pages * PAGE_TOKENS, NONE)) return;
      left -= tokens;
      progress.computed = pages * PAGE_TOKENS;
      this.#planned.push(sequence);
    }
  }

  /** Returns and removes what is to be read. Sequences that the plan of the step has retracted start anew. */
  take(): PlacedSource[] {
    return this.#planned.splice(0).flatMap(({ placement, progress, request }) => {
      if (placement.slot === null || progress.computed === 0) return [];
      return [{ source: request.source!, tables: placement.tables }];
    });
  }
}
