// Equal graphics cards of a machine with Linux, by their addresses on the PCI bus.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DISPLAY_CONTROLLER = '0x03';

/** Tags of display controllers as DRI_PRIME takes them, a list for each kind of which there are several; [] on other systems. */
export function equalCards(folder = '/sys/bus/pci/devices'): string[][] {
  const kinds = new Map<string, string[]>();
  for (const address of addressesIn(folder)) {
    const read = (name: string): string => readFileSync(join(folder, address, name), 'utf8').trim();
    if (!read('class').startsWith(DISPLAY_CONTROLLER)) continue;
    const kind = `${read('vendor')}:${read('device')}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), `pci-${address.replaceAll(/[:.]/g, '_')}`]);
  }
  return [...kinds.values()].filter(({ length }) => length > 1);
}

function addressesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
