// Schemas of values that a model writes: a JSON Schema as data, or a schema of a validation library that says itself as JSON Schema (zod 4, ArkType, Valibot's
// adapter: the interfaces of standardschema.dev). No library is imported: the schema brings its own methods.

import { badRequest, reasonOf } from '../files/error.ts';
import { checkValue } from './check-value.ts';
import type { JsonSchema, JsonValueOf } from './json-schema-type.ts';

type Issue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};
type Outcome<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** A schema of a validation library. `Output`: what it makes of a valid value. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Outcome<Output> | Promise<Outcome<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: unknown;
  };
}

export type Schema = StandardSchema | JsonSchema;

/** The type of a schema's values; unknown where it cannot be told. */
export type ValueOf<S> = S extends StandardSchema<infer Output> ? Output : JsonValueOf<S>;

const isStandard = (schema: Schema): schema is StandardSchema => '~standard' in schema;

/** The schema as JSON Schema, draft 2020-12. `param` names it in errors: bad_request. */
export function jsonSchemaOf(schema: Schema, param: string): Record<string, unknown> {
  // Schemas of some libraries are functions.
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
    throw badRequest(`${param} is ${String(schema)}: give a schema of zod, or a JSON Schema`, param);
  if (!isStandard(schema)) return schema;
  const { vendor, jsonSchema } = schema['~standard'];
  const convert = jsonSchema as { input?(options: { target: string }): Record<string, unknown> } | undefined;
  if (convert?.input === undefined)
    throw badRequest(
      `${param} is a schema of ${vendor} that cannot say itself as JSON Schema: use a version of ${vendor} that has '~standard'.jsonSchema, or give a JSON Schema`,
      param,
    );
  try {
    const { $schema: _, ...converted } = convert.input({ target: 'draft-2020-12' });
    return converted;
  } catch (cause) {
    throw badRequest(`${param} has a part that JSON Schema cannot say: ${reasonOf(cause)}`, param, cause);
  }
}

/** Checks a value. Returns what the schema makes of it, or the problems as text: 'city: must be a string'. */
export async function readValue<S extends Schema>(
  schema: S,
  value: unknown,
): Promise<{ value: ValueOf<S> } | { problem: string }> {
  if (!isStandard(schema)) {
    const problem = checkValue(schema, value);
    return problem === null ? { value: value as ValueOf<S> } : { problem };
  }
  const outcome = await schema['~standard'].validate(value);
  if (outcome.issues === undefined) return { value: outcome.value as ValueOf<S> };
  return { problem: outcome.issues.map(issueText).join('; ') };
}

function issueText({ message, path = [] }: Issue): string {
  const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return at === '' ? message : `${at}: ${message}`;
}
