// Models that several windows share: those opened with equal options are one model, which is closed when its last user leaves.

import { onAbort, unlessAborted } from '../../engine/async/abort-listeners.ts';
import { closedError, openingCancelled } from '../../engine/async/cancelled.ts';
import { callByName, modelObject, type AnyModel } from '../session/model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { AnyKind } from '../kinds/model-kind.ts';
import { openModel } from './open-main.ts';

interface Shared {
  model: Promise<AnyModel>;
  users: number;
  /** Cancels the opening when the last user leaves before its end. */
  readonly opening: AbortController;
  readonly listeners: Set<(event: OpenEvent) => void>;
}

export class SharedModels {
  readonly #models = new Map<string, Shared>();

  /** Opens a model, or joins those who use one with equal options. `close` of the result leaves it. */
  async open(
    kind: AnyKind,
    options: { model: string },
    onEvent: (event: OpenEvent) => void,
    signal: AbortSignal,
  ): Promise<AnyModel> {
    const key = `${kind.name} ${canonical(options)}`;
    const shared = this.#models.get(key) ?? this.#begin(key, kind, options);
    shared.users++;
    shared.listeners.add(onEvent);
    const leave = async (): Promise<void> => {
      shared.listeners.delete(onEvent);
      if (--shared.users > 0) return;
      if (this.#models.get(key) === shared) this.#models.delete(key);
      shared.opening.abort();
      await shared.model.then((model) => model.close()).catch(() => {});
    };
    try {
      const model = await unlessAborted(() => shared.model, signal, openingCancelled);
      if (signal.aborted) throw openingCancelled();
      return useOf(kind, model, leave);
    } catch (error) {
      await leave();
      throw error;
    }
  }

  #begin(key: string, kind: AnyKind, options: { model: string }): Shared {
    const [opening, listeners] = [new AbortController(), new Set<(event: OpenEvent) => void>()];
    const onEvent = (event: OpenEvent): void => listeners.forEach((listener) => listener(event));
    const model = openModel(kind, options as never, onEvent, opening.signal);
    const shared: Shared = { model, users: 0, opening, listeners };
    this.#models.set(key, shared);
    const forget = (): void => {
      if (this.#models.get(key) === shared) this.#models.delete(key);
    };
    void model.then(({ ended }) => ended).then(forget, forget);
    return shared;
  }
}

/** A user's own handle of a model. Its `close` aborts its requests and leaves the model. */
function useOf({ calls }: AnyKind, model: AnyModel, leave: () => Promise<void>): AnyModel {
  const running = new Set<AbortController>();
  let closing: Promise<void> | null = null;
  const handle = {
    get info() {
      return model.info;
    },
    get asleep() {
      return model.asleep;
    },
    ended: model.ended,
    async *generate(request: never, options: { signal?: AbortSignal } = {}) {
      if (closing) throw closedError();
      const controller = new AbortController();
      const stopListening = onAbort(options.signal, () => controller.abort());
      if (options.signal?.aborted) controller.abort();
      running.add(controller);
      try {
        yield* model.generate(request, { ...options, signal: controller.signal });
      } finally {
        stopListening();
        running.delete(controller);
      }
    },
    close(): Promise<void> {
      for (const controller of running) controller.abort();
      return (closing ??= leave());
    },
  };
  return modelObject<AnyModel>(handle, calls, (method, given) =>
    closing ? Promise.reject(closedError()) : callByName(model, method, given),
  );
}

/** JSON with sorted names, so that equal options give equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
