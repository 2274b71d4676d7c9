// The speculator of a text model, by its options.

import { TILE_ROWS } from '../../kernels/batch.ts';
import { draftTokens } from './load.ts';
import { ModelDrafter } from './speculation/drafts/model-drafter.ts';
import { NgramDrafter } from './speculation/ngram-drafter.ts';
import { RecentTexts } from './speculation/recent-texts.ts';
import { Speculator } from './speculation/speculator.ts';
import { StepCosts } from './speculation/step-costs.ts';
import type { TextModelOptions } from './calls/text-model.ts';

/** Returns null if steps draft no tokens. `rows`: the most rows of a step. */
export function openSpeculator(options: TextModelOptions, rows: number): Speculator | null {
  const most = draftTokens(options);
  if (most === 0) return null;
  const { speculativeAdaptive: adaptive = true, speculativeNgramCapacity: capacity = 0 } = options;
  const recent = capacity > 0 ? new RecentTexts(capacity) : null;
  const isLookup = options.speculativeAlgorithm === 'ngram';
  const drafter = isLookup ? new NgramDrafter(recent) : new ModelDrafter();
  return new Speculator({
    ...{ drafter, costs: new StepCosts(), most, adaptive },
    // More rows of decode steps are computed in slices, which cost as much as steps of their own.
    rows: Math.min(rows, TILE_ROWS),
  });
}
