// From what a request may ask for to a rule.

import { EngineError } from '../../../files/error.ts';
import { ruleOfReply, type ReplyGrammar } from '../output/reply-rule.ts';
import type { TextConstraint } from '../text-request.ts';
import { TooLarge, type Limits } from './dfa.ts';
import { ruleOfEbnf } from './ebnf.ts';
import { ruleOfFormat } from './format-tree.ts';
import { regexDfa } from './regex.ts';
import { object, regular, type Rule } from './rule.ts';
import { said } from './said.ts';
import { lenientRule } from './schema/lenient-rule.ts';
import { ruleOfSchema } from './schema/schema-rule.ts';
import { taggedText } from './structural-tag.ts';

/** What a text or a whole reply is held to, as plain data. */
export type GrammarSource = TextConstraint | ReplyGrammar;

/** Throws bad_request with the member it is about. */
export function ruleOfConstraint(constraint: GrammarSource, limits: Limits): Rule {
  switch (constraint.type) {
    case 'reply':
      return ruleOfReply(constraint, {
        schema: (schema, path, strict) =>
          strict ? ruleOfSchema(schema, { path, limits }) : lenientRule(schema, { path, limits }),
        constraint: (answer) => ruleOfConstraint(answer, limits),
      });
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
export function asBadRequest(error: unknown): unknown {
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
