// A model that is several replicas: the parts of a request go to the replicas with the least to do, and their events come back in the order in
// which one model would emit them. Each replica has a device and a session of its own, so a device that is lost ends the parts that it computed.

import { EventQueue } from '../../engine/async/event-queue.ts';
import { callByName, modelObject, type AnyModel, type Calls } from './model.ts';

/** How the replicas of a kind of model share its requests. */
export interface ReplicaRule<Options, M> {
  /** Options by which each replica differs; of fewer than two there are none. */
  placesOf(options: Options): readonly object[];
  /** Calls that all replicas execute; the first replica alone executes the others. */
  readonly shared: readonly string[];
  /** Divides a request into at most `most` parts. */
  divide(model: M, request: never, most: number): Promise<readonly RequestPart[]>;
}

export interface RequestPart {
  request: unknown;
  /** Returns an event of the part as one of the whole request; null: the whole has none. */
  pass(event: never, replica: number): unknown;
}

/** Opens all replicas. If one cannot be opened, those that are open are closed. */
export async function openReplicas<Options, M extends AnyModel>(
  rule: ReplicaRule<Options, M> | undefined,
  calls: Calls<M>,
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
  const replicas = new Replicas(models, rule);
  return modelObject<M>(replicas, calls, (name, given) => replicas.call(name, given));
}

type Generate = (request: unknown, options: object) => AsyncGenerator<unknown, void, void>;

class Replicas<Options, M extends AnyModel> {
  readonly asleep = false;
  readonly ended: Promise<Error>;
  readonly #models: readonly M[];
  readonly #rule: ReplicaRule<Options, M>;
  /** Parts that each replica computes or has waiting. */
  readonly #busy: number[];

  constructor(models: readonly M[], rule: ReplicaRule<Options, M>) {
    this.#models = models;
    this.#rule = rule;
    this.#busy = models.map(() => 0);
    // A replica that has ended for good ends the others.
    this.ended = Promise.race(models.map(({ ended }) => ended));
    void this.ended.then(() => this.close().catch(() => {}));
  }

  get info(): unknown {
    return this.#models[0]!.info;
  }

  async call(name: string, given: readonly unknown[]): Promise<unknown> {
    const { shared } = this.#rule;
    const of = shared.includes(name) ? this.#models : this.#models.slice(0, 1);
    const [answer] = await Promise.all(of.map((model) => callByName(model, name, given)));
    return answer;
  }

  async *generate(
    request: never,
    { signal, ...options }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<unknown, void, void> {
    const parts = await this.#rule.divide(this.#models[0]!, request, this.#models.length);
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

  #begin(
    { request, pass }: RequestPart,
    options: object,
  ): { events: EventQueue<unknown>; done: Promise<void> } {
    const replica = this.#busy.indexOf(Math.min(...this.#busy));
    const model = this.#models[replica]!;
    this.#busy[replica]! += 1;
    const events = new EventQueue<unknown>();
    const run = async (): Promise<void> => {
      for await (const event of (model.generate as Generate)(request, options)) {
        const passed = pass(event as never, replica);
        if (passed !== null) events.push(passed);
      }
    };
    const done = run()
      .then(events.close, events.fail)
      .finally(() => (this.#busy[replica]! -= 1));
    return { events, done };
  }

  async close(): Promise<void> {
    const closed = await Promise.allSettled(this.#models.map((model) => model.close()));
    const failed = closed.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  }
}
