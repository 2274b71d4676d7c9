// The messages between the proxy of a model, in the caller's thread, and its host, in the engine's.

import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { WireError } from '../../engine/platform/wire-error.ts';

export type ToHost =
  | { type: 'open'; options: unknown }
  | { type: 'generate'; id: number; request: unknown; more: object }
  | { type: 'abort'; id: number }
  /** `cancellable`: index of the argument that is to have a signal, which a message `abort` aborts; null: none. */
  | { type: 'call'; id: number; method: string; given: readonly unknown[]; cancellable: number | null }
  /**
   * The process ends, or the opening is cancelled. `done` is shared memory in which the answer is signalled; null: the answer is a
   * message `left`.
   */
  | { type: 'leave'; done: Int32Array | null };

export type GenerateMessage = Extract<ToHost, { type: 'generate' }>;
export type CallMessage = Extract<ToHost, { type: 'call' }>;

export type ToProxy =
  | { type: 'opening'; event: OpenEvent }
  | { type: 'opened'; info: unknown }
  | { type: 'failed'; error: WireError }
  | { type: 'lost'; error: WireError }
  | { type: 'left' }
  | { type: 'event'; id: number; event: unknown }
  | { type: 'end'; id: number; error: WireError | null }
  | { type: 'result'; id: number; value: unknown; error: WireError | null };
