// The engine of an app: one hidden window for all models, with a worker for each. The window is opened when the first model is, and again after
// its process has ended.

import type { MessagePortMain } from 'electron';
import type { Port } from '../../engine/platform/port.ts';
import { fromWire, type WireError } from '../../engine/platform/wire-error.ts';
import { EngineError } from '../../files/error.ts';
import { WireCalls } from './calls.ts';
import { makePorts, onQuit, openEnginePage, unlessQuitting, type EnginePage } from './electron.ts';
import { ModelFiles } from './model-files.ts';
import { ServedFiles } from './served-files.ts';
import type { WorkerAnswers } from './wire.ts';

export interface Loss {
  /** Description of the loss, for a note. */
  what: string;
  error: Error;
}

/** A worker of the engine's window. */
export interface Thread {
  /** Port of the worker's model. */
  readonly port: Port;
  readonly files: ModelFiles;
  readonly worker: WireCalls<WorkerAnswers>;
  /** Set once the worker or its window has ended: why, and the error for all that waits for it. */
  readonly loss: Loss | null;
  /** Terminates the worker and closes its files. */
  stop(): Promise<void>;
}

class Engine {
  readonly #served = new ServedFiles(new URL('../../browser/', import.meta.url));
  readonly #threads = new Map<number, EngineThread>();
  #page: Promise<EnginePage> | null = null;
  #nextId = 0;

  constructor() {
    onQuit(() => void this.#page?.then((page) => page.destroy()));
  }

  /** Starts a worker for a model of a kind, or for ADAPTERS, in a new window if none is open. Throws cancelled if the app quits. */
  async start(kind: string): Promise<Thread> {
    if (!this.#page) await unlessQuitting();
    const opened = (this.#page ??= this.#open());
    const page = await opened;
    if (this.#page !== opened) return this.start(kind); // the window has ended meanwhile
    const id = this.#nextId++;
    const thread = new EngineThread(new ModelFiles(this.#served), () => {
      if (this.#threads.delete(id)) page.post({ type: 'end', id });
    });
    this.#threads.set(id, thread);
    page.post({ type: 'start', id, kind }, thread.far);
    return thread;
  }

  async #open(): Promise<EnginePage> {
    try {
      const page = await openEnginePage((request) => this.#served.answer(request));
      page.onGone((reason) => this.#lose(page, reason));
      return page;
    } catch (error) {
      this.#page = null;
      throw error;
    }
  }

  #lose(page: EnginePage, reason: string): void {
    this.#page = null;
    const what = `the process of the engine's window ended (${reason})`;
    const error = new EngineError('device_lost', `${what}: open the model again`);
    const threads = [...this.#threads.values()];
    this.#threads.clear();
    for (const thread of threads) thread.lose({ what, error });
    page.destroy();
  }
}

/** The engine of this app. */
export const engine = new Engine();

class EngineThread implements Thread {
  readonly port: Port;
  readonly worker: WireCalls<WorkerAnswers>;
  readonly files: ModelFiles;
  /** The ports that go to the page. */
  readonly far: readonly MessagePortMain[];
  readonly #ports: readonly Port[];
  readonly #terminate: () => void;
  readonly #listeners: ((error: Error) => void)[] = [];
  loss: Loss | null = null;

  constructor(files: ModelFiles, terminate: () => void) {
    const [model, calls, ending] = [makePorts(), makePorts(), makePorts()];
    this.files = files;
    this.far = [model.far, calls.far, ending.far];
    this.#ports = [model.near, calls.near, ending.near];
    this.#terminate = terminate;
    this.worker = new WireCalls<WorkerAnswers>({ ...calls.near, onLost: () => {} }, files.answers);
    files.worker = this.worker;
    const onLost = (listener: (error: Error) => void): void => {
      if (this.loss) listener(this.loss.error);
      else this.#listeners.push(listener);
    };
    this.port = { ...model.near, onLost };
    ending.near.onMessage((reason) => {
      const error = fromWire(reason as WireError);
      this.#terminate();
      this.lose({ what: `the engine's worker ended (${error.message})`, error });
    });
  }

  lose(loss: Loss): void {
    if (this.loss) return;
    this.loss = loss;
    this.worker.fail(loss.error);
    for (const listener of this.#listeners) listener(loss.error);
    this.#endPorts();
    void this.files.close();
  }

  async stop(): Promise<void> {
    this.#terminate();
    this.worker.fail(new EngineError('cancelled', 'the model is closed: open it again'));
    this.#endPorts();
    await this.files.close();
  }

  #endPorts(): void {
    for (const port of this.#ports) port.end?.();
  }
}
