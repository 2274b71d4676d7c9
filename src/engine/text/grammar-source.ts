// Compiles the grammars of a text model: the constraint on a text, or the form of a whole reply with its tool calls. Has no state,
// so that it runs in any thread.

import type { CompiledGrammar } from '../../grammar/compiled-grammar.ts';
import type { Limits } from '../../grammar/dfa.ts';
import type { CompileWorkOptions } from '../../grammar/compile-work.ts';
import { compileWithin, ruleOfConstraint } from '../../grammar/front-end.ts';
import type { Rule } from '../../grammar/rule.ts';
import { lenientRule } from '../../grammar/schema/lenient-rule.ts';
import { DECLARED, ruleOfSchema, WHOLE } from '../../grammar/schema/schema-rule.ts';
import type { TextConstraint } from '../../grammar/text-constraint.ts';
import { withEngineErrors } from './grammar-error.ts';
import { ruleOfReply, type ReplyGrammar } from './output/reply-rule.ts';

/** The constraint of a text or of a whole reply, as plain data. */
export type GrammarSource = TextConstraint | ReplyGrammar;

/** Throws bad_request that names the member at fault. */
export function ruleOfSource(source: GrammarSource, limits: Limits): Rule {
  if (source.type !== 'reply') return ruleOfConstraint(source, limits);
  return ruleOfReply(source, {
    schema: (schema, path, strict) =>
      strict
        ? ruleOfSchema(schema, { path, limits })
        : lenientRule(schema, { path, limits, reading: source.mode === 'whole' ? WHOLE : DECLARED }),
    constraint: (answer) => ruleOfConstraint(answer, limits),
  });
}

/** Compiles a constraint or a whole reply; see compileWithin. Throws EngineErrors: bad_request, or cancelled. */
export function compileSource(
  source: GrammarSource,
  available: Uint8Array,
  options?: CompileWorkOptions,
): CompiledGrammar {
  return withEngineErrors(() => compileWithin((limits) => ruleOfSource(source, limits), available, options));
}
