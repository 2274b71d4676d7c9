// One way through a tape's dispatches: what is encoded into each submit, and which operands are brought from host memory, from files and
// from other devices in between.

import type { Arena, BoundAt } from './arena.ts';
import type { Device } from './device.ts';
import type { ReplayPlan } from './replay-plan.ts';
import { stagingBytes, StoredReads } from './stored-reads.ts';
import { Streams, type Copy } from './streams.ts';
import type { Region, Tensor } from './tensor.ts';

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
  readonly #meetings: readonly Meeting[];
  /** Exchanges that have begun. */
  readonly #begun = new Map<Meeting, ReturnType<Meeting['exchange']>>();

  constructor(
    tape: Source,
    plan: ReplayPlan,
    streamed: Streamed | null,
    cuts: readonly number[],
    meetings: readonly Meeting[],
  ) {
    this.#tape = tape;
    this.#arena = tape.arena;
    this.#device = tape.device;
    this.#meetings = meetings;
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
      for (const [dispatch, waits] of this.#pauses(from, to, reads)) {
        if (dispatch > from) this.#submit(from, dispatch);
        from = dispatch;
        for (const wait of waits) yield wait();
      }
      this.#submit(from, to, isLast ? last : undefined);
      if (isLast) return;
      yield null;
      from = to;
    }
  }

  /** What is waited for before each dispatch, of those between two. */
  #pauses(from: number, to: number, reads: StoredReads | null): [number, (() => Promise<void>)[]][] {
    const isWithin = (at: number): boolean => from <= at && at < to;
    const met = this.#meetings.filter(({ at }) => isWithin(at));
    const begun = this.#meetings.filter(({ at, since }) => since < at && isWithin(since));
    const stored = reads ? this.#stored(from, to) : [];
    return [
      ...met.map((one): [number, (() => Promise<void>)[]] => [one.at, [() => this.#meet(one)]]),
      ...begun.map((one): [number, (() => Promise<void>)[]] => [one.since, [async () => this.#begin(one)]]),
      ...stored.map(([dispatch, copies]): [number, (() => Promise<void>)[]] => {
        const pieces = copies.reduce((sum, copy) => sum + StoredReads.count(copy), 0);
        return [dispatch, Array<() => Promise<void>>(pieces).fill(() => reads!.write())];
      }),
    ].toSorted(([a], [b]) => a - b);
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
