// Writes a planned step into the step buffers: rows, rotary frequencies, tiles, page tables, and what is sampled how.

import {
  CHOICE_WORDS,
  FROM_SLOT,
  NO_ADAPTER,
  PAGE_TOKENS,
  ROW_WORDS,
  TILE_ROWS,
  TILE_WORDS,
} from '../../kernels/batch.ts';
import type { RopeSets } from '../../models/rope.ts';
import type { Part } from './scheduler.ts';
import { hasMask } from './constrained.ts';
import type { Sequence, TokenBias } from './sequence.ts';
import type { StepBuffers } from './step-buffers.ts';

export type StepSizes = {
  rows: number;
  sampled: number;
  tiles: number;
  /** Rows of the largest tile. */
  tileRows: number;
};

/** Fills and uploads; `rope` writes into the buffers' `turns`. */
export function writeStep(
  buffers: StepBuffers,
  parts: readonly Part[],
  rope: RopeSets,
  processorId: (source: string) => number = () => 0,
): StepSizes {
  const { words } = buffers;
  let rows = 0;
  let tiles = 0;
  let pages = 0;
  let sampled = 0;
  let biases = 0;
  let counts = 0;
  let masks = 0;
  let tileRows = 0;
  const isAdapted = parts.some(({ sequence }) => sequence.adapter !== null);
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
    if (isAdapted) words.adapters.fill(sequence.adapter?.number ?? NO_ADAPTER, rows, rows + part.rows);
    for (let i = 0; i < part.rows; i++, rows++) {
      const position = part.first + i;
      writeRow(words.rows, rows, sequence, position, rope.of(ropeLength(sequence, position)));
    }
    if (part.samples) {
      words.wanted[sampled] = rows - 1;
      const position = part.first + part.rows;
      const bias = biasAt(sequence, position);
      const counted = [...(sequence.counts ?? [])];
      // A processor's kernel looks them up.
      if (sequence.processor !== null) counted.sort(([a], [b]) => a - b);
      const processor = sequence.processor === null ? 0 : processorId(sequence.processor);
      const mask = hasMask(sequence) ? ++masks : 0;
      writeChoice(words.choices, sampled++, sequence, { position, biases, bias, counts, mask, processor });
      for (const [token, value] of bias) {
        words.biases.setUint32(8 * biases, token, true);
        words.biases.setFloat32(8 * biases++ + 4, value, true);
      }
      for (const entry of counted) words.counts.set(entry, 2 * counts++);
    }
  }
  const adapters = isAdapted ? rows : 0;
  buffers.upload({ rows, frequencies: rope.count, tiles, pages, sampled, biases, counts, adapters });
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

/** Where a constraint masks tokens, its mask holds back the end tokens, too. */
function biasAt(
  { sampling, constraint, minTokens, promptTokens }: Sequence,
  position: number,
): readonly TokenBias[] {
  return constraint === null && position - promptTokens < minTokens ? sampling.biasBelowMin : sampling.bias;
}

interface Place {
  /** Of the token to be drawn, which with the seed decides the random number. */
  position: number;
  bias: readonly TokenBias[];
  /** Where its biases and counts begin. */
  biases: number;
  counts: number;
  /** Row of the masks, from 1; 0: none. */
  mask: number;
  /** 0: none. */
  processor: number;
}

function writeChoice(view: DataView, index: number, sequence: Sequence, place: Place): void {
  const { sampling, counts, ids, slot } = sequence;
  const at = index * CHOICE_WORDS * 4;
  view.setFloat32(at, sampling.temperature, true);
  view.setFloat32(at + 4, sampling.topP, true);
  view.setFloat32(at + 8, sampling.minP, true);
  view.setUint32(at + 12, Math.max(sampling.topK, 0), true);
  view.setUint32(at + 16, sampling.seedLow, true);
  view.setUint32(at + 20, sampling.seedHigh, true);
  view.setUint32(at + 24, place.position, true);
  view.setUint32(at + 28, slot!, true);
  view.setUint32(at + 32, place.biases, true);
  view.setUint32(at + 36, place.bias.length, true);
  view.setFloat32(at + 40, sampling.frequencyPenalty, true);
  view.setFloat32(at + 44, sampling.presencePenalty, true);
  view.setFloat32(at + 48, sampling.repetitionPenalty, true);
  view.setUint32(at + 52, place.counts, true);
  view.setUint32(at + 56, counts?.size ?? 0, true);
  // The last token may still be on its way back: the device knows it.
  view.setUint32(at + 60, Number(counts !== null && ids.length < place.position), true);
  view.setUint32(at + 64, place.mask, true);
  view.setUint32(at + 68, sampling.logprobs === null ? 0 : sampling.logprobs + 1, true);
  view.setUint32(at + 72, place.processor, true);
}
