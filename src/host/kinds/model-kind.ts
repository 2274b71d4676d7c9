// The interface of a kind of model (language, image, embedding): all that the session, the threads and sleep need to know.

import type { Platform } from '../../engine/platform/platform.ts';
import type { AnyMerge } from '../../engine/async/event-queue.ts';
import type { AnyModel, CallNames } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { SleepBehaviour } from '../session/sleeping-model.ts';

export interface SessionOptions {
  /** Path of a model folder, or hub id. */
  model: string;
  inline?: boolean;
  sleepAfter?: number;
}

/** The part of a kind that a caller's thread needs if the engine runs in another one. */
export interface ModelFace<Options extends SessionOptions, M extends AnyModel> {
  /** Name of its models' threads. */
  readonly name: string;
  readonly calls: CallNames<M>;
  /** Merges events of a reader that falls behind. */
  readonly merge?: AnyMerge;
  /** Throws bad_request for options that are unknown or out of bounds. */
  check(options: Options): void;
  /** Returns the sleep behaviour of a model of this kind. */
  sleep(model: M, options: Options): SleepBehaviour<M>;
}

export interface ModelKind<Options extends SessionOptions, M extends AnyModel> extends ModelFace<Options, M> {
  /** Opens a model in this thread. An abort of `signal` cancels that. */
  open(
    platform: Platform,
    options: Options,
    onEvent?: (event: OpenEvent) => void,
    signal?: AbortSignal,
  ): Promise<M>;
}
