// Grammars of one call, or of its arguments alone, in each syntax. The parsers of these syntaxes are in bodies.ts.

import {
  anyJson,
  choice,
  object,
  optional,
  regular,
  sequence,
  text,
  token,
  type Rule,
} from '../../../grammar/rules/rule.ts';
import { textWithout } from '../../../grammar/automata/marker-dfa.ts';
import { regexDfa } from '../../../grammar/automata/regex.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { ArgumentSyntax } from '../calls/output-parser.ts';
import type { Tool } from '../calls/text-model.ts';
import {
  bareString,
  inAnyOrder,
  parametersOf,
  parametersPlace,
  splitStrings,
  withPythonWords,
  type Parameter,
  type PlacedTool,
  type SchemaRules,
} from './argument-rules.ts';
import { bracesArguments } from './braces-rule.ts';
import { elementRule } from './element-rule.ts';
import type {
  Body,
  BracesBody,
  JsonBody,
  NamedBody,
  NestedBody,
  PythonBody,
  TaggedBody,
  Tags,
  ToolFormat,
} from './format.ts';
import { markerMaker } from './reader.ts';

export interface BodyContext {
  format: ToolFormat;
  /** Returns the rule for a marker; special tokens in it are matched by id. */
  mark: (text: string) => Rule;
  schemas: SchemaRules;
}

/** Rules of the markers of output formats: plain text, and special tokens by their ids. `specials`: those ids by text. */
export function markRules(specials: Readonly<Record<string, number>>): (marker: string) => Rule {
  const marker = markerMaker((one) => specials[one]);
  return (whole) => {
    const rules: Rule[] = [];
    let plain = '';
    for (const symbol of [...marker(whole).symbols, null]) {
      if (typeof symbol === 'string') plain += symbol;
      else {
        if (plain !== '') rules.push(text(plain));
        plain = '';
        if (symbol !== null) rules.push(token(symbol));
      }
    }
    return rules.length === 1 ? rules[0]! : sequence(...rules);
  };
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
        bracesArguments(placed, context.mark(body.quote), body.quote, context.schemas),
      );
  }
}

/** Space that a model may write where its arguments begin. */
const SPACE = regexDfa('\\s{0,8}', { whole: true });

/** Rule for the rest of a call after the tool's name, up to the end of its arguments (see OpenArguments). */
export function openArgumentsRule(
  body: TaggedBody | NestedBody | PythonBody | BracesBody,
  placed: PlacedTool,
  context: BodyContext,
): Rule {
  switch (body.kind) {
    case 'tagged': {
      const { call } = context.format;
      const end = body.close ?? `${lineBeforeEnd(body, context.format)}${call?.end ?? ''}`;
      return sequence(regular(SPACE), taggedParameters(body, placed, context), context.mark(end));
    }
    case 'python':
      return sequence(regular(SPACE), pythonParameters(placed, context), text(')'));
    case 'braces':
      return bracesArguments(placed, context.mark(body.quote), body.quote, context.schemas);
  }
}

/** Text that grammars write between a call and its closing tag: an untagged function name directly follows the call's tag, without a line break. */
export function lineBeforeEnd(body: Body, { lineBreaks }: ToolFormat): string {
  return lineBreaks && !(body.kind === 'tagged' && body.name.begin === '') ? '\n' : '';
}

/** Rule for arguments that are one JSON object. A function without `parameters` takes the empty object. */
export function argumentsRule(placed: PlacedTool, schemas: SchemaRules): Rule {
  const { parameters, strict } = placed.tool.function;
  if (parameters === undefined) return object({ rest: null });
  if (strict === false) return object();
  const schema = { type: 'object', ...parameters };
  return schemas.ruleOf(schema, parametersPlace(placed), strict === true) ?? object();
}

function jsonRule(body: JsonBody, placed: PlacedTool, { schemas }: BodyContext): Rule {
  const name = JSON.stringify(placed.tool.function.name);
  const values = argumentsRule(placed, schemas);
  if (body.name === null) return sequence(text(`{${name}: `), values, text('}'));
  const id =
    body.id === undefined
      ? text('{')
      : sequence(text(`{"${body.id}": "`), regular(regexDfa('\\d{1,3}', { whole: true })), text('", '));
  return sequence(id, text(`"${body.name}": ${name}, "${body.arguments[0]}": `), values, text('}'));
}

/** The number of a call. */
export const INDEX = regular(regexDfa('\\d{1,4}', { whole: true }));

/** The number of a call with the text around it. */
export function numberRule({ begin, end }: Tags, mark: (marker: string) => Rule): Rule {
  return sequence(mark(begin), INDEX, mark(end));
}

function namedRule(body: NamedBody, placed: PlacedTool, { format, mark, schemas }: BodyContext): Rule {
  const { name } = placed.tool.function;
  return sequence(
    mark(body.before ?? ''),
    ...(format.namesAreIds ? [text(`functions.${name}:`), INDEX] : [text(name)]),
    mark(body.separator),
    argumentsRule(placed, schemas),
    mark(body.after ?? ''),
  );
}

function taggedRule(body: TaggedBody | NestedBody, placed: PlacedTool, context: BodyContext): Rule {
  const { format, mark } = context;
  const line = format.lineBreaks ? '\n' : '';
  const { begin, end, number } = body.name;
  return sequence(
    mark(`${begin}${placed.tool.function.name}${end}`),
    ...(number ? [numberRule(number, mark)] : []),
    text(line),
    taggedParameters(body, placed, context),
    mark(body.close ?? ''),
  );
}

function taggedParameters(body: TaggedBody | NestedBody, placed: PlacedTool, context: BodyContext): Rule {
  const { parameters, strict } = placed.tool.function;
  const listed = parametersOf(parameters, parametersPlace(placed), strict === true, context.schemas);
  const rule = (parameter: Parameter): Rule =>
    body.nested
      ? elementRule(parameter, { ...context, nested: body.nested, strict: strict === true })
      : taggedParameter(body, parameter, strict === true, context);
  return inAnyOrder(listed, rule);
}

/** Texts that a bare text value must not contain, since the parser would end the value there. */
function valueEnds(body: TaggedBody, end: string, { call, section }: ToolFormat): string[] {
  const others = [body.key.begin, body.close, call?.end, section?.end];
  return [end, ...(body.mayLackEnds ? others : [])].flatMap((text) => text || []);
}

function taggedParameter(
  body: TaggedBody,
  { name, schema, place }: Parameter,
  strict: boolean,
  context: BodyContext,
): Rule {
  const { begins, end } = body.value;
  const [forStrings, forOthers] = (['json', 'text'] as const).map((not) =>
    begins.find(({ reads }) => reads !== not),
  );
  const json = context.schemas.ruleOf(schema, place, strict) ?? anyJson;
  const { strings, others, isAny } = splitStrings(json);
  const ways: Rule[] = [];
  if (strings.length > 0) {
    const ends = valueEnds(body, forStrings?.end ?? end, context.format);
    const bare = choice(...strings.map((one) => bareString(one, ends)));
    ways.push(taggedValue(body, name, bare, forStrings, context));
  }
  // A value of any type whose strings are read like other values has its rule already: any text.
  if (others !== null && !(isAny && forStrings === forOthers)) {
    const values = forOthers?.reads === 'json' ? others : withPythonWords(others);
    ways.push(taggedValue(body, name, values, forOthers, context));
  }
  return choice(...ways);
}

type Begin = TaggedBody['value']['begins'][number];

/** Rule for a parameter with its tags. */
function taggedValue(
  { key, value, newlines }: TaggedBody,
  name: string,
  values: Rule,
  { text: begin, end = value.end }: Begin = { text: '', reads: 'schema' },
  { format, mark }: BodyContext,
): Rule {
  const line = format.lineBreaks ? '\n' : '';
  const edge = newlines === true ? '\n' : '';
  const mayBreak = newlines === 'may' ? optional(text('\n')) : text('');
  return sequence(
    mark(`${key.begin}${name}${key.end}${begin.startsWith('<') ? line : ''}${begin}${edge}`),
    mayBreak,
    values,
    mayBreak,
    mark(`${edge}${end}${line}`),
  );
}

function pythonRule(placed: PlacedTool, context: BodyContext): Rule {
  return sequence(text(`${placed.tool.function.name}(`), pythonParameters(placed, context), text(')'));
}

function pythonParameters(placed: PlacedTool, { schemas }: BodyContext): Rule {
  const { parameters, strict } = placed.tool.function;
  const listed = parametersOf(parameters, parametersPlace(placed), strict === true, schemas);
  return inAnyOrder(
    listed,
    ({ name, schema, place }) =>
      sequence(text(`${name}=`), pythonValue(schemas.ruleOf(schema, place, strict === true) ?? anyJson)),
    ', ',
  );
}

/** Rule for Python literals: JSON, of which words may be spelled as in Python, or a string in single quotes without escapes. */
function pythonValue(json: Rule): Rule {
  const quoted = splitStrings(json).strings.map((one) => bareString(one, ["'", '\\', '\n']));
  const ways = quoted.map((texts) => sequence(text("'"), texts, text("'")));
  return choice(withPythonWords(json), ...ways);
}

/** Description of the grammar of the arguments of one call as plain data, from which it is compiled. */
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

/**
 * Grammar of the arguments of a call from their beginning on (see OpenArguments), with any text after them: one token may contain their end
 * and further text.
 */
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
