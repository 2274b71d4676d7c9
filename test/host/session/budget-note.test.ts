// The note on a memory budget beyond the machine's memory.

import { expect, it } from 'vitest';
import { textOf } from '../../../src/files/message.ts';
import { budgetNote } from '../../../src/host/session/budget-note.ts';

it('a budget beyond the memory that the adapter shares has a note, which says both', () => {
  expect(textOf(budgetNote(9e11, 2 ** 34)!)).toMatch(/^`memoryBudget` is 900 GB, and .* 16 GiB are free/);
});

it('a budget within it, or on an adapter with memory of its own, has none', () => {
  expect(budgetNote(2 ** 34, 2 ** 34)).toBeNull();
  expect(budgetNote(9e11, undefined)).toBeNull();
});
