// The models of a window, in its preload script: proxies of models in the main process. Functions take and return plain data, promises and functions
// alone, because Electron copies all values that pass between a preload script and its page.

import { callByName, type AnyModel } from '../session/model.ts';
import { openProxy } from '../thread/model-proxy.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Port } from '../../engine/platform/port.ts';
import { toWire, type WireError } from '../../engine/platform/wire-error.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import { WireCalls } from './calls.ts';
import { ALL_KINDS } from '../kinds/kinds.ts';
import type { WindowMessage, WorkerAnswers } from './wire.ts';

/** The result of a call, or its error as data: Electron copies only the message of an error. */
export type Outcome<T> = { value: T } | { error: WireError };

export interface WindowCalls {
  adapters(): Promise<Outcome<AdapterSummary[]>>;
  /** Names of the functions that open models, and the kind that each opens. */
  openers: readonly { opener: string; kind: string }[];
  open(kind: string, options: object, onEvent: (event: OpenEvent) => void): WindowOpening;
}

export interface WindowOpening {
  opened: Promise<Outcome<WindowModel>>;
  cancel(): void;
}

export interface WindowModel {
  info: unknown;
  /** The model's methods that return one value. */
  calls: Readonly<Record<string, (...given: unknown[]) => Promise<Outcome<unknown>>>>;
  /** Resolves with the reason once the model no longer answers. */
  ended: Promise<WireError>;
  generate(request: unknown, more: object): WindowEvents;
  close(): Promise<Outcome<void>>;
}

export interface WindowEvents {
  /** Returns the next event; null at the end. */
  next(): Promise<Outcome<unknown>>;
  abort(): void;
  /** Ends a request whose reader leaves. */
  leave(): Promise<void>;
}

/** `connect` sends a message to the main process and returns the port on which it is answered. */
export function windowCalls(connect: (message: WindowMessage) => Port): WindowCalls {
  return {
    adapters: () =>
      outcome(async () => {
        const port = connect({ type: 'adapters' });
        const adapters = await new WireCalls<Pick<WorkerAnswers, 'adapters'>>(port, {}).call('adapters');
        port.end?.();
        return adapters;
      }),
    openers: ALL_KINDS.map(({ opener, name }) => ({ opener, kind: name })),
    open(kind, options, onEvent) {
      const controller = new AbortController();
      const opened = outcome(async () => {
        const port = connect({ type: 'open', kind });
        const { calls, merge } = ALL_KINDS.find(({ name }) => name === kind)!;
        const model = await openProxy<AnyModel>(port, calls, {
          options,
          onEvent,
          onClosed: async () => port.end?.(),
          signal: controller.signal,
          merge,
        });
        return windowModel(model, Object.keys(calls));
      });
      return { opened, cancel: () => controller.abort() };
    },
  };
}

function windowModel(model: AnyModel, names: readonly string[]): WindowModel {
  const methods = names.map((name) => [
    name,
    (...given: unknown[]) => outcome(() => callByName(model, name, given)),
  ]);
  return {
    info: model.info,
    calls: Object.fromEntries(methods) as WindowModel['calls'],
    ended: model.ended.then(toWire),
    generate: (request, more) => windowEvents(model, request, more),
    close: () => outcome(() => model.close()),
  };
}

function windowEvents(model: AnyModel, request: unknown, more: object): WindowEvents {
  const controller = new AbortController();
  const events = model.generate(request as never, { ...more, signal: controller.signal });
  return {
    next: () =>
      outcome(async () => {
        const { done, value } = await events.next();
        return done ? null : value;
      }),
    abort: () => controller.abort(),
    leave: async () => void (await events.return()),
  };
}

async function outcome<T>(compute: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await compute() };
  } catch (error) {
    return { error: toWire(error) };
  }
}
