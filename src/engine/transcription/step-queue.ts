// Computes the windows of several requests together: each has a slot of the runner, and a step has the rows of all that wait for one.

import { cancelled, onAbort } from '../async/abort-listeners.ts';
import { withResolvers } from '../async/resolvers.ts';
import type { OnDevice } from '../opening/served.ts';
import { workInTurns } from '../text/media/decode-turns.ts';
import type { ChosenQuantization } from '../weights/quantization.ts';
import { HeadLooks } from './head-looks.ts';
import { phaseOf, type TranscriptionRunner, type WrittenPart } from './runner.ts';
import type { WindowTokens } from './window.ts';

/** The parts of a transcription model on a device. */
export interface LoadedTranscriber extends OnDevice {
  runner: TranscriptionRunner;
  steps: StepQueue;
  quantization: ChosenQuantization;
}

interface Waiting {
  part: WrittenPart;
  /** Whether weights for the sound are computed, in a step of their own. */
  isAligned: boolean;
  resolve(logits: Float32Array[]): void;
  reject(error: unknown): void;
}

type AlignedPart = Omit<WrittenPart, 'wanted'>;

/** Weights of alignment heads that are kept for one window, at most. */
const MOST_KEPT = 2 ** 24;

export class StepQueue {
  readonly #runner: TranscriptionRunner;
  readonly #mostKept: number;
  #waiting: Waiting[] = [];
  #isRunning = false;
  readonly #free: number[];
  /** Windows that wait for a slot, in order. */
  readonly #entering: ((slot: number) => void)[] = [];

  constructor(runner: TranscriptionRunner, { mostKept = MOST_KEPT }: { mostKept?: number } = {}) {
    this.#runner = runner;
    this.#mostKept = mostKept;
    this.#free = Array.from({ length: runner.facts.maxRunningRequests }, (_, slot) => slot);
  }

  /** Encodes a window into a slot of its own and calls `use`, whose tokens it computes. Throws cancelled, and what the device throws. */
  async withWindow<T>(
    features: Float32Array<ArrayBuffer>,
    use: (window: WindowTokens) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const slot = await this.#enter(signal);
    try {
      this.#runner.hear(slot, features);
      return await use({
        write: async (ids, { first, prompt, wanted }) => {
          if (signal.aborted) throw cancelled();
          return this.#write({ slot, ids, first, prompt, wanted });
        },
        align: async (ids, first, seen) => {
          if (signal.aborted) throw cancelled();
          return this.#align({ slot, ids, first, prompt: ids.length }, seen, signal);
        },
      });
    } finally {
      const next = this.#entering.shift();
      if (next) next(slot);
      else this.#free.push(slot);
    }
  }

  async #enter(signal: AbortSignal): Promise<number> {
    if (signal.aborted) throw cancelled();
    const free = this.#free.shift();
    if (free !== undefined) return free;
    const { promise, resolve, reject } = withResolvers<number>();
    this.#entering.push(resolve);
    const stopListening = onAbort(signal, () => {
      const at = this.#entering.indexOf(resolve);
      if (at < 0) return;
      this.#entering.splice(at, 1);
      reject(cancelled());
    });
    return promise.finally(stopListening);
  }

  /** Long prompts are computed in several steps. */
  async #write({ ids, first, wanted, ...part }: WrittenPart): Promise<Float32Array[]> {
    const { mostRows } = this.#runner;
    const logits: Float32Array[] = [];
    for (let from = first; from < ids.length; from += mostRows) {
      const end = Math.min(ids.length, from + mostRows);
      const own = wanted.filter((position) => position >= from && position < end);
      logits.push(...(await this.#step({ ...part, ids: ids.slice(0, end), first: from, wanted: own })));
    }
    return logits;
  }

  async #align(part: AlignedPart, seen: number, signal: AbortSignal): Promise<Float32Array[]> {
    const of = this.#runner.aligned!;
    const heads = new HeadLooks(of, seen);
    // All heads of large models have more weights than should be kept: they are computed twice.
    const size = (part.ids.length - part.first) * of.heads * of.keys;
    const kept: Float32Array[] | null = size <= this.#mostKept ? [] : null;
    for await (const weights of this.#weightsOf(part)) {
      await workInTurns(heads.measure(weights), signal);
      kept?.push(...weights);
    }
    const looks: Float32Array[] = [];
    for await (const weights of kept ? [kept] : this.#weightsOf(part))
      looks.push(...(await workInTurns(heads.looks(weights), signal)));
    return looks;
  }

  /** Weights of a part's tokens, as many at once as a step computes. */
  async *#weightsOf({ ids, first, ...part }: AlignedPart): AsyncGenerator<Float32Array[], void, void> {
    const { rows: most } = this.#runner.aligned!;
    for (let from = first; from < ids.length; from += most)
      yield this.#step({ ...part, ids: ids.slice(0, from + most), first: from, wanted: [] }, true);
  }

  #step(part: WrittenPart, isAligned = false): Promise<Float32Array[]> {
    const { promise, resolve, reject } = withResolvers<Float32Array[]>();
    this.#waiting.push({ part, isAligned, resolve, reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // The requests whose logits came together ask for the next ones before a step begins.
    while (await Promise.resolve(this.#waiting.length > 0)) {
      const together = this.#take();
      try {
        const [only] = together;
        if (only?.isAligned) {
          only.resolve(await this.#runner.align(only.part));
          continue;
        }
        const logits = await this.#runner.step(together.map(({ part }) => part));
        let at = 0;
        for (const { part, resolve } of together) resolve(logits.slice(at, (at += part.wanted.length)));
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    this.#isRunning = false;
  }

  /** Parts of one phase, as many as a step has rows for; one whose tokens are aligned. */
  #take(): Waiting[] {
    if (this.#waiting[0]!.isAligned) return [this.#waiting.shift()!];
    const phase = phaseOf(this.#waiting[0]!.part);
    let left = this.#runner.mostRows;
    const taken = this.#waiting.filter(({ part, isAligned }, i) => {
      const rows = part.ids.length - part.first;
      if (isAligned || phaseOf(part) !== phase || (i > 0 && phase === 'prompt' && rows > left)) return false;
      left -= rows;
      return true;
    });
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one));
    return taken;
  }
}
