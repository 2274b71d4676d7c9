// Constraint on optional tool calls: as soon as the arguments of a call have begun, a grammar restricts them until they are complete: to
// the parameters that the tool declares, or to any JSON object where those are not enforced. Text outside of calls is free, so that steps need
// not wait for masks. The token right after the one that begins a call is free, too: usually it is sampled while the token before it is still
// being read back, and results must not depend on timing. It rarely is part of the arguments, since their first token follows the name of the
// tool. If it begins something that is not declared, any JSON object may follow; if it cannot be part of an object, the call is not constrained.

import type { Constraint } from '../constraint.ts';
import type { MatcherOptions } from '../../../grammar/grammar.ts';
import type { Pieces } from '../piece.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { TextFormat } from '../../../grammar/text-format.ts';
import type { TextConstraint } from '../text-request.ts';
import type { OutputParser } from './output-parser.ts';
import type { ReplyPlan } from './reply.ts';
import type { ToolPlan } from './tool-choice.ts';

/** A JSON object and any text after it, since one token may contain the end of the object and further text. */
export const CALL_ARGUMENTS: TextConstraint = callArguments({}, true);

function callArguments(parameters: Record<string, unknown>, strict: boolean): TextConstraint {
  const json_schema = { type: 'object', ...parameters };
  const elements: TextFormat[] = [{ type: 'json_schema', json_schema }, { type: 'any_text' }];
  return { type: 'format', format: { type: 'sequence', elements }, strict };
}

/**
 * The constraints on the arguments of tools by the tools' names. Tools without parameters, and those with `strict` false, take any object.
 * `mode`: how the parameters of tools that do not say `strict` are read.
 */
export function argumentsByTool({ tools }: ToolPlan, mode: SchemaMode): Map<string, TextConstraint> {
  const declared = tools.flatMap(({ function: { name, parameters, strict } }) =>
    strict === false || parameters === undefined
      ? []
      : [[name, callArguments(parameters, strict ?? mode === 'declared')] as const],
  );
  return new Map(declared);
}

/** Whether calls are optional and their arguments may be JSON. Required calls are constrained by the grammar of the reply. */
export function mayConstrainCalls({ tools, format }: ReplyPlan): boolean {
  if (tools.mode !== 'auto') return false;
  return (
    format.channels !== null ||
    format.tools?.bodies.some(({ kind }) => kind === 'json' || kind === 'named') === true
  );
}

interface Startable {
  start(options: MatcherOptions): Constraint;
}

export interface CallConstraintParts {
  /** Compiled grammar of CALL_ARGUMENTS. */
  grammar: Startable;
  /** Compiled grammars of the arguments of tools by their names (see argumentsByTool). */
  byTool?: ReadonlyMap<string, Startable>;
  /** A new parser and decoder: those of the sequence lag behind while text is withheld for a stop string. */
  read(): { output: OutputParser; pieces: Pieces };
}

const encoder = new TextEncoder();

export function createCallConstraint(parts: CallConstraintParts): Constraint {
  const { grammar, byTool } = parts;
  const { output, pieces } = parts.read();
  const taken: number[] = [];
  let active: Constraint | null = null;
  /** Whether a call has begun whose arguments have not; its next tokens are free, and steps wait for them. */
  let awaits = false;
  /** Whether the last token began both a call and its arguments, so that the next token is free. */
  let begun = false;
  /** Name of the tool that the last call is of. */
  let name = '';
  /** Number of calls that had begun when the last one was constrained or given up. */
  let seen = 0;

  /** `isWhole`: the token's bytes end at a character, so that no bytes are missing from the text. */
  const begin = (given: string, isWhole: boolean, isAwaited: boolean): void => {
    if (given === '' || !isWhole) return;
    seen = output.toolCalls;
    active = matching(byTool?.get(name), given) ?? matching(grammar, given);
    begun = active !== null && !isAwaited;
  };

  return {
    mask: (into) => (begun ? false : (active?.mask(into) ?? false)),
    accept(id) {
      taken.push(id);
      const piece = pieces.of(id);
      for (const part of output.push(piece)) if (part.kind === 'toolCall') name = part.name ?? name;
      const given = output.openArguments;
      const [before, isAwaited] = [active, awaits];
      active = null;
      begun = false;
      awaits = output.toolCalls > seen && output.awaitsArguments;
      if (given === null) return;
      if (output.toolCalls > seen)
        begin(given, encoder.encode(piece.text).length === pieces.bytes(id).length, isAwaited);
      else if (before !== null) {
        active = attempt(() => {
          before.accept(id);
          return before;
        });
        active ??= matching(grammar, given);
      }
    },
    forced: () => [],
    ended: false,
    get idle() {
      return active === null && !awaits;
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

/** The grammar after arguments so far; null: they do not match it. */
function matching(grammar: Startable | undefined, given: string): Constraint | null {
  return attempt(() => grammar?.start({ opens: false, matched: given }) ?? null);
}

/** The constraint; null: the text so far is not the beginning of an object. */
function attempt(make: () => Constraint | null): Constraint | null {
  try {
    return make();
  } catch {
    return null;
  }
}
