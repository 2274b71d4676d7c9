// A grammar that is ready for a model: a program and a vocabulary, with all that was worked out about them. Texts held to it
// share it.

import { EngineError } from '../files/error.ts';
import { createForcedRuns } from './forced.ts';
import { bytesOf } from './lexeme.ts';
import { createMachine } from './machine.ts';
import { createMasks } from './mask.ts';
import { createMatcher, type GrammarMatcher } from './matcher.ts';
import type { Program } from './program.ts';
import type { State } from './stack.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface Grammar {
  /**
   * A new text. `opens`: its first token opens the reply, and a leading space of it is cut where the tokenizer does so. Left out:
   * true. `matched`: what of it is there already; throws bad_request where no text begins so.
   */
  start(options?: { opens?: boolean; matched?: string }): GrammarMatcher;
  /** About what all that was worked out takes. */
  readonly bytes: number;
}

/** Approximate bytes of a node of a program. */
const NODE_BYTES = 100;

export function createGrammar(program: Program, vocabulary: Vocabulary): Grammar {
  const { size, available, walker, firstWalker } = vocabulary;
  const machine = createMachine(program, available);
  const programBytes = program.lexemes.reduce(
    (sum, lexeme) => sum + bytesOf(lexeme),
    program.nodes.length * NODE_BYTES,
  );
  const masks = createMasks(machine, walker, size);
  const firstMasks = firstWalker === walker ? masks : createMasks(machine, firstWalker, size);
  const forced = createForcedRuns(machine, masks, vocabulary);
  const start = machine.start();
  const parts = { machine, masks, firstMasks, forced, vocabulary };
  const after = (matched: string): State => {
    let state = start;
    new TextEncoder().encode(matched).forEach((byte, at, bytes) => {
      state = machine.step(state, byte) ?? refuse(bytes.subarray(0, at + 1));
    });
    return state;
  };
  return {
    get bytes() {
      return programBytes + machine.bytes + masks.bytes + (firstMasks === masks ? 0 : firstMasks.bytes);
    },
    start: ({ opens = true, matched = '' } = {}) =>
      createMatcher(parts, after(matched), opens && firstMasks !== masks),
  };
}

/** Of a long text, its end. */
const SHOWN = 60;

function refuse(begun: Uint8Array): never {
  const text = new TextDecoder().decode(begun);
  throw new EngineError(
    'bad_request',
    `the answer to go on with does not begin as the request's format asks, and leaves it at ${JSON.stringify(text.slice(-SHOWN))}: begin it otherwise, or leave it out`,
    { param: 'messages' },
  );
}
