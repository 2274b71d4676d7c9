// State that the layers of a text model keep on the device between steps: KV pages, or a fixed state for each slot.

import type { Device } from '../../../gpu/device.ts';
import { allocatedBytes, type Region } from '../../../gpu/tensor.ts';
import { fillZeros, wholeOf } from '../../../gpu/memory.ts';
import {
  TILE_ROWS,
  type KvFormat,
  type LayerStore,
  type PageTable,
  type StateSlots,
} from '../../../kernels/batch.ts';
import type { KvState, LayerState } from '../../../models/text/blocks/architecture.ts';
import type { LayerPlace, PageLayout } from './page-layout.ts';

export interface StoreSizes {
  /** Format of KV pages of layers that declare none. */
  format: KvFormat;
  layout: PageLayout;
  pages: number;
  /** Page tables of a step, one for each group of layers. */
  tables: readonly PageTable[];
  /** Number of sequences that each layer with fixed states has room for. */
  slots: number;
}

/** Buffers of one lane of the pages. */
interface Lane {
  keys: GPUBuffer;
  /** null: the keys are the values, too. */
  values: GPUBuffer | null;
  /** Bytes of a page in each of the two. */
  bytes: number;
}

/** Keys, or values, of one lane: page `p` begins at `p * bytes`. */
export interface PageBuffer {
  buffer: GPUBuffer;
  /** Bytes of a page. */
  bytes: number;
}

export class LayerStores {
  /** Stores, one for each declared layer. */
  readonly all: readonly LayerStore[];
  readonly #device: Device;
  readonly #lanes: readonly Lane[];

  constructor(device: Device, layers: readonly LayerState[], sizes: StoreSizes) {
    const { layout, pages } = sizes;
    this.#device = device;
    this.#lanes = layout.lanes.map((bytes, lane) => ({
      keys: device.allocate('kv', `keys of lane ${lane}`, pages * bytes),
      values: layout.keysOnly.has(lane)
        ? null
        : device.allocate('kv', `values of lane ${lane}`, pages * bytes),
      bytes,
    }));
    const all: LayerStore[] = [];
    layers.forEach((layer, i) => all.push(this.#storeOf(layer, i, all, sizes)));
    this.all = all;
  }

  #storeOf(layer: LayerState, i: number, before: readonly LayerStore[], sizes: StoreSizes): LayerStore {
    if (layer.kind === 'kv') return this.#kvStore(layer, sizes.layout.places[i]!, sizes);
    if (layer.kind === 'shared') return before[layer.layer]!;
    // The buffer may be larger, and the state of a slot is found by its share of the region.
    const size = 4 * layer.values * sizes.slots;
    const buffer = this.#device.allocate('kv', `states of layer ${i}`, size);
    return { kind: 'slot', values: { buffer, offset: 0, size } };
  }

  /** Buffers of the KV pages, keys and values of each lane. */
  get pageBuffers(): PageBuffer[] {
    return this.#lanes.flatMap(({ keys, values, bytes }) =>
      [keys, ...(values ? [values] : [])].map((buffer) => ({ buffer, bytes })),
    );
  }

  get slots(): StateSlots[] {
    return this.all.filter((store) => store.kind === 'slot');
  }

  /** Zeros in every byte, so that no kernel reads a value that is not a number. */
  clear(): void {
    fillZeros(this.#device, this.#buffers().map(wholeOf));
  }

  free(): void {
    for (const buffer of this.#buffers()) this.#device.free(buffer);
  }

  #kvStore(layer: KvState, { group, lane, offset }: LayerPlace, sizes: StoreSizes): LayerStore {
    const { keys, values } = this.#lanes[lane]!;
    const region = (buffer: GPUBuffer): Region => ({ buffer, offset, size: buffer.size - offset });
    return {
      kind: 'kv',
      format: layer.format ?? sizes.format,
      table: sizes.tables[group]!,
      keys: region(keys),
      values: values && region(values),
    };
  }

  #buffers(): GPUBuffer[] {
    return [
      ...this.pageBuffers.map(({ buffer }) => buffer),
      ...this.slots.map(({ values }) => values.buffer),
    ];
  }
}

/** Slots that the device has for up to so many sequences. */
export function roundedSlots(sequences: number): number {
  return Math.ceil(sequences / TILE_ROWS) * TILE_ROWS;
}

/** Bytes of the fixed states of one sequence. */
export function slotBytes(layers: readonly LayerState[]): number {
  return layers.reduce((sum, layer) => sum + (layer.kind === 'slot' ? 4 * layer.values : 0), 0);
}

/** Bytes that the device allocates for the fixed states of so many slots. */
export function stateBytes(layers: readonly LayerState[], slots: number): number {
  return layers.reduce(
    (sum, layer) => sum + (layer.kind === 'slot' ? allocatedBytes(4 * layer.values * slots) : 0),
    0,
  );
}
