// Constraint on optional tool calls: as soon as a call has begun, a grammar restricts it to the names of the declared tools, and from there
// on another grammar its arguments until they are complete: to the parameters that the tool declares, or, in JSON, to any object where
// those are not enforced. Text outside of calls is free, so that steps need not wait for masks. The token right after the one that begins a
// call is free, too, unless steps wait already because the parser is within what may be a call: usually it is sampled while the token before
// it is still being read back, and results must not depend on timing. If it begins another name, the text is not constrained, and is no
// call; if it begins arguments that are not declared, any JSON object may follow; if it cannot be part of one, or the arguments are not
// JSON, they are not constrained.

import { lookAhead, type Constraint } from '../calls/constraint.ts';
import type { MatcherOptions } from '../../../grammar/grammar.ts';
import type { Piece, Pieces } from '../calls/piece.ts';
import type { TextConstraint } from '../calls/text-request.ts';
import type { OpenArguments, OutputParser } from '../calls/output-parser.ts';

/** A JSON object and any text after it, since one token may contain the end of the object and further text. */
export const CALL_ARGUMENTS: TextConstraint = {
  type: 'format',
  format: {
    type: 'sequence',
    elements: [{ type: 'json_schema', json_schema: { type: 'object' } }, { type: 'any_text' }],
  },
  strict: true,
};

interface Startable {
  start(options: MatcherOptions): Constraint;
}

/** Compiled grammars of the arguments of calls. */
export interface CallGrammars {
  /** Grammar for the beginning of a call, up to the end of the tool's name; null: the vocabulary cannot spell it. */
  names: Startable | null;
  /** Grammar for any JSON object as arguments (CALL_ARGUMENTS); null: calls are not written in JSON, or the vocabulary cannot spell it. */
  anyObject: Startable | null;
  /** By syntax and name of the tool (see argumentsKey). */
  byTool: ReadonlyMap<string, Startable>;
}

export function argumentsKey({ syntax, tool }: Pick<OpenArguments, 'syntax' | 'tool'>): string {
  return `${syntax} ${tool}`;
}

export interface CallConstraintParts extends CallGrammars {
  /** A new parser and decoder: those of the sequence lag behind while text is withheld for a stop string. */
  read(): { output: OutputParser; pieces: Pieces };
}

const encoder = new TextEncoder();

export function createCallConstraint(parts: CallConstraintParts): Constraint {
  const { output, pieces } = parts.read();
  const taken: number[] = [];
  /** Constraint on the arguments. */
  let active: Constraint | null = null;
  /** Constraint on the beginning of a call up to its name. */
  let naming: Constraint | null = null;
  /** Whether arguments may begin with the next token, so that steps wait for it. */
  let awaits = false;
  /** Whether the last token began a name or arguments that no step had waited for, so that the next token is free. */
  let begun = false;
  /** Number of the arguments that were constrained or given up last. */
  let seen = 0;
  /** Number of the name that was constrained or given up last. */
  let named = 0;

  const begin = (open: OpenArguments, isWhole: boolean, isAwaited: boolean): void => {
    if (!isWhole) return;
    const written = open.written();
    if (written.join('') === '') {
      // The model may begin a string of JSON text instead of the object, which has no written text until it ends.
      if (open.syntax === 'json') return;
      if (!isAwaited) {
        awaits = true;
        return;
      }
    }
    seen = open.nth;
    const fallback = open.syntax === 'json' ? parts.anyObject : null;
    active = matching(parts.byTool.get(argumentsKey(open)), written) ?? matching(fallback, written);
    begun = active !== null && !isAwaited;
  };

  /** The constraint on the name after a token. */
  const nameAfter = (before: Constraint | null, id: number, isWhole: boolean): Constraint | null => {
    const open = output.openName;
    if (open === null) return null;
    if (open.nth === named) return before && accepted(before, id);
    if (!isWhole) return null;
    named = open.nth;
    return matching(parts.names, open.written());
  };

  return {
    mask: (into) => (begun ? false : ((active ?? naming)?.mask(into) ?? false)),
    accept(id) {
      taken.push(id);
      const piece = pieces.of(id);
      output.push(piece);
      const open = output.openArguments;
      const whole = isWhole(piece, pieces);
      const [before, isAwaited] = [active, awaits || naming !== null];
      active = null;
      awaits = output.awaitsArguments;
      naming = nameAfter(naming, id, whole);
      begun = naming !== null && !isAwaited;
      if (open === null) return;
      if (open.nth > seen) begin(open, whole, isAwaited);
      else if (before !== null) active = accepted(before, id) ?? anyObjectAfter(open, parts);
    },
    forced: () => [],
    ended: false,
    get idle() {
      return active === null && naming === null && !awaits;
    },
    fork() {
      const forked = createCallConstraint(parts);
      taken.forEach(forked.accept);
      return forked;
    },
    ahead: () => aheadOf({ active, begun, seen, isText: naming === null && !awaits }),
    get part() {
      return partOf({ active, begun, seen, isText: naming === null && !awaits });
    },
  };
}

/** Any object, after arguments in JSON that no tool declares; null: they are not in JSON. */
function anyObjectAfter({ syntax, written }: OpenArguments, { anyObject }: CallGrammars): Constraint | null {
  return syntax === 'json' ? matching(anyObject, written()) : null;
}

/** Position of a reply with respect to calls. `isText`: neither a name nor the beginning of arguments is awaited. */
interface Place {
  active: Constraint | null;
  begun: boolean;
  seen: number;
  isText: boolean;
}

function aheadOf({ active, begun, seen, isText }: Place): Constraint | null {
  if (active === null) return isText ? FREE_TEXT : null;
  return begun ? null : withinArguments(active, seen);
}

function partOf({ active, begun, seen, isText }: Place): string {
  if (active === null) return isText ? FREE_TEXT.part : 'name';
  return begun ? 'begun' : argumentsPart(seen);
}

/** Looks ahead where no call has begun; a token that begins one changes the part. */
const FREE_TEXT: Constraint & { part: string } = {
  mask: () => false,
  accept: () => {},
  forced: () => [],
  ended: false,
  idle: true,
  fork: () => FREE_TEXT,
  part: 'text',
};

function argumentsPart(nth: number): string {
  return `arguments ${nth}`;
}

/** Looks ahead within the arguments that begin a call: where they end, or do not match their grammar, the part changes. */
function withinArguments(active: Constraint, nth: number): Constraint {
  const ahead = active.fork();
  return {
    mask: ahead.mask.bind(ahead),
    accept: ahead.accept.bind(ahead),
    forced: () => [],
    ended: false,
    idle: false,
    fork: () => withinArguments(ahead, nth),
    part: argumentsPart(nth),
  };
}

/** Whether a token's bytes end at a character, so that no bytes are missing from the text. */
function isWhole({ id, text, special }: Piece, pieces: Pieces): boolean {
  return special || id === null || encoder.encode(text).length === pieces.bytes(id).length;
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
    ahead() {
      const [own, ofCalls] = [lookAhead(constraint), lookAhead(calls)];
      return own && ofCalls && withCallConstraint(own, ofCalls);
    },
    get part() {
      return `${calls.part} ${constraint.part ?? ''}`;
    },
  };
}

/** The grammar after arguments so far; null: they do not match it. */
function matching(
  grammar: Startable | null | undefined,
  matched: readonly (string | number)[],
): Constraint | null {
  return attempt(() => grammar?.start({ opens: false, matched }) ?? null);
}

/** The constraint after a token; null: the token does not match it. */
function accepted(constraint: Constraint, id: number): Constraint | null {
  return attempt(() => {
    constraint.accept(id);
    return constraint;
  });
}

/** The constraint; null: the text so far is not the beginning of what it allows. */
function attempt(make: () => Constraint | null): Constraint | null {
  try {
    return make();
  } catch {
    return null;
  }
}
