// The members that models of every kind have in common, and the object through which callers use one.

import type { OpenEvent } from '../../engine/opening/open-event.ts';

/** `More`: options of `generate` beside its request. */
export interface Model<Info, Request, Event, More = object> {
  readonly info: Info;
  /** Resolves with the reason once the model no longer answers: it was closed, or its worker thread has ended. */
  readonly ended: Promise<Error>;
  readonly asleep: boolean;
  /** Throws EngineError. */
  generate(request: Request, options?: More & { signal?: AbortSignal }): AsyncGenerator<Event, void, void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type AnyModel = Model<unknown, never, unknown>;

/** Opens models of one kind. An abort of `signal` cancels the opening. */
export type OpenModel<Options, M> = (
  options: Options,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
) => Promise<M>;

/** A method of a model that returns one value. */
export interface Call {
  /** It neither wakes the model nor keeps it awake: while the model sleeps, what it kept answers. */
  readonly passive?: true;
  /** It changes the model: a model that is opened again is brought to the same state. */
  readonly changes?: true;
  /** Its arguments name files. */
  readonly files?: true;
}

/** The calls of a model by their names; the type requires all of them. */
export type Calls<M> = Readonly<Record<Exclude<keyof M, keyof AnyModel> & string, Call>>;

/** The declaration of a call; undefined for `close`. */
export function callNamed<M>(calls: Calls<M>, name: string): Call | undefined {
  return (calls as Readonly<Record<string, Call>>)[name];
}

type Method = (...given: unknown[]) => Promise<unknown>;

/** Calls a method of a model by its name. */
export function callByName(model: object, name: string, given: readonly unknown[]): Promise<unknown> {
  return (model as Record<string, Method>)[name]!(...given);
}

/** Wraps a model as a plain object whose methods need no `this`. `call` executes the methods that `calls` names. */
export function modelObject<M extends AnyModel>(
  model: Omit<AnyModel, typeof Symbol.asyncDispose>,
  calls: Calls<M>,
  call: (name: string, given: unknown[]) => Promise<unknown>,
): M {
  const close = (): Promise<void> => model.close();
  const object: AnyModel = {
    get info() {
      return model.info;
    },
    get asleep() {
      return model.asleep;
    },
    ended: model.ended,
    generate: (request, options) => model.generate(request, options),
    ...Object.fromEntries(
      Object.keys(calls).map((name): [string, Method] => [name, (...given) => call(name, given)]),
    ),
    close,
    [Symbol.asyncDispose]: close,
  };
  return object as M;
}
