// The members that models of every kind have in common, and the object through which callers use one.

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

/** Names of a model's methods that return one value; the type requires all of them. */
export type CallNames<M> = Readonly<Record<Exclude<keyof M, keyof AnyModel> & string, true>>;

type Call = (...given: unknown[]) => Promise<unknown>;

/** Calls a method of a model by its name. */
export function callByName(model: object, name: string, given: readonly unknown[]): Promise<unknown> {
  return (model as Record<string, Call>)[name]!(...given);
}

/** Wraps a model as a plain object whose methods need no `this`. `call` executes the methods that `calls` names. */
export function modelObject<M extends AnyModel>(
  model: Omit<AnyModel, typeof Symbol.asyncDispose>,
  calls: CallNames<M>,
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
      Object.keys(calls).map((name): [string, Call] => [name, (...given) => call(name, given)]),
    ),
    close,
    [Symbol.asyncDispose]: close,
  };
  return object as M;
}

/** Wraps a model of this thread as such an object. */
export function localModel<M extends AnyModel>(model: M, calls: CallNames<M>): M {
  return modelObject(model, calls, (name, given) => callByName(model, name, given));
}
