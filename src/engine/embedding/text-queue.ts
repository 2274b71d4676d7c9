// The queue of texts that wait for their vectors. Each pass on the device computes texts of several requests together.

import type { ServedDevice } from '../opening/served.ts';
import type { EmbeddingMetrics } from './embedding-model.ts';
import type { InputTokens } from './request-tokens.ts';
import type { LoadedEmbedding } from './runner.ts';

/** A text in the queue. */
export interface QueuedText extends InputTokens {
  give(vector: Float32Array): void;
  fail(error: Error): void;
  /** Returns true while the text's request still waits for it. */
  wanted(): boolean;
}

/** Number of device losses during one pass after which its texts fail. */
const MOST_LOSSES = 3;

export class TextQueue {
  readonly #session: ServedDevice<LoadedEmbedding>;
  #waiting: QueuedText[] = [];
  #computing: readonly QueuedText[] = [];
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  readonly #counters = { texts: 0, promptTokens: 0, steps: 0 };

  constructor(session: ServedDevice<LoadedEmbedding>) {
    this.#session = session;
  }

  get metrics(): EmbeddingMetrics {
    const waiting = this.#waiting.length + this.#computing.length;
    return { waiting, ...this.#counters, deviceRestarts: this.#session.restarts };
  }

  add(texts: readonly QueuedText[]): void {
    this.#waiting.push(...texts);
    if (!this.#isRunning) this.#running = this.#run();
  }

  /** Removes waiting texts. A text that is being computed ends when its `wanted` returns false. */
  remove(texts: readonly QueuedText[]): void {
    this.#waiting = this.#waiting.filter((text) => !texts.includes(text));
  }

  /** Fails all texts that wait, and resolves when the pass on the device has ended. */
  async end(error: Error): Promise<void> {
    this.#failWaiting(error);
    await this.#running;
  }

  #failWaiting(error: Error): void {
    for (const { fail } of this.#waiting.splice(0)) fail(error);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#waiting.length > 0) await this.#pass(this.#takeBatch());
    } catch (error) {
      this.#failWaiting(asError(error)); // choosing a batch failed
    } finally {
      this.#isRunning = false;
    }
  }

  #takeBatch(): QueuedText[] {
    const lengths = this.#waiting.map(({ ids }) => ids.length);
    const picked = new Set(this.#session.parts.runner.pick(lengths));
    const batch = this.#waiting.filter((_, at) => picked.has(at));
    this.#waiting = this.#waiting.filter((_, at) => !picked.has(at));
    return batch;
  }

  async #pass(batch: readonly QueuedText[]): Promise<void> {
    this.#computing = batch;
    try {
      const vectors = await this.#compute(batch);
      this.#counters.steps += 1;
      this.#counters.texts += batch.length;
      this.#counters.promptTokens += batch.reduce((sum, { ids }) => sum + ids.length, 0);
      batch.forEach(({ give }, i) => give(vectors[i]!));
    } catch (error) {
      batch.forEach(({ fail }) => fail(asError(error)));
    }
    this.#computing = [];
  }

  /** Computes the vectors, again on a new device if the device is lost. */
  async #compute(batch: readonly QueuedText[]): Promise<Float32Array[]> {
    const session = this.#session;
    const wanted = (): boolean => !session.isClosed && batch.some((text) => text.wanted());
    for (let losses = 1; ; losses++) {
      const { runner } = await session.ready();
      try {
        return await runner.run(batch, wanted);
      } catch (cause) {
        if ((await session.loss()) === null || session.isClosed || losses === MOST_LOSSES) throw cause;
      }
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
