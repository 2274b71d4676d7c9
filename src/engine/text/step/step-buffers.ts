// The step's data on the device: one buffer, written once a step, in regions that the kernels bind (kernels/batch.ts).

import type { Device } from '../../../gpu/device.ts';
import { paddedColumns, tensorBytes, type Region } from '../../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../../gpu/memory.ts';
import {
  BIAS_WORDS,
  CHOICE_WORDS,
  COUNT_WORDS,
  PLANE_WORDS,
  POOL_WORDS,
  ROW_WORDS,
  SEQUENCE_WORDS,
  TILE_WORDS,
  type TextBatch,
} from '../../../kernels/batch.ts';
import type { TextInputs } from '../../../models/text/blocks/architecture.ts';

export interface StepCapacity {
  rows: number;
  tiles: number;
  /** Entries of all page tables of one group of layers. */
  pages: number;
  /** Scale of the page numbers of each group of layers, each with its own page tables; left out: one group with scale 1. */
  scales?: readonly number[];
  /** Entries of the table of sequences; left out: no kernel reads the table. */
  sequences?: number;
  /** Whether sequences have sources; left out: they have none. */
  sources?: boolean;
  /** Limit on pooled texts; left out: no pooling. */
  pooled?: number;
  /** Rows and columns of the buffer of input embeddings, and layers that have such a buffer of their own; left out: there is none. */
  inputs?: { rows: number; columns: number; deep?: number };
  sampled: number;
  biases: number;
  /** Limit on the tokens counted by penalties, over all sequences; default: no penalties. */
  counts?: number;
  /** Limit on the sequences that run at once. */
  slots: number;
  /** 32-bit words of one set of rotary frequencies. */
  ropeWords: number;
  /** Inputs that the model declares. */
  model: Pick<TextInputs, 'positions' | 'attention' | 'added'>;
  /** Columns of the hidden states that are recorded for sampled rows; left out: none. */
  stateColumns?: number;
  /** Words of the routed experts that are recorded for each row; left out: none. */
  routeWords?: number;
}

/** Regions of 32-bit words; page tables exist per group of layers. */
type Name =
  | 'rows'
  | 'planes'
  | 'turns'
  | 'tiles'
  | 'sourceTiles'
  | 'sequences'
  | 'pooled'
  | 'wanted'
  | 'choices'
  | 'biases'
  | 'counts'
  | 'adapters'
  | 'sampledAdapters';
type RegionName = Name | `pages ${number}` | `places ${number}`;

/** Number of words used in each region; a region that is left out is not written. */
export type UsedWords = Partial<Record<RegionName, number>>;

export interface StepWords extends Record<Exclude<Name, 'choices' | 'biases'>, Uint32Array<ArrayBuffer>> {
  choices: DataView<ArrayBuffer>;
  biases: DataView<ArrayBuffer>;
  /** Page tables by group of layers. Kernels find page `p` of the pool under the number `p * scale`. */
  tables: { pages: Uint32Array<ArrayBuffer>; places: Uint32Array<ArrayBuffer>; scale: number }[];
}

export type StepBuffers = ReturnType<typeof createStepBuffers>;

const ALIGNMENT = 256;
/** Gaps of up to this many bytes between two regions are written along with them, because a second write costs more. */
const MERGED_GAP = 2 ** 14;

/** Returns the sizes of all regions. Regions that every step writes come first and are adjacent, so that one write covers them. */
function wordsOf(capacity: StepCapacity): Map<RegionName, number> {
  const { rows, sampled, scales = [1], model } = capacity;
  const eachGroup = (name: 'pages' | 'places', words: number): [RegionName, number][] =>
    scales.map((_, group) => [`${name} ${group}`, words]);
  return new Map<RegionName, number>([
    ['rows', rows * ROW_WORDS],
    ...eachGroup('places', rows),
    ['tiles', capacity.tiles * TILE_WORDS],
    ['wanted', sampled],
    ['sourceTiles', capacity.sources ? capacity.tiles * TILE_WORDS : 1],
    ['sequences', (capacity.sequences ?? 1) * SEQUENCE_WORDS],
    ['choices', sampled * CHOICE_WORDS],
    ...eachGroup('pages', capacity.pages),
    ['planes', model.positions === 3 ? rows * PLANE_WORDS : 1],
    ['turns', Math.max(1, rows * capacity.ropeWords)],
    ['pooled', (capacity.pooled ?? 1) * POOL_WORDS],
    ['biases', Math.max(capacity.biases, 1) * BIAS_WORDS],
    ['counts', Math.max(capacity.counts ?? 0, 1) * COUNT_WORDS],
    ['adapters', rows],
    ['sampledAdapters', sampled],
  ]);
}

/** Regions of one buffer, and their words in host memory. */
function layOut(device: Device, lengths: ReadonlyMap<RegionName, number>) {
  const offsets = new Map<RegionName, number>();
  let bytes = 0;
  for (const [name, words] of lengths) {
    offsets.set(name, bytes);
    bytes += Math.ceil((words * 4) / ALIGNMENT) * ALIGNMENT;
  }
  const host = new ArrayBuffer(bytes);
  const buffer = device.allocate('step', 'step data', bytes);
  return {
    buffer,
    host,
    region: (name: RegionName): Region => ({
      buffer,
      offset: offsets.get(name)!,
      size: lengths.get(name)! * 4,
    }),
    u32: (name: RegionName) => new Uint32Array(host, offsets.get(name), lengths.get(name)),
    view: (name: RegionName) => new DataView(host, offsets.get(name), lengths.get(name)! * 4),
    /** Writes the words that the step uses of each region. */
    upload(used: UsedWords): void {
      let from = 0;
      let to = 0;
      const flush = (): void => {
        if (to > from) device.gpu.queue.writeBuffer(buffer, from, host, from, to - from);
      };
      for (const [name, most] of lengths) {
        const words = used[name] ?? 0;
        if (words > most) throw new Error(`a step may use at most ${most} words of ${name}, not ${words}`);
        if (words === 0) continue;
        const offset = offsets.get(name)!;
        if (to === 0 || offset - to > MERGED_GAP) {
          flush();
          from = offset;
        }
        to = offset + words * 4;
      }
      flush();
    },
  };
}

function stepWords({ u32, view }: ReturnType<typeof layOut>, scales: readonly number[]): StepWords {
  return {
    rows: u32('rows'),
    planes: u32('planes'),
    turns: u32('turns'),
    tiles: u32('tiles'),
    sourceTiles: u32('sourceTiles'),
    sequences: u32('sequences'),
    pooled: u32('pooled'),
    wanted: u32('wanted'),
    choices: view('choices'),
    biases: view('biases'),
    counts: u32('counts'),
    adapters: u32('adapters'),
    sampledAdapters: u32('sampledAdapters'),
    tables: scales.map((scale, group) => ({
      pages: u32(`pages ${group}`),
      places: u32(`places ${group}`),
      scale,
    })),
  };
}

/** Buffers beside the one that steps write: what they compute, and embeddings that are given. null: kernels do not use it. */
function allocateOthers(device: Device, capacity: StepCapacity) {
  const { inputs, stateColumns, routeWords, sampled, rows, slots } = capacity;
  const allocate = (label: string, bytes: number): GPUBuffer => device.allocate('step', label, bytes);
  const inputBytes = inputs ? 4 * inputs.rows * paddedColumns(inputs.columns) : 0;
  return {
    results: allocate('sampled tokens', (slots + 1) * 4),
    ids: allocate('tokens of the step', sampled * 4),
    states:
      stateColumns === undefined
        ? null
        : allocate('states of the step', tensorBytes([sampled, stateColumns], {})),
    routed: routeWords === undefined ? null : allocate('experts of the step', 4 * rows * routeWords),
    embeddings: inputs ? allocate('input embeddings', inputBytes) : null,
    deep: Array.from({ length: inputs?.deep ?? 0 }, () => allocate('deep input embeddings', inputBytes)),
  };
}

/** The regions that kernels bind. */
function batchOf(
  { model, sources }: StepCapacity,
  { region }: ReturnType<typeof layOut>,
  { results, ids, states, routed, embeddings, deep }: ReturnType<typeof allocateOthers>,
): TextBatch {
  return {
    rows: region('rows'),
    turns: region('turns'),
    tiles: region('tiles'),
    spans: model.attention !== 'causal',
    sequences: region('sequences'),
    pooled: region('pooled'),
    wanted: region('wanted'),
    choices: region('choices'),
    biases: region('biases'),
    counts: region('counts'),
    adapters: { rows: region('adapters'), sampled: region('sampledAdapters') },
    sampled: wholeOf(results),
    ids: wholeOf(ids),
    ...(sources && { sourceTiles: region('sourceTiles') }),
    ...(model.positions === 3 && { planes: region('planes') }),
    ...(embeddings && { [model.added ? 'added' : 'inputs']: wholeOf(embeddings) }),
    ...(deep.length > 0 && { deepInputs: deep.map(wholeOf) }),
    ...(states && { states: wholeOf(states) }),
    ...(routed && { routed: wholeOf(routed) }),
  };
}

export function createStepBuffers(device: Device, capacity: StepCapacity) {
  const { scales = [1] } = capacity;
  const layout = layOut(device, wordsOf(capacity));
  const others = allocateOthers(device, capacity);
  const all = [layout.buffer, ...Object.values(others).flat()].filter((buffer) => buffer !== null);
  fillZeros(device, all.map(wholeOf)); // a step may read entries that it has not written
  return {
    batch: batchOf(capacity, layout, others),
    /** Page tables, one for each group of layers. */
    tables: scales.map((_, group) => ({
      pages: layout.region(`pages ${group}`),
      places: layout.region(`places ${group}`),
    })),
    /** A slot of sampled tokens that no sequence has. */
    spareSlot: capacity.slots,
    /** Whether some kernel reads the table of sequences. */
    readsSequences: capacity.sequences !== undefined,
    /** The words to fill before `upload`. */
    words: stepWords(layout, scales),
    upload: layout.upload,
    destroy(): void {
      for (const buffer of all) device.free(buffer);
    },
  };
}
