// The rows of a draft model's passes, written into its step buffers.

import { CHOICE_WORDS, PAGE_TOKENS, ROW_WORDS, TILE_ROWS } from '../../../../kernels/batch.ts';
import type { DraftDeclaration } from '../../../../models/text/blocks/architecture.ts';
import type { BatchPart, BatchWriter, StepSizes } from '../../step/batch-writer.ts';
import type { DraftPart } from '../../step/runner-drafts.ts';

/** A part with its place among those that are told together. */
export interface OrderedPart extends DraftPart {
  /** Number among all parts, as they were given. */
  index: number;
  /** Whether the pages have room for the token behind those that have states. */
  hasRoom: boolean;
}

/** How a draft model walks along a text. */
export type DraftWalk = 'shifted' | 'whole' | 'still';

/** `shifted`: a row for the state of each token and the token behind it. `whole`: a row for each token. `still`: one row, whose place all guesses keep. */
export function walkOf({ taken, layers }: Pick<DraftDeclaration, 'taken' | 'layers'>): DraftWalk {
  if (taken === null) return 'whole';
  return layers.every(({ kind }) => kind === 'shared') ? 'still' : 'shifted';
}

/** Place of the last known row of a part; guesses follow it. */
export function lastPlace({ first, rows }: Pick<DraftPart, 'first' | 'rows'>, walk: DraftWalk): number {
  return walk === 'whole' ? first + rows : first + rows - 1;
}

/** The parts that guess most come first; each guesses as many tokens as its pages have room for. */
export function ordered(parts: readonly DraftPart[], walk: DraftWalk): OrderedPart[] {
  const told = parts.map((part, index): OrderedPart => {
    const room = PAGE_TOKENS * Math.min(...part.tables.map((table) => table.length)) - lastPlace(part, walk);
    const drafts = walk === 'still' ? part.drafts : Math.max(0, Math.min(part.drafts, room));
    return { ...part, drafts, index, hasRoom: room > 0 };
  });
  return told.toSorted((a, b) => b.drafts - a.drafts);
}

/** Rows of a part's first pass. A token without room is told with those after it. */
export function rowsOf({ rows, hasRoom }: Pick<OrderedPart, 'rows' | 'hasRoom'>, walk: DraftWalk): number {
  return walk === 'whole' ? rows + Number(hasRoom) : walk === 'still' ? 1 : rows;
}

/** Writes the rows of what is known, and wants the last of each part that guesses. */
export function writeKnown(
  writer: BatchWriter,
  parts: readonly OrderedPart[],
  walk: DraftWalk,
  isDecode: boolean,
): StepSizes {
  return write(writer, parts, isDecode, (part, slot) => {
    const rows = rowsOf(part, walk);
    const first = walk === 'still' ? lastPlace(part, walk) : part.first;
    const ids: Record<number, number> & { length: number } = { length: first + rows };
    const ahead = walk === 'whole' ? 0 : 1;
    for (let token = first; token < first + rows; token++) ids[token] = part.ids[token + ahead]!;
    add(writer, part, walk, { first, rows, ids, slot });
  });
}

/** Writes the rows of the tokens that were guessed last, `guessed` of each part. */
export function writeGuessed(
  writer: BatchWriter,
  parts: readonly OrderedPart[],
  walk: DraftWalk,
  guessed: number,
  isDecode: boolean,
): StepSizes {
  return write(writer, parts, isDecode, (part, slot) => {
    const first = lastPlace(part, walk) + (walk === 'still' ? 0 : guessed);
    add(writer, part, walk, { first, rows: 1, ids: [], slot });
  });
}

function add(
  writer: BatchWriter,
  { tables, passedPages, lengthAt, place }: DraftPart,
  walk: DraftWalk,
  own: Pick<BatchPart, 'first' | 'rows' | 'ids' | 'slot'>,
): void {
  const row = writer.rows;
  writer.add({ ...own, tables, lengthAt, ...(passedPages && { passedPages }), ...(place && { place }) });
  // It sees the tokens that have states, and is rotated as the one behind them.
  if (walk === 'still') writer.words.rows[row * ROW_WORDS + 1]! += 1;
}

function write(
  writer: BatchWriter,
  parts: readonly OrderedPart[],
  isDecode: boolean,
  each: (part: OrderedPart, slot: number) => void,
): StepSizes {
  writer.begin({ tileRows: isDecode ? 1 : TILE_ROWS });
  parts.forEach((part, slot) => {
    each(part, slot);
    if (part.drafts === 0) return;
    writeGreedy(writer.words.choices, writer.sampled, slot);
    writer.want();
  });
  return writer.end({ choices: writer.sampled * CHOICE_WORDS });
}

/** The largest logit, and nothing that changes logits. */
function writeGreedy(view: DataView, index: number, slot: number): void {
  const at = index * CHOICE_WORDS * 4;
  for (let word = 0; word < CHOICE_WORDS; word++) view.setUint32(at + 4 * word, 0, true);
  view.setFloat32(at + 4, 1, true); // top-p
  view.setUint32(at + 28, slot, true);
  view.setFloat32(at + 48, 1, true); // repetition penalty
}
