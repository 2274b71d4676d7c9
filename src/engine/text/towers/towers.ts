// The towers of a model on the device. Media that running requests need are computed one after the other, segment by segment, while steps of
// other requests run between the segments. Their rows stay in a cache. Their kernels are compiled for the first medium: models that see are
// asked about texts, too, and then ready much sooner.

import { EngineError, internalError } from '../../../files/error.ts';
import { Arena } from '../../../gpu/arena.ts';
import type { Device } from '../../../gpu/device.ts';
import { paddedColumns } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import type { PreparedMedium } from '../../../models/media.ts';
import { createPace } from './pace.ts';
import type { PromptMedia } from './prompt-media.ts';
import { cancelled } from '../../async/abort-listeners.ts';
import { rowsOf, type Medium } from './medium.ts';
import { RowCache, type MediaRows } from './row-cache.ts';
import { recordingKey, TowerRecording } from './tower-recording.ts';
import type { TowerBytes, TowerWeights } from './tower-weights.ts';

/** A sequence whose prompt may take rows of media. */
export interface TowerSequence {
  readonly request: { readonly media?: PromptMedia };
  /** `computed`: positions that the steps submitted so far compute. */
  readonly progress: { readonly computed: number };
  fail(cause: unknown): void;
}

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
  readonly #rows: RowCache;
  readonly #pace = createPace();
  #recording: TowerRecording | null = null;
  #busy: Promise<void> | null = null;
  #running: readonly TowerSequence[] = [];
  /** Media that running requests need. */
  #wanted: ReadonlySet<string> = new Set();
  /** Keys of the rows that other requests needed when the memory was too small for a medium. It waits until they change; null: none waits. */
  #postponed: string | null = null;
  /** Number of calls of `restart`. */
  #restarts = 0;

  constructor(device: Device, options: TowersOptions) {
    this.#device = device;
    this.#options = options;
    this.#arena = new Arena(device);
    this.#rows = new RowCache(device, (key) => this.#wanted.has(key));
  }

  /** Whether the device has the rows of a medium. */
  get hasRows(): (medium: Medium) => boolean {
    return this.#rows.has;
  }

  /** Bytes that rows may take beside the pages. */
  get rowBytes(): number {
    return this.#rows.most;
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
    this.#rows.most = rowBytes;
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
    if (this.#busy || !this.#options.weights.leave()) return;
    this.#recording?.free();
    this.#recording = null;
  };

  /** Forgets what an error of the device may have spoiled: rows, tapes, and weights on the device. */
  restart(): void {
    this.#restarts++;
    this.#rows.clear();
    if (!this.#busy) this.#clear();
  }

  #clear(): void {
    this.forget();
    this.#options.weights.leave();
  }

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
   * rejects where the device fails; null: there is nothing to compute now. A medium that cannot be computed ends its sequences. `mayWait`: other
   * work goes on, so that a medium without room may wait for rows that others need.
   */
  advance(running: readonly TowerSequence[], { mayWait }: { mayWait: boolean }): Promise<void> | null {
    this.#running = running;
    this.#wanted = new Set(running.flatMap(neededKeys));
    if (this.#busy) return this.#busy;
    const needed = this.#rows.needed.join();
    if (mayWait && needed === this.#postponed) return null;
    this.#postponed = null;
    for (const { request, progress } of running) {
      const medium = request.media?.next(progress.computed, this.#rows.has);
      if (!medium) continue;
      const postponed = mayWait && needed !== '' ? needed : null;
      this.#busy = this.#compute(medium, postponed).finally(() => (this.#busy = null));
      this.#busy.catch(() => {}); // the loop waits for it, or finds the device lost
      return this.#busy;
    }
    return null;
  }

  /** Copies the rows that the parts of a step take to their places in its inputs, before it is submitted. */
  copyRows(
    parts: readonly { sequence: TowerSequence; first: number; rows: number }[],
    { inputs, added, deepInputs = [] }: Pick<TextBatch, 'inputs' | 'added' | 'deepInputs'>,
  ): void {
    let encoder: GPUCommandEncoder | null = null;
    // Rows beyond a medium, and texts without one, get zeros.
    if (added) {
      const count = parts.reduce((sum, { rows }) => sum + rows, 0);
      encoder = this.#device.gpu.createCommandEncoder();
      encoder.clearBuffer(added.buffer, added.offset, 4 * count * paddedColumns(this.#options.hidden));
    }
    let row = 0;
    for (const { sequence, first, rows } of parts) {
      for (const run of sequence.request.media?.within(first, first + rows) ?? []) {
        const begin = Math.max(run.first, first);
        const count = Math.min(run.end, first + rows) - begin;
        const { blocks } = this.#rows.take(run.medium);
        const commands = (encoder ??= this.#device.gpu.createCommandEncoder());
        [(inputs ?? added)!, ...deepInputs].forEach((target, i) => {
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

  async #compute(medium: Medium, postponed: string | null): Promise<void> {
    const restarts = this.#restarts;
    try {
      await this.#run(medium, () => restarts !== this.#restarts || this.#device.hasError);
    } catch (error) {
      if (!(error instanceof EngineError) || this.#device.isLost) throw error;
      // The tape's memory is freed, in which a smaller medium may find room.
      if (error.code === 'out_of_memory') this.forget();
      if (error.code === 'out_of_memory' && postponed !== null) this.#postponed = postponed;
      else if (error.code !== 'cancelled') this.#fail(medium, error);
    } finally {
      if (restarts !== this.#restarts) this.#clear();
    }
  }

  #fail({ key }: Medium, error: EngineError): void {
    for (const sequence of this.#running) if (neededKeys(sequence).includes(key)) sequence.fail(error);
  }

  /**
   * Computes a medium, and again with plain f32 kernels if its rows are not finite. `isSpoiled`: whether an error of the device, which the
   * engine's loop takes, may have made them wrong. Throws cancelled where the medium is not wanted any more.
   */
  async #run(medium: Medium, isSpoiled: () => boolean): Promise<void> {
    const device = this.#device;
    const { weights } = this.#options;
    const expectWanted = (): void => {
      if (!this.#wanted.has(medium.key)) throw cancelled();
    };
    if (weights.isAway) await weights.enter(this.rowBytes);
    for (const plain of [false, true]) {
      expectWanted();
      const recording = await device.secure(() => this.#record(medium.prepared, plain));
      await device.reserve(device.memoryUsed + this.#arena.growth());
      await device.secure(() => this.#arena.settle());
      await recording.compile(expectWanted);
      const { blocks, blockBytes } = recording.sizes;
      const { rows, keep, free } = await this.#rows.allocate(blocks, blockBytes);
      try {
        await this.#submit(recording, medium, { rows, expectWanted });
        const isFinite = await recording.isFinite();
        if (isSpoiled()) return free();
        if (isFinite) return keep(medium.key);
        free();
      } catch (error) {
        free();
        throw error;
      }
    }
    throw internalError(
      `the ${medium.kind} makes values that are not finite numbers: the checkpoint may be damaged; fetch it again`,
    );
  }

  /** `expectWanted` throws where the rows are not wanted any more, and ends it after a segment. */
  async #submit(
    recording: TowerRecording,
    { prepared }: Medium,
    { rows, expectWanted }: { rows: MediaRows; expectWanted: () => void },
  ): Promise<void> {
    recording.write(prepared);
    const { blockBytes } = recording.sizes;
    const segments = this.#pace.segments(blockBytes);
    for (const waits of recording.submits(segments, rows)) {
      const started = performance.now();
      await (waits ?? this.#device.gpu.queue.onSubmittedWorkDone());
      if (waits === null) this.#pace.took(blockBytes, segments, performance.now() - started);
      expectWanted();
    }
  }

  /** Returns the tape of a medium: the last one, if it has the same layout. */
  #record(prepared: PreparedMedium, plain = false): TowerRecording {
    if (this.#recording?.key === recordingKey(prepared, plain)) return this.#recording;
    this.#recording?.free();
    this.#recording = null;
    const { weights, hidden, blocks } = this.#options;
    const tower = weights.page(prepared.tower);
    const recording = new TowerRecording(this.#device, this.#arena, tower, prepared, { plain });
    if (recording.columns !== hidden || recording.sizes.blocks !== blocks)
      throw new Error(
        `the tower ${prepared.tower} makes ${recording.sizes.blocks} blocks of ${recording.columns} columns, the language model takes ${blocks} of ${hidden}`,
      );
    return (this.#recording = recording);
  }
}

/** Keys of the media whose rows a running sequence still takes. */
function neededKeys({ request: { media }, progress: { computed } }: TowerSequence): string[] {
  return (media?.runs ?? []).flatMap(({ end, medium }) => (end > computed ? [medium.key] : []));
}
