// The arena: memory of intermediates. Each slot is a GPUBuffer of its own, because one buffer bound for reading and writing in one
// dispatch is an error even if the ranges are disjoint. All tapes of a device share the slots, so they must not be interleaved
// within one submit; `generation` tells a tape that its bind groups are stale.

import type { DeviceMemory } from './memory.ts';
import { tensorOf, type Operand } from './operand.ts';
import type { Sizes, Tensor } from './tensor.ts';

export interface Life {
  /** Bytes at the tape's capacity. */
  bytes: number;
  /** Indices of the first and the last dispatch that bind it. */
  first: number;
  last: number;
}

/** Operands by the index of a dispatch. */
export type BoundAt = readonly [dispatch: number, operands: readonly Operand[]];

/** Returns the lives of the tensors that need a slot. */
export function livesOf(
  bound: readonly BoundAt[],
  needsSlot: (tensor: Tensor) => boolean,
  capacity: Sizes,
): Map<Tensor, Life> {
  const lives = new Map<Tensor, Life>();
  for (const [dispatch, operands] of bound) {
    for (const operand of operands) {
      const tensor = tensorOf(operand);
      if (!tensor || !needsSlot(tensor)) continue;
      const life = lives.get(tensor);
      if (!life) lives.set(tensor, { bytes: tensor.heldBytes(capacity), first: dispatch, last: dispatch });
      else
        Object.assign(life, { first: Math.min(life.first, dispatch), last: Math.max(life.last, dispatch) });
    }
  }
  return lives;
}

/**
 * Assigns slots by liveness: first come first served, best fit. Overlapping lives never share a slot; `taken` slots are not used.
 */
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

/** Returns the bytes left over if the slot is large enough; otherwise the bytes to grow, weighted far higher. */
function fit(slot: number, bytes: number): number {
  return slot >= bytes ? slot - bytes : (bytes - slot) * 1024;
}

/** Where slots are allocated: a device, or its memory. */
type Memory = Pick<DeviceMemory, 'allocate' | 'free'>;

/** What a slot holds: intermediates, or copies of weights in host memory. */
type Purpose = 'intermediates' | 'copies';

export class Arena {
  generation = 0;
  readonly #memory: Memory;
  readonly #bytes: number[] = [];
  readonly #purposes: Purpose[] = [];
  readonly #buffers: (GPUBuffer | undefined)[] = [];
  /** Whether every slot is as large as the tapes recorded so far need it. Asking each buffer for its size costs a call of the binding. */
  #isSettled = false;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /**
   * Returns slots of a purpose for these lives; slots that are too small grow at the next call of `buffer`. Copies have slots of their
   * own, because they are the same in every tape of a model, while intermediates differ with the capacity.
   */
  assign(
    lives: readonly Life[],
    taken: ReadonlySet<number> = new Set(),
    purpose: Purpose = 'intermediates',
  ): number[] {
    this.#isSettled = false;
    const others = this.#purposes.flatMap((own, slot) => (own === purpose ? [] : [slot]));
    const slots = assignSlots(lives, this.#bytes, new Set([...taken, ...others]));
    while (this.#purposes.length < this.#bytes.length) this.#purposes.push(purpose);
    return slots;
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

  /** Returns the bytes that the recorded tapes need beyond those allocated. */
  growth(): number {
    return this.#bytes.reduce((sum, bytes, slot) => {
      const allocated = this.#buffers[slot]?.size ?? 0;
      return sum + Math.max(0, bytes - allocated);
    }, 0);
  }

  /** The slots as they are assigned now, for `rewind`. */
  mark(): readonly number[] {
    return [...this.#bytes];
  }

  /**
   * Forgets what was assigned since the mark and keeps the buffers, so that the same tapes, recorded again, get the same slots: best fit among the
   * slots that they have grown themselves could choose others, and grow those. Tapes that were recorded since must not run again.
   */
  rewind(mark: readonly number[]): void {
    this.#bytes.splice(0, Infinity, ...mark);
    this.#purposes.length = mark.length;
    this.#isSettled = false;
  }

  /** Bytes of the largest slot. */
  get largest(): number {
    return this.#bytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  }

  /** Frees all slots. Tapes that were recorded before must not run again. */
  clear(): void {
    for (const buffer of this.#buffers) if (buffer) this.#memory.free(buffer);
    this.#bytes.length = 0;
    this.#purposes.length = 0;
    this.#buffers.length = 0;
    this.#isSettled = false;
    this.generation++;
  }

  /** Allocates every slot in the size that the recorded tapes need. */
  settle(): void {
    if (this.#isSettled) return;
    this.#bytes.forEach((_, slot) => this.buffer(slot));
    this.#isSettled = true;
  }
}
