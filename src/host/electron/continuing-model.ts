// A model in the engine's window that outlives its worker and the window's process: when one of them ends, the model is opened in a new worker,
// and requests in progress run again with the events left out that their readers have got.

import { EngineError } from '../../files/error.ts';
import { noteOf } from '../../files/message.ts';
import { cancelled, unlessAborted } from '../../engine/async/abort-listeners.ts';
import { callByName, callNamed, modelObject, type AnyModel } from '../session/model.ts';
import type { SessionOptions } from '../kinds/kind-face.ts';
import type { ModelKind } from '../kinds/model-kind.ts';
import { openProxy } from '../thread/model-proxy.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import { Session } from '../session/session.ts';
import type { Rest } from '../session/sleeping-model.ts';
import type { ToHost } from '../thread/wire-messages.ts';
import { engine, type Thread } from './engine.ts';
import { PlainRepeat } from '../kinds/repeat.ts';

export interface Continuing<Options extends SessionOptions, M extends AnyModel> {
  kind: ModelKind<Options, M>;
  options: Options;
  onEvent(event: OpenEvent): void;
}

/** A model in one worker. */
interface Running<M> {
  model: M;
  thread: Thread;
}

/** Milliseconds that a worker has to release what it holds after its opening was cancelled. */
const LEAVE_TIME = 2000;

/** Opens a model in a worker of the engine's window. An abort of `signal` cancels that. */
export async function openContinuing<Options extends SessionOptions, M extends AnyModel>(
  given: Continuing<Options, M>,
  signal: AbortSignal | undefined,
): Promise<M> {
  const model = new ContinuingModel(given, await openRunning(given, signal));
  return modelObject(model, given.kind.calls, (name, args) => model.call(name, args));
}

async function openRunning<Options extends SessionOptions, M extends AnyModel>(
  { kind: { name, calls, merge }, options, onEvent }: Continuing<Options, M>,
  signal: AbortSignal | undefined,
): Promise<Running<M>> {
  const thread = await engine.start(name);
  const { port, files } = thread;
  const post = (message: ToHost): void => {
    if (message.type === 'open') files.allow(message.options);
    if (message.type === 'call' && callNamed(calls, message.method)?.files) files.allow(message.given);
    port.post(message);
  };
  const model = await openProxy<M>({ ...port, post: (message) => post(message as ToHost) }, calls, {
    options,
    onEvent,
    onClosed: () => thread.stop(),
    signal,
    merge,
    leaveTime: LEAVE_TIME,
  });
  return { model, thread };
}

class ContinuingModel<Options extends SessionOptions, M extends AnyModel> {
  readonly asleep = false;
  readonly #given: Continuing<Options, M>;
  readonly #session: Session<Running<M>>;
  /** State of the model that changes have left, to be restored in a new window. */
  #rest: Rest<M> | null = null;

  constructor(given: Continuing<Options, M>, first: Running<M>) {
    this.#given = given;
    this.#session = new Session<Running<M>>(
      {
        open: (signal, before) => this.#reopen(signal, before),
        close: ({ model }) => model.close(),
        ended: (running) => this.#ended(running),
      },
      first,
    );
  }

  get info(): unknown {
    return this.#session.latest.model.info;
  }

  get ended(): Promise<Error> {
    return this.#session.ended;
  }

  async call(name: string, args: readonly unknown[]): Promise<unknown> {
    const value = await this.#withModel((model) => callByName(model, name, args));
    if (callNamed(this.#given.kind.calls, name)?.changes) {
      const { model } = this.#session.latest;
      this.#rest = await this.#given.kind.sleep(model, this.#given.options).rest(model);
    }
    return value;
  }

  async #withModel<T>(use: (model: M) => Promise<T>): Promise<T> {
    for (let losses = 0; ; losses++) {
      const running = await this.#session.ready();
      try {
        return await use(running.model);
      } catch (error) {
        this.#continueAfter(running, losses, error);
      }
    }
  }

  async *generate(request: never, options?: { signal?: AbortSignal }): AsyncGenerator<unknown, void, void> {
    const repeat = this.#given.kind.repeat?.(request) ?? new PlainRepeat(request);
    for (let losses = 0; ; losses++) {
      const reason = losses > 0 ? cancelledMeanwhile : cancelled;
      const running = await unlessAborted(() => this.#session.ready(), options?.signal, reason);
      if (losses > 0) repeat.again();
      try {
        for await (const event of running.model.generate(repeat.request as never, options)) {
          const part = repeat.pass(event);
          if (part !== null) yield part;
        }
        return;
      } catch (error) {
        this.#continueAfter(running, losses, error);
      }
    }
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  /** Throws the error of a request unless it is due to the end of the worker or the window, for the first time. */
  #continueAfter(running: Running<M>, losses: number, error: unknown): void {
    if (!running.thread.loss || losses > 0) throw error;
    this.#lose(running);
  }

  #lose(running: Running<M>): void {
    if (this.#session.latest === running) this.#session.lose();
  }

  /** Resolves when a model has ended for good, not with its worker or window. */
  async #ended(running: Running<M>): Promise<Error> {
    const reason = await running.model.ended;
    if (!running.thread.loss) return reason;
    this.#lose(running);
    return new Promise(() => {});
  }

  async #reopen(signal: AbortSignal, before: Running<M> | null): Promise<Running<M>> {
    const ended = before?.thread.loss?.what ?? "the engine's worker ended";
    this.#given.onEvent(noteOf(`${ended}; loading the model again`));
    try {
      const running = await openRunning(this.#given, signal);
      await this.#rest?.restore(running.model).catch(async (error: unknown) => {
        await running.model.close();
        throw error;
      });
      return running;
    } catch (cause) {
      if (signal.aborted || (cause instanceof EngineError && cause.code === 'cancelled')) throw cause;
      const message = `${ended}, and the model could not be opened again: restart the app`;
      throw new EngineError('device_lost', message, { cause });
    }
  }
}

function cancelledMeanwhile(): EngineError {
  return new EngineError('cancelled', 'the request was cancelled while the model was opened again');
}
