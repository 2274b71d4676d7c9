// A draft model on the device of its target: its layers keep their states in the target's pages, at the places of the same tokens, so that pages are
// allocated, shared and released for both at once. A prefix that is found in the cache brings what the draft model knew of it. The state of its last
// token came with the token that followed there, which costs a guess at most.

import { wholeOf } from '../../../../gpu/memory.ts';
import type { Device } from '../../../../gpu/device.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import { paddedColumns, tensorBytes, type Region } from '../../../../gpu/tensor.ts';
import { TILE_ROWS, type LayerStore } from '../../../../kernels/batch.ts';
import type { DraftDeclaration, DraftPage } from '../../../../models/text/blocks/architecture.ts';
import { ropeWords } from '../../../../models/text/blocks/rope.ts';
import { BatchWriter, type StepSizes } from '../../step/batch-writer.ts';
import { Readback } from '../../step/readback.ts';
import type { DraftPart, DraftSizes, RunnerDrafts } from '../../step/runner-drafts.ts';
import { createStepBuffers, type StepBuffers } from '../../step/step-buffers.ts';
import {
  ordered,
  rowsOf,
  walkOf,
  writeGuessed,
  writeKnown,
  type DraftWalk,
  type OrderedPart,
} from './pass-rows.ts';
import { recordPass, type DraftPass, type PassInput, type PassRecipe } from './draft-tapes.ts';

export interface DraftParts {
  declaration: DraftDeclaration;
  page: DraftPage;
  /** Columns of the states that are taken of the target; 0: none. */
  takenColumns: number;
  offsets: PassRecipe['offsets'];
}

/** Capacities of the passes over few rows. */
const FEW = [1, 4, TILE_ROWS];

/** Most tokens that are guessed at once. */
const MOST_DRAFTS = 16;

export class DraftModel implements RunnerDrafts {
  readonly declaration: DraftDeclaration;
  readonly targets: Region | null;
  readonly #device: Device;
  readonly #parts: DraftParts;
  readonly #sizes: DraftSizes;
  readonly #walk: DraftWalk;
  readonly #buffers: StepBuffers;
  readonly #writer: BatchWriter;
  /** What was taken of the target for the rows of a pass. */
  readonly #given: Region | null;
  /** What a pass hands on to the next. */
  readonly #handed: Region | null;
  /** Guessed tokens: [guess][slots]. */
  readonly #guesses: Region;
  readonly #readback: Readback;
  #known: DraftPass[] = [];
  #guessed: DraftPass[] = [];

  constructor(device: Device, parts: DraftParts, sizes: DraftSizes) {
    const { declaration, takenColumns } = parts;
    const { slots, layout, contextPages } = sizes;
    const { ropes, positions, hidden } = declaration;
    this.declaration = declaration;
    this.#device = device;
    this.#parts = parts;
    this.#sizes = sizes;
    this.#walk = walkOf(declaration);
    const allocate = (label: string, bytes: number): Region => {
      return wholeOf(device.allocate('step', label, bytes));
    };
    const rowsFor = (rows: number, columns: number): number => tensorBytes([rows, columns], {});
    const takes = takenColumns > 0;
    this.targets = takes ? allocate('states for the draft model', rowsFor(sizes.rows, takenColumns)) : null;
    this.#given =
      takes && this.#walk !== 'still'
        ? allocate('states of known tokens', rowsFor(this.#mostRows, takenColumns))
        : null;
    this.#handed = takes ? allocate('states of guessed tokens', rowsFor(slots, hidden)) : null;
    this.#guesses = allocate('guessed tokens', 4 * slots * MOST_DRAFTS);
    this.#readback = new Readback(device, [this.#guesses]);
    const rows = this.#mostRows;
    this.#buffers = createStepBuffers(device, {
      ...{ rows, tiles: rows, pages: slots * contextPages, scales: layout.groups.map(({ scale }) => scale) },
      ...{ sampled: slots, slots, biases: 0, ropeWords: ropeWords(ropes) },
      model: { positions, attention: 'causal' },
    });
    const inputs = { embeddings: false, positions, attention: 'causal' } as const;
    this.#writer = new BatchWriter(this.#buffers, { ropes, inputs });
  }

  get #mostRows(): number {
    const { rows, slots } = this.#sizes;
    return { shifted: rows, whole: rows + slots, still: slots }[this.#walk];
  }

  get tapes(): Tape[] {
    return [...this.#known, ...this.#guessed].map(({ tape }) => tape);
  }

  record(stores: readonly LayerStore[]): void {
    this.forget();
    const { page, offsets, takenColumns } = this.#parts;
    const { slots, contextPages } = this.#sizes;
    const recipe = {
      page,
      offsets,
      slots,
      contextPages,
      batch: this.#buffers.batch,
      stores: this.#own(stores),
    };
    const record = (most: number, input: PassInput | null): DraftPass[] =>
      [...FEW.filter((few) => few < most), most].map((rows) => recordPass(this.#device, recipe, rows, input));
    const { hidden } = this.declaration;
    const handed = this.#handed && { region: this.#handed, columns: hidden, isTaken: false };
    const given = this.#given && { region: this.#given, columns: takenColumns, isTaken: true };
    this.#guessed = record(slots, handed);
    this.#known = this.#walk === 'still' ? [] : record(this.#mostRows, given);
    this.#device.arena.settle();
  }

  forget(): void {
    for (const tape of this.tapes) tape.destroy();
    this.#known = [];
    this.#guessed = [];
  }

  async propose(parts: readonly DraftPart[]): Promise<number[][]> {
    const walk = this.#walk;
    const all = ordered(parts, walk);
    // Without states of its own there is nothing to be told.
    const told = walk === 'still' ? all.filter(({ drafts }) => drafts > 0) : all;
    const rounds = told[0]?.drafts ?? 0;
    if (told.length === 0) return parts.map(() => []);
    if (rounds > MOST_DRAFTS)
      throw new Error(`at most ${MOST_DRAFTS} tokens are guessed at once, not ${rounds}`);
    this.#takeStates(told);
    const passes = walk === 'still' ? this.#guessed : this.#known;
    await this.#run(passes, told, 0, (isDecode) => writeKnown(this.#writer, told, walk, isDecode));
    for (let round = 1; round < rounds; round++) {
      const going = told.filter(({ drafts }) => drafts > round);
      await this.#run(this.#guessed, going, round, (isDecode) =>
        writeGuessed(this.#writer, going, walk, round, isDecode),
      );
    }
    const found = parts.map((): number[] => []);
    await this.#read(told, rounds, found);
    return found;
  }

  /** The draft model's layers, whose page tables are those of its own passes. */
  #own(stores: readonly LayerStore[]): LayerStore[] {
    const { layout, targetLayers } = this.#sizes;
    return this.declaration.layers.map((layer, i) => {
      const at = targetLayers + i;
      const store = stores[at]!;
      const place = layout.places[layer.kind === 'shared' ? layer.layer : at];
      if (store.kind !== 'kv' || !place) throw new Error(`layer ${i} of the draft model has no pages`);
      return { ...store, table: this.#buffers.tables[place.group]! };
    });
  }

  /** Copies the states of the told rows to where the first pass reads them. */
  #takeStates(told: readonly OrderedPart[]): void {
    const to = this.#given ?? this.#handed;
    if (!this.targets || !to) return;
    const rowBytes = 4 * paddedColumns(this.#parts.takenColumns);
    const encoder = this.#device.gpu.createCommandEncoder();
    let at = 0;
    for (const part of told) {
      const rows = rowsOf(part, this.#walk);
      const from = (part.row + part.rows - rows) * rowBytes;
      encoder.copyBufferToBuffer(this.targets.buffer, from, to.buffer, at * rowBytes, rows * rowBytes);
      at += rows;
    }
    this.#device.gpu.queue.submit([encoder.finish()]);
  }

  /** Replays the smallest pass that has room, and keeps what it guessed and what it hands on. */
  async #run(
    passes: readonly DraftPass[],
    told: readonly OrderedPart[],
    round: number,
    write: (isDecode: boolean) => StepSizes,
  ): Promise<void> {
    const walk = this.#walk;
    const rows = round > 0 ? told.length : told.reduce((sum, part) => sum + rowsOf(part, walk), 0);
    const wanted = told.filter(({ drafts }) => drafts > round).length;
    const pass = passes.find(
      ({ tape: { capacity } }) => capacity['rows']! >= rows && capacity['sampled']! >= wanted,
    );
    if (!pass) throw new Error(`a draft model computes at most ${this.#mostRows} rows at once, not ${rows}`);
    const sizes = write(pass.isDecode);
    const lasts = lastRows(told, round > 0 ? () => 1 : (part) => rowsOf(part, walk));
    await pass.tape.replay(
      { ...sizes, drawn: 0, cut: 0 },
      {
        last: (encoder) => {
          if (wanted === 0) return;
          const { buffer, offset } = this.#buffers.batch.ids;
          const to = 4 * round * this.#sizes.slots;
          encoder.copyBufferToBuffer(buffer, offset, this.#guesses.buffer, to, 4 * wanted);
          this.#handOn(encoder, pass, lasts.slice(0, wanted));
        },
      },
    );
  }

  /** Copies what a pass hands on, of these rows. */
  #handOn(encoder: GPUCommandEncoder, { tape, handed, handsAll }: DraftPass, rows: readonly number[]): void {
    if (!handed || !this.#handed) return;
    const { buffer, offset } = tape.region(handed);
    const rowBytes = 4 * handed.stride;
    rows.forEach((row, i) => {
      const from = offset + (handsAll ? row : i) * rowBytes;
      encoder.copyBufferToBuffer(buffer, from, this.#handed!.buffer, i * rowBytes, rowBytes);
    });
  }

  /** Puts the guesses of each part into `found`, by its number. */
  async #read(told: readonly OrderedPart[], rounds: number, found: number[][]): Promise<void> {
    const { slots } = this.#sizes;
    const { vocabulary } = this.declaration;
    const encoder = this.#device.gpu.createCommandEncoder();
    const read = this.#readback.copy(encoder, [4 * slots * rounds]);
    this.#device.gpu.queue.submit([encoder.finish()]);
    const [guesses] = await read();
    const error = this.#device.takeError();
    if (error !== null) throw error;
    told.forEach(({ index, drafts }, slot) => {
      const ids = Array.from({ length: drafts }, (_, round) => guesses![round * slots + slot]!);
      const bad = ids.findIndex((id) => id >= vocabulary); // logits that are no numbers
      found[index] = bad < 0 ? ids : ids.slice(0, bad);
    });
  }
}

/** The last row of each part. */
function lastRows(told: readonly OrderedPart[], rowsOfPart: (part: OrderedPart) => number): number[] {
  let end = 0;
  return told.map((part) => (end += rowsOfPart(part)) - 1);
}
