// The recorded passes of a draft model: one over what is known of each text, and one over the token that was guessed last.

import type { Device } from '../../../../gpu/device.ts';
import { Tape } from '../../../../gpu/tape.ts';
import { Tensor, type Region } from '../../../../gpu/tensor.ts';
import { TILE_ROWS, type LayerStore, type TextBatch } from '../../../../kernels/batch.ts';
import { offsetTokens } from '../../../../kernels/offset-tokens.ts';
import { sample } from '../../../../kernels/sample.ts';
import { scaleShift } from '../../../../kernels/scale-shift.ts';
import type { DraftPage } from '../../../../models/text/blocks/architecture.ts';

/** A pass for up to so many rows. */
export interface DraftPass {
  tape: Tape;
  /** [sampled, vocabulary], before tokens get their offsets. */
  logits: Tensor;
  /** Whether its rows are those of a decode step, whose tiles have one row. */
  isDecode: boolean;
  /** Rows from which what is handed on is taken, as many as are wanted; null: nothing is handed on. */
  handed: Tensor | null;
  /** Whether `handed` has all rows of the pass. */
  handsAll: boolean;
}

export interface PassRecipe {
  page: DraftPage;
  batch: TextBatch;
  stores: readonly LayerStore[];
  slots: number;
  contextPages: number;
  /** What is added to tokens of the draft model's own vocabulary; null: nothing. */
  offsets: { region: Region; count: number } | null;
}

/** What the rows of a pass begin with; null: nothing beside their tokens. */
export interface PassInput {
  region: Region;
  columns: number;
  /** Whether it is what the target's steps keep, and not what an earlier pass handed on. */
  isTaken: boolean;
}

export function recordPass(
  device: Device,
  { page, batch, stores, slots, contextPages, offsets }: PassRecipe,
  rows: number,
  input: PassInput | null,
): DraftPass {
  const sampled = Math.min(rows, slots);
  const capacity = {
    ...{ rows, sampled, tiles: rows, tileRows: TILE_ROWS, contextPages, sequences: sampled },
    ...{ drawn: 1, cut: 1 },
  };
  const hasPhases = device.profile.matvecRows !== null;
  const isDecode = hasPhases && rows <= TILE_ROWS;
  const decodes = isDecode ? ['rows', 'sampled'] : hasPhases ? ['sampled'] : [];
  const tape = new Tape(device, capacity, { decodes });
  const hidden = input && enter(tape, page, input);
  const states = page.states(tape, batch, stores, hidden);
  const { logits, handed } = page.head(states, batch);
  tape.keep(logits);
  const kept = input === null ? null : tape.keep(handed ?? states);
  sample(logits, batch);
  if (offsets) offsetTokens(tape, batch, offsets.region, offsets.count);
  tape.finish();
  return { tape, logits, isDecode, handed: kept, handsAll: handed === null };
}

/** A page may change what it is given, so that it gets a copy of what is handed on. */
function enter(tape: Tape, page: DraftPage, { region, columns, isTaken }: PassInput): Tensor {
  const given = new Tensor(['rows', columns], 'f32', { tape, region });
  return isTaken && page.enter ? page.enter(given) : scaleShift(given, 1, 0);
}
