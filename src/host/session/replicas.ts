// A model that is several replicas: the parts of a request go to the replicas with the least to do, or those that the kind chooses, and their events
// come back in the order in which one model would emit them. Each replica has a device and a session of its own, so a device that is lost ends the parts that it computed.

import { type AnyMerge, EventQueue, type Merge } from '../../engine/async/event-queue.ts';
import { callByName, modelObject, type AnyModel, type Calls } from './model.ts';

/** How the replicas of a kind of model share its requests. */
export interface ReplicaRule<Options, M> {
  /** Options by which each replica differs; of fewer than two there are none. */
  placesOf(options: Options): readonly object[];
  /** Begins to share the requests and calls of replicas that are open. */
  share(models: readonly M[], options: Options): Sharing;
}

/** Replicas as one model. */
export interface Sharing {
  readonly info: unknown;
  /** Calls that are answered by several replicas; the first replica alone executes the others. */
  readonly calls: Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;
  /** Divides a request into parts, each for one replica. */
  divide(request: never): Promise<readonly RequestPart[]>;
}

export interface RequestPart {
  request: unknown;
  /** Chooses the replica by the parts that each one computes or has waiting; left out: the one with the fewest. */
  place?(busy: readonly number[]): number;
  /** Returns an event of the part as one of the whole request; null: the whole has none. */
  pass(event: never, replica: number): unknown;
  /** Called once at the end; `error` is null for a part that was computed. */
  ended?(replica: number, error: unknown): void;
}

/** What openReplicas reads of a kind of model. */
interface ReplicatedKind<Options, M extends AnyModel> {
  readonly calls: Calls<M>;
  readonly merge?: AnyMerge;
  readonly replicas?: ReplicaRule<Options, M>;
}

/** Opens all replicas. If one cannot be opened, those that are open are closed. */
export async function openReplicas<Options, M extends AnyModel>(
  { replicas: rule, calls, merge }: ReplicatedKind<Options, M>,
  options: Options,
  open: (options: Options) => Promise<M>,
): Promise<M> {
  const places = rule?.placesOf(options) ?? [];
  if (!rule || places.length < 2) return open(options);
  const models: M[] = [];
  try {
    for (const place of places) models.push(await open({ ...options, ...place }));
  } catch (error) {
    await Promise.allSettled(models.map((model) => model.close()));
    throw error;
  }
  const replicas = new Replicas(models, rule.share(models, options), merge);
  return modelObject<M>(replicas, calls, (name, given) => replicas.call(name, given));
}

type Generate = (request: unknown, options: object) => AsyncGenerator<unknown, void, void>;

class Replicas<M extends AnyModel> {
  readonly asleep = false;
  readonly ended: Promise<Error>;
  readonly #models: readonly M[];
  readonly #sharing: Sharing;
  readonly #merge: AnyMerge | undefined;
  /** Parts that each replica computes or has waiting. */
  readonly #busy: number[];

  constructor(models: readonly M[], sharing: Sharing, merge: AnyMerge | undefined) {
    this.#models = models;
    this.#sharing = sharing;
    this.#merge = merge;
    this.#busy = models.map(() => 0);
    // A replica that has ended for good ends the others.
    this.ended = Promise.race(models.map(({ ended }) => ended));
    void this.ended.then(() => this.close().catch(() => {}));
  }

  get info(): unknown {
    return this.#sharing.info;
  }

  async call(name: string, given: readonly unknown[]): Promise<unknown> {
    const { calls } = this.#sharing;
    return callByName(Object.hasOwn(calls, name) ? calls : this.#models[0]!, name, given);
  }

  async *generate(
    request: never,
    { signal, ...options }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<unknown, void, void> {
    const parts = await this.#sharing.divide(request);
    const leaving = new AbortController();
    const stops = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
    const runs = parts.map((part) => this.#begin(part, { ...options, signal: stops }));
    try {
      for (const { events } of runs) yield* events.read();
    } finally {
      leaving.abort();
      await Promise.all(runs.map(({ done }) => done));
    }
  }

  #begin(part: RequestPart, options: object): { events: EventQueue<unknown>; done: Promise<void> } {
    const replica = part.place?.(this.#busy) ?? this.#busy.indexOf(Math.min(...this.#busy));
    const model = this.#models[replica]!;
    this.#busy[replica]! += 1;
    const events = new EventQueue<unknown>(this.#merge as Merge<unknown> | undefined);
    const run = async (): Promise<void> => {
      for await (const event of (model.generate as Generate)(part.request, options)) {
        const passed = part.pass(event as never, replica);
        if (passed !== null) events.push(passed);
      }
    };
    const end = (error: Error | null): void => {
      this.#busy[replica]! -= 1;
      part.ended?.(replica, error);
      if (error) events.fail(error);
      else events.close();
    };
    return { events, done: run().then(() => end(null), end) };
  }

  async close(): Promise<void> {
    const closed = await Promise.allSettled(this.#models.map((model) => model.close()));
    const failed = closed.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  }
}
