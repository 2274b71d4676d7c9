// One way through a tape's dispatches: what is encoded into each submit, and which operands are brought from host memory, from files and
// from other devices in between.

import type { Arena, BoundAt } from './arena.ts';
import type { Device } from './device.ts';
import type { ReplayPlan } from './replay-plan.ts';
import { stagingBytes, StoredReads } from './stored-reads.ts';
import { Streams, type Copy } from './streams.ts';
import type { Region, Sizes, Tensor } from './tensor.ts';

export interface ReplayOptions {
  /** Segments of a submit; left out: all. */
  submitEvery?: number;
  /** Adds copies to the last submit. */
  last?: (encoder: GPUCommandEncoder) => void;
  /** The segments that are submitted, between two forks of the tape; left out: all. */
  segments?: readonly [first: number, end: number];
}

/** Operands that are not on the device. */
export interface Streamed {
  streams: Streams;
  /** Bytes of host memory for those in files; 0: there are none. */
  staging: number;
  /** Memory that bytes of files are read into. */
  pool: Uint8Array<ArrayBuffer>[];
}

/** An exchange with other devices, which is waited for before a dispatch. */
export interface Meeting {
  /** Index of the dispatch. */
  at: number;
  /** Index of the dispatch before which it begins. */
  since: number;
  from: readonly Tensor[];
  into: readonly Tensor[];
  /** Takes the bytes of each tensor of `from`, and returns those of each tensor of `into`. */
  exchange(...own: ArrayBuffer[]): Promise<readonly ArrayBuffer[]>;
}

/** What exchanges read and write: it lives from the dispatch before one on, and until the one behind it. */
export const boundBy = (meetings: readonly Meeting[]): BoundAt[] =>
  meetings.flatMap(({ at, since, from, into }): BoundAt[] => [
    [since, from],
    [Math.max(0, at - 1), into],
    [at, into],
  ]);

/** Dispatches that a replay repeats, once for each round that the host plans by what the dispatches before them have computed. */
export interface Rounds {
  /** Indices of the first of them, and of the dispatch behind the last. */
  first: number;
  end: number;
  /** What the host reads before the first round. */
  from: Tensor;
  plan(bytes: ArrayBuffer, sizes: Sizes): readonly Round[];
}

/** Brings what one round reads: writes to the queue, and adds copies to the command buffer that the round's dispatches are in. */
export type Round = (encoder: GPUCommandEncoder) => Promise<void>;

/** Rounds overwrite what earlier ones have computed, so that all that they bind lives from the first dispatch of them to the last. */
export const boundInRounds = (rounds: readonly Rounds[], bound: readonly BoundAt[]): BoundAt[] =>
  rounds.flatMap(({ first, end }) =>
    bound.slice(first, end).flatMap(([, operands]): BoundAt[] => [
      [first, operands],
      [end - 1, operands],
    ]),
  );

/** What a replay waits for between its dispatches. */
export interface Waits {
  meetings: readonly Meeting[];
  rounds: readonly Rounds[];
}

/** What is waited for before a dispatch, one after the other; the replay goes on at `next`. */
interface Pause {
  at: number;
  next: number;
  /** Copies that are submitted with the dispatches before. */
  last?: (encoder: GPUCommandEncoder) => void;
  waits: readonly (() => Promise<void>)[];
}

const MAP_READ = 0x1;
const COPY_DST = 0x8;

type Source = Readonly<{ device: Device; arena: Arena; region(tensor: Tensor): Region }>;

/** `bound`: operands in host memory or in files of each dispatch; null: there are none. */
export function streamOperands(
  { device, arena }: { device: Device; arena: Arena },
  bound: readonly (readonly Region[])[],
  ends: { cuts: readonly number[]; forks: readonly number[] },
): Streamed | null {
  if (bound.every(({ length }) => length === 0)) return null;
  const { host, prefetch } = device;
  const streams = new Streams(bound, ends, prefetch);
  streams.assign(arena.assign(streams.lives, undefined, 'copies'));
  const stored = streams
    .between(0, Infinity)
    .map(([, copies]) => copies.filter(({ from }) => host.isStored(from.buffer)));
  const staging = stagingBytes(
    stored.filter(({ length }) => length > 0),
    host.room.staging,
  );
  return { streams, staging, pool: [] };
}

export class Replay {
  readonly plan: ReplayPlan;
  readonly #device: Device;
  readonly #arena: Arena;
  readonly #tape: Source;
  readonly #streamed: Streamed | null;
  /** Indices of the dispatches after which segments end; the last one is their number. */
  readonly #ends: readonly number[];
  readonly #waits: Waits;
  /** Exchanges that have begun. */
  readonly #begun = new Map<Meeting, ReturnType<Meeting['exchange']>>();

  constructor(
    tape: Source,
    plan: ReplayPlan,
    streamed: Streamed | null,
    cuts: readonly number[],
    waits: Waits,
  ) {
    this.#tape = tape;
    this.#arena = tape.arena;
    this.#device = tape.device;
    this.#waits = waits;
    this.plan = plan;
    this.#streamed = streamed;
    this.#ends = cuts.length > 0 ? cuts : [0];
  }

  /** See Tape.submits. */
  *submits({
    submitEvery = this.#ends.length,
    last,
    segments: [first, end] = [0, this.#ends.length],
  }: ReplayOptions): Generator<Promise<void> | null, void, void> {
    let from = first === 0 ? 0 : this.#ends[first - 1]!;
    const reads = this.#reads(from, this.#ends[end - 1]!);
    for (let segment = Math.min(first + submitEvery, end) - 1; ; segment += submitEvery) {
      const isLast = segment >= end - 1;
      const to = this.#ends[isLast ? end - 1 : segment]!;
      for (const { at, next, last: before, waits } of this.#pauses(from, to, reads)) {
        if (at > from || before) this.#submit(from, at, before);
        for (const wait of waits) yield wait();
        from = next;
      }
      this.#submit(from, to, isLast ? last : undefined);
      if (isLast) return;
      yield null;
      from = to;
    }
  }

  /** What is waited for before each dispatch, of those between two. */
  #pauses(from: number, to: number, reads: StoredReads | null): Pause[] {
    const isWithin = (at: number): boolean => from <= at && at < to;
    const { meetings, rounds } = this.#waits;
    const pause = (at: number, ...waits: (() => Promise<void>)[]): Pause => ({ at, next: at, waits });
    const stored = reads ? this.#stored(from, to) : [];
    return [
      ...meetings.filter(({ at }) => isWithin(at)).map((one) => pause(one.at, () => this.#meet(one))),
      ...meetings
        .filter(({ at, since }) => since < at && isWithin(since))
        .map((one) => pause(one.since, async () => this.#begin(one))),
      ...stored.map(([dispatch, copies]) => {
        const pieces = copies.reduce((sum, copy) => sum + StoredReads.count(copy), 0);
        return pause(dispatch, ...Array<() => Promise<void>>(pieces).fill(() => reads!.write()));
      }),
      ...rounds.filter(({ first }) => isWithin(first)).map((one) => this.#repeated(one)),
    ].toSorted((a, b) => a.at - b.at);
  }

  #repeated(rounds: Rounds): Pause {
    const { first, end, from } = rounds;
    const { buffer, offset } = this.#tape.region(from);
    const size = from.bytes(this.plan.sizes);
    let staging!: GPUBuffer;
    const read = (encoder: GPUCommandEncoder): void => {
      staging = this.#device.gpu.createBuffer({ size, usage: MAP_READ | COPY_DST });
      encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
    };
    const wait = async (): Promise<void> => {
      await staging.mapAsync(MAP_READ);
      const bytes = staging.getMappedRange().slice(0);
      staging.destroy();
      for (const round of rounds.plan(bytes, this.plan.sizes)) {
        const encoder = this.#device.gpu.createCommandEncoder();
        await round(encoder);
        this.#encode(encoder, first, end);
        this.#device.gpu.queue.submit([encoder.finish()]);
      }
    };
    return { at: first, next: end, last: read, waits: [wait] };
  }

  #begin(meeting: Meeting): void {
    const given = this.#exchange(meeting);
    given.catch(() => {}); // thrown where it is waited for
    this.#begun.set(meeting, given);
  }

  async #exchange({ from, exchange }: Meeting): Promise<readonly ArrayBuffer[]> {
    return exchange(...(await Promise.all(from.map((one) => this.#device.read(this.#tape.region(one))))));
  }

  async #meet(meeting: Meeting): Promise<void> {
    const { into } = meeting;
    const begun = this.#begun.get(meeting);
    this.#begun.delete(meeting);
    const given = await (begun ?? this.#exchange(meeting));
    // The device may be lost since, and a write to a lost device ends the process where Dawn does not validate.
    await this.#device.loss();
    if (this.#device.isLost) throw new Error('the device was lost during an exchange');
    for (const [i, tensor] of into.entries()) {
      const { buffer, offset } = this.#tape.region(tensor);
      this.#device.gpu.queue.writeBuffer(buffer, offset, given[i]!);
    }
  }

  #submit(from: number, to: number, last?: (encoder: GPUCommandEncoder) => void): void {
    const { gpu } = this.#device;
    const encoder = gpu.createCommandEncoder();
    this.#encode(encoder, from, to);
    last?.(encoder);
    gpu.queue.submit([encoder.finish()]);
  }

  /** Encodes all dispatches. */
  encode(encoder: GPUCommandEncoder): void {
    this.#encode(encoder, 0, this.#ends.at(-1)!);
  }

  /** Encodes dispatches from index `from` to `to - 1`, and the copies from host memory that they need. */
  #encode(encoder: GPUCommandEncoder, from: number, to: number): void {
    let begun = from;
    const encodeUntil = (end: number): void => {
      if (end === begun) return;
      const pass = encoder.beginComputePass();
      this.plan.encode(pass, begun, end);
      pass.end();
      begun = end;
    };
    for (const [dispatch, copies] of this.#streamed?.streams.between(from, to) ?? []) {
      encodeUntil(dispatch);
      for (const { from: source, slot } of copies)
        if (!this.#isStored({ from: source, slot }))
          encoder.copyBufferToBuffer(source.buffer, source.offset, this.#arena.buffer(slot), 0, source.size);
    }
    encodeUntil(to);
  }

  #reads(from: number, to: number): StoredReads | null {
    const streamed = this.#streamed;
    if (!streamed || streamed.staging === 0) return null;
    const groups = this.#stored(from, to).map(([, copies]) => copies);
    return new StoredReads(this.#device, groups, streamed);
  }

  /** The copies from files before each dispatch, of those between two. */
  #stored(from: number, to: number): [dispatch: number, copies: Copy[]][] {
    const { streams } = this.#streamed!;
    return streams
      .between(from, to)
      .map(([dispatch, copies]): [number, Copy[]] => [
        dispatch,
        copies.filter((copy) => this.#isStored(copy)),
      ])
      .filter(([, copies]) => copies.length > 0);
  }

  #isStored({ from }: Copy): boolean {
    return this.#device.host.isStored(from.buffer);
  }
}
