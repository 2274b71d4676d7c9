// The models that a server opens on demand: the list of them, requests that use them or wait for them, and their leaving.

import { EngineError } from '../../index.ts';
import { closedError, removingError, waitingError, wantedError } from './catalog-errors.ts';
import type { CatalogLimits, FoundModel, ModelSource } from './model-source.ts';
import { OnDemandModel, type Waiter } from './on-demand-model.ts';
import { Openings, type OpeningsOf } from './openings.ts';

export interface CatalogEvents extends Pick<OpeningsOf, 'others' | 'changed' | 'trouble'> {
  /** A model's files are gone. */
  removed(model: OnDemandModel): void;
}

export interface UseOptions {
  signal?: AbortSignal;
  /** Milliseconds that the model stays open after this request; left out: the catalog's own. */
  keepAlive?: number;
}

export class Catalog {
  readonly limits: CatalogLimits;
  readonly source: ModelSource;
  readonly #events: CatalogEvents;
  readonly #openings: Openings;
  readonly #models = new Map<string, OnDemandModel>();
  #listing: Promise<void> | null = null;
  /** The listing after the one that runs. */
  #next: Promise<void> | null = null;

  constructor(source: ModelSource, limits: CatalogLimits, events: CatalogEvents) {
    this.source = source;
    this.limits = limits;
    this.#events = events;
    this.#openings = new Openings({ ...events, source, limits, models: () => this.models });
  }

  get models(): readonly OnDemandModel[] {
    return [...this.#models.values()];
  }

  /** Reads the list of models again. A listing that runs may have missed a change: another one follows it, once for all who wait. */
  refresh(): Promise<void> {
    if (!this.#listing) return (this.#listing = this.#list().finally(() => (this.#listing = null)));
    return (this.#next ??= this.#listing
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.refresh();
      }));
  }

  async #list(): Promise<void> {
    const found = await this.source.list();
    const names = new Set(found.map(({ name }) => name));
    for (const model of this.models) if (!names.has(model.name)) this.#drop(model);
    for (const one of found) this.#add(one);
  }

  #drop(model: OnDemandModel): void {
    if (model.state !== 'unloaded') return;
    this.#models.delete(model.name);
    this.#events.removed(model);
  }

  /** Adds a model to the list; one that changed on disk while it was not open is added anew. */
  #add(found: FoundModel): void {
    const known = this.#models.get(found.name);
    if (known) {
      const { path, kind, bytes } = known.found;
      const isSame = path === found.path && kind === found.kind && bytes === found.bytes;
      if (isSame || known.state !== 'unloaded') return;
      this.#drop(known);
    }
    const model = new OnDemandModel(found, this.limits.pinned.includes(found.name));
    this.#models.set(found.name, model);
    this.#events.changed(model);
  }

  /**
   * Resolves once the model is open, with a function that ends its use; until then it is not closed. Throws overloaded if too many wait,
   * cancelled where `signal` aborts, busy for a model that is being deleted, out_of_memory, and the errors of opening.
   */
  async use(model: OnDemandModel, { signal, keepAlive }: UseOptions = {}): Promise<() => void> {
    if (this.#openings.areClosed) throw closedError();
    if (model.isRemoving) throw removingError(model.name);
    if (this.#openings.admits(model)) return this.#begin(model, keepAlive);
    if (model.waiters.size >= this.limits.waiting) throw waitingError(model.name, model.waiters.size);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        model.waiters.delete(waiter);
        signal?.removeEventListener('abort', give);
      };
      const give = (): void => {
        leave();
        reject(new EngineError('cancelled', `the request was cancelled before ${model.name} was open`));
        if (model.waiters.size === 0) this.#openings.forget(model);
      };
      const waiter: Waiter = {
        admit() {
          leave();
          resolve(begin());
        },
        refuse(error) {
          leave();
          reject(error);
        },
      };
      const begin = (): (() => void) => this.#begin(model, keepAlive);
      model.waiters.add(waiter);
      signal?.addEventListener('abort', give, { once: true });
      if (signal?.aborted) return give();
      this.#openings.want(model);
      this.#openings.advance();
    });
  }

  /** Keeps a model open that a request uses, beyond that request; returns a function that ends that. */
  hold(model: OnDemandModel): () => void {
    return this.#begin(model, model.keepAlive ?? undefined);
  }

  #begin(model: OnDemandModel, keepAlive: number | undefined): () => void {
    clearTimeout(model.timer);
    model.uses += 1;
    model.lastUsed = this.#openings.tick();
    model.expiresAt = null;
    model.keepAlive = keepAlive ?? this.limits.keepAlive;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      model.uses -= 1;
      model.lastUsed = this.#openings.tick();
      if (model.uses === 0) this.#openings.idle(model);
      this.#openings.advance();
    };
  }

  /** Closes a model once its requests have ended; further ones wait, and open it again. Resolves when it is closed. */
  async unload(model: OnDemandModel): Promise<void> {
    if (model.state !== 'loaded') return this.#openings.untilClosed(model);
    model.isLeaving = true;
    if (model.uses === 0) return this.#openings.close(model);
    await new Promise<void>((resolve) => model.onClosed.push(resolve));
  }

  /** Closes a model as soon as no request uses it, unless one of those that come until then says otherwise. */
  async expire(model: OnDemandModel): Promise<void> {
    model.keepAlive = 0;
    if (model.state === 'loaded' && model.uses === 0) await this.#openings.close(model);
  }

  /** Deletes a model with its files, once it is closed. Throws busy if a request waits for it then. */
  async remove(model: OnDemandModel): Promise<void> {
    if (model.isRemoving) throw removingError(model.name);
    await this.unload(model);
    if (model.state !== 'unloaded' || model.isRemoving) throw wantedError(model.name);
    model.isRemoving = true;
    try {
      await this.source.remove(model.found);
    } finally {
      await this.refresh();
      model.isRemoving = this.#models.get(model.name) !== model;
    }
  }

  /** Lets waiting requests go on where models that are not the catalog's have opened or ended. */
  reconsider(): void {
    this.#openings.advance();
  }

  /** Ends requests that wait, cancels what is being opened, and closes every model. */
  close(): Promise<void> {
    return this.#openings.end();
  }
}
