// What a kind of model says of itself, without its engine: the part that the public face, the server and the command line see.

import type { AnyModel, Calls } from '../session/model.ts';
import type { SleepBehaviour } from '../session/sleeping-model.ts';

export interface SessionOptions {
  /** Path of a model folder, or hub id. */
  model: string;
  inline?: boolean;
  sleepAfter?: number;
}

export interface KindFace<Options extends SessionOptions, M extends AnyModel> {
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
  /** Classes of config.json that no other kind opens, by which a model shows that it is of this kind; left out: none does. */
  readonly classes?: readonly string[];
  readonly calls: Calls<M>;
  /** Throws bad_request for options that are unknown or out of bounds. */
  check(options: Options): void;
  /** Returns what a model keeps while it sleeps. */
  sleep(model: M, options: Options): SleepBehaviour<M>;
  /** Options with which a server opens such a model. */
  readonly served?: Readonly<Record<string, unknown>>;
  /** What was chosen or found out as the model was opened, as lines of a log. */
  summary(info: M['info']): string[];
}

/** A kind whose models are not known. */
export type AnyFace = KindFace<never, AnyModel>;

/** The models of a kind. */
export type ModelOf<K extends AnyFace> = K extends KindFace<infer _Options, infer M> ? M : never;
