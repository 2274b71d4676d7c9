// What the two ends of a model in another thread say to each other.

import type { OpenEvent } from './open-event.ts';
import type { WireError } from './wire-error.ts';

export type ToFarSide =
  | { type: 'open'; options: unknown }
  | { type: 'generate'; id: number; request: unknown; more: object }
  | { type: 'abort'; id: number }
  | { type: 'call'; id: number; method: string; argument: unknown }
  /** The process ends, or its opening is given up. `done` is on memory that both sides see; null: `left` answers. */
  | { type: 'leave'; done: Int32Array | null };

export type GenerateMessage = Extract<ToFarSide, { type: 'generate' }>;
export type CallMessage = Extract<ToFarSide, { type: 'call' }>;

export type ToNearSide =
  | { type: 'opening'; event: OpenEvent }
  | { type: 'opened'; info: unknown }
  | { type: 'failed'; error: WireError }
  | { type: 'lost'; error: WireError }
  | { type: 'left' }
  | { type: 'event'; id: number; event: unknown }
  | { type: 'end'; id: number; error: WireError | null }
  | { type: 'result'; id: number; value: unknown; error: WireError | null };
