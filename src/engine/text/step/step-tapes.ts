// Tapes that a step of a given capacity replays: the forward pass, sampling, and log probabilities of the prompt's tokens.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import type { RowKinds } from '../../../gpu/tape-options.ts';
import type { Sizes } from '../../../gpu/tensor.ts';
import { TILE_ROWS, type LayerStore, type TextBatch } from '../../../kernels/batch.ts';
import type { LanguageModel } from '../../../models/text/blocks/architecture.ts';
import type { Phase } from './step-part.ts';
import type { PromptReader } from './prompt-logprobs.ts';
import type { Drawing, Sampler } from './sampler.ts';

export interface StepTapes {
  phase: Phase | null;
  forward: Tape;
  drawing: Drawing;
  /** Tape of the head for log probabilities of prompts. */
  head: Tape;
}

export interface StepRecipe {
  model: LanguageModel;
  sampler: Sampler;
  prompts: PromptReader;
  batch: TextBatch;
  stores: readonly LayerStore[];
  rows: number;
  slots: number;
  /** KV pages of the longest context. */
  contextPages: number;
  rowAdapters: TextBatch['adapters'] | null;
  /** The phase of all rows; null: kernels do not tell phases apart. */
  phase: Phase | null;
  /** See gpu/tape-options.ts. */
  promptProducts: boolean;
}

/** Capacity and kinds of rows of the tapes of a step, without adapters. */
export function stepShape({
  rows,
  slots,
  contextPages,
  phase,
  promptProducts,
}: Pick<StepRecipe, 'rows' | 'slots' | 'contextPages' | 'phase' | 'promptProducts'>): {
  capacity: Sizes;
  kinds: RowKinds;
} {
  const sampled = Math.min(rows, slots);
  return {
    capacity: { rows, sampled, tiles: rows, tileRows: TILE_ROWS, contextPages, sequences: sampled },
    kinds: {
      // The few rows that are sampled are computed alike after a prompt and later.
      decodes: phase === null ? [] : phase === 'decode' ? ['rows', 'sampled'] : ['sampled'],
      promptProducts,
    },
  };
}

/** Small tapes sample as many rows as they compute; the large one samples as many rows as there are slots. */
export function recordStep(device: Device, recipe: StepRecipe): StepTapes {
  const { model, sampler, prompts, batch, stores, rowAdapters, phase } = recipe;
  const { capacity, kinds } = stepShape(recipe);
  const forward = new Tape(device, capacity, { rowAdapters, ...kinds });
  const states = forward.keep(model.states(forward, batch, stores));
  const logits = forward.keep(model.head(states, batch));
  forward.finish();
  const head = prompts.record(forward, states, logits);
  return { phase, forward, drawing: sampler.record(forward, logits), head };
}

export function tapesOf({ forward, drawing, head }: StepTapes): Tape[] {
  return [forward, ...drawing.tapes, head];
}

export function forget({ forward, drawing, head }: StepTapes): void {
  forward.destroy();
  drawing.destroy();
  head.destroy();
}
