// A model in this thread: its files, and its parts on a device. A lost device is replaced by a new one, onto which the parts are
// loaded again.

import { EngineError } from '../../files/error.ts';
import { openingCancelled } from '../../engine/async/cancelled.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { DeviceSource, OnDevice, ServedDevice } from '../../engine/opening/served.ts';
import { budgetNote } from './budget-note.ts';
import type { Opening } from './opening.ts';
import { Session, type SessionState } from './session.ts';

export class DeviceSession<P extends OnDevice> implements ServedDevice<P> {
  readonly #opening: Opening;
  readonly #source: DeviceSource<P>;
  readonly #session: Session<P>;
  #lossReason = '';
  #restarts = 0;

  private constructor(opening: Opening, source: DeviceSource<P>) {
    this.#opening = opening;
    this.#source = source;
    this.#session = new Session<P>({
      open: (signal, before) => (before === null ? this.#load(signal, null) : this.#reload(signal, before)),
      close: (parts) => this.#unload(parts),
    });
    opening.defer(() => this.#session.release());
  }

  /** Opens a device and loads the parts. Errors: no_adapter, out_of_memory, bad_checkpoint, cancelled, and those of `source`. */
  static async open<P extends OnDevice>(
    opening: Opening,
    source: DeviceSource<P>,
  ): Promise<DeviceSession<P>> {
    const session = new DeviceSession(opening, source);
    await session.ready();
    return session;
  }

  get note(): ServedDevice<P>['note'] {
    return this.#opening.note;
  }

  get state(): SessionState {
    return this.#session.state;
  }

  get isClosed(): boolean {
    return this.state === 'closed';
  }

  get parts(): P {
    return this.#session.latest;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Resolves with the reason once the model is closed. */
  get ended(): Promise<Error> {
    return this.#session.ended;
  }

  assertOpen(): void {
    this.#session.assertOpen();
  }

  async ready(): Promise<P> {
    if (this.state === 'ready' && this.parts.device.isLost) await this.loss();
    return this.#session.ready();
  }

  async loss(): Promise<string | null> {
    const { device } = this.parts;
    const reason = await device.loss();
    if (reason !== null && this.state === 'ready' && device === this.parts.device) {
      this.#lossReason = reason;
      this.#session.lose();
    }
    return reason;
  }

  get defer(): ServedDevice<P>['defer'] {
    return this.#opening.defer;
  }

  /** Releases everything that was opened, exactly once, even if some of it fails; then throws the first failure. */
  close(): Promise<void> {
    return this.#session.close(() => this.#opening.release());
  }

  async #load(signal: AbortSignal, before: P | null): Promise<P> {
    const onEvent = (event: OpenEvent): void => {
      if (signal.aborted) throw openingCancelled();
      this.#opening.onEvent(event);
    };
    const device = await this.#source.openDevice(before);
    const note = budgetNote(device.memoryBudget, device.sharedMemory);
    if (note !== null && before === null) this.#opening.note(note);
    try {
      return await this.#source.load(device, before, onEvent);
    } catch (error) {
      const reason = error instanceof EngineError ? null : await device.loss();
      device.destroy();
      if (reason === null) throw error;
      const message = `the GPU device was lost (${reason}) while the model was loaded: open it again`;
      throw new EngineError('device_lost', message, { cause: error });
    }
  }

  async #reload(signal: AbortSignal, before: P): Promise<P> {
    const reason = this.#lossReason;
    this.#opening.note(`the GPU device was lost (${reason}); loading the model again`);
    try {
      const parts = await this.#load(signal, before);
      this.#restarts++;
      return parts;
    } catch (cause) {
      throw new EngineError(
        'device_lost',
        `the GPU device was lost (${reason}) and could not be opened again: restart the program`,
        { cause },
      );
    }
  }

  async #unload(parts: P): Promise<void> {
    try {
      await this.#source.unload?.(parts);
    } finally {
      parts.device.destroy();
    }
  }
}
