// A runner without a GPU. It reads what a step writes for the device, keeps the KV pages and the slots as the device would,
// and draws each token from a hash of what attention would see: a wrong page, position or slot changes the text.

import type { Device } from '../../../src/gpu/device.ts';
import {
  CHOICE_WORDS,
  FROM_SLOT,
  PAGE_TOKENS,
  ROW_WORDS,
  SEQUENCE_WORDS,
  TILE_WORDS,
} from '../../../src/kernels/batch.ts';
import { phaseOf, sampledRows } from '../../../src/engine/text/step/step-part.ts';
import type { SampledRow, StepPart } from '../../../src/engine/text/step/step-part.ts';
import type { SampledTokens, Launched } from '../../../src/engine/text/step/launch.ts';
import type { Runner } from '../../../src/engine/text/step/text-runner.ts';
import { maskWords } from '../../../src/kernels/logits-mask.ts';
import { NO_TOKEN_ALLOWED } from '../../../src/kernels/sample.ts';
import { PageLayout } from '../../../src/engine/text/kv/page-layout.ts';
import { BatchWriter, type StepSizes } from '../../../src/engine/text/step/batch-writer.ts';
import { writeStep } from '../../../src/engine/text/step/step.ts';
import type { StepBuffers } from '../../../src/engine/text/step/step-buffers.ts';
import { paperState, PaperStates, STATE_BYTES } from './paper-states.ts';

export const PAPER_VOCABULARY = 250;

export interface PaperRunner extends Runner {
  /** Parts of every step, in order. */
  readonly steps: { sequence: number; first: number; rows: number; samples: boolean }[][];
  /** Sizes of each step. */
  readonly sizes: StepSizes[];
  /** Number of steps that were never sampled. */
  dropped: number;
  /** Calls of `pageCleaner.restart`. */
  cleanerRestarts: number;
  /** Error that the next launches throw. */
  broken: Error | null;
}

export interface PaperOptions {
  pages: number;
  slots: number;
  rows: number;
  /** See SchedulerLimits, as for `copies`. */
  windows?: readonly (number | null)[];
  copies?: number;
  decodeRows?: number | null;
  /** Called before a step's tokens are returned. */
  pause?: () => Promise<void>;
}

/** A position with the group of layers that wrote it, and a token. */
const ENTRY_BYTES = 8;
const EMPTY = { position: 0xffffffff, token: 0 };
const GROUP = 2 ** 24;

/** Returns the token that follows a history. */
export function paperToken(history: readonly number[], seed: number): number {
  let hash = seed | 1;
  for (const token of history) hash = Math.imul(hash ^ token, 0x01000193) >>> 0;
  return (hash >>> 8) % PAPER_VOCABULARY;
}

/** Returns the first token from `token` on that a mask allows. */
export function paperChoice(token: number, mask: Uint32Array | null): number {
  for (let i = 0; i < PAPER_VOCABULARY; i++) {
    const next = (token + i) % PAPER_VOCABULARY;
    if (mask === null || (mask[next >> 5]! >>> (next & 31)) & 1) return next;
  }
  return NO_TOKEN_ALLOWED;
}

function maskOf(row: SampledRow): Uint32Array {
  const mask = new Uint32Array(maskWords(PAPER_VOCABULARY));
  row.writeMask(mask);
  return mask;
}

/** Returns the tokens that a sequence generates alone. */
export function paperTokens(prompt: readonly number[], count: number, seed: number): number[] {
  const history = [...prompt];
  for (let i = 0; i < count; i++) history.push(paperToken(history, seed));
  return history.slice(prompt.length);
}

export function createPaperRunner({
  pages,
  slots,
  rows,
  windows = [null],
  copies = 0,
  decodeRows = null,
  pause,
}: PaperOptions): PaperRunner {
  const states = copies > 0 ? new PaperStates() : null;
  const kv = new Map<number, { position: number; token: number }>();
  const last: number[] = [];
  const numbers = new Map<object, number>();
  const numberOf = (sequence: object): number => {
    if (!numbers.has(sequence)) numbers.set(sequence, numbers.size);
    return numbers.get(sequence)!;
  };
  let queue = Promise.resolve();

  const readPage = (page: number): Uint32Array<ArrayBuffer> =>
    Uint32Array.from(
      Array.from({ length: PAGE_TOKENS }, (_, i) => kv.get(page * PAGE_TOKENS + i) ?? EMPTY).flatMap(
        ({ position, token }) => [position, token],
      ),
    );
  const writePage = (page: number, words: Uint32Array): void => {
    for (let i = 0; i < PAGE_TOKENS; i++)
      kv.set(page * PAGE_TOKENS + i, { position: words[2 * i]!, token: words[2 * i + 1]! });
  };

  const launch = (parts: readonly StepPart[], { sampleLater = false } = {}): Launched => {
    const { broken } = runner;
    if (broken) return { submitted: null, sample: () => Promise.reject(broken), drop: () => {} };
    const buffers = hostBuffers(rows, pages, slots, windows.length);
    const phases = new Set(parts.map(phaseOf));
    if (decodeRows !== null && phases.size > 1) throw new Error('a step of both phases');
    const phase = decodeRows === null ? null : phaseOf(parts[0]!);
    const sizes = writeStep(new BatchWriter(buffers, MODEL), { parts, phase });
    runner.sizes.push(sizes);
    runner.steps.push(
      parts.map(({ sequence, first, rows, samples }) => ({
        sequence: numberOf(sequence),
        first,
        rows,
        samples,
      })),
    );
    const step = compute({ words: buffers.words, sizes, kv, last, windows, states });
    const masked = parts.flatMap(sampledRows).filter(({ needsMask }) => needsMask);
    const sample = (): Promise<SampledTokens> => {
      const ids = step(masked.map(maskOf));
      const done = queue.then(() => pause?.());
      queue = done.then(() => {});
      return done.then(() => ({ ids, logprobs: new Uint32Array(0) }));
    };
    if (sampleLater) return { submitted: null, sample, drop: () => void runner.dropped++ };
    const sampled = sample();
    return { submitted: null, sample: () => sampled, drop: () => {} };
  };

  const runner: PaperRunner = {
    device: { isLost: false, loss: async () => null } as unknown as Device,
    tune: () => Promise.resolve([]),
    pages,
    rows,
    decodeRows,
    sampledRows: Math.max(slots, 16),
    contextLength: pages * PAGE_TOKENS,
    parameters: 0,
    weightFormats: [],
    ...{ streaming: [], drafts: null, expansion: null },
    steps: [],
    sizes: [],
    dropped: 0,
    broken: null,
    warmUp: () => Promise.resolve(),
    mostRows: () => rows,
    warmLater: () => Promise.resolve(),
    pageCleaner: { ahead: () => {}, clear: () => {}, restart: () => void runner.cleanerRestarts++ },
    cleanerRestarts: 0,
    towers: null,
    sources: null,
    expertSlots: { metrics: null },
    checkProcessor: () => Promise.resolve(),
    layout: new PageLayout(
      { groups: windows.map((window) => ({ window, scale: 1 })), lanes: [16 * ENTRY_BYTES], places: [] },
      rows,
    ),
    pageBytes: PAGE_TOKENS * ENTRY_BYTES,
    copies,
    copyBytes: copies > 0 ? STATE_BYTES : 0,
    stateBytes: 0,
    kvFormat: 'f32',
    movePages({ copies: pageCopies, loads, states: moves }) {
      states?.move(moves);
      for (const { from, to } of pageCopies) writePage(to, readPage(from));
      for (const { page, bytes } of loads) writePage(page, new Uint32Array(bytes.slice().buffer));
    },
    readPages: (asked) => {
      const bytes = asked.map((page) => new Uint8Array(readPage(page).buffer));
      return queue.then(() => bytes);
    },
    readStates: (asked) => {
      const bytes = asked.map((copy) => states!.bytesOf({ copy }));
      return queue.then(() => bytes);
    },
    launcher: { launch },
  };
  return runner;
}

const MODEL = { ropes: [], inputs: { embeddings: false, positions: 1, attention: 'causal' } } as const;

function hostBuffers(rows: number, pages: number, slots: number, groups: number): StepBuffers {
  const u32 = (words: number) => new Uint32Array(new ArrayBuffer(words * 4));
  const sampled = Math.max(slots, 16);
  const view = (words: number) => new DataView(new ArrayBuffer(words * 4));
  return {
    batch: {} as StepBuffers['batch'],
    tables: [],
    readsSequences: true,
    spareSlot: slots,
    words: {
      rows: u32(rows * ROW_WORDS),
      planes: u32(0),
      turns: u32(0),
      ...{ tiles: u32(rows * TILE_WORDS), sourceTiles: u32(0) },
      sequences: u32(slots * SEQUENCE_WORDS),
      pooled: u32(0),
      wanted: u32(sampled),
      choices: view(sampled * CHOICE_WORDS),
      biases: view(sampled * 64),
      counts: u32(sampled * 64),
      adapters: u32(rows),
      sampledAdapters: u32(sampled),
      // A table has entries for pages that were given back, too.
      tables: Array.from({ length: groups }, () => ({
        pages: u32(8 * pages * slots),
        places: u32(rows),
        scale: 1,
      })),
    },
    upload: () => {},
    destroy: () => {},
  };
}

interface PaperStep {
  words: StepBuffers['words'];
  sizes: StepSizes;
  kv: Map<number, { position: number; token: number }>;
  last: number[];
  windows: readonly (number | null)[];
  states: PaperStates | null;
}

function compute(paper: PaperStep): (masks: Uint32Array[]) => Uint32Array {
  const { words, sizes, kv, last, windows, states } = paper;
  const row = (index: number) => {
    const [source, position] = words.rows.subarray(index * ROW_WORDS, index * ROW_WORDS + 2);
    const token = source! >= FROM_SLOT ? last[source! - FROM_SLOT]! : source!;
    return { token, position: position! };
  };
  const tableOf = new Map<number, number>();
  for (let tile = 0; tile < sizes.tiles; tile++) {
    const [first, count, table] = words.tiles.subarray(tile * TILE_WORDS, tile * TILE_WORDS + 3);
    for (let i = first!; i < first! + count!; i++) tableOf.set(i, table!);
  }
  // All rows are written before any attends, so no two may share a place.
  const written = new Set<number>();
  for (let i = 0; i < sizes.rows; i++) {
    const { token, position } = row(i);
    for (const [group, { places }] of words.tables.entries()) {
      const place = places[i]!;
      if (written.has(place)) throw new Error(`place ${place} is written twice in a step`);
      written.add(place);
      kv.set(place, { position: position + GROUP * group, token });
    }
  }
  const stateAt = states?.advance(
    words.sequences.subarray(0, sizes.sequences * SEQUENCE_WORDS),
    (index) => row(index).token,
  );
  // Samples when the masks are available; a choice contains the index of its mask.
  return (masks) =>
    Uint32Array.from({ length: sizes.sampled }, (_, i) => {
      const index = words.wanted[i]!;
      const seen = windows.map((window, group) => {
        const end = row(index).position + 1;
        const first = window === null ? 0 : Math.max(0, end - window);
        return Array.from({ length: end - first }, (_, at) => {
          const position = first + at;
          const table = tableOf.get(index)! + Math.floor(position / PAGE_TOKENS);
          const page = words.tables[group]!.pages[table]!;
          const entry = kv.get(page * PAGE_TOKENS + (position % PAGE_TOKENS));
          if (entry?.position !== position + GROUP * group)
            throw new Error(
              `position ${position} of page ${page} in group ${group} holds ${entry?.position}`,
            );
          return entry.token;
        });
      });
      const history = seen[0]!;
      for (const tokens of seen)
        if (!tokens.every((token, at) => token === history[history.length - tokens.length + at]))
          throw new Error('groups of layers hold different tokens');
      if (stateAt && windows.includes(null) && stateAt[index] !== paperState(history))
        throw new Error(`the state after position ${row(index).position} is that of other tokens`);
      const choice = (offset: number): number => words.choices.getUint32(i * CHOICE_WORDS * 4 + offset, true);
      const mask = choice(64);
      const token = paperChoice(paperToken(history, choice(16)), mask === 0 ? null : masks[mask - 1]!);
      last[choice(28)] = token;
      return token;
    });
}
