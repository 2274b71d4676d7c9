// Grammar of arguments that are elements named after them, in which objects and lists are elements, too. The parser is in element-values.ts.

import { anyJson, choice, optional, sequence, text, type Rule } from '../../../grammar/rules/rule.ts';
import {
  bareString,
  inAnyOrder,
  openingKeyword,
  parametersOf,
  several,
  splitStrings,
  within,
  withPythonWords,
  type Parameter,
  type SchemaPlace,
  type SchemaRules,
} from './argument-rules.ts';
import { isPlainList } from './braces-rule.ts';
import type { NestedValues } from './format.ts';
import { isObject } from './typed-value.ts';

interface Context {
  nested: NestedValues;
  strict: boolean;
  schemas: SchemaRules;
  mark: (text: string) => Rule;
}

/** Rule for the element of a parameter. */
export function elementRule({ name, schema, place }: Omit<Parameter, 'required'>, context: Context): Rule {
  const { nested, mark } = context;
  return sequence(
    mark(`${nested.mark}<${name}>`),
    contentRule(schema, place, context),
    mark(`${nested.mark}</${name}>`),
  );
}

/** Rule for what an element contains: other elements, bare text, or JSON where a schema says less or more than their form can. */
function contentRule(schema: Record<string, unknown>, place: SchemaPlace, context: Context): Rule {
  const { nested, strict, schemas } = context;
  const { type, items, properties, $defs, definitions } = schema;
  const isListed = strict ? isObject(properties) : openingKeyword(schema, schemas.isClosed) === null;
  if (type === 'object' && isListed) {
    return inAnyOrder(parametersOf(schema, place, strict, schemas), (inner) => elementRule(inner, context));
  }
  if (type === 'array' && isObject(items) && isPlainList(schema)) {
    const shared = {
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    };
    const item = { name: nested.item, schema: { ...items, ...shared }, place: within(place, 'items') };
    return optional(several(elementRule(item, context), text(''), false));
  }
  const { strings, others } = splitStrings(schemas.ruleOf(schema, place, strict) ?? anyJson);
  const bare = strings.map((one) => bareString(one, [nested.mark]));
  return choice(...bare, ...(others ? [withPythonWords(others)] : []));
}
