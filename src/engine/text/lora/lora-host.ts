// LoRAs on a runner's device: their factors, and when these may change. Kernels bind other buffers after a change, so tapes
// with LoRAs are recorded again; a step that has not been sampled yet keeps the factors it was computed with.

import type { LoraFile } from '../../../files/checkpoint/lora.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { LoraStore } from '../../weights/adapt.ts';
import type { Lora, LoraHost } from './loras.ts';

export class DeviceLoras implements LoraHost {
  readonly store: LoraStore;
  /** Called after a change, in the same tick. */
  changed: () => void = () => {};
  readonly #device: Device;
  readonly #holds = new Set<Promise<void>>();

  constructor(device: Device, matrices: readonly Matrix[]) {
    this.#device = device;
    this.store = new LoraStore(device, matrices);
  }

  /** Blocks changes until the returned function is called. */
  hold(): () => void {
    let release!: () => void;
    const holding = new Promise<void>((resolve) => (release = resolve));
    this.#holds.add(holding);
    return () => {
      this.#holds.delete(holding);
      release();
    };
  }

  /** With `unread` the file's values are not read, for planning. */
  async add(lora: Lora, file: LoraFile, { unread = false }: { unread?: boolean } = {}): Promise<void> {
    const { commit } = await this.store.prepare(lora, file, { unread });
    await this.#free();
    commit();
    try {
      this.changed();
    } catch (error) {
      this.store.remove(lora);
      this.changed();
      throw error;
    }
  }

  async remove(lora: Lora): Promise<void> {
    await this.#free();
    this.store.remove(lora);
    this.changed();
  }

  async #free(): Promise<void> {
    while (this.#holds.size > 0) {
      const lost = await Promise.race([this.#device.lost, ...this.#holds]);
      if (lost !== undefined) this.#holds.clear();
    }
  }
}
