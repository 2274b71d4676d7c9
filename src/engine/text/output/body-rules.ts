// Grammars of one call in each syntax. The parsers of these syntaxes are in bodies.ts.

import { anyJson, object, regular, sequence, text, type Rule } from '../../../grammar/rule.ts';
import { regexDfa } from '../../../grammar/regex.ts';
import {
  bareString,
  inAnyOrder,
  parametersOf,
  stringTexts,
  type Parameter,
  type PlacedTool,
  type SchemaRule,
} from './argument-rules.ts';
import { bracesArguments } from './braces-rule.ts';
import type { Body, JsonBody, NamedBody, TaggedBody, ToolFormat } from './format.ts';

export interface BodyContext {
  format: ToolFormat;
  /** Returns the rule for a marker; special tokens in it are matched by id. */
  mark: (text: string) => Rule;
  schemaRule: SchemaRule;
}

export function bodyRule(body: Body, placed: PlacedTool, context: BodyContext): Rule {
  switch (body.kind) {
    case 'json':
      return jsonRule(body, placed, context);
    case 'named':
      return namedRule(body, placed, context);
    case 'tagged':
      return taggedRule(body, placed, context);
    case 'python':
      return pythonRule(placed, context);
    case 'braces':
      return sequence(
        context.mark(`${body.before}${placed.tool.function.name}`),
        bracesArguments(placed, context.mark(body.quote), body.quote, context.schemaRule),
      );
  }
}

/** Rule for arguments that are one JSON object. A function without `parameters` takes the empty object. */
export function argumentsRule({ tool, path }: PlacedTool, schemaRule: SchemaRule): Rule {
  const { parameters, strict } = tool.function;
  if (parameters === undefined) return object({ rest: null });
  if (strict === false) return object();
  return schemaRule({ type: 'object', ...parameters }, path, strict === true) ?? object();
}

function jsonRule(body: JsonBody, placed: PlacedTool, { schemaRule }: BodyContext): Rule {
  const name = JSON.stringify(placed.tool.function.name);
  const values = argumentsRule(placed, schemaRule);
  if (body.name === null) return sequence(text(`{${name}: `), values, text('}'));
  const id =
    body.id === undefined
      ? text('{')
      : sequence(text(`{"${body.id}": "`), regular(regexDfa('\\d{1,3}', { whole: true })), text('", '));
  return sequence(id, text(`"${body.name}": ${name}, "${body.arguments[0]}": `), values, text('}'));
}

function namedRule(body: NamedBody, placed: PlacedTool, { format, mark, schemaRule }: BodyContext): Rule {
  const { name } = placed.tool.function;
  const id = regular(regexDfa('\\d{1,4}', { whole: true }));
  return sequence(
    mark(body.before ?? ''),
    ...(format.namesAreIds ? [text(`functions.${name}:`), id] : [text(name)]),
    mark(body.separator),
    argumentsRule(placed, schemaRule),
    mark(body.after ?? ''),
  );
}

function taggedRule(body: TaggedBody, placed: PlacedTool, context: BodyContext): Rule {
  const { format, mark } = context;
  const line = format.lineBreaks ? '\n' : '';
  const { tool, path } = placed;
  const strict = tool.function.strict === true;
  const parameters = parametersOf(tool.function.parameters, path, strict);
  return sequence(
    mark(`${body.name.begin}${tool.function.name}${body.name.end}${line}`),
    inAnyOrder(parameters, (parameter) => taggedParameter(body, parameter, strict, line, context)),
    mark(body.close ?? ''),
  );
}

/** Texts that a bare text value must not contain, since the parser would end the value there. */
function valueEnds(body: TaggedBody, end: string, { call, section }: ToolFormat): string[] {
  const others = [body.key.begin, body.close, call?.end, section?.end];
  return [end, ...(body.mayLackEnds ? others : [])].flatMap((text) => text || []);
}

function taggedParameter(
  body: TaggedBody,
  { name, schema, path }: Parameter,
  strict: boolean,
  line: string,
  { format, mark, schemaRule }: BodyContext,
): Rule {
  const { key, value, newlines } = body;
  const json = schemaRule(schema, path, strict) ?? anyJson;
  const texts = stringTexts(json);
  const reads = texts === null ? ['json', 'schema'] : ['text', 'schema'];
  const { text: begin = '', end = value.end } = value.begins.find((each) => reads.includes(each.reads)) ?? {};
  const edge = newlines ? '\n' : '';
  return sequence(
    mark(`${key.begin}${name}${key.end}${begin.startsWith('<') ? line : ''}${begin}${edge}`),
    texts === null ? json : bareString(texts, valueEnds(body, end, format)),
    mark(`${edge}${end}${line}`),
  );
}

/** Python literals written as JSON: the parser also accepts true, false and null. */
function pythonRule({ tool, path }: PlacedTool, { schemaRule }: BodyContext): Rule {
  const strict = tool.function.strict === true;
  const parameters = parametersOf(tool.function.parameters, path, strict);
  const values = inAnyOrder(
    parameters,
    ({ name, schema, path: place }) =>
      sequence(text(`${name}=`), schemaRule(schema, place, strict) ?? anyJson),
    ', ',
  );
  return sequence(text(`${tool.function.name}(`), values, text(')'));
}
