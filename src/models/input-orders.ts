// The orders that inputs of a matrix stand in, where a checkpoint stores them group by group.

/** Names of a checkpoint's tensors, and the order of a tensor's inputs where they are stored group by group. */
export interface StoredNames {
  has(name: string): boolean;
  get?(name: string): StoredName | undefined;
}

/** What a page reads of a tensor's header. */
export interface StoredName {
  readonly coded?: { readonly order: Uint32Array | null };
  readonly shape?: readonly number[];
  /** The tensor of the file that it is a part of. */
  readonly storedAs?: string;
}

export interface OrderedInputs {
  /** Orders that inputs stand in, one after another as packed; left out: the inputs' own. */
  readonly orders?: readonly Uint32Array[];
  /** The order of each tensor. Where other parts of a matrix have orders of their own, a part's weights for those are zero. */
  readonly orderOf?: readonly number[];
}

/** Different orders of the inputs of a request's tensors, the inputs' own first; {} where all stand in that. */
export function inputOrders(
  { names, k }: { names: readonly string[]; k: number },
  stored: StoredNames,
): OrderedInputs {
  if (!names.some((name) => stored.get?.(name)?.coded?.order)) return {};
  const found = names.map((name) => stored.get?.(name)?.coded?.order ?? null);
  const own = Uint32Array.from({ length: k }, (_, i) => i);
  // Tensors that are numbers are packed from the first k on.
  const sorted = found.toSorted((a, b) => Number(a !== null) - Number(b !== null));
  const distinct = new Map(sorted.map((order) => [keyOf(order), order ?? own]));
  const keys = [...distinct.keys()];
  return { orders: [...distinct.values()], orderOf: found.map((order) => keys.indexOf(keyOf(order))) };
}

const keyOf = (order: Uint32Array | null): string => order?.join() ?? '';
