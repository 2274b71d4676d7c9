// The opening of a model in this thread: the events it reports, where it may be given up, and what it has acquired so far.

import { type Prose, noteOf } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
import { DisposableStack } from './disposable-stack.ts';
import type { OpenEvent } from './open-event.ts';

export class Opening {
  readonly resources = new DisposableStack();
  /** Aborts when the opening is given up. */
  readonly signal: AbortSignal | undefined;
  readonly #onEvent: (event: OpenEvent) => void;
  #isOpen = false;

  private constructor(onEvent: (event: OpenEvent) => void, signal: AbortSignal | undefined) {
    this.#onEvent = onEvent;
    this.signal = signal;
  }

  /** Runs `open`. Where it fails, all that it has deferred in `resources` is given back. */
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
   * Passes an event to the caller. Events are frequent while weights are read and kernels are compiled, so that an opening which was
   * given up ends here: throws cancelled.
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
