// A model of a catalog: what is known of it on paper, whether it is open, and who uses it or waits for it.

import type { EngineError, OpenEvent } from '../../index.ts';
import type { FoundModel, ServableModel } from './model-source.ts';
import type { Holder } from './room.ts';

export type DemandState = 'unloaded' | 'waiting' | 'loading' | 'loaded' | 'closing';

/** A request that waits for the model. */
export interface Waiter {
  admit(): void;
  refuse(error: EngineError): void;
}

export class OnDemandModel implements Holder {
  readonly found: FoundModel;
  readonly isPinned: boolean;
  /** waiting: until there is room for it. */
  state: DemandState = 'unloaded';
  /** Why it could not be opened, or ended by itself; null: neither, or it is open again. */
  error: EngineError | null = null;
  /** The latest event of the opening; null: none yet. */
  progress: OpenEvent | null = null;
  /** The open model; null: none is. */
  model: ServableModel | null = null;
  /** What the model said of itself when it was open last; null: it never was. */
  info: ServableModel['info'] | null = null;
  /** Bytes that it takes on paper; null: not planned yet. */
  planned: number | null = null;
  /** Bytes that it takes while it is open. */
  memory = 0;
  lastUsed = 0;
  /** Number of requests that use it. */
  uses = 0;
  /** Requests that wait for it, in the order in which they came. */
  readonly waiters = new Set<Waiter>();
  /** It is closed as soon as nothing uses it, and further requests wait until it is opened again. */
  isLeaving = false;
  /** Its files are being deleted. */
  isRemoving = false;
  /** The planning that runs, and the bytes that it is for; null: none does. */
  planning: { readonly budget: number } | null = null;
  /** Most models that may be open beside it, since the device had no room for it beside more; null: any number. */
  mostBeside: number | null = null;
  /** `planned` is for less than the whole budget, because models that stay open take the rest. */
  isShrunk = false;
  /** Milliseconds that it stays open without a request; null: as long as nothing else needs its room. */
  keepAlive: number | null = null;
  /** When it is closed if nobody asks for it, in milliseconds since 1970; null: at no certain time. */
  expiresAt: number | null = null;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Called when it is closed. */
  readonly onClosed: (() => void)[] = [];

  constructor(found: FoundModel, isPinned: boolean) {
    this.found = found;
    this.isPinned = isPinned;
  }

  get name(): string {
    return this.found.name;
  }

  get isBusy(): boolean {
    return this.uses > 0 || this.state === 'loading';
  }

  get isClosing(): boolean {
    return this.state === 'closing';
  }

  /** Whether it takes memory of the device. */
  get isHeld(): boolean {
    return this.state === 'loading' || this.state === 'loaded' || this.state === 'closing';
  }
}

/** Bytes that an open model takes: what it allocated, or for a model whose stages come and go what was planned. */
export function memoryOf({ info }: ServableModel, planned: number | null): number {
  const { memory } = info as { memory?: Partial<Record<'weights' | 'kv' | 'arena', number>> };
  if (memory?.kv === undefined) return Math.max(memory?.weights ?? 0, planned ?? 0);
  return (memory.weights ?? 0) + memory.kv + (memory.arena ?? 0);
}
