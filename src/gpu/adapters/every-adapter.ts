// All adapters of a machine. WebGPU gives one adapter for each preference, and Dawn's binding the first one whose name holds a given text; but where
// no name does, its error names them all, equal ones too. Of equal cards only the first can be opened by name. The others can where Mesa's layer of
// Vulkan shows one card alone, by its address on the PCI bus.

/** An adapter that was found. */
interface Found {
  summary: { device: string; index: number };
}

/** How WebGPU is started. */
export interface Start {
  /** Part of the name of the adapter. */
  adapter?: string;
  /** The only card that it sees, as DRI_PRIME names it: pci-0000_01_00_0. */
  card?: string;
}

/** Starts WebGPU, or finds it started in this way, and uses it. */
export type UseGpu = <T>(start: Start, use: (gpu: GPU) => Promise<T>) => Promise<T>;

export interface Adapters<F> {
  /** Best first. */
  found: F[];
  /** Names of adapters that equal one of those, and cannot be opened beside it. */
  hidden: string[];
}

/** No adapter has this name. */
const NO_NAME = '?none?';

/**
 * Returns `first`, the adapters that WebGPU gives by preference, and the others. `find`: lists the adapters that it gives so; `cards`: tags of equal
 * display controllers, a list for each kind.
 */
export async function findEveryAdapter<F extends Found>(
  first: readonly F[],
  find: (gpu: GPU) => Promise<F[]>,
  use: UseGpu,
  cards: readonly (readonly string[])[],
): Promise<Adapters<F>> {
  const found = [...first];
  const hidden: string[] = [];
  const names = await use({ adapter: NO_NAME }, namesOf);
  for (const name of new Set(names)) {
    const count = names.filter((other) => other === name).length;
    const known = found.findIndex((one) => isNamed(one, name));
    const [own] = known < 0 ? await use({ adapter: name }, find) : [found[known]!];
    const isOpen = own !== undefined && isNamed(own, name);
    const each = count > 1 ? await onCards(name, count, find, use, cards) : null;
    const [head, ...others] = each ?? (isOpen ? [own] : []);
    if (head) found[known < 0 ? found.length : known] = head;
    found.push(...others);
    if (!each) hidden.push(...Array<string>(count - (head ? 1 : 0)).fill(name));
  }
  return { found: found.map((one, index) => ({ ...one, summary: { ...one.summary, index } })), hidden };
}

/** Dawn's names of all adapters; [] where an error says none. */
async function namesOf(gpu: GPU): Promise<string[]> {
  try {
    await gpu.requestAdapter();
    return [];
  } catch (error) {
    const { message } = error as { message?: unknown };
    return [...String(message).matchAll(/^ \* backend: '.*', name: '(.*)'$/gm)].map(([, name]) => name!);
  }
}

/** Whether Dawn's name of an adapter is that which WebGPU has for its device. */
function isNamed({ summary }: Found, name: string): boolean {
  return summary.device === name.toLowerCase().replaceAll(/[^a-z\d]+/g, '-');
}

/** Opens each of `count` equal adapters on its own card; null where the cards are not known, or WebGPU sees others beside the one asked for. */
async function onCards<F>(
  name: string,
  count: number,
  find: (gpu: GPU) => Promise<F[]>,
  use: UseGpu,
  cards: readonly (readonly string[])[],
): Promise<F[] | null> {
  for (const equal of cards) {
    if (equal.length !== count) continue;
    const found: F[] = [];
    for (const card of equal) {
      const seen = await use({ adapter: NO_NAME, card }, namesOf);
      if (seen.length !== 1 || seen[0] !== name) break;
      const [own] = await use({ card }, find);
      if (own) found.push(own);
    }
    if (found.length === count) return found;
  }
  return null;
}
