// Rows of media on the device: results of towers, which prompts copy into their steps. The least recently used ones leave when the cache is
// full, except those that running requests still need.

import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';
import type { Medium } from './medium.ts';

export interface MediaRows {
  /** Embeddings [rows, hidden padded], then those of each deep layer. */
  blocks: readonly Region[];
}

interface Kept extends MediaRows {
  buffers: GPUBuffer[];
  bytes: number;
}

export class RowCache {
  readonly #device: Device;
  readonly #most: number;
  /** In the order of use: the least recently used entry first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** `most`: bytes that the cache takes, unless running requests need more. */
  constructor(device: Device, most: number) {
    this.#device = device;
    this.#most = most;
  }

  readonly has = ({ key }: Medium): boolean => this.#kept.has(key);

  /** The rows of a medium, which are then the ones used last. */
  take({ key }: Medium): MediaRows {
    const kept = this.#kept.get(key)!;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  /** Allocates the rows of a medium. `isNeeded`: whether a running request needs those of a key. Throws out_of_memory. */
  async allocate(
    blocks: number,
    blockBytes: number,
    isNeeded: (key: string) => boolean,
  ): Promise<{ rows: MediaRows; keep: (key: string) => void; free: () => void }> {
    const device = this.#device;
    const bytes = blocks * blockBytes;
    for (const [key, kept] of this.#kept) {
      if (this.#bytes + bytes <= this.#most) break;
      if (!isNeeded(key)) this.#drop(key, kept);
    }
    await device.reserve(device.memoryUsed + bytes);
    const buffers: GPUBuffer[] = [];
    const free = (): void => buffers.forEach((buffer) => device.free(buffer));
    try {
      for (let i = 0; i < blocks; i++) buffers.push(device.allocate('step', 'rows of a medium', blockBytes));
    } catch (error) {
      free();
      throw error;
    }
    const regions = buffers.map((buffer) => ({ buffer, offset: 0, size: blockBytes }));
    const keep = (key: string): void => {
      this.#kept.set(key, { blocks: regions, buffers, bytes });
      this.#bytes += bytes;
    };
    return { rows: { blocks: regions }, keep, free };
  }

  /** Frees all rows. */
  clear(): void {
    for (const [key, kept] of this.#kept) this.#drop(key, kept);
  }

  #drop(key: string, { buffers, bytes }: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= bytes;
    for (const buffer of buffers) this.#device.free(buffer);
  }
}
