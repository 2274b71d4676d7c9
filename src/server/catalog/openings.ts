// Opens the models of a catalog, one after the other in the order in which they were asked for, and closes those that nobody uses: for the
// room of others, after their time, or because they are asked to leave.

import { EngineError, type OpenEvent } from '../../index.ts';
import { say } from '../../files/message.ts';
import { closedError, fullError, noRoom, openingError } from './catalog-errors.ts';
import type { CatalogLimits, ModelSource, PlannedMemory, ServableModel } from './model-source.ts';
import { memoryOf, OnDemandModel } from './on-demand-model.ts';
import { makeRoom, type Holder } from './room.ts';

/** What the openings belong to. */
export interface OpeningsOf {
  readonly source: ModelSource;
  readonly limits: CatalogLimits;
  /** All models of the catalog. */
  models(): readonly OnDemandModel[];
  /** Models on the same device that are not the catalog's, and whether they are open or failed. */
  others(): { holders: readonly Holder[]; areSettled: boolean };
  /** A model changed its state or has a new figure of progress. */
  changed(model: OnDemandModel): void;
  /** Something failed that no request may hear of. */
  trouble(message: string): void;
}

export class Openings {
  readonly #of: OpeningsOf;
  /** Models that wait to be opened, in order. */
  readonly #queue: OnDemandModel[] = [];
  readonly #leaving = new AbortController();
  readonly #closings = new Map<OnDemandModel, Promise<void>>();
  #isOpening = false;
  #opened: Promise<void> = Promise.resolve();
  #clock = 0;
  /** Busy models whose room the first of the queue needs: they take no further requests until they were closed. */
  #draining: ReadonlySet<Holder> = new Set();

  constructor(of: OpeningsOf) {
    this.#of = of;
  }

  get areClosed(): boolean {
    return this.#leaving.signal.aborted;
  }

  /** A number for each use, larger than that of any use before. */
  tick(): number {
    return ++this.#clock;
  }

  /** Whether a model is open for further requests. */
  admits(model: OnDemandModel): boolean {
    return model.state === 'loaded' && !model.isLeaving && !this.#draining.has(model);
  }

  /** Asks for a model to be opened; `advance` begins. */
  want(model: OnDemandModel): void {
    if (model.state !== 'unloaded') return;
    this.#setState(model, 'waiting');
    this.#queue.push(model);
    if (model.planned === null && this.#of.limits.budget !== null)
      void this.#plan(model, this.#of.limits.budget);
  }

  /** A model that waits is not wanted any more. */
  forget(model: OnDemandModel): void {
    if (model.state !== 'waiting') return;
    this.#dequeue(model);
    if (model.isShrunk) this.#unplan(model);
    this.#setState(model, 'unloaded');
    this.advance();
  }

  /** Plans a model within a budget, all of it or what others leave. What comes once nobody waits for it, or it is planned anew, is nothing. */
  async #plan(model: OnDemandModel, budget: number): Promise<void> {
    if (model.planning?.budget === budget) return;
    const planning = { budget };
    model.planning = planning;
    const isWanted = (): boolean => {
      if (model.planning !== planning) return false;
      model.planning = null;
      return model.state === 'waiting';
    };
    let planned: PlannedMemory;
    try {
      planned = await this.#of.source.plan(model.found, budget);
    } catch (error) {
      if (isWanted()) this.#fail(model, error);
      return;
    }
    if (!isWanted()) return;
    if (!planned.opens)
      return this.#fail(model, noRoom(model.name, planned.bytes, budget, this.#of.limits.budget!));
    model.planned = planned.bytes;
    this.advance();
  }

  #unplan(model: OnDemandModel): void {
    model.planned = null;
    model.planning = null;
    model.isShrunk = false;
  }

  /** Opens the next models that there is room for, or closes others for the first that waits. */
  advance(): void {
    if (this.areClosed) return;
    this.#draining = new Set();
    const { budget } = this.#of.limits;
    const { holders, areSettled } = this.#of.others();
    let isFirst = true;
    for (const model of this.#queue) {
      if (this.#isOpening || !areSettled) break;
      if (budget !== null && model.planned === null) continue;
      const { mostBeside } = model;
      const wanted = { bytes: model.planned ?? 0, ...(mostBeside !== null && { mostBeside }) };
      const held = [...holders, ...this.#of.models().filter(({ isHeld }) => isHeld)];
      const room = makeRoom<Holder>(held, wanted, this.#of.limits);
      if (room.kind === 'open') {
        this.#isOpening = true;
        this.#opened = this.#open(model, room.room);
        break;
      }
      // Later ones may be opened where nothing has to be closed for them.
      if (!isFirst) continue;
      isFirst = false;
      if (room.kind === 'close') {
        this.#draining = new Set(room.await);
        for (const victim of room.close) if (victim instanceof OnDemandModel) void this.close(victim);
      } else if (room.kind === 'full')
        return this.#fail(
          model,
          mostBeside === null ? fullError(model.name, this.#of.limits.most) : model.error?.cause,
        );
      else return this.#shrink(model, room.room);
    }
    for (const model of this.#of.models())
      if (this.admits(model)) for (const waiter of model.waiters) waiter.admit();
  }

  /** Plans a model again for the bytes that pinned models leave. */
  #shrink(model: OnDemandModel, room: number): void {
    const needed = model.planned ?? 0;
    if (room <= 0 || model.isShrunk)
      return this.#fail(model, noRoom(model.name, needed, room, this.#of.limits.budget ?? 0));
    model.planned = null;
    model.isShrunk = true;
    void this.#plan(model, room);
  }

  async #open(model: OnDemandModel, room: number | null): Promise<void> {
    this.#dequeue(model);
    model.progress = null;
    model.memory = model.planned ?? 0;
    this.#setState(model, 'loading');
    const onEvent = (event: OpenEvent): void => this.#progress(model, event);
    const place = { budget: room, stays: model.isPinned };
    try {
      const opened = await this.#of.source.open(model.found, place, onEvent, this.#leaving.signal);
      this.#isOpening = false;
      if (this.areClosed) await opened.close();
      else this.#keep(model, opened);
    } catch (error) {
      this.#isOpening = false;
      if (room === null && this.#mayRetry(model, error)) this.#retry(model, error);
      else this.#fail(model, error);
    }
  }

  #keep(model: OnDemandModel, opened: ServableModel): void {
    model.memory = memoryOf(opened, model.planned);
    model.model = opened;
    model.info = opened.info;
    model.error = null;
    model.mostBeside = null;
    model.lastUsed = ++this.#clock;
    model.keepAlive = this.#of.limits.keepAlive;
    this.#setState(model, 'loaded');
    void opened.ended.then((reason) => {
      if (model.model === opened && model.state === 'loaded') this.#lost(model, reason);
    });
    for (const waiter of model.waiters) waiter.admit();
    if (model.uses === 0) this.idle(model);
    this.advance();
  }

  #progress(model: OnDemandModel, event: OpenEvent): void {
    if (event.type === 'note' || model.state !== 'loading') return;
    model.progress = event;
    this.#of.changed(model);
  }

  /** Whether a device that had no room for a model may have it once another one is closed. */
  #mayRetry(model: OnDemandModel, error: unknown): boolean {
    if (!(error instanceof EngineError) || error.code !== 'out_of_memory') return false;
    return this.#of.models().some((one) => one !== model && one.state === 'loaded' && !one.isPinned);
  }

  #retry(model: OnDemandModel, error: unknown): void {
    const beside = this.#of.models().filter((one) => one !== model && one.isHeld).length;
    model.mostBeside = this.#of.others().holders.length + beside - 1;
    model.error = openingError(model.name, error);
    this.#setState(model, 'waiting');
    this.#queue.unshift(model);
    this.advance();
  }

  /** Ends the requests that wait for a model which cannot be opened; a later one tries again. */
  #fail(model: OnDemandModel, error: unknown): void {
    this.#dequeue(model);
    const reason = openingError(model.name, error);
    model.mostBeside = null;
    this.#unplan(model);
    model.error = reason;
    this.#setState(model, 'unloaded');
    if (!this.areClosed) this.#of.trouble(reason.message);
    for (const waiter of model.waiters) waiter.refuse(reason);
    this.advance();
  }

  #lost(model: OnDemandModel, reason: Error): void {
    clearTimeout(model.timer);
    model.error = new EngineError(
      'device_lost',
      say`${model.name} ended (${reason.message}); the next request opens it again`,
    );
    this.#of.trouble(model.error.message);
    this.#gone(model);
  }

  /** Closes a model that nobody uses. Resolves when it is closed, and never rejects. */
  close(model: OnDemandModel): Promise<void> {
    clearTimeout(model.timer);
    const { model: opened } = model;
    this.#setState(model, 'closing');
    const closing = (async () => {
      await opened?.close().catch((error: unknown) => this.#of.trouble(String(error)));
      this.#closings.delete(model);
      this.#gone(model);
    })();
    this.#closings.set(model, closing);
    return closing;
  }

  /** A model is no longer on the device. */
  #gone(model: OnDemandModel): void {
    model.model = null;
    model.memory = 0;
    model.isLeaving = false;
    model.expiresAt = null;
    if (model.isShrunk) this.#unplan(model);
    this.#setState(model, 'unloaded');
    for (const resolve of model.onClosed.splice(0)) resolve();
    if (model.waiters.size > 0 && !this.areClosed) this.want(model);
    this.advance();
  }

  #setState(model: OnDemandModel, state: OnDemandModel['state']): void {
    model.state = state;
    this.#of.changed(model);
  }

  /** The last request that used a model has ended. */
  idle(model: OnDemandModel): void {
    if (model.state !== 'loaded') return;
    const { keepAlive, isPinned } = model;
    if (model.isLeaving || (keepAlive === 0 && !isPinned && model.waiters.size === 0))
      return void this.close(model);
    if (keepAlive === null || keepAlive === Infinity || isPinned) return;
    model.expiresAt = Date.now() + keepAlive;
    model.timer = setTimeout(() => {
      if (model.uses === 0 && model.state === 'loaded') void this.close(model);
    }, keepAlive);
    model.timer.unref();
  }

  #dequeue(model: OnDemandModel): void {
    const at = this.#queue.indexOf(model);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** Waits until a model that is being closed is. */
  async untilClosed(model: OnDemandModel): Promise<void> {
    await this.#closings.get(model);
  }

  /** Ends requests that wait, cancels what is being opened, and closes every model. */
  async end(): Promise<void> {
    this.#leaving.abort();
    for (const model of this.#of.models()) for (const waiter of model.waiters) waiter.refuse(closedError());
    await this.#opened;
    const open = this.#of.models().filter(({ state }) => state === 'loaded');
    await Promise.all(open.map((model) => this.close(model)));
    await Promise.all(this.#closings.values());
  }
}
