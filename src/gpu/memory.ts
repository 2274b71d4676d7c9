// Memory of a device. WebGPU cannot say how much is free, so a budget limits what is allocated: a buffer beyond it is refused with an
// error that names the budget and a remedy, which the caller that opened the device states.

import { type Message, say } from '../files/message.ts';
import { bytesText } from '../files/bytes-text.ts';
import { MemoryError, type EngineError } from '../files/error.ts';
import { allocatedBytes, type Region } from './tensor.ts';

export type MemoryKind = 'weights' | 'kv' | 'arena' | 'step';

/** The last part of an out_of_memory error: what a user can do about it, in words that follow a colon. */
export interface MemoryRemedies {
  /** An allocation exceeds the budget. */
  budget: Message;
  /** An allocation exceeds the adapter's largest buffer. */
  buffer: Message;
  /** Weights exceed the host's memory. */
  host: Message;
  /** The device has less memory than the budget: of that it held so many bytes. */
  device(bytes: number): Message;
}

/** Remedies in the terms of this room. */
export const PLAIN_REMEDIES: MemoryRemedies = {
  budget: say`free some of it, or open the device with a larger budget`,
  buffer: say`divide it`,
  host: say`free some of it`,
  device: (bytes) => say`open the device with a budget of ${bytesText(bytes)}`,
};

/** Bytes at one time, and those of weights among them. */
export interface MemoryPeak {
  readonly bytes: number;
  readonly weights: number;
}

export interface MemorySettings {
  /** Bytes for everything on the device. */
  memoryBudget: number;
  /** Whether `reserve` may raise the budget by trying to allocate. */
  mayGrow?: boolean;
  /** Default: PLAIN_REMEDIES. */
  remedies?: MemoryRemedies;
  /** Called, some time after the allocation, where the device had no room for a buffer within the budget. */
  onFailure?: (error: EngineError) => void;
}

const STORAGE = 0x80 | 0x8 | 0x4; // STORAGE | COPY_DST | COPY_SRC
const TRIAL_BYTES = 2 ** 30;

export class DeviceMemory {
  /** Whether `reserve` may raise the budget by trying to allocate. */
  readonly mayGrow: boolean;
  readonly #gpu: GPUDevice;
  readonly #remedies: MemoryRemedies;
  readonly #onFailure: (error: EngineError) => void;
  readonly #allocated = new Map<GPUBuffer, MemoryKind>();
  readonly #totals: Record<MemoryKind, number> = { weights: 0, kv: 0, arena: 0, step: 0 };
  /** Outcomes of the allocations that a call of `secure` makes; null outside of one. */
  #secured: Promise<EngineError | null>[] | null = null;
  #budget: number;
  #peak = 0;
  #highest: MemoryPeak = { bytes: 0, weights: 0 };

  constructor(
    gpu: GPUDevice,
    { memoryBudget, mayGrow = false, remedies = PLAIN_REMEDIES, onFailure = () => {} }: MemorySettings,
  ) {
    this.#gpu = gpu;
    this.#remedies = remedies;
    this.#onFailure = onFailure;
    this.#budget = memoryBudget;
    this.mayGrow = mayGrow;
  }

  get budget(): number {
    return this.#budget;
  }

  get used(): number {
    return Object.values(this.#totals).reduce((sum, bytes) => sum + bytes, 0);
  }

  totals(): Readonly<Record<MemoryKind, number>> {
    return { ...this.#totals };
  }

  /** Returns the peak of allocated bytes since the last call. */
  takePeak(): number {
    const peak = this.#peak;
    this.#peak = this.used;
    return peak;
  }

  /** Most bytes that were ever allocated at one time. */
  get highest(): MemoryPeak {
    return this.#highest;
  }

  /** Allocates a storage buffer of at least `bytes`. Throws out_of_memory beyond the budget or the adapter's largest buffer. */
  allocate(kind: MemoryKind, label: string, bytes: number): GPUBuffer {
    const size = allocatedBytes(bytes);
    this.#expectRoom(label, size);
    this.#gpu.pushErrorScope('out-of-memory');
    const buffer = this.#gpu.createBuffer({ label, size, usage: STORAGE });
    const failed = this.#failureOf(label, size, this.used, this.#gpu.popErrorScope());
    if (this.#secured) this.#secured.push(failed);
    else void failed.then((error) => error && this.#onFailure(error));
    this.#allocated.set(buffer, kind);
    this.#totals[kind] += size;
    const { used } = this;
    this.#peak = Math.max(this.#peak, used);
    if (used > this.#highest.bytes) this.#highest = { bytes: used, weights: this.#totals.weights };
    return buffer;
  }

  /**
   * Runs `allocate`, which must not wait for anything, and waits until the device has what it allocated. Throws out_of_memory where the
   * device has no room for it: such a failure is not passed to `onFailure`.
   */
  async secure<T>(allocate: () => T): Promise<T> {
    const outcomes: Promise<EngineError | null>[] = (this.#secured = []);
    let value: T;
    try {
      value = allocate();
    } finally {
      this.#secured = null;
    }
    const failed = (await Promise.all(outcomes)).find((error) => error !== null);
    if (failed) throw failed;
    return value;
  }

  /** Resolves with an error where the device had no room for a buffer beside the bytes in use, and with null where it is lost. */
  async #failureOf(
    label: string,
    size: number,
    used: number,
    scope: Promise<GPUError | null>,
  ): Promise<EngineError | null> {
    const error = await scope.catch(() => null); // the loss of a device is reported elsewhere
    if (!error) return null;
    const problem = say`the GPU has no room for the ${bytesText(size)} of ${label} beside the ${bytesText(used)} in use, although the memory budget is ${bytesText(this.#budget)}`;
    return new MemoryError(problem, this.#remedies.device(used));
  }

  #expectRoom(label: string, size: number): void {
    const free = this.#budget - this.used;
    if (size > free) {
      throw new MemoryError(
        say`${label} needs ${bytesText(size)}, but of the memory budget of ${bytesText(this.#budget)} only ${bytesText(Math.max(0, free))} are free`,
        this.#remedies.budget,
      );
    }
    const largest = this.#gpu.limits.maxBufferSize;
    if (size > largest) {
      throw new MemoryError(
        say`${label} needs one buffer of ${bytesText(size)}, the adapter allows ${bytesText(largest)}`,
        this.#remedies.buffer,
      );
    }
  }

  /** Whether a buffer was allocated here and not freed. */
  owns(buffer: GPUBuffer): boolean {
    return this.#allocated.has(buffer);
  }

  free(buffer: GPUBuffer): void {
    const kind = this.#allocated.get(buffer);
    if (kind === undefined) return;
    this.#allocated.delete(buffer);
    this.#totals[kind] -= buffer.size;
    buffer.destroy();
  }

  /**
   * Raises an estimated budget to `bytes` if the device can provide them; resolves with whether the budget is at least `bytes`. Where it is
   * not, `reliefs` are called, which may free memory.
   */
  async reserve(bytes: number, reliefs: Iterable<() => void> = []): Promise<boolean> {
    if (await this.#raise(bytes)) return true;
    for (const relieve of reliefs) relieve();
    return false;
  }

  /** WebGPU does not report free memory, so buffers of that size are allocated under an error scope and destroyed. */
  async #raise(bytes: number): Promise<boolean> {
    if (bytes <= this.#budget) return true;
    if (!this.mayGrow) return false;
    const piece = Math.min(this.#gpu.limits.maxBufferSize, TRIAL_BYTES);
    const trial: GPUBuffer[] = [];
    this.#gpu.pushErrorScope('out-of-memory');
    for (let left = bytes - this.used; left > 0; left -= piece) {
      trial.push(this.#gpu.createBuffer({ size: Math.ceil(Math.min(left, piece) / 4) * 4, usage: STORAGE }));
    }
    const error = await this.#gpu.popErrorScope();
    for (const buffer of trial) buffer.destroy();
    if (!error) this.#budget = bytes;
    return !error;
  }
}

/** The region of a whole buffer. */
export function wholeOf(buffer: GPUBuffer): Region {
  return { buffer, offset: 0, size: buffer.size };
}

/** Fills regions with zeros, all in one submit: on GPUs a new buffer holds what others left in its memory. */
export function fillZeros({ gpu }: { gpu: GPUDevice }, regions: readonly Region[]): void {
  if (regions.length === 0) return;
  const encoder = gpu.createCommandEncoder();
  for (const { buffer, offset, size } of regions) encoder.clearBuffer(buffer, offset, size);
  gpu.queue.submit([encoder.finish()]);
}
