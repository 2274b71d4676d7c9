// Fixed states of sequences on the device: each running sequence has those of its slot. Copies of them are snapshots, which a
// sequence can go back to.

import type { Device } from '../../../gpu/device.ts';
import type { StateSlots } from '../../../kernels/batch.ts';

/** Copies of one slot's states. */
export interface StateSnapshot {
  readonly buffer: GPUBuffer;
}

export class SlotStates {
  readonly #device: Device;
  readonly #layers: readonly { buffer: GPUBuffer; bytes: number; first: number }[];
  /** Bytes of one slot in all layers. */
  readonly bytes: number;

  /** `slots`: states that each layer has room for. */
  constructor(device: Device, stores: readonly StateSlots[], slots: number) {
    this.#device = device;
    let first = 0;
    this.#layers = stores.map(({ values }) => {
      const layer = { buffer: values.buffer, bytes: values.size / slots, first };
      first += layer.bytes;
      return layer;
    });
    this.bytes = first;
  }

  /** The states of a slot after the steps submitted so far. */
  snapshot(slot: number): StateSnapshot {
    const buffer = this.#device.allocate('kv', 'snapshot of a sequence', this.bytes);
    const encoder = this.#device.gpu.createCommandEncoder();
    for (const { buffer: source, bytes, first } of this.#layers)
      encoder.copyBufferToBuffer(source, slot * bytes, buffer, first, bytes);
    this.#device.gpu.queue.submit([encoder.finish()]);
    return { buffer };
  }

  /** Puts a snapshot into a slot, which may be another one, ahead of the steps submitted later. */
  restore({ buffer: source }: StateSnapshot, slot: number): void {
    const encoder = this.#device.gpu.createCommandEncoder();
    for (const { buffer, bytes, first } of this.#layers)
      encoder.copyBufferToBuffer(source, first, buffer, slot * bytes, bytes);
    this.#device.gpu.queue.submit([encoder.finish()]);
  }

  discard({ buffer }: StateSnapshot): void {
    this.#device.free(buffer);
  }
}
