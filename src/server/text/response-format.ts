// The constraint on the text: response_format, regex or ebnf; a request has at most one.

import { z } from 'zod';
import type { StructuralTag, TextConstraint, TextFormat } from '../../index.ts';
import { list, MOST_TOOLS, record } from '../body/bounded.ts';
import { fieldError } from '../http/errors.ts';
import { isEmpty } from '../body/fields.ts';

const schema = z.union([record(z.unknown()), z.boolean()]);

const structure = z.looseObject({ begin: z.string().min(1), schema: schema.nullish(), end: z.string() });

/** Members of a format that have a meaning, by the format's type. */
const MEMBERS = {
  text: [],
  json_object: ['json_schema', 'schema'],
  json_schema: ['json_schema', 'schema'],
  structural_tag: ['structures', 'triggers', 'format'],
} as const;
const ALL_MEMBERS = [...MEMBERS.json_schema, ...MEMBERS.structural_tag];

export const responseFormat = z
  .looseObject({
    type: z.enum(['text', 'json_object', 'json_schema', 'structural_tag']),
    json_schema: z
      .looseObject({
        name: z.string().nullish(),
        description: z.string().nullish(),
        schema: schema.nullish(),
        strict: z.boolean().nullish(),
      })
      .nullish(),
    /** Some clients send the schema beside `type`. */
    schema: schema.nullish(),
    structures: list(structure, MOST_TOOLS).min(1).nullish(),
    triggers: list(z.string().min(1), MOST_TOOLS).min(1).nullish(),
    /** A tree of formats, which replaces structures and triggers. */
    format: record(z.unknown()).nullish(),
  })
  .superRefine((format, context) => {
    const missing = (path: string[], message: string) =>
      context.addIssue({ code: 'custom', path, message, params: { code: 'missing_required_parameter' } });
    if (format.type === 'json_schema' && schemaOf(format) == null) {
      missing(['json_schema', 'schema'], 'is required where the type is json_schema; send a JSON Schema');
    }
    const own: readonly string[] = MEMBERS[format.type];
    const foreign = ALL_MEMBERS.find((name) => !own.includes(name) && !isEmpty(format[name]));
    if (foreign !== undefined)
      context.addIssue({
        code: 'custom',
        path: [foreign],
        message: `says nothing where the type is ${format.type}; send the type it is for, or leave it out`,
      });
    if (format.type !== 'structural_tag') return;
    if (format.format != null && (format.structures ?? format.triggers))
      context.addIssue({
        code: 'custom',
        path: ['format'],
        message: 'says what structures and triggers say; send one of them',
        params: { code: 'invalid_value' },
      });
    if (format.format != null) return;
    for (const name of ['structures', 'triggers'] as const)
      if (!format[name])
        missing([name], 'is required where the type is structural_tag, unless format is sent');
  });

type ResponseFormat = z.infer<typeof responseFormat>;

function schemaOf({ json_schema, schema: beside }: ResponseFormat): unknown {
  return json_schema?.schema ?? beside ?? undefined;
}

interface ConstraintFields {
  response_format?: ResponseFormat | undefined;
  regex?: string | undefined;
  ebnf?: string | undefined;
}

/** The names of the fields that constrain the text; a request has at most one. */
function constraining(body: ConstraintFields): (keyof ConstraintFields)[] {
  const names = ['response_format', 'regex', 'ebnf'] as const;
  return names.filter((name) =>
    name === 'response_format'
      ? body.response_format && body.response_format.type !== 'text'
      : body[name] !== undefined,
  );
}

export function checkOneConstraint(body: ConstraintFields): void {
  const [first, second] = constraining(body);
  if (first === undefined || second === undefined) return;
  throw fieldError(second, `and ${first} both say what the text has to match; send one of them`);
}

export function toConstraint({
  response_format: format,
  regex,
  ebnf,
}: ConstraintFields): TextConstraint | undefined {
  if (regex !== undefined) return { type: 'regex', pattern: regex };
  if (ebnf !== undefined) return { type: 'ebnf', grammar: ebnf };
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'structural_tag') {
    if (format.format) return { type: 'format', format: format.format as unknown as TextFormat };
    const structures = (format.structures ?? []).map(({ begin, schema: inner, end }): StructuralTag => ({
      begin,
      schema: inner ?? true,
      end,
    }));
    return { type: 'structural_tag', structures, triggers: format.triggers ?? [] };
  }
  const wanted = schemaOf(format);
  if (wanted === undefined) return { type: 'json_object' };
  const strict = format.json_schema?.strict ?? undefined;
  return { type: 'json_schema', schema: wanted, ...(strict !== undefined && { strict }) };
}

/** Maps the engine's paths into a constraint to the request's. Without a constraint the grammar comes from the tools. */
export function constraintPaths(body: ConstraintFields): [engine: string, field: string][] {
  const [name] = constraining(body);
  if (name === undefined) return [['constraint', 'tools']];
  if (name !== 'response_format')
    return [
      ['constraint.pattern', name],
      ['constraint.grammar', name],
      ['constraint', name],
    ];
  const nested = body.response_format?.json_schema?.schema != null;
  return [
    ['constraint.schema', nested ? 'response_format.json_schema.schema' : 'response_format.schema'],
    ['constraint', 'response_format'],
  ];
}
