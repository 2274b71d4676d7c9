// Writes a planned step into the step buffers: rows, rotary frequencies, tiles, page tables, and what is sampled how.

import { EngineError } from '../../../files/error.ts';
import {
  CHOICE_WORDS,
  COUNT_WORDS,
  FROM_SLOT,
  NO_ADAPTER,
  PAGE_TOKENS,
  ROW_WORDS,
  TILE_ROWS,
  TILE_WORDS,
} from '../../../kernels/batch.ts';
import type { RopeSets } from '../../../models/text/rope.ts';
import type { Part } from '../step-plan.ts';
import type { Sequence, TokenBias } from '../sequence.ts';
import type { StepBuffers } from './step-buffers.ts';

export type StepSizes = {
  rows: number;
  sampled: number;
  tiles: number;
  /** Rows of the largest tile. */
  tileRows: number;
  /** Of the longest sequence. */
  contextPages: number;
};

/** How much of each region is written. */
interface Written extends StepSizes {
  pages: number;
  biases: number;
  /** Pairs. */
  counts: number;
  masks: number;
}

/** Fills and uploads; `rope` writes into the buffers' `turns`. */
export function writeStep(
  { words, upload }: StepBuffers,
  parts: readonly Part[],
  rope: RopeSets,
  processorId: (source: string) => number = () => 0,
): StepSizes {
  const at: Written = {
    rows: 0,
    sampled: 0,
    tiles: 0,
    tileRows: 0,
    contextPages: 0,
    pages: 0,
    biases: 0,
    counts: 0,
    masks: 0,
  };
  const adapted = parts.some(({ sequence }) => sequence.request.adapter !== null);
  rope.clear();
  for (const part of parts) {
    const { sequence, first, rows } = part;
    if (adapted) words.adapters.fill(adapterOf(sequence), at.rows, at.rows + rows);
    writeTiles(words, part, at);
    for (let position = first; position < first + rows; position++)
      writeRow(words.rows, at.rows++, sequence, position, rope.of(ropeLength(sequence, position)));
    if (adapted && part.samples) words.sampledAdapters[at.sampled] = adapterOf(sequence);
    if (part.samples) writeSampled(words, part, at, processorId);
  }
  upload({ ...at, frequencies: rope.takeChanged(), adapted });
  const { rows, sampled, tiles, tileRows, contextPages } = at;
  return { rows, sampled, tiles, tileRows, contextPages };
}

export function adapterOf({ request: { adapter } }: Sequence): number {
  return adapter?.number ?? NO_ADAPTER;
}

function writeTiles(words: StepBuffers['words'], { sequence, first, rows }: Part, at: Written): void {
  for (let row = 0; row < rows; row += TILE_ROWS) {
    const count = Math.min(TILE_ROWS, rows - row);
    words.tiles.set([at.rows + row, count, at.pages, 0], TILE_WORDS * at.tiles++);
    at.tileRows = Math.max(at.tileRows, count);
  }
  const { pages } = sequence.placement;
  words.pages.set(pages, at.pages);
  at.pages += pages.length;
  at.contextPages = Math.max(at.contextPages, Math.ceil((first + rows) / PAGE_TOKENS));
}

/** How the token after the part's last row is drawn. */
function writeSampled(
  words: StepBuffers['words'],
  { sequence, first, rows }: Part,
  at: Written,
  processorId: (source: string) => number,
): void {
  const position = first + rows;
  const { processor } = sequence.request;
  const bias = biasAt(sequence, position);
  const pairs = countedPairs(sequence, words.counts.length - at.counts * COUNT_WORDS);
  words.wanted[at.sampled] = at.rows - 1;
  writeChoice(words.choices, at.sampled++, sequence, {
    position,
    bias,
    biases: at.biases,
    counts: at.counts,
    counted: pairs.length / COUNT_WORDS,
    mask: sequence.needsMask ? ++at.masks : 0,
    processor: processor === null ? 0 : processorId(processor),
  });
  for (const [token, value] of bias) {
    words.biases.setUint32(8 * at.biases, token, true);
    words.biases.setFloat32(8 * at.biases++ + 4, value, true);
  }
  words.counts.set(pairs, at.counts * COUNT_WORDS);
  at.counts += pairs.length / COUNT_WORDS;
}

const NO_PAIRS = new Uint32Array(0);

/** Choices that say the same share their pages, but not what is counted of them: one for which there is no room left ends. */
function countedPairs(sequence: Sequence, room: number): Uint32Array {
  const pairs = sequence.progress.counts?.pairs ?? NO_PAIRS;
  if (pairs.length <= room) return pairs;
  sequence.fail(
    new EngineError(
      'out_of_memory',
      `of the tokens that penalties count there are more than the step holds (${pairs.length / COUNT_WORDS} of this choice): ask for fewer choices, or leave penalties out`,
    ),
  );
  return NO_PAIRS;
}

/**
 * The length that scaled rotations go by: the prompt's own for its tokens, then one more with each, as transformers'
 * generate does. It is a property of the position alone, so computing again changes nothing.
 */
function ropeLength(sequence: Sequence, position: number): number {
  return Math.max(sequence.progress.promptTokens, position + 1);
}

function writeRow(
  words: Uint32Array,
  row: number,
  sequence: Sequence,
  position: number,
  frequencies: number,
): void {
  const page = sequence.placement.pages[Math.floor(position / PAGE_TOKENS)]!;
  const known = sequence.progress.ids[position];
  const at = row * ROW_WORDS;
  words[at] = known ?? FROM_SLOT + sequence.placement.slot!;
  words[at + 1] = position;
  words[at + 2] = page * PAGE_TOKENS + (position % PAGE_TOKENS);
  words[at + 3] = frequencies;
}

/** Where a constraint masks tokens, its mask holds back the end tokens, too. */
function biasAt(sequence: Sequence, position: number): readonly TokenBias[] {
  const { sampling, minTokens } = sequence.request;
  const isBelowMin = position - sequence.progress.promptTokens < minTokens;
  return !sequence.isConstrained && isBelowMin ? sampling.biasBelowMin : sampling.bias;
}

interface Place {
  /** Of the token to be drawn, which with the seed decides the random number. */
  position: number;
  bias: readonly TokenBias[];
  /** Where its biases and counts begin. */
  biases: number;
  counts: number;
  counted: number;
  /** Row of the masks, from 1; 0: none. */
  mask: number;
  /** 0: none. */
  processor: number;
}

function writeChoice(view: DataView, index: number, sequence: Sequence, place: Place): void {
  const { sampling } = sequence.request;
  const { counts, ids } = sequence.progress;
  const at = index * CHOICE_WORDS * 4;
  view.setFloat32(at, sampling.temperature, true);
  view.setFloat32(at + 4, sampling.topP, true);
  view.setFloat32(at + 8, sampling.minP, true);
  view.setUint32(at + 12, Math.max(sampling.topK, 0), true);
  view.setUint32(at + 16, sampling.seedLow, true);
  view.setUint32(at + 20, sampling.seedHigh, true);
  view.setUint32(at + 24, place.position, true);
  view.setUint32(at + 28, sequence.placement.slot!, true);
  view.setUint32(at + 32, place.biases, true);
  view.setUint32(at + 36, place.bias.length, true);
  view.setFloat32(at + 40, sampling.frequencyPenalty, true);
  view.setFloat32(at + 44, sampling.presencePenalty, true);
  view.setFloat32(at + 48, sampling.repetitionPenalty, true);
  view.setUint32(at + 52, place.counts, true);
  view.setUint32(at + 56, place.counted, true);
  // The last token may still be on its way back: the device knows it.
  view.setUint32(at + 60, Number(counts !== null && ids.length < place.position), true);
  view.setUint32(at + 64, place.mask, true);
  view.setUint32(at + 68, sampling.logprobs === null ? 0 : sampling.logprobs + 1, true);
  view.setUint32(at + 72, place.processor, true);
}
