// The entry to the room: reads a constraint with the front end of its kind into a rule, and compiles the rule within limits of work
// and size.

import { compile } from './compile/compile.ts';
import type { CompiledGrammar } from './rules/compiled-grammar.ts';
import { CompileWork, MOST_STEPS, type CompileWorkOptions } from './bounds/compile-work.ts';
import { limits, TooLarge, type Limits } from './automata/dfa.ts';
import { ruleOfEbnf } from './ebnf/ebnf.ts';
import { ruleOfFormat } from './format-tree.ts';
import { changedError, GrammarError, withParam } from './bounds/grammar-error.ts';
import { regexDfa } from './automata/regex.ts';
import { object, regular, type Rule } from './rules/rule.ts';
import { DECLARED, ruleOfSchema, WHOLE } from './schema/schema-rule.ts';
import { taggedText } from './structural-tag.ts';
import type { TextConstraint } from './text-constraint.ts';

/** The rule of a constraint. Throws a GrammarError whose `param` is the member of the constraint at fault. */
export function ruleOfConstraint(constraint: TextConstraint, bounds: Limits): Rule {
  const reading = 'strict' in constraint && constraint.strict === false ? WHOLE : DECLARED;
  switch (constraint.type) {
    case 'json_object':
      return object();
    case 'regex':
      return withParam('constraint.pattern', () =>
        regular(regexDfa(constraint.pattern, { whole: true, limits: bounds })),
      );
    case 'ebnf':
      return withParam('constraint.grammar', () => ruleOfEbnf(constraint.grammar));
    case 'json_schema':
      return ruleOfSchema(constraint.schema, {
        path: 'constraint.schema',
        limits: bounds,
        reading,
      });
    case 'structural_tag':
      return withParam('constraint.structures', () => {
        const tags = constraint.structures.map(({ begin, schema, end }, i) => {
          const path = `constraint.structures.${i}.schema`;
          const content = ruleOfSchema(schema, { path, limits: bounds, reading });
          return { begin, content, end };
        });
        return taggedText(constraint.triggers, tags, bounds);
      });
    case 'format':
      return ruleOfFormat(constraint.format, {
        path: 'constraint.format',
        limits: bounds,
        reading,
        ends: [],
      });
  }
}

/**
 * Makes a rule and compiles it, both within one set of limits. `available`: 1 for each byte that is a token by itself. The result is
 * plain data that can be sent to another thread. Throws a GrammarError: bad_request, or cancelled where `onSteps` ends the compilation.
 */
export function compileWithin(
  ruleOf: (limits: Limits) => Rule,
  available: Uint8Array,
  { most = MOST_STEPS, onSteps = null }: CompileWorkOptions = {},
): CompiledGrammar {
  const bounds = limits({ work: new CompileWork({ most, onSteps }) });
  try {
    return compile(ruleOf(bounds), available, bounds);
  } catch (error) {
    const refusal = asRefusal(error);
    throw refusal instanceof GrammarError && bounds.work.isStopped
      ? changedError(refusal, { code: 'cancelled' })
      : refusal;
  }
}

/** Errors of exceeded limits as GrammarErrors; a GrammarError without a parameter is one of the whole constraint. */
function asRefusal(error: unknown): unknown {
  if (error instanceof GrammarError && error.param === null)
    return changedError(error, { param: 'constraint' });
  if (error instanceof TooLarge) return tooLarge(error.message);
  if (error instanceof RangeError) return tooLarge('rules that are nested too deep'); // the call stack overflowed
  return error;
}

function tooLarge(what: string): GrammarError {
  return new GrammarError('bad_request', `the grammar takes ${what}: make it smaller`, {
    param: 'constraint',
  });
}
