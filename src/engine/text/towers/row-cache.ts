// Rows of media on the device: results of towers, which prompts copy into their steps. The least recently used ones leave when the cache is
// full or something else needs the memory, except those that running requests still need.

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
  /** Bytes that the cache takes, unless running requests need more. */
  most = 0;
  readonly #device: Device;
  readonly #isNeeded: (key: string) => boolean;
  /** In the order of use: the least recently used entry first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** `isNeeded`: whether a running request needs the rows of a key. */
  constructor(device: Device, isNeeded: (key: string) => boolean) {
    this.#device = device;
    this.#isNeeded = isNeeded;
    device.reliefs.add(() => this.#dropWhile(() => true));
  }

  readonly has = ({ key }: Medium): boolean => this.#kept.has(key);

  /** The rows of a medium, which are then the ones used last. */
  take({ key }: Medium): MediaRows {
    const kept = this.#kept.get(key)!;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  /** Keys of the rows that are needed. */
  get needed(): string[] {
    return [...this.#kept.keys()].filter(this.#isNeeded);
  }

  /** Allocates the rows of a medium. Throws out_of_memory. */
  async allocate(
    blocks: number,
    blockBytes: number,
  ): Promise<{ rows: MediaRows; keep: (key: string) => void; free: () => void }> {
    const device = this.#device;
    const bytes = blocks * blockBytes;
    this.#dropWhile(() => this.#bytes + bytes > this.most);
    await device.reserve(device.memoryUsed + bytes);
    const buffers: GPUBuffer[] = [];
    const free = (): void => buffers.forEach((buffer) => device.free(buffer));
    try {
      await device.secure(() => {
        for (let i = 0; i < blocks; i++)
          buffers.push(device.allocate('step', 'rows of a medium', blockBytes));
      });
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

  /** Drops rows that are not needed, as long as there is a reason. */
  #dropWhile(isReason: () => boolean): void {
    for (const [key, kept] of this.#kept) {
      if (!isReason()) break;
      if (!this.#isNeeded(key)) this.#drop(key, kept);
    }
  }

  #drop(key: string, { buffers, bytes }: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= bytes;
    for (const buffer of buffers) this.#device.free(buffer);
  }
}
