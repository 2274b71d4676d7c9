// The arena: memory of intermediates. Each slot is a GPUBuffer of its own: one buffer bound for reading and writing in one
// dispatch is an error even where the ranges are disjoint. All tapes of a device share the slots, so they must not
// run interleaved within one submit; `generation` tells a tape that its bind groups are stale.

import type { DeviceMemory } from './memory.ts';

export interface Life {
  /** Bytes at the tape's capacity. */
  bytes: number;
  /** Index of the first and last dispatch that binds it. */
  first: number;
  last: number;
}

/** Assigns slots by liveness, first come first served, best fit. No two lives that overlap share a slot; `taken` ones are left alone. */
export function assignSlots(
  lives: readonly Life[],
  slotBytes: number[],
  taken: ReadonlySet<number> = new Set(),
): number[] {
  const busyUntil = slotBytes.map((_, slot) => (taken.has(slot) ? Infinity : -1));
  const order = lives.map((_, i) => i).sort((a, b) => lives[a]!.first - lives[b]!.first);
  const slots = new Array<number>(lives.length);
  for (const i of order) {
    const life = lives[i]!;
    let best = -1;
    for (let slot = 0; slot < slotBytes.length; slot++) {
      if (busyUntil[slot]! >= life.first) continue;
      if (best < 0 || fit(slotBytes[slot]!, life.bytes) < fit(slotBytes[best]!, life.bytes)) best = slot;
    }
    if (best < 0) best = slotBytes.push(0) - 1;
    slotBytes[best] = Math.max(slotBytes[best]!, life.bytes);
    busyUntil[best] = life.last;
    slots[i] = best;
  }
  return slots;
}

/** Bytes left over where the slot holds it; bytes to grow, which cost far more, where it does not. */
function fit(slot: number, bytes: number): number {
  return slot >= bytes ? slot - bytes : (bytes - slot) * 1024;
}

export class Arena {
  generation = 0;
  readonly #memory: DeviceMemory;
  readonly #bytes: number[] = [];
  readonly #buffers: (GPUBuffer | undefined)[] = [];

  constructor(memory: DeviceMemory) {
    this.#memory = memory;
  }

  /** Slots for these lives; grows what is too small at the next `buffer`. */
  assign(lives: readonly Life[], taken?: ReadonlySet<number>): number[] {
    return assignSlots(lives, this.#bytes, taken);
  }

  buffer(slot: number): GPUBuffer {
    const bytes = this.#bytes[slot]!;
    const buffer = this.#buffers[slot];
    if (buffer && buffer.size >= bytes) return buffer;
    if (buffer) {
      this.#memory.free(buffer);
      this.generation++;
    }
    const larger = this.#memory.allocate('arena', `slot ${slot}`, bytes);
    this.#buffers[slot] = larger;
    return larger;
  }

  /** Bytes that the tapes recorded so far will need beyond what is allocated. */
  growth(): number {
    return this.#bytes.reduce((sum, bytes, slot) => {
      const allocated = this.#buffers[slot]?.size ?? 0;
      return sum + Math.max(0, bytes - allocated);
    }, 0);
  }

  /** Bytes of the largest slot. */
  get largest(): number {
    return this.#bytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  }

  /** Gives all slots back. No tape recorded so far may run again. */
  clear(): void {
    for (const buffer of this.#buffers) if (buffer) this.#memory.free(buffer);
    this.#bytes.length = 0;
    this.#buffers.length = 0;
    this.generation++;
  }

  /** Makes every slot as large as the tapes recorded so far need it. */
  settle(): void {
    this.#bytes.forEach((_, slot) => this.buffer(slot));
  }
}
