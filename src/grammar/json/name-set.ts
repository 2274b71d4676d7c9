// The set of property names that an object has so far: an immutable value with a short key, shared by all stacks that have it.

export interface NameSet {
  /** Known names, by the latest one; null: none. */
  readonly known: KnownName | null;
  /** [groups of other names]: the names as they were spelled, ascending. */
  readonly others: readonly (readonly string[])[];
  readonly count: number;
  /** Conditions of the object that the values of its names meet, as bits. */
  readonly met: number;
}

/** A known name, by its index, and those that were added before. */
interface KnownName {
  readonly index: number;
  readonly before: KnownName | null;
  readonly count: number;
  /** 64 bits of a hash of the set that does not depend on the order of its names. */
  readonly low: number;
  readonly high: number;
}

export const NO_NAMES: NameSet = { known: null, others: [], count: 0, met: 0 };

/** `meets`: the conditions that the value of the name meets, as bits. */
export function withKnown(set: NameSet, index: number, meets = 0): NameSet {
  const { known } = set;
  return {
    others: set.others,
    met: set.met | meets,
    known: {
      index,
      before: known,
      count: (known?.count ?? 0) + 1,
      low: (known?.low ?? 0) ^ hash(index, 0x9e3779b9),
      high: ((known?.high ?? 0) + hash(index, 0x85ebca6b)) | 0,
    },
    count: set.count + 1,
  };
}

function hash(index: number, salt: number): number {
  let bits = Math.imul(index + 1, salt) ^ (salt >>> 3);
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

/** `group`: index in `others` of the object's node. */
export function withOther(set: NameSet, group: number, spelled: string, meets = 0): NameSet {
  const others = Array.from(
    { length: Math.max(set.others.length, group + 1) },
    (_, i) => set.others[i] ?? [],
  );
  others[group] = [...others[group]!, spelled].toSorted();
  return { ...set, others, count: set.count + 1, met: set.met | meets };
}

/** A key that is equal for equal sets. */
export function nameSetKey({ known, others, met }: NameSet): string {
  const names = known === null ? '' : `${known.count}.${known.low}.${known.high}`;
  return `(${names};${others.map((group) => JSON.stringify(group)).join()}${met === 0 ? '' : `;${met}`})`;
}

/** Indices of the known names in the set. */
export function knownIndices({ known }: NameSet): Set<number> {
  const indices = new Set<number>();
  for (let name = known; name !== null; name = name.before) indices.add(name.index);
  return indices;
}
