// A kind of model, as one value: its words, its calls, its checks, its sleep, and where its engine is. Threads, faces, the server and the command
// line read it, and none of them asks what a model is in another way. A value loads its engine only where a model is opened.

import type { AnyMerge } from '../../engine/async/event-queue.ts';
import type { ReadFiles } from '../../engine/opening/served.ts';
import type { OpenOnPaper } from '../../engine/plan/paper-model.ts';
import type { AnyModel, Calls } from '../session/model.ts';
import type { SleepBehaviour } from '../session/sleeping-model.ts';
import type { Repeat } from './repeat.ts';

export interface SessionOptions {
  /** Path of a model folder, or hub id. */
  model: string;
  inline?: boolean;
  sleepAfter?: number;
}

export interface ModelKind<Options extends SessionOptions, M extends AnyModel> {
  /** `kind` in the info of its models. Messages and tables of settings name the kind by it. */
  readonly name: string;
  /** A model of this kind in messages, with its article apart. */
  readonly article: 'a' | 'an';
  readonly noun: string;
  /** Where the server answers requests to such a model. */
  readonly endpoint: string;
  /** Name of the public function that opens such a model. */
  readonly opener: string;
  /** A file by which a folder shows that its model is of this kind; left out: no file does. */
  readonly file?: string;
  /** URL of the module that exports this value, which a thread imports. */
  readonly module: string;
  readonly calls: Calls<M>;
  /** Merges events of a reader that falls behind. */
  readonly merge?: AnyMerge;
  /** Options with which a server opens such a model. */
  readonly served?: Readonly<Record<string, unknown>>;
  /** Throws bad_request for options that are unknown or out of bounds. */
  check(options: Options): void;
  /** Returns what a model keeps while it sleeps. */
  sleep(model: M, options: Options): SleepBehaviour<M>;
  /** Begins to follow a request that may have to run a second time. Left out: PlainRepeat. */
  repeat?(request: never): Repeat<unknown, unknown>;
  /** What was chosen or found out as the model was opened, as lines of a log. */
  summary(info: M['info']): string[];
  /** Loads the engine, which reads the files of such a model. */
  engine(): Promise<ReadFiles<Options, M>>;
  /** Loads what opens such a model on devices that compute nothing, for a plan. */
  paper(): Promise<OpenOnPaper>;
}

/** A kind whose options and models are not known. */
export type AnyKind = ModelKind<never, AnyModel>;

/** The models of a kind. */
export type ModelOf<K extends AnyKind> = K extends ModelKind<infer _Options, infer M> ? M : never;
