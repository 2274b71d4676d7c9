// The opening of a model in this thread: the events that it reports, whether it is cancelled, and the resources that it has
// acquired.

import { type Prose, noteOf } from '../../files/message.ts';
import { openingCancelled } from '../../engine/async/cancelled.ts';
import { DisposableStack } from '../../engine/async/disposable-stack.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Opening as EngineOpening } from '../../engine/opening/served.ts';

export class Opening implements EngineOpening {
  readonly #resources = new DisposableStack();
  readonly signal: AbortSignal | undefined;
  readonly #onEvent: (event: OpenEvent) => void;
  #isOpen = false;

  private constructor(onEvent: (event: OpenEvent) => void, signal: AbortSignal | undefined) {
    this.#onEvent = onEvent;
    this.signal = signal;
  }

  /** Runs `open`. If it fails, everything that was deferred is released. */
  static async run<M>(
    onEvent: (event: OpenEvent) => void,
    signal: AbortSignal | undefined,
    open: (opening: Opening) => Promise<M>,
  ): Promise<M> {
    const opening = new Opening(onEvent, signal);
    try {
      const model = await open(opening);
      opening.#isOpen = true;
      return model;
    } catch (error) {
      await opening.release().catch(() => {}); // the first error is the one to report
      throw error;
    }
  }

  /** Events are frequent while weights are read and kernels are compiled, so that a cancelled opening ends soon. */
  readonly onEvent = (event: OpenEvent): void => {
    if (this.signal?.aborted && !this.#isOpen) throw openingCancelled();
    this.#onEvent(event);
  };

  readonly note = (message: Prose): void => this.onEvent(noteOf(message));

  readonly defer = (giveBack: () => Promise<void> | void): void => this.#resources.defer(giveBack);

  /** Calls the deferred functions, even if some of them fail; then throws the first failure. */
  release(): Promise<void> {
    return this.#resources.dispose();
  }
}
