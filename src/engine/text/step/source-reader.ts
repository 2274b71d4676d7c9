// Reads the sources of sequences by the model's encoder, between steps: several texts at a time, whose keys and values go to the first pages of their
// sequences. The encoder's own keys and values are in pages that every layer uses anew.

import type { Device } from '../../../gpu/device.ts';
import { Tape } from '../../../gpu/tape.ts';
import { paddedColumns } from '../../../gpu/tensor.ts';
import { TILE_ROWS, type KvFormat, type KvPages, type LayerStore } from '../../../kernels/batch.ts';
import type {
  SourceDeclaration,
  SourceForward,
  TextDeclaration,
} from '../../../models/text/blocks/architecture.ts';
import { ropeWords } from '../../../models/text/blocks/rope.ts';
import { LayerStores } from '../kv/layer-stores.ts';
import { wholeLayout } from '../kv/page-layout.ts';
import { pagesFor } from '../kv/pages.ts';
import { BatchWriter } from './batch-writer.ts';
import { createStepBuffers, type StepBuffers } from './step-buffers.ts';
import type { SourceText } from './step-part.ts';

/** A source and the pages of its sequence. */
export interface PlacedSource {
  readonly source: SourceText;
  readonly tables: readonly (readonly number[])[];
}

type SourceModel = Pick<TextDeclaration, 'widest'> & { source: SourceDeclaration };

/** Rows of the smaller tape. */
const FEW_ROWS = 4 * TILE_ROWS;

const INPUTS = { embeddings: false, positions: 1, attention: 'whole' } as const;

/** The most tokens of a source: those of the model, if the adapter binds the widest intermediate of so many rows. */
export function mostSourceTokens({ capabilities }: Pick<Device, 'capabilities'>, model: SourceModel): number {
  const rows = Math.floor(capabilities.bindingLimit / (4 * paddedColumns(model.widest)));
  return Math.min(model.source.tokens, rows - (rows % TILE_ROWS));
}

export class SourceReader {
  /** Limit on the tokens of a source, and of those that are read together. */
  readonly tokens: number;
  readonly #device: Device;
  readonly #read: SourceForward;
  readonly #texts: number;
  readonly #pages: number;
  readonly #buffers: StepBuffers;
  readonly #writer: BatchWriter;
  readonly #own: LayerStores;
  /** By capacity, the smallest first. */
  #tapes: Tape[] = [];

  /** `texts`: most sources that are read together. */
  constructor(
    device: Device,
    model: SourceModel,
    read: SourceForward,
    { texts, format }: { texts: number; format: KvFormat },
  ) {
    this.tokens = mostSourceTokens(device, model);
    this.#device = device;
    this.#read = read;
    this.#texts = texts;
    this.#pages = pagesFor(this.tokens) + texts;
    const { layers } = model.source;
    this.#buffers = createStepBuffers(device, {
      ...{ rows: this.#rows, tiles: this.#tilesOf(this.#rows), pages: this.#pages },
      // The encoder's pages, and those of the sequences.
      scales: [1, 1],
      ...{ sampled: 1, biases: 0, slots: 1, ropeWords: ropeWords([]), model: INPUTS },
    });
    this.#writer = new BatchWriter(this.#buffers, { ropes: [], inputs: INPUTS });
    const layout = wholeLayout(layers, format);
    const [table] = this.#buffers.tables;
    this.#own = new LayerStores(device, layers, {
      format,
      layout,
      pages: this.#pages,
      tables: [table!],
      slots: 1,
    });
    this.#own.clear();
  }

  get tapes(): readonly Tape[] {
    return this.#tapes;
  }

  /** Records the encoder, which writes to the stores of the model's layers. */
  record(stores: readonly LayerStore[]): void {
    const table = this.#buffers.tables[1]!;
    const written = stores.map((store): KvPages => {
      if (store.kind !== 'kv')
        throw new Error(`a source's keys and values are in pages, not in a ${store.kind}`);
      return { ...store, table };
    });
    const capacities = [...new Set([Math.min(FEW_ROWS, this.#rows), this.#rows])];
    this.#tapes = capacities.map((rows) => {
      const tiles = { tiles: this.#tilesOf(rows), tileRows: TILE_ROWS };
      const capacity = { rows, ...tiles, sampled: 0, sequences: this.#texts, contextPages: pagesFor(rows) };
      const tape = new Tape(this.#device, capacity);
      tape.keep(this.#read(tape, this.#buffers.batch, this.#own.all, written));
      tape.finish();
      return tape;
    });
  }

  forget(): void {
    this.#tapes.forEach((tape) => tape.destroy());
    this.#tapes = [];
  }

  /** Submits the encoder over sources, which together have no more tokens than one may have. The promise: until then nothing else may be submitted; null: no wait. */
  read(placed: readonly PlacedSource[]): Promise<void> | null {
    const writer = this.#writer;
    let pages = 0;
    writer.begin();
    for (const { source, tables } of placed) {
      const { ids } = source;
      const rows = ids.length;
      const own = Array.from({ length: pagesFor(rows) }, () => pages++);
      const places = [own, tables[0]!.slice(0, source.pages)];
      const span = { first: 0, end: rows };
      writer.add({ first: 0, rows, ids, slot: 0, tables: places, spans: [span], lengthAt: () => rows });
    }
    const sizes = { ...writer.end(), sampled: 0 };
    const tape = this.#tapes.find(({ capacity }) => capacity['rows']! >= sizes.rows)!;
    const options = { submitEvery: 1 };
    if (tape.waits) return tape.replay(sizes, options);
    tape.run(sizes, options);
    return null;
  }

  get #rows(): number {
    return Math.ceil(this.tokens / TILE_ROWS) * TILE_ROWS;
  }

  #tilesOf(rows: number): number {
    return Math.ceil(rows / TILE_ROWS) + this.#texts;
  }
}
