// The image model of one thread: it draws requests one after the other, in order of arrival; those of one shape that wait are drawn together as
// far as a batch has room.

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

/** A request that is drawn, alone or with others. */
export interface DrawnRequest {
  resolved: Resolved;
  signal?: AbortSignal | undefined;
  emit(event: ImageEvent): void;
  /** Called as soon as all results are drawn, or with the error that ends this request alone. */
  ended?(error: unknown): void;
}

/** Draws resolved requests of one shape together; each ends with `ended`, or all of them with an error that is thrown. */
export type Draw = (
  requests: readonly [DrawnRequest, ...DrawnRequest[]],
  options: Omit<DrawOptions, 'signal'>,
) => Promise<void>;

/** A request in the queue. */
interface Job {
  resolved: Resolved;
  profile: boolean | undefined;
  stops: AbortSignal;
  events: EventQueue<ImageEvent>;
  /** The drawing that it is part of; null: it waits. */
  drawing: Promise<void> | null;
  /** Whether others are part of its drawing, which goes on without it. */
  isJoined: boolean;
  /** Resolves when it has ended, while others that are drawn with it may go on. */
  over: Promise<void>;
  leave(): void;
}

export class LocalImageModel implements Service<ImageModel> {
  readonly info: ImageModelInfo;
  readonly #session: ServedDevice<OnDevice>;
  readonly #resolve: Resolve;
  readonly #draw: Draw;
  readonly #plan: PlanMemory;
  readonly #leaving = new AbortController();
  /** The latest request; the next one begins after it. */
  #last: Promise<unknown> = Promise.resolve();
  /** Requests that wait, in order of arrival. */
  readonly #waiting: Job[] = [];
  /** Requests whose values are being resolved. */
  readonly #arriving = new Set<Promise<unknown>>();

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
    const resolved = await this.#arrive(request);
    const readerLeft = new AbortController();
    const stops = AbortSignal.any([this.#leaving.signal, readerLeft.signal, ...(signal ? [signal] : [])]);
    const events = new EventQueue<ImageEvent>();
    let end!: () => void;
    const over = new Promise<void>((resolve) => (end = resolve));
    const job: Job = { resolved, profile, stops, events, drawing: null, isJoined: false, over, leave: end };
    // A request that waits behind others, or is drawn with others, ends at once when it is aborted.
    const leave = (): void => {
      if (job.drawing && !job.isJoined) return;
      events.fail(cancelled());
      if (job.isJoined) end();
    };
    if (stops.aborted) leave();
    stops.addEventListener('abort', leave, { once: true });
    this.#waiting.push(job);
    this.#inTurn(() => this.#begin(job)).then(end, end);
    try {
      yield* events.read();
    } finally {
      readerLeft.abort();
      if (job.drawing) await over;
    }
  }

  async #arrive(request: ImageRequest): Promise<Resolved> {
    const resolving = this.#resolve(request);
    const arriving = resolving.catch(() => {});
    this.#arriving.add(arriving);
    try {
      return await resolving;
    } finally {
      this.#arriving.delete(arriving);
    }
  }

  /** Draws a request, with those that wait and may be drawn with it; resolves when all of them have ended. */
  async #begin(job: Job): Promise<void> {
    if (job.drawing) return job.drawing;
    // Requests that were sent at one time are drawn together.
    if ((job.resolved.event.joins?.most ?? 1) > 1) {
      await new Promise((resolve) => setTimeout(resolve));
      await Promise.all(this.#arriving);
      await Promise.resolve();
    }
    const jobs = this.#joined(job);
    for (const one of new Set([job, ...jobs])) this.#waiting.splice(this.#waiting.indexOf(one), 1);
    if (jobs.length > 0) return this.#run(jobs);
  }

  /** A request and those that wait, as far as a batch has room; none where it is aborted. */
  #joined(job: Job): Job[] {
    const { joins } = job.resolved.event;
    if (job.stops.aborted) return [];
    if (!joins || job.profile) return [job];
    let room = joins.most - job.resolved.event.values.samples;
    const others = this.#waiting.filter((other) => {
      const { resolved, profile, stops } = other;
      const { event } = resolved;
      const isAlike = other !== job && event.joins?.key === joins.key;
      if (!isAlike || profile || stops.aborted || event.values.samples > room) return false;
      room -= event.values.samples;
      return true;
    });
    return [job, ...others];
  }

  #run(jobs: readonly Job[]): Promise<void> {
    const startedAt = performance.now();
    const open = new Set(jobs);
    const complete = (job: Job): void => {
      if (open.delete(job)) job.events.push({ type: 'done', milliseconds: performance.now() - startedAt });
      job.events.close();
    };
    const [first, ...others] = jobs.map((job): DrawnRequest => {
      const { resolved, events, stops } = job;
      const ended = (error: unknown): void => {
        if (error !== null) {
          open.delete(job);
          events.fail(error as Error);
        } else if (jobs.length > 1) complete(job);
        if (jobs.length > 1) job.leave();
      };
      events.push(resolved.event);
      return { resolved, signal: stops, emit: events.push, ended };
    }) as [DrawnRequest, ...DrawnRequest[]];
    const drawing = this.#draw([first, ...others], { profile: jobs[0]!.profile });
    const whole = drawing.then(
      () => jobs.forEach(complete),
      (error: Error) => open.forEach(({ events }) => events.fail(error)),
    );
    for (const job of jobs) Object.assign(job, { drawing: whole, isJoined: jobs.length > 1 });
    return whole;
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
      let failure: unknown = null;
      const ended = (error: unknown): void => void (failure = error);
      await this.#draw([{ resolved, signal, emit: () => {}, ended }], { tune, ...extent });
      if (failure !== null) throw failure;
    });
  }

  /** Runs `run` after all functions that were passed earlier. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run, run);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
