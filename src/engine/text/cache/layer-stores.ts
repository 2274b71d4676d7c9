// State that the layers of a text model keep on the device between steps: KV pages, or a fixed state for each slot.

import type { Device } from '../../../gpu/device.ts';
import type { KvFormat, KvPages, LayerStore, PageTable, StateSlots } from '../../../kernels/batch.ts';
import type { LayerState } from '../../../models/text/architecture.ts';
import { allocateKv } from './kv-pages.ts';

export interface StoreSizes {
  /** Format of KV pages of layers that declare none. */
  format: KvFormat;
  pages: number;
  /** Table of the pages of a step. */
  table: PageTable;
  /** Number of sequences that each layer with fixed states has room for. */
  slots: number;
}

export class LayerStores {
  /** Stores, one for each declared layer. */
  readonly all: readonly LayerStore[];
  readonly #device: Device;

  constructor(device: Device, layers: readonly LayerState[], sizes: StoreSizes) {
    this.#device = device;
    this.all = layers.map((layer, i): LayerStore => {
      if (layer.kind === 'kv') return allocateKv(device, layer, `layer ${i}`, sizes);
      // The buffer may be larger, and the state of a slot is found by its share of the region.
      const size = 4 * layer.values * sizes.slots;
      const buffer = device.allocate('kv', `states of layer ${i}`, size);
      return { kind: 'slot', values: { buffer, offset: 0, size } };
    });
  }

  get pages(): KvPages[] {
    return this.all.filter((store) => store.kind === 'kv');
  }

  get slots(): StateSlots[] {
    return this.all.filter((store) => store.kind === 'slot');
  }

  /** Zeros in every byte, so that no kernel reads what is not a number. */
  clear(): void {
    const encoder = this.#device.gpu.createCommandEncoder();
    for (const buffer of this.#buffers()) encoder.clearBuffer(buffer);
    this.#device.gpu.queue.submit([encoder.finish()]);
  }

  free(): void {
    for (const buffer of this.#buffers()) this.#device.free(buffer);
  }

  #buffers(): GPUBuffer[] {
    return this.all.flatMap((store) =>
      store.kind === 'kv' ? [store.keys.buffer, store.values.buffer] : [store.values.buffer],
    );
  }
}

/** Bytes of the fixed states of one slot. */
export function slotBytes(layers: readonly LayerState[]): number {
  return layers.reduce((sum, layer) => sum + (layer.kind === 'slot' ? 4 * layer.values : 0), 0);
}
