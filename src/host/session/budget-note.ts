// The note on a memory budget that is more than the machine has.

import { bytesText } from '../../files/bytes-text.ts';
import { type Message, option, say } from '../../files/message.ts';

/** The note on a budget that is more than the memory which an adapter shares with the machine; null: it is not. `shared`: the bytes that are free; undefined: none are shared. */
export function budgetNote(budget: number, shared: number | undefined): Message | null {
  if (shared === undefined || budget <= shared) return null;
  return say`${option('memoryBudget')} is ${bytesText(budget)}, and of this machine's memory, which the adapter uses, ${bytesText(shared)} are free: a model that takes more slows the machine down, or is ended by it`;
}
