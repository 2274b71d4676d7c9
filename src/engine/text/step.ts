// Writes a planned step into the step buffers: rows, rotary frequencies, tiles, page tables, and what is sampled how.

import {
  CHOICE_WORDS,
  FROM_SLOT,
  PAGE_TOKENS,
  ROW_WORDS,
  TILE_ROWS,
  TILE_WORDS,
} from '../../kernels/batch.ts';
import type { RopeSets } from '../../models/rope.ts';
import type { Part } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import type { StepBuffers } from './step-buffers.ts';

export type StepSizes = {
  rows: number;
  sampled: number;
  tiles: number;
  /** Rows of the largest tile. */
  tileRows: number;
};

/** Fills and uploads; `rope` writes into the buffers' `turns`. */
export function writeStep(buffers: StepBuffers, parts: readonly Part[], rope: RopeSets): StepSizes {
  const { words } = buffers;
  let rows = 0;
  let tiles = 0;
  let pages = 0;
  let sampled = 0;
  let biases = 0;
  let tileRows = 0;
  rope.clear();
  for (const part of parts) {
    const { sequence } = part;
    for (let row = 0; row < part.rows; row += TILE_ROWS) {
      const count = Math.min(TILE_ROWS, part.rows - row);
      words.tiles.set([rows + row, count, pages, 0], TILE_WORDS * tiles++);
      tileRows = Math.max(tileRows, count);
    }
    words.pages.set(sequence.pages, pages);
    pages += sequence.pages.length;
    for (let i = 0; i < part.rows; i++, rows++) {
      const position = part.first + i;
      writeRow(words.rows, rows, sequence, position, rope.of(ropeLength(sequence, position)));
    }
    if (part.samples) {
      words.wanted[sampled] = rows - 1;
      writeChoice(words.choices, sampled++, sequence, part.first + part.rows, biases);
      for (const [token, value] of sequence.sampling.bias) {
        words.biases.setUint32(8 * biases, token, true);
        words.biases.setFloat32(8 * biases++ + 4, value, true);
      }
    }
  }
  buffers.upload({ rows, frequencies: rope.count, tiles, pages, sampled, biases });
  return { rows, sampled, tiles, tileRows };
}

/**
 * The length that scaled rotations go by: the prompt's own for its tokens, then one more with each, as transformers'
 * generate does. It is a property of the position alone, so computing again changes nothing.
 */
function ropeLength(sequence: Sequence, position: number): number {
  return Math.max(sequence.promptTokens, position + 1);
}

function writeRow(
  words: Uint32Array,
  row: number,
  sequence: Sequence,
  position: number,
  frequencies: number,
): void {
  const page = sequence.pages[Math.floor(position / PAGE_TOKENS)]!;
  const known = sequence.ids[position];
  const at = row * ROW_WORDS;
  words[at] = known ?? FROM_SLOT + sequence.slot!;
  words[at + 1] = position;
  words[at + 2] = page * PAGE_TOKENS + (position % PAGE_TOKENS);
  words[at + 3] = frequencies;
}

/** `position` of the token to be drawn, which with the seed decides the random number. */
function writeChoice(
  view: DataView,
  index: number,
  sequence: Sequence,
  position: number,
  biasFirst: number,
): void {
  const { sampling } = sequence;
  const at = index * CHOICE_WORDS * 4;
  view.setFloat32(at, sampling.temperature, true);
  view.setFloat32(at + 4, sampling.topP, true);
  view.setFloat32(at + 8, sampling.minP, true);
  view.setUint32(at + 12, Math.max(sampling.topK, 0), true);
  view.setUint32(at + 16, sampling.seedLow, true);
  view.setUint32(at + 20, sampling.seedHigh, true);
  view.setUint32(at + 24, position, true);
  view.setUint32(at + 28, sequence.slot!, true);
  view.setUint32(at + 32, biasFirst, true);
  view.setUint32(at + 36, sampling.bias.length, true);
}
