// Constraint on optional tool calls: as soon as the arguments of a call have begun, a grammar restricts them to a JSON object until
// the object is complete. Text outside of arguments is free, so that steps need not wait for masks. The token right after the
// beginning is free, too: usually it is sampled while the token before it is still being read back, and results must not depend on
// timing. If that token cannot be part of an object, the call is not constrained.

import type { Constraint } from '../constraint.ts';
import type { MatcherOptions } from '../../../grammar/grammar.ts';
import type { Pieces } from '../piece.ts';
import type { TextConstraint } from '../text-request.ts';
import type { OutputParser } from './output-parser.ts';
import type { ReplyPlan } from './reply.ts';

/** A JSON object and any text after it, since one token may contain the end of the object and further text. */
export const CALL_ARGUMENTS: TextConstraint = {
  type: 'format',
  format: {
    type: 'sequence',
    elements: [{ type: 'json_schema', json_schema: { type: 'object' } }, { type: 'any_text' }],
  },
};

/** Whether calls are optional and their arguments may be JSON. Required calls are constrained by the grammar of the reply. */
export function mayConstrainCalls({ tools, format }: ReplyPlan): boolean {
  if (tools.mode !== 'auto') return false;
  return (
    format.channels !== null ||
    format.tools?.bodies.some(({ kind }) => kind === 'json' || kind === 'named') === true
  );
}

export interface CallConstraintParts {
  /** Compiled grammar of CALL_ARGUMENTS. */
  grammar: { start(options: MatcherOptions): Constraint };
  /** A new parser and decoder: those of the sequence lag behind while text is withheld for a stop string. */
  read(): { output: OutputParser; pieces: Pieces };
}

const encoder = new TextEncoder();

export function createCallConstraint(parts: CallConstraintParts): Constraint {
  const { grammar } = parts;
  const { output, pieces } = parts.read();
  const taken: number[] = [];
  let active: Constraint | null = null;
  /** Whether the last token began the arguments, so that the next token is free. */
  let begun = false;
  /** Number of calls that had begun when the last one was constrained or given up. */
  let seen = 0;

  /** `isWhole`: the token's bytes end at a character, so that no bytes are missing from the text. */
  const begin = (given: string, isWhole: boolean): void => {
    if (given === '' || !isWhole) return;
    seen = output.toolCalls;
    active = attempt(() => grammar.start({ opens: false, matched: given }));
    begun = active !== null;
  };

  return {
    mask: (into) => (begun ? false : (active?.mask(into) ?? false)),
    accept(id) {
      taken.push(id);
      const piece = pieces.of(id);
      output.push(piece);
      const given = output.openArguments;
      const before = active;
      active = null;
      begun = false;
      if (given === null) return;
      if (output.toolCalls > seen)
        begin(given, encoder.encode(piece.text).length === pieces.bytes(id).length);
      else if (before !== null) {
        active = attempt(() => {
          before.accept(id);
          return before;
        });
      }
    },
    forced: () => [],
    ended: false,
    get idle() {
      return active === null;
    },
    fork() {
      const forked = createCallConstraint(parts);
      taken.forEach(forked.accept);
      return forked;
    },
  };
}

/** Applies `calls` while the arguments of a call are constrained, and `constraint` otherwise. */
export function withCallConstraint(constraint: Constraint | null, calls: Constraint): Constraint {
  if (constraint === null) return calls;
  return {
    mask: (into) => calls.mask(into) || constraint.mask(into),
    accept(id) {
      constraint.accept(id);
      calls.accept(id);
    },
    forced: () => (calls.idle ? constraint.forced() : []),
    get ended() {
      return calls.idle === true && constraint.ended;
    },
    get idle() {
      return calls.idle === true && constraint.free === true;
    },
    fork: () => withCallConstraint(constraint.fork(), calls.fork()),
  };
}

/** The constraint; null: the text so far is not the beginning of an object. */
function attempt(make: () => Constraint): Constraint | null {
  try {
    return make();
  } catch {
    return null;
  }
}
