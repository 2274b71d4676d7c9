// A kind of model, as one value: its words, its calls, its checks, its sleep, and where its engine is. Threads, faces, the server and the command
// line read it, and none of them asks what a model is in another way. A value loads its engine only where a model is opened.

import type { AnyMerge } from '../../engine/async/event-queue.ts';
import type { ReadFiles } from '../../engine/opening/served.ts';
import type { OpenOnPaper } from '../../engine/plan/paper-model.ts';
import type { AnyModel } from '../session/model.ts';
import type { ReplicaRule } from '../session/replicas.ts';
import type { KindFace, SessionOptions } from './kind-face.ts';
import type { Repeat } from './repeat.ts';

export interface ModelKind<Options extends SessionOptions, M extends AnyModel> extends KindFace<Options, M> {
  /** URL of the module that exports this value, which a thread imports. */
  readonly module: string;
  /** Merges events of a reader that falls behind. */
  readonly merge?: AnyMerge;
  /** How replicas share requests; left out: models of this kind have none. */
  readonly replicas?: ReplicaRule<Options, M>;
  /** Begins to follow a request that may have to run a second time. Left out: PlainRepeat. */
  repeat?(request: never): Repeat<unknown, unknown>;
  /** Loads the engine, which reads the files of such a model. */
  engine(): Promise<ReadFiles<Options, M>>;
  /** Loads what opens such a model on devices that compute nothing, for a plan. */
  paper(): Promise<OpenOnPaper>;
}

/** A kind whose options and models are not known. */
export type AnyKind = ModelKind<never, AnyModel>;
