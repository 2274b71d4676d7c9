// Both ends of a kind of model in another thread, from the names of what it answers beyond every model.

import { connectModel, serveModel, type Calls, type Model, type Port, type Serving } from './model-proxy.ts';
import type { Merge } from './event-queue.ts';
import type { OpenEvent } from './open-event.ts';

/** Methods that answer once, all of them. */
type Names<M, Every> = Readonly<Record<Exclude<keyof M, keyof Every> & string, true>>;

export interface RemoteFace<Options, M> {
  /** Serves one model to the other side of a port; see serveModel. */
  serve(
    port: Port,
    open: Serving<Options, M>['open'],
    release: () => void,
  ): (error: unknown) => Promise<void>;
  /** Opens a model on the other side of a port. `onClosed` runs when it is closed; `signal` gives the opening up. */
  connect(
    port: Port,
    options: Options,
    onEvent: (event: OpenEvent) => void,
    onClosed: () => Promise<void>,
    signal?: AbortSignal,
  ): Promise<M>;
}

/** `merge` joins events of a reader who falls behind. */
export function remoteFace<Options, Info, Request, Event, M extends Model<Info, Request, Event>>(
  answers: Names<M, Model<Info, Request, Event>>,
  merge?: Merge<Event>,
): RemoteFace<Options, M> {
  const names = Object.keys(answers);
  const calls: Calls<M> = Object.fromEntries(
    names.map((name) => [
      name,
      (model: M, given: unknown[]): Promise<unknown> => {
        const method = model[name as keyof M] as (...given: unknown[]) => Promise<unknown>;
        return method.apply(model, given);
      },
    ]),
  );
  return {
    serve: (port, open, release) => serveModel(port, { open, calls, release }),
    connect: (port, options, onEvent, onClosed, signal) =>
      connectModel<Info, Request, Event, M>(
        port,
        options,
        onEvent,
        onClosed,
        (model, invoke) => {
          const own = names.map((name) => [name, (...given: unknown[]) => invoke(name, given)] as const);
          return { ...model, ...Object.fromEntries(own) } as unknown as M;
        },
        { signal, ...(merge && { merge }) },
      ),
  };
}
