// Grammar of the arguments of one call from their beginning on (see OpenArguments), with any text after them: one token may contain their
// end and further text.

import { regular, sequence, type Rule } from '../../../grammar/rules/rule.ts';
import { textWithout } from '../../../grammar/automata/marker-dfa.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { Tool } from '../calls/text-model.ts';
import type { SchemaRules } from './argument-rules.ts';
import { argumentsRule, openArgumentsRule } from './body-rules.ts';
import type { Body, ToolFormat } from './format.ts';
import { markRules } from './mark-rules.ts';
import type { ArgumentSyntax } from '../calls/output-parser.ts';

/** Description of the grammar as plain data, from which it is compiled. */
export interface ArgumentsGrammar {
  type: 'arguments';
  tool: Tool;
  /** Path of the tool's parameters in the request, for messages. */
  path: string;
  /** Format of the calls; null: the arguments are JSON. */
  format: ToolFormat | null;
  syntax: ArgumentSyntax;
  /** How the parameters are read. */
  mode: SchemaMode;
  /** Ids of the special tokens in markers. */
  specials: Readonly<Record<string, number>>;
}

export function ruleOfArguments(grammar: ArgumentsGrammar, schemas: SchemaRules): Rule {
  const { tool, path, format, syntax, specials } = grammar;
  const placed = { tool, path };
  const body = format?.bodies.find((one): one is RestrictedBody => one.kind === syntax);
  const values =
    format === null || body === undefined
      ? argumentsRule(placed, schemas)
      : openArgumentsRule(body, placed, { format, mark: markRules(specials), schemas });
  return sequence(values, regular(textWithout([])));
}

type RestrictedBody = Exclude<Body, { kind: 'json' | 'named' }>;
