// From what a request may ask for to a rule.

import { EngineError, type ErrorCode } from '../files/error.ts';
import { compile } from './compile.ts';
import { isOver, limits, LONGEST, TooLarge, type Limits } from './dfa.ts';
import { ruleOfEbnf } from './ebnf.ts';
import { ruleOfFormat } from './format-tree.ts';
import { regexDfa } from './regex.ts';
import type { Program } from './program.ts';
import { object, regular, type Rule } from './rule.ts';
import { said } from './said.ts';
import { ruleOfSchema } from './schema/schema-rule.ts';
import { taggedText } from './structural-tag.ts';
import type { TextConstraint } from './text-constraint.ts';

/** Throws bad_request with the member it is about. */
export function ruleOfConstraint(constraint: TextConstraint, limits: Limits): Rule {
  switch (constraint.type) {
    case 'json_object':
      return object();
    case 'regex':
      return said('constraint.pattern', () => regular(regexDfa(constraint.pattern, { whole: true, limits })));
    case 'ebnf':
      return said('constraint.grammar', () => ruleOfEbnf(constraint.grammar));
    case 'json_schema':
      return ruleOfSchema(constraint.schema, { path: 'constraint.schema', limits });
    case 'structural_tag':
      return said('constraint.structures', () => {
        const tags = constraint.structures.map(({ begin, schema, end }, i) => {
          const content = ruleOfSchema(schema, { path: `constraint.structures.${i}.schema`, limits });
          return { begin, content, end };
        });
        return taggedText(constraint.triggers, tags, limits);
      });
    case 'format':
      return ruleOfFormat(constraint.format, { path: 'constraint.format', limits, ends: [] });
  }
}

/** What the grammar asks for is more than it may; what is wrong with the whole of it is said of the constraint. */
function asBadRequest(error: unknown): unknown {
  let what: string;
  if (error instanceof EngineError && error.param === null)
    return new EngineError(error.code, error.message, { param: 'constraint', cause: error });
  if (error instanceof TooLarge) what = error.message;
  else if (error instanceof RangeError) what = 'rules that are nested too deep'; // of the call stack
  else return error;
  return new EngineError('bad_request', `the grammar takes ${what}: make it smaller`, {
    param: 'constraint',
  });
}

export interface CompileOptions {
  /** Most time that compiling may take. */
  milliseconds?: number;
  /** Element 0 becomes 1 in another thread to stop the compilation. */
  stop?: Int32Array | null;
}

/**
 * Compiles the rule that `ruleOf` makes, both within the limits of `options`. `available`: 1 for each byte that is a token by
 * itself. The program is plain data that can be sent to another thread. Throws bad_request, or timed_out where the limits were hit.
 */
export function compileWithin(
  ruleOf: (limits: Limits) => Rule,
  available: Uint8Array,
  { milliseconds = LONGEST, stop = null }: CompileOptions = {},
): Program {
  const bounds = limits({ milliseconds, stop });
  try {
    return compile(ruleOf(bounds), available, bounds);
  } catch (error) {
    const refusal = asBadRequest(error);
    throw refusal instanceof EngineError && isOver(bounds) ? withCode(refusal, 'timed_out') : refusal;
  }
}

/** A copy of an error with another code. */
export function withCode({ message, param, cause }: EngineError, code: ErrorCode): EngineError {
  return new EngineError(code, message, { ...(param !== null && { param }), cause });
}
