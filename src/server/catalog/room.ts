// Decides which models are closed so that another one may be opened: what is open, what the new one takes on paper, and the budget of the
// device. Nothing here waits or closes.

/** A model on the device. */
export interface Holder {
  /** Bytes that it takes. */
  readonly memory: number;
  /** It stays open whatever others need. */
  readonly isPinned: boolean;
  /** Requests use it. */
  readonly isBusy: boolean;
  /** It is being closed: its memory comes back soon. */
  readonly isClosing: boolean;
  /** When a request used it last, on any clock that all share. */
  readonly lastUsed: number;
}

export interface Wanted {
  /** Bytes that the new model takes. */
  bytes: number;
  /** Most models that may be open beside it: fewer than there were when the device had no room for it; left out: any number. */
  mostBeside?: number;
}

export interface Bounds {
  /** Bytes for all models; null: unknown. */
  budget: number | null;
  /** Most models; 0: any number. */
  most: number;
}

export type Room<H extends Holder> =
  /** The model can be opened now; `room`: bytes that nothing else takes, null: unknown. */
  | { kind: 'open'; room: number | null }
  /** It can be opened once those of `close`, which are idle, and of `await`, which are busy or being closed, are gone. */
  | { kind: 'close'; close: H[]; await: H[] }
  /** What stays open leaves too few bytes; `room`: how many. */
  | { kind: 'small'; room: number }
  /** As many models stay open as may be open at all. */
  | { kind: 'full' };

/** Those that are closed were used least recently; idle ones go before busy ones. */
export function makeRoom<H extends Holder>(
  holders: readonly H[],
  wanted: Wanted,
  { budget, most }: Bounds,
): Room<H> {
  const taken = holders.reduce((sum, { memory }) => sum + memory, 0);
  let free = budget === null ? Infinity : budget - taken;
  let places = most === 0 ? Infinity : most - holders.length;
  if (wanted.mostBeside !== undefined) places = Math.min(places, wanted.mostBeside + 1 - holders.length);
  const isEnough = (): boolean => free >= wanted.bytes && places >= 1;
  const gone = new Set<H>();
  for (const holder of victims(holders)) {
    if (isEnough()) break;
    gone.add(holder);
    free += holder.memory;
    places += 1;
  }
  // One that was used longer ago stays if those after it leave enough.
  for (const holder of gone) {
    free -= holder.memory;
    places -= 1;
    if (isEnough()) gone.delete(holder);
    else {
      free += holder.memory;
      places += 1;
    }
  }
  if (places < 1) return { kind: 'full' };
  if (free < wanted.bytes) return { kind: 'small', room: Math.max(0, free) };
  if (gone.size === 0) return { kind: 'open', room: budget === null ? null : free };
  const mayClose = (holder: H): boolean => !holder.isBusy && !holder.isClosing;
  return {
    kind: 'close',
    close: [...gone].filter(mayClose),
    await: [...gone].filter((holder) => !mayClose(holder)),
  };
}

/** Models that may be closed, in the order in which they are. */
function victims<H extends Holder>(holders: readonly H[]): H[] {
  const rank = ({ isClosing, isBusy }: H): number => (isClosing ? 0 : isBusy ? 2 : 1);
  return holders
    .filter(({ isPinned, isClosing }) => !isPinned || isClosing)
    .toSorted((a, b) => rank(a) - rank(b) || a.lastUsed - b.lastUsed);
}
