// The opening of a model in this thread: the events that it reports, whether it is cancelled, and the resources that it has
// acquired.

import { type Prose, noteOf } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
import { DisposableStack } from '../../engine/async/disposable-stack.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';

export class Opening {
  readonly resources = new DisposableStack();
  /** Aborts when the opening is cancelled. */
  readonly signal: AbortSignal | undefined;
  readonly #onEvent: (event: OpenEvent) => void;
  #isOpen = false;

  private constructor(onEvent: (event: OpenEvent) => void, signal: AbortSignal | undefined) {
    this.#onEvent = onEvent;
    this.signal = signal;
  }

  /** Runs `open`. If it fails, everything deferred in `resources` is released. */
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
      await opening.resources.dispose().catch(() => {}); // the first error is the one to report
      throw error;
    }
  }

  /**
   * Passes an event to the caller. Throws cancelled if the opening was cancelled: events are frequent while weights are read and
   * kernels are compiled, so that the opening ends soon.
   */
  readonly onEvent = (event: OpenEvent): void => {
    if (this.signal?.aborted && !this.#isOpen) throw openingCancelled();
    this.#onEvent(event);
  };

  readonly note = (message: Prose): void => this.onEvent(noteOf(message));
}

export function openingCancelled(): EngineError {
  return new EngineError('cancelled', 'opening the model was cancelled');
}
