// The towers of a model on the device. Media that running requests need are computed one after the other, segment by segment, while steps of
// other requests run between the segments. Their rows stay in a cache. Their kernels are compiled for the first medium: models that see are
// asked about texts, too, and then ready much sooner.

import { EngineError } from '../../../files/error.ts';
import { Arena } from '../../../gpu/arena.ts';
import type { Device } from '../../../gpu/device.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import type { PreparedMedium } from '../../../models/media.ts';
import type { Sequence } from '../sequence.ts';
import type { Part } from '../step-plan.ts';
import { createPace } from '../step/pace.ts';
import { rowsOf, type Medium } from './medium.ts';
import { RowCache, type MediaRows } from './row-cache.ts';
import { recordingKey, TowerRecording } from './tower-recording.ts';
import type { TowerBytes, TowerWeights } from './tower-weights.ts';

export interface TowersOptions {
  weights: TowerWeights;
  /** Blocks of rows that the language model takes: one, and one for each deep layer. */
  blocks: number;
  /** Columns of the language model's states. */
  hidden: number;
}

export class Towers {
  readonly #device: Device;
  readonly #options: TowersOptions;
  readonly #arena: Arena;
  #rows: RowCache;
  readonly #pace = createPace();
  #recording: TowerRecording | null = null;
  /** Bytes that rows may take beside the pages. */
  rowBytes = 0;
  #busy: Promise<void> | null = null;
  #closed = false;
  /** Media that running requests need. */
  #wanted: ReadonlySet<string> = new Set();

  constructor(device: Device, options: TowersOptions) {
    this.#device = device;
    this.#options = options;
    this.#arena = new Arena(device);
    this.#rows = new RowCache(device, 0);
  }

  /** Whether the device has the rows of a medium. */
  get hasRows(): (medium: Medium) => boolean {
    return this.#rows.has;
  }

  /** Bytes that the tape of a medium would take beside the weights, and those of its rows. */
  measure(prepared: PreparedMedium): { scratch: number; rows: number } {
    const { growth, rows } = this.#measured(prepared);
    const inputs = Object.values(prepared.inputs).reduce((sum, { data }) => sum + data.byteLength, 0);
    return { scratch: growth + inputs, rows };
  }

  /** Allocates what the tapes take that were measured last, so that the memory left is known. `rowBytes`: bytes of the cache of rows. */
  settle(rowBytes: number): void {
    this.#arena.settle();
    this.rowBytes = rowBytes;
    this.#rows = new RowCache(this.#device, rowBytes);
    this.#device.reliefs.add(this.#makeRoom);
  }

  /** Bytes of the weights, by where they are. */
  get weightBytes(): TowerBytes {
    return this.#options.weights.bytes;
  }

  /** Number of the weights' parameters. */
  get parameters(): number {
    return this.#options.weights.parameters;
  }

  /** Frees the weights of idle towers, and their tape, which binds them. */
  readonly #makeRoom = (): void => {
    if (this.#busy || this.#closed || !this.#options.weights.leave()) return;
    this.#recording?.free();
    this.#recording = null;
  };

  #measured(prepared: PreparedMedium): { growth: number; rows: number } {
    const { blocks, blockBytes } = this.#record(prepared).sizes;
    return { growth: this.#arena.growth(), rows: blocks * blockBytes };
  }

  /** Forgets the tapes that were measured. */
  forget(): void {
    this.#recording?.free();
    this.#recording = null;
    this.#arena.clear();
  }

  /**
   * Begins to compute the next medium that one of these sequences needs, unless one is being computed. Returns a promise for its end, which
   * rejects where the device fails; null: there is nothing to compute. A medium that cannot be computed ends its sequences.
   */
  advance(running: readonly Sequence[]): Promise<void> | null {
    this.#wanted = new Set(running.flatMap(neededKeys));
    if (this.#busy) return this.#busy;
    for (const { request, progress } of running) {
      const medium = request.media?.next(progress.computed, this.#rows.has);
      if (!medium) continue;
      this.#busy = this.#compute(medium, running).finally(() => (this.#busy = null));
      this.#busy.catch(() => {}); // the loop waits for it, or finds the device lost
      return this.#busy;
    }
    return null;
  }

  /** Copies the rows that the parts of a step take to their places in its inputs, before it is submitted. */
  copyRows(
    parts: readonly Part[],
    { inputs, deepInputs = [] }: Pick<TextBatch, 'inputs' | 'deepInputs'>,
  ): void {
    let encoder: GPUCommandEncoder | null = null;
    let row = 0;
    for (const { sequence, first, rows } of parts) {
      for (const run of sequence.request.media?.within(first, first + rows) ?? []) {
        const begin = Math.max(run.first, first);
        const count = Math.min(run.end, first + rows) - begin;
        const { blocks } = this.#rows.take(run.medium);
        const commands = (encoder ??= this.#device.gpu.createCommandEncoder());
        [inputs!, ...deepInputs].forEach((target, i) => {
          const source = blocks[i]!;
          const stride = source.size / rowsOf(run.medium);
          const from = source.offset + stride * (run.row + begin - run.first);
          const to = target.offset + stride * (row + begin - first);
          commands.copyBufferToBuffer(source.buffer, from, target.buffer, to, stride * count);
        });
      }
      row += rows;
    }
    if (encoder !== null) this.#device.gpu.queue.submit([encoder.finish()]);
  }

  /** Ends what is being computed after its current segment. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#device.reliefs.delete(this.#makeRoom);
    await this.#busy?.catch(() => {});
  }

  async #compute(medium: Medium, running: readonly Sequence[]): Promise<void> {
    try {
      await this.#run(medium);
    } catch (error) {
      if (!(error instanceof EngineError) || this.#device.isLost) throw error;
      const { key } = medium;
      for (const sequence of running)
        if (sequence.request.media?.runs.some((run) => run.medium.key === key)) sequence.fail(error);
    }
  }

  /** Computes a medium, and again with plain f32 kernels if its rows are not finite. */
  async #run(medium: Medium): Promise<void> {
    const { weights } = this.#options;
    if (weights.isAway) await weights.enter(this.rowBytes);
    for (const plain of [false, true]) {
      const recording = this.#record(medium.prepared, plain);
      await this.#reserve();
      await recording.compile();
      const { blocks, blockBytes } = recording.sizes;
      const isWanted = (key: string): boolean => this.#wanted.has(key);
      const { rows, keep, free } = await this.#rows.allocate(blocks, blockBytes, isWanted);
      try {
        if (!(await this.#submit(recording, medium, rows))) return free();
        if (await recording.isFinite()) return keep(medium.key);
        free();
      } catch (error) {
        free();
        throw error;
      }
    }
    throw new EngineError(
      'internal',
      `the ${medium.kind} makes values that are not finite numbers: the checkpoint may be damaged; fetch it again`,
    );
  }

  /** Returns false if the rows are not wanted any more. */
  async #submit(recording: TowerRecording, { prepared, key }: Medium, rows: MediaRows): Promise<boolean> {
    recording.write(prepared);
    const { blockBytes } = recording.sizes;
    const segments = this.#pace.segments(blockBytes);
    for (const waits of recording.submits(segments, rows)) {
      const started = performance.now();
      await (waits ?? this.#device.gpu.queue.onSubmittedWorkDone());
      if (waits === null) this.#pace.took(blockBytes, segments, performance.now() - started);
      if (this.#closed || !this.#wanted.has(key)) return false;
    }
    return true;
  }

  /** Throws out_of_memory where the budget has no room for what the recorded tape takes. */
  async #reserve(): Promise<void> {
    const device = this.#device;
    await device.reserve(device.memoryUsed + this.#arena.growth());
    try {
      this.#arena.settle();
    } catch (error) {
      // What was allocated for this medium is of no use for others.
      this.#recording?.free();
      this.#recording = null;
      this.#arena.clear();
      throw error;
    }
  }

  /** Returns the tape of a medium: the last one, if it has the same layout. */
  #record(prepared: PreparedMedium, plain = false): TowerRecording {
    if (this.#recording?.key === recordingKey(prepared, plain)) return this.#recording;
    this.#recording?.free();
    this.#recording = null;
    const { weights, hidden, blocks } = this.#options;
    const tower = weights.page(prepared.tower);
    const recording = TowerRecording.record(this.#device, this.#arena, tower, prepared, { plain });
    if (recording.columns !== hidden || recording.sizes.blocks !== blocks)
      throw new Error(
        `the tower ${prepared.tower} makes ${recording.sizes.blocks} blocks of ${recording.columns} columns, the language model takes ${blocks} of ${hidden}`,
      );
    return (this.#recording = recording);
  }
}

/** Keys of the media whose rows a running sequence still takes. */
function neededKeys({ request: { media }, progress: { computed } }: Sequence): string[] {
  return (media?.runs ?? []).flatMap(({ end, medium }) => (end > computed ? [medium.key] : []));
}
