// What a user can do where the memory of a device does not suffice, in the names of the options that models are opened with.

import { bytesText } from '../files/bytes-text.ts';
import { type Message, option, say } from '../files/message.ts';
import type { MemoryRemedies } from '../gpu/memory.ts';

export const MEMORY_REMEDIES: MemoryRemedies = {
  budget: say`raise ${option('memoryBudget')}, ask for less (a shorter context, a smaller image) or choose ${option('quantization')} int4`,
  buffer: say`choose a smaller model or ${option('quantization')} int4`,
  host: say`leave out options that keep weights in host memory, close other programs, or choose ${option('quantization')} int4`,
  device: (bytes) =>
    say`lower ${option('memoryBudget')} to ${Math.floor(bytes / 2 ** 20)}MiB, which the GPU held, or choose ${option('quantization')} int4`,
};

/** The note on a budget that is more than the memory which an adapter shares with the machine; null: it is not. */
export function budgetNote(budget: number, shared: number | null): Message | null {
  if (shared === null || budget <= shared) return null;
  return say`${option('memoryBudget')} is ${bytesText(budget)}, and of this machine's memory, which the adapter uses, ${bytesText(shared)} are free: a model that takes more slows the machine down, or is ended by it`;
}
