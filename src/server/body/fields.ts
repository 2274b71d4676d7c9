// Fields of a request as tables, from which the schemas, the check for neutral values, the list of ignored names and the
// README are made.
//   honoured      used; the schema holds kind and bounds
//   neutral-only  of the contract, not built: the values that ask for nothing pass, any other is refused by name
//   no-effect     of OpenAI's interface, without meaning on a local server: any value passes, or each of its words

import { nearestName } from '../../options/nearest-name.ts';
import { z } from 'zod';
import { fieldError, RequestError } from '../http/errors.ts';

export interface Field<Status extends string = string, Schema extends z.ZodType = z.ZodType> {
  status: Status;
  help: string;
  /** The value that a left-out field stands for; undefined where it means "off". */
  default?: unknown;
  /** The default in words, where the model decides it. */
  defaultText?: string;
  schema: Schema;
  /** Values beside null, [] and {} that ask for nothing. */
  neutral: readonly unknown[];
  /** The file under src/ that implements the field. */
  by?: string;
  /** All members of the object have defaults, so that {} also switches the feature on. */
  emptyAsks?: boolean;
  /** Replaces the message "asks for what this server does not do". */
  refusal?: string;
  /** A limit of this server that OpenAI's interface does not have. */
  stricter?: string;
  /** Names that other servers have for the field: they are refused with any value but null, because ignoring them would change the reply. */
  elsewhere?: readonly string[];
}

type Notes = Pick<Field, 'stricter' | 'elsewhere'>;

export type FieldTable = Record<string, Field>;

export function honoured<Schema extends z.ZodType>(
  schema: Schema,
  help: string,
  fallback?: unknown,
  notes?: Notes,
): Field<'honoured', Schema> {
  return { status: 'honoured', help, schema, default: fallback, neutral: [], ...notes };
}

/** A field for a sampling setting. If it is left out, the checkpoint's own default applies, else that of OpenAI's interface. */
export function sampling<Schema extends z.ZodType>(
  schema: Schema,
  help: string,
  fallback: number,
  notes?: Notes,
): Field<'honoured', Schema> {
  return { ...honoured(schema, help, fallback, notes), defaultText: `the model's, else ${fallback}` };
}

/** Names the file under src/ that implements these fields. */
export function by<T extends FieldTable>(file: string, fields: T): T {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, by: file }]),
  ) as T;
}

export function neutralOnly(help: string, ...neutral: unknown[]): Field<'neutral-only'> {
  return { status: 'neutral-only', help, schema: z.unknown(), default: neutral[0], neutral };
}

/** `words`: the values that pass, of a field whose other values are mistakes; none: all pass. */
export function noEffect(help: string, ...words: string[]): Field<'no-effect'> {
  return { status: 'no-effect', help, schema: z.unknown(), neutral: words };
}

/** Picks some fields of a table, for another interface that has them too. */
export function pickFields<T extends FieldTable, K extends keyof T>(table: T, ...names: K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, table[name]])) as Pick<T, K>;
}

type HonouredShape<T extends FieldTable> = {
  -readonly [K in keyof T as T[K]['status'] extends 'honoured' ? K : never]: z.ZodOptional<T[K]['schema']>;
};

/** The honoured fields of a request. */
export type HonouredBody<T extends FieldTable> = z.infer<z.ZodObject<HonouredShape<T>>>;

/** The schema of the honoured fields of a request, in which null already means "left out". */
export function honouredSchema<T extends FieldTable>(table: T): z.ZodObject<HonouredShape<T>> {
  const shape = Object.entries(table)
    .filter(([, field]) => field.status === 'honoured')
    .map(([name, field]) => [name, field.schema.optional()]);
  return z.object(Object.fromEntries(shape) as z.core.$ZodShape) as z.ZodObject<HonouredShape<T>>;
}

/** Most members of one body, unknown ones included. */
const MOST_FIELDS = 1024;

/**
 * Splits a body by the status of its fields and refuses values that ask for something that is not built. Empty values and a field's
 * default count as left out, except in the fields of `mayBeEmpty`, whose schema reports the error.
 */
export function sortFields(
  body: object,
  table: FieldTable,
  mayBeEmpty: readonly string[] = [],
): { honoured: Record<string, unknown>; ignored: string[] } {
  const honoured: Record<string, unknown> = {};
  const ignored: string[] = [];
  const given = Object.entries(body);
  if (given.length > MOST_FIELDS)
    throw new RequestError(
      'invalid_value',
      `the body has ${given.length} fields; send at most ${MOST_FIELDS}`,
    );
  for (const [name, value] of given) {
    const field = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!field) {
      // An empty value may be a constraint elsewhere: guided_json = {} is any JSON.
      if (value !== null) refuseForeign(name, table);
      // A value that asks for nothing passes, under --strict, too, whatever the name.
      if (!isEmpty(value)) ignored.push(name);
    } else if (field.status === 'honoured') {
      const asksNothing = mayBeEmpty.includes(name) ? value === null : isEmpty(value);
      if (!asksNothing && !isDefault(field, value)) honoured[name] = value;
    } else if (field.status === 'neutral-only' && !isNeutral(field, value)) {
      const remedy =
        field.default === undefined ? 'leave it out' : `leave it out or send ${show(field.default)}`;
      const why = field.refusal ?? `asks for what this server does not do; ${remedy}`;
      throw fieldError(name, `= ${show(value)} ${why}`, 'unsupported');
    } else if (field.status === 'no-effect' && field.neutral.length > 0 && !isNeutral(field, value)) {
      throw fieldError(
        name,
        `= ${show(value)} is none of ${field.neutral.join(', ')}, which have no effect here; leave it out`,
      );
    }
  }
  return { honoured, ignored };
}

function refuseForeign(name: string, table: FieldTable): void {
  const own = Object.keys(table).find((known) => table[known]?.elsewhere?.includes(name));
  if (own === undefined) return;
  throw fieldError(name, `is another server's name for what ${own} says here; send that`, 'unsupported');
}

/** Throws RequestError for the first unknown name, and suggests a field of the table; called if the server is strict. */
export function refuseUnknown([first]: readonly string[], table: FieldTable): void {
  if (first === undefined) return;
  const near = nearestName(first, Object.keys(table));
  const hint = near === null ? '' : `did you mean ${near}? Otherwise `;
  throw fieldError(
    first,
    `is not a field of this interface; ${hint}leave it out, or start the server without --strict`,
    'unknown_parameter',
  );
}

/** Returns true if the value means the same as leaving the field out. No value does where the model decides the default. */
function isDefault(field: Field, value: unknown): boolean {
  const { default: fallback, defaultText } = field;
  return (
    fallback !== undefined && defaultText === undefined && JSON.stringify(fallback) === JSON.stringify(value)
  );
}

/** Returns true if the value of a field that is not built asks for nothing. */
function isNeutral(field: Field, value: unknown): boolean {
  const isLeftOut = field.emptyAsks && isObject(value) ? false : isEmpty(value);
  return isLeftOut || field.neutral.some((neutral) => JSON.stringify(neutral) === JSON.stringify(value));
}

type Given<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the object without the members that are undefined. */
export function withoutMissing<T extends object>(values: T): Given<T> {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Given<T>;
}

/** Whether a value is one that clients send for "not set". */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a message shows it: JSON, shortened. */
export function show(value: unknown): string {
  // JSON cannot express Infinity, which is the result of reading 1e400.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing');
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
