// Writes a step's sequences into the step buffers: rows, rotary frequencies, the table of sequences, tiles and page tables. The one
// writer of text, embeddings and the text encoders of images.

import {
  FROM_INPUT,
  FROM_SLOT,
  NO_LORA,
  PAGE_TOKENS,
  PLANE_WORDS,
  POOL_WORDS,
  ROW_WORDS,
  SEQUENCE_WORDS,
  TILE_ROWS,
  TILE_WORDS,
  TOKEN_TYPE,
} from '../../../kernels/batch.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { ropeSets, ropeWords, type RopeSets } from '../../../models/text/blocks/rope.ts';
import type { StepBuffers, StepWords, UsedWords } from './step-buffers.ts';

export type StepSizes = {
  rows: number;
  sampled: number;
  tiles: number;
  /** Rows of the largest tile. */
  tileRows: number;
  /** Pages of the longest sequence. */
  contextPages: number;
  /** Pages of all sequences whose keys and values are expanded from latents; 0: rows see what pages hold. */
  expandedPages: number;
  sequences: number;
};

/** Part of a step that belongs to one sequence: consecutive tokens from `first` on. */
export interface BatchPart {
  /** Number of tokens that earlier steps computed. */
  first: number;
  rows: number;
  /** The known tokens of the sequence; a row beyond them and the draft takes the token last sampled in the slot. */
  ids: ArrayLike<number>;
  /** Types of the tokens, of models without rotary positions; left out: all are of the first type. */
  types?: ArrayLike<number> | undefined;
  /** Tokens that are assumed to follow the known ones; left out: none. */
  draft?: readonly number[] | undefined;
  /** Slot that holds the sequence's sampled tokens and fixed states. */
  slot: number;
  /** Page numbers by group of layers, then by position in the sequence. */
  tables: readonly (readonly number[])[];
  /** Number of pages of each group, from the first, that no row sees; left out: none. */
  passedPages?: readonly number[];
  /** Length of the sequence on which scaled rotary frequencies depend, by token. */
  lengthAt: (token: number) => number;
  /** Number of its LoRA; left out: none. */
  lora?: number | undefined;
  /** Runs of tokens whose rows are input embeddings; the first row is `input`. In order. */
  inputs?: readonly InputRun[];
  /** Runs of tokens that do not attend to themselves and all earlier tokens, in order. Each run lies within one step. */
  spans?: readonly TokenSpan[];
  /** What the first pages hold in place of tokens before `first`; left out: nothing. Positions are counted from the page behind them. */
  source?: SequenceSource | undefined;
  /** Rotary position (time, height, width) of a token; left out: all three are its index in the sequence. */
  place?: (token: number) => readonly [time: number, height: number, width: number];
}

/** A text that an encoder has read, whose keys and values are in the first pages of a sequence. */
export interface SequenceSource {
  tokens: number;
  pages: number;
}

/** Tokens of a sequence from `first` to `end` - 1. */
export interface TokenRun {
  first: number;
  end: number;
}

/** Tokens that see all tokens up to `last`. */
export interface TokenSpan extends TokenRun {
  /** -1: they see none. Left out: the last of the run itself, whose tokens see each other. */
  last?: number;
}

export interface InputRun extends TokenRun {
  /** Row of the batch's input embeddings for the run's first token. */
  input: number;
}

type WrittenModel = Pick<TextDeclaration, 'ropes' | 'inputs'>;

export class BatchWriter {
  readonly words: StepWords;
  readonly #buffers: StepBuffers;
  readonly #model: WrittenModel;
  readonly #rope: RopeSets;
  readonly #ropeWords: number;
  readonly #sizes: StepSizes = {
    rows: 0,
    sampled: 0,
    tiles: 0,
    tileRows: 0,
    contextPages: 0,
    expandedPages: 0,
    sequences: 0,
  };
  #pages = 0;
  #pooled = 0;
  #adapted = false;
  #expanded = false;
  #hasSources = false;
  #tileRows = TILE_ROWS;

  constructor(buffers: StepBuffers, model: WrittenModel) {
    this.#buffers = buffers;
    this.words = buffers.words;
    this.#model = model;
    this.#rope = ropeSets(model.ropes, buffers.words.turns);
    this.#ropeWords = ropeWords(model.ropes);
  }

  /** Number of rows written so far; the next sequence begins there. */
  get rows(): number {
    return this.#sizes.rows;
  }

  /** Number of rows so far whose token is sampled or whose state is read. */
  get sampled(): number {
    return this.#sizes.sampled;
  }

  /** `adapted`: whether any sequence has a LoRA. `tileRows`: the most rows of a tile. `expanded`: see StepSizes.expandedPages. */
  begin({ adapted = false, tileRows = TILE_ROWS, expanded = false } = {}): void {
    const sizes = this.#sizes;
    sizes.rows = sizes.sampled = sizes.tiles = sizes.tileRows = sizes.sequences = 0;
    sizes.contextPages = sizes.expandedPages = 0;
    this.#pages = this.#pooled = 0;
    this.#adapted = adapted;
    this.#expanded = expanded;
    this.#hasSources = false;
    this.#tileRows = tileRows;
    this.#rope.clear();
  }

  add(part: BatchPart): void {
    const { words } = this;
    const sizes = this.#sizes;
    const { first, rows, slot, lora = NO_LORA } = part;
    if (part.inputs && !this.#model.inputs.embeddings)
      throw new Error('the model takes no input embeddings, and the step has some');
    if (this.#adapted) words.adapters.fill(lora, sizes.rows, sizes.rows + rows);
    if (this.#buffers.readsSequences)
      words.sequences.set([sizes.rows, rows, first, slot], SEQUENCE_WORDS * sizes.sequences);
    const seen = this.#writeTiles(part);
    this.#writePages(part);
    this.#writeRows(part);
    sizes.contextPages = Math.max(sizes.contextPages, Math.ceil(seen / PAGE_TOKENS));
    sizes.sequences++;
  }

  /** Number of a slot that no sequence has, for sampled tokens that no row takes from there. */
  get spareSlot(): number {
    return this.#buffers.spareSlot;
  }

  /** Marks a row, by default the last one written: the token after it is sampled, or its state is read. */
  want(lora = NO_LORA, row = this.#sizes.rows - 1): void {
    const { words } = this;
    const sizes = this.#sizes;
    if (this.#adapted) words.sampledAdapters[sizes.sampled] = lora;
    words.wanted[sizes.sampled++] = row;
  }

  /** Marks `count` rows from row `first` on as one text whose states are averaged, or whose last row's logits are read. */
  pool(first: number, count: number): void {
    this.words.pooled.set([first, count], POOL_WORDS * this.#pooled++);
    this.words.wanted[this.#sizes.sampled++] = first + count - 1;
  }

  /** Uploads the written words, and those in `more`. */
  end(more: UsedWords = {}): StepSizes {
    const sizes = this.#sizes;
    const { rows, sampled, sequences } = sizes;
    if (this.#expanded) sizes.expandedPages = this.#pages;
    const used: UsedWords = {
      rows: rows * ROW_WORDS,
      turns: this.#rope.takeChanged() * this.#ropeWords,
      tiles: sizes.tiles * TILE_WORDS,
      sourceTiles: this.#hasSources ? sizes.tiles * TILE_WORDS : 0,
      wanted: sampled,
      pooled: this.#pooled * POOL_WORDS,
      planes: this.#model.inputs.positions === 3 ? rows * PLANE_WORDS : 0,
      sequences: this.#buffers.readsSequences ? sequences * SEQUENCE_WORDS : 0,
      adapters: this.#adapted ? rows : 0,
      sampledAdapters: this.#adapted ? sampled : 0,
      ...more,
    };
    this.words.tables.forEach((_, group) => {
      used[`pages ${group}`] = this.#pages;
      used[`places ${group}`] = rows;
    });
    this.#buffers.upload(used);
    return { ...sizes };
  }

  /** Writes the tiles, which end where a span begins or ends. Returns how many tokens of the sequence are visible. */
  #writeTiles({ first, rows, spans = [], source }: BatchPart): number {
    const { words } = this;
    const sizes = this.#sizes;
    const end = first + rows;
    const pages = this.#pages + (source?.pages ?? 0);
    const before = tokensBefore(source);
    // A tile whose rows see the first token alone has no form with several rows.
    const most = source?.tokens === 1 ? 1 : this.#tileRows;
    if (source) this.#hasSources = true;
    let seen = end;
    for (let token = first, span = 0; token < end;) {
      while (span < spans.length && spans[span]!.end <= token) span++;
      const next = spans[span];
      const isInside = next !== undefined && next.first <= token;
      const limit = isInside ? next.end : Math.min(end, next?.first ?? end);
      if (isInside && next.end > end)
        throw new Error(
          `a span of tokens must lie within one step, and that of tokens ${next.first} to ${next.end} ends at ${end}`,
        );
      const count = Math.min(most, limit - token);
      const row = sizes.rows + token - first;
      const at = TILE_WORDS * sizes.tiles++;
      words.tiles.set([row, count, pages, token - before, isInside ? (next.last ?? next.end - 1) : 0], at);
      if (source) words.sourceTiles.set([row, count, this.#pages, 0, source.tokens - 1], at);
      sizes.tileRows = Math.max(sizes.tileRows, count);
      seen = Math.max(seen, isInside ? next.end : 0, isInside ? (next.last ?? 0) + 1 : 0);
      token += count;
    }
    return seen;
  }

  #writePages({ first, rows, tables, passedPages }: BatchPart): void {
    const { words } = this;
    const sizes = this.#sizes;
    let count = 0;
    for (let group = 0; group < words.tables.length; group++) {
      const { pages, places, scale } = words.tables[group]!;
      // Pages behind those that rows see are not expanded.
      const table = this.#expanded
        ? tables[group]!.slice(0, Math.ceil((first + rows) / PAGE_TOKENS))
        : tables[group]!;
      const passed = passedPages?.[group] ?? 0;
      if (passed === 0 && scale === 1) pages.set(table, this.#pages);
      else for (let at = passed; at < table.length; at++) pages[this.#pages + at] = table[at]! * scale;
      count = Math.max(count, table.length);
      for (let i = 0; i < rows; i++) {
        const token = first + i;
        places[sizes.rows + i] =
          table[Math.floor(token / PAGE_TOKENS)]! * scale * PAGE_TOKENS + (token % PAGE_TOKENS);
      }
    }
    this.#pages += count;
  }

  #writeRows(part: BatchPart): void {
    const { words } = this;
    const [sizes, rope, model] = [this.#sizes, this.#rope, this.#model];
    const { first, rows, ids, types, draft, slot, lengthAt, inputs, place } = part;
    const before = tokensBefore(part.source);
    const hasPlanes = model.inputs.positions === 3;
    const hasRope = model.ropes.length > 0;
    for (let token = first; token < first + rows; token++) {
      const row = sizes.rows++;
      const at = row * ROW_WORDS;
      words.rows[at] =
        (inputs && inputOf(inputs, token)) ?? ids[token] ?? draft?.[token - ids.length] ?? FROM_SLOT + slot;
      words.rows[at + 1] = token - before;
      words.rows[at + 2] = (hasRope ? rope.of(lengthAt(token)) : 0) + (types?.[token] ?? 0) * TOKEN_TYPE;
      words.rows[at + 3] = sizes.sequences;
      if (hasPlanes) {
        const [time, height, width] = place?.(token) ?? [token, token, token];
        words.rows[at + 1] = time;
        words.planes.set([height, width], row * PLANE_WORDS);
      }
    }
  }
}

/** Tokens that the pages of a source have room for. */
const tokensBefore = (source: SequenceSource | undefined): number => (source?.pages ?? 0) * PAGE_TOKENS;

/** Returns the row source of a token that is an input embedding. */
function inputOf(runs: readonly InputRun[], token: number): number | undefined {
  const run = runs.find(({ first, end }) => first <= token && token < end);
  return run && FROM_INPUT + run.input + token - run.first;
}
