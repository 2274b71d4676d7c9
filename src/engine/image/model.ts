// The image model of one thread: it draws requests one after the other, in order of arrival.

import { cancelled } from '../async/abort-listeners.ts';
import { EventQueue } from '../async/event-queue.ts';
import type { OnDevice, ServedDevice, Service } from '../opening/served.ts';
import type { ImageEvent, ImageModel, ImageModelInfo, ImageRequest } from './calls/image-model.ts';
import type { ImageMemoryPlan } from './calls/memory-plan.ts';
import type { Resolved } from './stages/resolved.ts';

export interface DrawOptions {
  signal?: AbortSignal | undefined;
  profile?: boolean | undefined;
  /** Compiles kernels without drawing. */
  compileOnly?: boolean;
  /** Finds the fastest variants of the denoiser's kernels first. */
  tune?: boolean;
  /** Limit on the steps to run. */
  mostSteps?: number;
}

/** Checks a request and resolves its values; throws EngineError. */
export type Resolve = (request: ImageRequest) => Promise<Resolved>;

/** Plans the memory of a resolved request. */
export type PlanMemory = (resolved: Resolved) => Promise<ImageMemoryPlan>;

/** Draws a resolved request. */
export type Draw = (
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
  options: DrawOptions,
) => Promise<void>;

export class LocalImageModel implements Service<ImageModel> {
  readonly info: ImageModelInfo;
  readonly #session: ServedDevice<OnDevice>;
  readonly #resolve: Resolve;
  readonly #draw: Draw;
  readonly #plan: PlanMemory;
  readonly #leaving = new AbortController();
  /** The latest request; the next one begins after it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    info: ImageModelInfo,
    session: ServedDevice<OnDevice>,
    { resolve, draw, plan }: { resolve: Resolve; draw: Draw; plan: PlanMemory },
  ) {
    this.info = info;
    this.#session = session;
    this.#resolve = resolve;
    this.#draw = draw;
    this.#plan = plan;
    session.defer(async () => {
      this.#leaving.abort();
      await this.#last;
    });
  }

  async *generate(
    request: ImageRequest,
    { signal, profile }: { signal?: AbortSignal; profile?: boolean } = {},
  ): AsyncGenerator<ImageEvent, void, void> {
    this.#session.assertOpen();
    const resolved = await this.#resolve(request);
    const readerLeft = new AbortController();
    const stops = AbortSignal.any([this.#leaving.signal, readerLeft.signal, ...(signal ? [signal] : [])]);
    const events = new EventQueue<ImageEvent>();
    let begun = false;
    // A request that waits behind others leaves the queue at once when it is aborted.
    const leave = (): void => {
      if (!begun) events.fail(cancelled());
    };
    if (stops.aborted) leave();
    stops.addEventListener('abort', leave, { once: true });
    const drawing = this.#inTurn(async () => {
      if (stops.aborted) return;
      begun = true;
      const startedAt = performance.now();
      events.push(resolved.event);
      await this.#draw(resolved, events.push, { signal: stops, profile });
      events.push({ type: 'done', milliseconds: performance.now() - startedAt });
    });
    drawing.then(events.close, events.fail);
    try {
      yield* events.read();
    } finally {
      readerLeft.abort();
      if (begun) await drawing.catch(() => {});
    }
  }

  async resolve(request: ImageRequest): Promise<Extract<ImageEvent, { type: 'resolved' }>> {
    this.#session.assertOpen();
    return (await this.#resolve(request)).event;
  }

  plan(request: ImageRequest): Promise<ImageMemoryPlan> {
    return this.#inTurn(async () => {
      this.#session.assertOpen();
      return this.#plan(await this.#resolve(request));
    });
  }

  warmUp(request: ImageRequest, steps: number, { tune = false }: { tune?: boolean } = {}): Promise<void> {
    return this.#inTurn(async () => {
      this.#session.assertOpen();
      const resolved = await this.#resolve({ ...request, samples: 1, previews: 0 });
      const { signal } = this.#leaving;
      const extent = steps === 0 ? { compileOnly: true } : { mostSteps: steps };
      await this.#draw(resolved, () => {}, { signal, tune, ...extent });
    });
  }

  /** Runs `run` after all functions that were passed earlier. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run, run);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
