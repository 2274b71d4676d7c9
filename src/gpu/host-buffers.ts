// Weights of a device that lie beside it: in buffers in host memory, or in a file, from which they pass through host memory. Tapes bring
// both into the arena for the dispatches that bind them.

import { say } from '../files/message.ts';
import { bytesText } from '../files/bytes-text.ts';
import { MemoryError } from '../files/error.ts';
import type { MemoryRemedies } from './memory.ts';
import { allocatedBytes } from './tensor.ts';

/** Bytes in a file. */
export interface StoredBytes {
  /** Fills `target` from `offset` on. */
  readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void>;
}

const UPLOAD = 0x2 | 0x4; // MAP_WRITE | COPY_SRC
const UNUSED = 0x8; // COPY_DST
/** Share of the budget up to which bytes of files may wait in host memory. */
const STAGING_SHARE = 1 / 4;

export class HostBuffers {
  /** Bytes of host memory that weights may take. */
  budget: number;
  readonly #gpu: GPUDevice;
  readonly #remedy: MemoryRemedies['host'];
  readonly #copies = new Set<GPUBuffer>();
  /** Bytes by the buffer that stands for them; null: they are not in the file yet. */
  readonly #stored = new Map<GPUBuffer, StoredBytes | null>();
  /** Bytes that tapes need to read files. One tape runs at a time. */
  readonly #staging = new Map<object, number>();
  #bytes = 0;
  #peak = 0;

  constructor(gpu: GPUDevice, budget = Infinity, remedy: MemoryRemedies['host']) {
    this.#gpu = gpu;
    this.budget = budget;
    this.#remedy = remedy;
  }

  /** Bytes of copies in host memory, and of the staging for those in files. */
  get bytes(): number {
    return this.#bytes + Math.max(0, ...this.#staging.values());
  }

  /** Bytes that further copies may take if some weights are in files, and the most that these may take for staging. */
  get room(): { copies: number; staging: number } {
    const staging = STAGING_SHARE * this.budget;
    return { copies: this.budget - staging - this.#bytes, staging };
  }

  /** Returns the peak of `bytes` since the last call. */
  takePeak(): number {
    const peak = this.#peak;
    this.#peak = this.bytes;
    return peak;
  }

  /** Allocates a buffer from which the device copies. The CPU fills it by mapping it. Throws out_of_memory. */
  allocate(label: string, bytes: number): GPUBuffer {
    const size = allocatedBytes(bytes);
    const free = this.budget - this.#bytes;
    if (size > free)
      throw new MemoryError(
        say`${label} needs ${bytesText(size)} of host memory, of which ${bytesText(Math.max(0, Math.floor(free)))} are free for weights`,
        this.#remedy,
      );
    const buffer = this.#gpu.createBuffer({ label, size, usage: UPLOAD });
    this.#copies.add(buffer);
    this.#bytes += size;
    this.#count();
    return buffer;
  }

  /** Returns a buffer that stands for bytes in a file: it holds none itself. */
  store(label: string): GPUBuffer {
    const buffer = this.#gpu.createBuffer({ label, size: 4, usage: UNUSED });
    this.#stored.set(buffer, null);
    return buffer;
  }

  /** Sets where the bytes are that a buffer stands for. */
  storedAt(buffer: GPUBuffer, bytes: StoredBytes): void {
    this.#stored.set(buffer, bytes);
  }

  /** Whether a buffer lies in host memory. */
  has(buffer: GPUBuffer): boolean {
    return this.#copies.has(buffer);
  }

  /** Whether a buffer stands for bytes in a file. */
  isStored(buffer: GPUBuffer): boolean {
    return this.#stored.has(buffer);
  }

  /** Returns the bytes that a buffer stands for. */
  stored(buffer: GPUBuffer): StoredBytes {
    const stored = this.#stored.get(buffer);
    if (!stored) throw new Error(`the bytes of ${buffer.label} are in no file`);
    return stored;
  }

  /** Counts bytes that a tape needs to read files while it exists; 0: it needs none any more. */
  stage(tape: object, bytes: number): void {
    if (bytes > 0) this.#staging.set(tape, bytes);
    else this.#staging.delete(tape);
    this.#count();
  }

  owns(buffer: GPUBuffer): boolean {
    return this.#copies.has(buffer) || this.#stored.has(buffer);
  }

  free(buffer: GPUBuffer): void {
    if (this.#copies.delete(buffer)) this.#bytes -= buffer.size;
    else if (!this.#stored.delete(buffer)) return;
    buffer.destroy();
  }

  #count(): void {
    this.#peak = Math.max(this.#peak, this.bytes);
  }
}
