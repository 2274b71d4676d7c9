// Compiles the grammars of a text model: the constraint on a text, the form of a whole reply with its tool calls, or the beginning or the
// arguments of one call. Has no state, so that it runs in any thread.

import type { CompiledGrammar } from '../../../grammar/rules/compiled-grammar.ts';
import type { Limits } from '../../../grammar/automata/dfa.ts';
import type { CompileWorkOptions } from '../../../grammar/bounds/compile-work.ts';
import { compileWithin, ruleOfConstraint } from '../../../grammar/front-end.ts';
import type { Rule } from '../../../grammar/rules/rule.ts';
import { lenientRule } from '../../../grammar/schema/lenient-rule.ts';
import type { RefusedPlace } from '../../../grammar/schema/refusal.ts';
import { DECLARED, ruleOfSchema, WHOLE } from '../../../grammar/schema/schema-rule.ts';
import type { TextConstraint } from '../../../grammar/text-constraint.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import type { SchemaRules } from '../output/argument-rules.ts';
import { ruleOfArguments, type ArgumentsGrammar } from '../output/body-rules.ts';
import { ruleOfNames, type NamesGrammar } from '../output/name-rule.ts';
import { ruleOfReply, type ReplyGrammar } from '../output/reply-rule.ts';
import type { UnenforcedKeyword } from '../calls/text-model.ts';

/** The constraint of a text, of a whole reply, or of the beginning or the arguments of a call, as plain data. */
export type GrammarSource = TextConstraint | ReplyGrammar | ArgumentsGrammar | NamesGrammar;

/** A compiled source. `unenforced`: keywords of tools' parameters that it does not enforce; left out: there are none. */
export interface CompiledSource extends CompiledGrammar {
  unenforced?: readonly UnenforcedKeyword[];
}

/** Throws bad_request that names the member at fault. `onLeftOut` is called with each keyword of tools' parameters that is not enforced. */
export function ruleOfSource(
  source: GrammarSource,
  limits: Limits,
  onLeftOut: (keyword: UnenforcedKeyword) => void = () => {},
): Rule {
  if (source.type === 'names') return ruleOfNames(source);
  if (source.type !== 'reply' && source.type !== 'arguments') return ruleOfConstraint(source, limits);
  const reading = source.mode === 'whole' ? WHOLE : DECLARED;
  const leaveOut: SchemaRules['leaveOut'] = ({ tool, pointer }, keyword) =>
    onLeftOut({ tool, pointer, keyword });
  const schemas: SchemaRules = {
    ruleOf(schema, place, strict) {
      const { path } = place;
      if (strict) return ruleOfSchema(schema, { path, limits });
      const note = ({ pointer, keyword }: RefusedPlace): void =>
        leaveOut({ ...place, pointer: place.pointer + pointer }, keyword);
      return lenientRule(schema, { path, limits, reading, onLeftOut: note });
    },
    leaveOut,
    isClosed: reading.isClosed,
  };
  if (source.type === 'arguments') return ruleOfArguments(source, schemas);
  return ruleOfReply(source, { schemas, constraint: (answer) => ruleOfConstraint(answer, limits) });
}

/** Compiles a constraint or a whole reply; see compileWithin. Throws EngineErrors: bad_request, or cancelled. */
export function compileSource(
  source: GrammarSource,
  available: Uint8Array,
  options?: CompileWorkOptions,
): CompiledSource {
  const unenforced = new Map<string, UnenforcedKeyword>();
  const onLeftOut = (keyword: UnenforcedKeyword): void =>
    void unenforced.set(JSON.stringify(keyword), keyword);
  const compiled = withEngineErrors(() =>
    compileWithin((limits) => ruleOfSource(source, limits, onLeftOut), available, options),
  );
  return unenforced.size === 0 ? compiled : { ...compiled, unenforced: [...unenforced.values()] };
}
