// Calls that a model may make or leave: as soon as the arguments of one have begun, a grammar holds them to a JSON object, until
// they are whole. Before and behind them it has no say, so that steps need not wait for masks. The token right after the beginning
// is free, as mostly it is drawn while the beginning is still on its way back; and where it is known in time, as after a stall, all
// the same, as tokens must not depend on company. Where it cannot be part of an object, the call is not held.

import type { Constraint } from '../constraint.ts';
import type { MatcherOptions } from '../../../grammar/grammar.ts';
import type { Pieces } from '../piece.ts';
import type { TextConstraint } from '../text-request.ts';
import type { OutputParser } from './output-parser.ts';
import type { ReplyPlan } from './reply.ts';

/** An object and whatever follows it, as one token may have the end of both. */
export const HELD_ARGUMENTS: TextConstraint = {
  type: 'format',
  format: {
    type: 'sequence',
    elements: [{ type: 'json_schema', json_schema: { type: 'object' } }, { type: 'any_text' }],
  },
};

/** Whether the model may write arguments as JSON; what it must write, the grammar of the reply says. */
export function mayHoldCalls({ tools, format }: ReplyPlan): boolean {
  if (tools.mode !== 'auto') return false;
  return (
    format.channels !== null ||
    format.tools?.bodies.some(({ kind }) => kind === 'json' || kind === 'named') === true
  );
}

export interface HeldCalls {
  /** The grammar of HELD_ARGUMENTS. */
  grammar: { start(options: MatcherOptions): Constraint };
  /** A reader of its own: the sequence's lags behind where text is held back for a stop. */
  read(): { output: OutputParser; pieces: Pieces };
}

const encoder = new TextEncoder();

export function holdCalls(parts: HeldCalls): Constraint {
  const { grammar } = parts;
  const { output, pieces } = parts.read();
  const taken: number[] = [];
  let held: Constraint | null = null;
  /** The last token was the beginning: the next one is free. */
  let begun = false;
  /** Calls begun when the last one was held, or given up. */
  let seen = 0;

  /** `isWhole`: no half character is on its way, which the text so far would lack. */
  const begin = (given: string, isWhole: boolean): void => {
    if (given === '' || !isWhole) return;
    seen = output.toolCalls;
    held = attempt(() => grammar.start({ opens: false, matched: given }));
    begun = held !== null;
  };

  return {
    mask: (into) => (begun ? false : (held?.mask(into) ?? false)),
    accept(id) {
      taken.push(id);
      const piece = pieces.of(id);
      output.push(piece);
      const given = output.openArguments;
      const before = held;
      held = null;
      begun = false;
      if (given === null) return;
      if (output.toolCalls > seen)
        begin(given, encoder.encode(piece.text).length === pieces.bytes(id).length);
      else if (before !== null) {
        held = attempt(() => {
          before.accept(id);
          return before;
        });
      }
    },
    forced: () => [],
    ended: false,
    get idle() {
      return held === null;
    },
    fork() {
      const forked = holdCalls(parts);
      taken.forEach(forked.accept);
      return forked;
    },
  };
}

/** `constraint`, but where the arguments of a call are held. */
export function withHeldCalls(constraint: Constraint | null, calls: Constraint): Constraint {
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
    fork: () => withHeldCalls(constraint.fork(), calls.fork()),
  };
}

/** null: what the model has written is no object. */
function attempt(make: () => Constraint): Constraint | null {
  try {
    return make();
  } catch {
    return null;
  }
}
