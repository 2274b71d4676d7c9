// A grammar that is ready for a model: a program and a vocabulary, with all that was worked out about them. Texts held to it
// share it.

import type { Constraint } from '../constraint.ts';
import { createForcedRuns } from './forced.ts';
import { createMachine } from './machine.ts';
import { createMasks } from './mask.ts';
import { createMatcher } from './matcher.ts';
import type { Program } from './program.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface Grammar {
  /** A new text. `opens`: its first token opens the reply, and a leading space of it is cut where the tokenizer does so. Left out: true. */
  start(options?: { opens?: boolean }): Constraint;
}

export function createGrammar(program: Program, vocabulary: Vocabulary): Grammar {
  const { size, available, walker, firstWalker } = vocabulary;
  const machine = createMachine(program, available);
  const masks = createMasks(machine, walker, size);
  const firstMasks = firstWalker === walker ? masks : createMasks(machine, firstWalker, size);
  const forced = createForcedRuns(machine, masks, vocabulary);
  const start = machine.start();
  const parts = { machine, masks, firstMasks, forced, vocabulary };
  return { start: ({ opens = true } = {}) => createMatcher(parts, start, opens && firstMasks !== masks) };
}
