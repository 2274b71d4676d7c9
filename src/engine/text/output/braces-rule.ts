// Grammar of values with bare keys and format-specific quotes: objects, lists and strings are not JSON, other values are.

import { badRequest } from '../../../files/error.ts';
import { regexDfa } from '../../../grammar/automata/regex.ts';
import { choice, reference, regular, scope, sequence, text, type Rule } from '../../../grammar/rules/rule.ts';
import {
  bareString,
  inAnyOrder,
  openingKeyword,
  parametersOf,
  parametersPlace,
  restrictsValues,
  several,
  stringTexts,
  within,
  type PlacedTool,
  type SchemaPlace,
  type SchemaRules,
} from './argument-rules.ts';
import { isObject } from './typed-value.ts';

interface Syntax {
  quote: Rule;
  /** Text of `quote`. */
  quoteText: string;
  schemas: SchemaRules;
  strict: boolean;
}

/** Rule for all arguments of a call, braces included. */
export function bracesArguments(
  placed: PlacedTool,
  quote: Rule,
  quoteText: string,
  schemas: SchemaRules,
): Rule {
  const { parameters = {}, strict = false } = placed.tool.function;
  return objectRule(parameters, parametersPlace(placed), { quote, quoteText, schemas, strict });
}

function objectRule(schema: Record<string, unknown>, place: SchemaPlace, syntax: Syntax): Rule {
  const parameters = parametersOf(schema, place, syntax.strict, syntax.schemas);
  const members = inAnyOrder(
    parameters,
    ({ name, schema: inner, place: at }) => sequence(text(`${name}:`), valueRule(inner, at, syntax)),
    ',',
  );
  return sequence(text('{'), members, text('}'));
}

function valueRule(schema: Record<string, unknown>, place: SchemaPlace, syntax: Syntax): Rule {
  const { quote, quoteText, schemas, strict } = syntax;
  const { type, items, properties, $defs, definitions } = schema;
  const isListed = strict ? isObject(properties) : openingKeyword(schema, schemas.isClosed) === null;
  if (type === 'object' && isListed) return objectRule(schema, place, syntax);
  if (type === 'array' && isObject(items) && isPlainList(schema)) {
    const shared = {
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    };
    const item = valueRule({ ...items, ...shared }, within(place, 'items'), syntax);
    return sequence(text('['), choice(text(''), several(item, text(','), false)), text(']'));
  }
  const isPlain = ['string', 'number', 'integer', 'boolean', 'null'].includes(String(type));
  if (isPlain || Array.isArray(schema['enum'])) {
    const json = schemas.ruleOf(schema, place, strict) ?? anyValue(syntax);
    const texts = stringTexts(json);
    if (texts !== null) return sequence(quote, bareString(texts, [quoteText]), quote);
    if (isPlain) return json;
  }
  if (strict && Object.keys(schema).length > 0) {
    throw badRequest(
      `${place.path} cannot be enforced in the way this model writes its arguments: give it one type, its properties or items, or leave strict out`,
      place.path,
    );
  }
  if (restrictsValues(schema)) schemas.leaveOut(place, null);
  return anyValue(syntax);
}

const LIST_WORDS = new Set(['type', 'items', '$defs', 'definitions', 'description', 'title', 'default']);

/** Whether a schema of a list says nothing but the type of its members. */
export function isPlainList(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).every((word) => LIST_WORDS.has(word));
}

/** Rule for any value in this syntax. */
function anyValue({ quote, quoteText }: Syntax): Rule {
  const value = reference('value');
  const member = sequence(regular(regexDfa('[\\w-]{1,64}:', { whole: true })), value);
  const list = (one: Rule): Rule => choice(text(''), several(one, text(','), false));
  const scalar = regular(
    regexDfa('true|false|null|-?(0|[1-9]\\d{0,15})(\\.\\d{1,15})?([eE][+-]?\\d{1,3})?', { whole: true }),
  );
  return scope(
    {
      value: choice(
        sequence(quote, bareString({ type: 'string' }, [quoteText]), quote),
        scalar,
        sequence(text('{'), list(member), text('}')),
        sequence(text('['), list(value), text(']')),
      ),
    },
    value,
  );
}
