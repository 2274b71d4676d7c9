// A kind of model: language models, image models, embedding models. All that the session, the threads and sleep need to know of it.

import type { Platform } from '../platform.ts';
import type { AnyMerge } from './event-queue.ts';
import type { AnyModel, CallNames } from './model.ts';
import type { OpenEvent } from './open-event.ts';
import type { SleepBehaviour } from './sleeping-model.ts';

export interface SessionOptions {
  /** Folder, or hub id. */
  model: string;
  inline?: boolean;
  sleepAfter?: number;
}

export interface ModelKind<Options extends SessionOptions, M extends AnyModel> {
  /** Name of the threads that its models run in. */
  readonly name: string;
  readonly calls: CallNames<M>;
  /** Joins events of a reader who falls behind. */
  readonly merge?: AnyMerge;
  /** Throws bad_request for options that are unknown or out of bounds. */
  check(options: Options): void;
  /** Opens a model in this thread. `signal` gives the opening up. */
  open(
    platform: Platform,
    options: Options,
    onEvent?: (event: OpenEvent) => void,
    signal?: AbortSignal,
  ): Promise<M>;
  /** How a model of this kind sleeps. */
  sleep(model: M, options: Options): SleepBehaviour<M>;
}
