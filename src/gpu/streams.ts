// Regions in host memory as operands of a tape: before the dispatches that bind one, a replay copies it into a slot of the arena,
// which is free for others after them. The dispatches of a tape form units; a region is copied before a unit that binds it, and the
// copy is made some units ahead. One region may be copied several times in a replay, into different slots.

import type { Life } from './arena.ts';
import type { Region } from './tensor.ts';

/** The dispatches during which a region in host memory has a slot of the arena. */
interface Stay {
  region: Region;
  lastUnit: number;
  life: Life;
  slot: number;
}

export interface Copy {
  from: Region;
  slot: number;
}

/** A unit copies at most this share of the bytes that a replay copies, or one region if that is larger. */
const UNIT_SHARE = 1 / 8;

export class Streams {
  readonly #stays: Stay[] = [];
  readonly #byBuffer = new Map<GPUBuffer, Stay[]>();
  /** Copies by the dispatch that they precede, in order. */
  #copies: [dispatch: number, copies: readonly Copy[]][] = [];

  /**
   * `bound`: regions in host memory that each dispatch binds. `cuts`: indices of dispatches before which a unit ends; `forks`: those of them
   * before which nothing is copied for what follows, because a replay may leave it out. `prefetch`: number of units by which a copy precedes the
   * unit that needs it.
   */
  constructor(
    bound: readonly (readonly Region[])[],
    { cuts, forks }: { cuts: readonly number[]; forks: readonly number[] },
    prefetch: number,
  ) {
    const starts = unitStarts(bound, cuts);
    const forked = new Set(forks);
    let unit = 0;
    let fork = 0;
    bound.forEach((regions, i) => {
      while (i >= (starts[unit + 1] ?? Infinity)) unit++;
      if (forked.has(i)) fork = unit;
      const earliest = fork;
      for (const region of regions)
        this.#bind(region, i, { unit, earliest, startOf: (copied) => starts[copied]!, prefetch });
    });
  }

  #bind(
    region: Region,
    dispatch: number,
    {
      unit,
      earliest,
      startOf,
      prefetch,
    }: { unit: number; earliest: number; startOf: (unit: number) => number; prefetch: number },
  ): void {
    const stays = this.#byBuffer.get(region.buffer) ?? [];
    this.#byBuffer.set(region.buffer, stays);
    const last = stays.at(-1);
    if (last && unit - last.lastUnit <= 1 && last.lastUnit >= earliest) {
      last.lastUnit = unit;
      last.life.last = dispatch;
      return;
    }
    // A region is not copied again before the end of the unit that bound it last.
    const first = startOf(Math.max(earliest, unit - prefetch, last ? last.lastUnit + 1 : 0));
    const stay = { region, lastUnit: unit, life: { bytes: region.size, first, last: dispatch }, slot: -1 };
    stays.push(stay);
    this.#stays.push(stay);
  }

  /** Dispatches between which each copy needs its slot. */
  get lives(): Life[] {
    return this.#stays.map(({ life }) => life);
  }

  /** Sets the slots, in the order of `lives`. */
  assign(slots: readonly number[]): void {
    const copies = new Map<number, Copy[]>();
    this.#stays.forEach((stay, i) => {
      stay.slot = slots[i]!;
      const before = copies.get(stay.life.first) ?? [];
      copies.set(stay.life.first, before);
      before.push({ from: stay.region, slot: stay.slot });
    });
    this.#copies = [...copies].sort(([a], [b]) => a - b);
  }

  /** Copies before each dispatch from index `from` to `to - 1`. */
  between(from: number, to: number): readonly (readonly [dispatch: number, copies: readonly Copy[]])[] {
    return this.#copies.filter(([dispatch]) => from <= dispatch && dispatch < to);
  }

  /** Slot that holds a region while a dispatch runs. */
  slotAt(region: Region, dispatch: number): number {
    const stays = this.#byBuffer.get(region.buffer) ?? [];
    const stay = stays.find(({ life }) => life.first <= dispatch && dispatch <= life.last);
    if (!stay) throw new Error('a region in host memory is bound by a dispatch that was not recorded');
    return stay.slot;
  }
}

/** Indices of the dispatches that units begin with: those after cuts, and others where a unit would copy too much. */
function unitStarts(bound: readonly (readonly Region[])[], cuts: readonly number[]): number[] {
  const sizes = new Map(bound.flat().map(({ buffer, size }) => [buffer, size]));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const isCut = new Set(cuts);
  const starts = [0];
  let inUnit = new Set<GPUBuffer>();
  let bytes = 0;
  bound.forEach((regions, i) => {
    const added = regions.filter(({ buffer }) => !inUnit.has(buffer));
    const more = added.reduce((sum, { size }) => sum + size, 0);
    if (i > 0 && (isCut.has(i) || (bytes > 0 && more > 0 && bytes + more > UNIT_SHARE * total))) {
      starts.push(i);
      inUnit = new Set();
      bytes = 0;
    }
    for (const { buffer, size } of regions) {
      if (!inUnit.has(buffer)) bytes += size;
      inUnit.add(buffer);
    }
  });
  return starts;
}
