// The step's data on the device: one buffer, written once a step, in regions that the kernels bind (kernels/batch.ts).

import type { Device } from '../../../gpu/device.ts';
import { tensorBytes, type Region } from '../../../gpu/tensor.ts';
import {
  BIAS_WORDS,
  CHOICE_WORDS,
  COUNT_WORDS,
  ROW_WORDS,
  TILE_WORDS,
  type TextBatch,
} from '../../../kernels/batch.ts';

export interface StepCapacity {
  rows: number;
  tiles: number;
  /** Entries of all page tables together. */
  pages: number;
  sampled: number;
  biases: number;
  /** Tokens that penalties count, of all sequences together; left out: there are no penalties. */
  counts?: number;
  /** Sequences that can run at once. */
  slots: number;
  /** Dimensions of a head. */
  dims: number;
  /** Columns of the states to keep of sampled rows; left out: none are. */
  stateColumns?: number;
  /** Words to keep of where each row's experts are; left out: none are. */
  routeWords?: number;
}

export interface StepBuffers {
  batch: TextBatch;
  /** Words of each region, to be filled before `upload`. */
  words: {
    rows: Uint32Array;
    turns: Uint32Array;
    tiles: Uint32Array;
    pages: Uint32Array;
    wanted: Uint32Array;
    choices: DataView;
    biases: DataView;
    counts: Uint32Array;
    adapters: Uint32Array;
    sampledAdapters: Uint32Array;
  };
  /** Writes what the step uses of each region. */
  upload(used: {
    rows: number;
    frequencies: number;
    tiles: number;
    pages: number;
    sampled: number;
    biases: number;
    counts?: number;
    /** Whether adapters are told, too. */
    adapted?: boolean;
  }): void;
  destroy(): void;
}

const ALIGNMENT = 256;
/** Bytes between two regions that are written along with them: a second write costs more than copying so few. */
const MERGED_GAP = 2 ** 14;

export function createStepBuffers(device: Device, capacity: StepCapacity): StepBuffers {
  // Regions that every step writes come first and side by side, so that one write takes them all.
  const lengths = {
    rows: capacity.rows * ROW_WORDS,
    tiles: capacity.tiles * TILE_WORDS,
    wanted: capacity.sampled,
    choices: capacity.sampled * CHOICE_WORDS,
    pages: capacity.pages,
    turns: capacity.rows * capacity.dims,
    biases: Math.max(capacity.biases, 1) * BIAS_WORDS,
    counts: Math.max(capacity.counts ?? 0, 1) * COUNT_WORDS,
    adapters: capacity.rows,
    sampledAdapters: capacity.sampled,
  };
  const names = Object.keys(lengths) as (keyof typeof lengths)[];
  const offsets = {} as Record<keyof typeof lengths, number>;
  let bytes = 0;
  for (const name of names) {
    offsets[name] = bytes;
    bytes += Math.ceil((lengths[name] * 4) / ALIGNMENT) * ALIGNMENT;
  }
  const host = new ArrayBuffer(bytes);
  const buffer = device.allocate('step', 'step data', bytes);
  const results = device.allocate('step', 'sampled tokens', capacity.slots * 4);
  const ids = device.allocate('step', 'tokens of the step', capacity.sampled * 4);
  const { stateColumns, routeWords } = capacity;
  const states =
    stateColumns !== undefined &&
    device.allocate('step', 'states of the step', tensorBytes([capacity.sampled, stateColumns], {}));
  const routed =
    routeWords !== undefined &&
    device.allocate('step', 'experts of the step', 4 * capacity.rows * routeWords);
  // Kernels are compiled by running them on what stands here before the first step: it must mean something.
  const encoder = device.gpu.createCommandEncoder();
  const all = [buffer, results, ids, states, routed].filter((held) => held !== false);
  for (const held of all) encoder.clearBuffer(held);
  device.gpu.queue.submit([encoder.finish()]);
  const region = (name: keyof typeof lengths): Region => ({
    buffer,
    offset: offsets[name],
    size: lengths[name] * 4,
  });
  const whole = (held: GPUBuffer): Region => ({ buffer: held, offset: 0, size: held.size });
  const u32 = (name: keyof typeof lengths): Uint32Array =>
    new Uint32Array(host, offsets[name], lengths[name]);
  const view = (name: keyof typeof lengths): DataView => new DataView(host, offsets[name], lengths[name] * 4);

  return {
    batch: {
      rows: region('rows'),
      turns: region('turns'),
      tiles: region('tiles'),
      pages: region('pages'),
      wanted: region('wanted'),
      choices: region('choices'),
      biases: region('biases'),
      counts: region('counts'),
      adapters: { rows: region('adapters'), sampled: region('sampledAdapters') },
      sampled: whole(results),
      ids: whole(ids),
      ...(states && { states: whole(states) }),
      ...(routed && { routed: whole(routed) }),
    },
    words: {
      rows: u32('rows'),
      turns: u32('turns'),
      tiles: u32('tiles'),
      pages: u32('pages'),
      wanted: u32('wanted'),
      choices: view('choices'),
      biases: view('biases'),
      counts: u32('counts'),
      adapters: u32('adapters'),
      sampledAdapters: u32('sampledAdapters'),
    },
    upload(used) {
      const words = {
        rows: used.rows * ROW_WORDS,
        turns: used.frequencies * capacity.dims,
        tiles: used.tiles * TILE_WORDS,
        pages: used.pages,
        wanted: used.sampled,
        choices: used.sampled * CHOICE_WORDS,
        biases: used.biases * BIAS_WORDS,
        counts: (used.counts ?? 0) * COUNT_WORDS,
        adapters: used.adapted ? used.rows : 0,
        sampledAdapters: used.adapted ? used.sampled : 0,
      };
      let from = 0;
      let to = 0;
      const flush = (): void => {
        if (to > from) device.gpu.queue.writeBuffer(buffer, from, host, from, to - from);
      };
      for (const name of names) {
        if (words[name] > lengths[name])
          throw new Error(`${words[name]} words of ${name} exceed ${lengths[name]}`);
        if (words[name] === 0) continue;
        if (to === 0 || offsets[name] - to > MERGED_GAP) {
          flush();
          from = offsets[name];
        }
        to = offsets[name] + words[name] * 4;
      }
      flush();
    },
    destroy() {
      for (const held of all) device.free(held);
    },
  };
}
