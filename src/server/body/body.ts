// Checks a parsed JSON body against a table of fields: returns the honoured fields, or throws an error that names the wrong field.
// Used by all routes that have such a table.

import type { z } from 'zod';
import { RequestError } from '../errors.ts';
import {
  type FieldTable,
  type HonouredBody,
  honouredSchema,
  isObject,
  refuseUnknown,
  show,
  sortFields,
} from './fields.ts';
import { toRequestError } from './request-error.ts';
import { unknownMembers } from './unknown-members.ts';

interface BodyRules<T extends FieldTable, Required extends keyof HonouredBody<T>> {
  table: T;
  required: readonly Required[];
  /** Fields in which an empty value is an error instead of meaning "left out". */
  mayBeEmpty?: readonly string[];
}

type Checked<T extends FieldTable, R extends keyof HonouredBody<T>> = HonouredBody<T> & {
  [K in R]-?: Exclude<HonouredBody<T>[K], undefined>;
};

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
type CheckBody<T extends FieldTable, R extends keyof HonouredBody<T>> = (
  value: unknown,
  strict: boolean | undefined,
) => { body: Checked<T, R>; ignored: string[] };

export function bodyChecker<T extends FieldTable, R extends keyof HonouredBody<T>>({
  table,
  required,
  mayBeEmpty = [],
}: BodyRules<T, R>): CheckBody<T, R> {
  const schema: z.ZodType = honouredSchema(table);
  return (value, strict = false) => {
    const { honoured, ignored } = sortFields(objectOf(value), table, [
      ...mayBeEmpty,
      ...required.map(String),
    ]);
    const missing = required.find((name) => honoured[String(name)] === undefined);
    if (missing !== undefined) {
      const param = String(missing);
      const remedy =
        param === 'model' ? '; send a served name, or "default" for the model this server has' : '';
      throw new RequestError('missing_required_parameter', `${param} is required${remedy}`, { param });
    }
    const parsed = schema.safeParse(honoured);
    if (!parsed.success) throw toRequestError(parsed.error, honoured);
    const unread = [...ignored, ...unknownMembers(honoured, table)];
    if (strict) refuseUnknown(unread, table);
    return { body: parsed.data as Checked<T, R>, ignored: unread };
  };
}

export function objectOf(body: unknown): object {
  if (isObject(body)) return body;
  throw new RequestError('invalid_type', `the body must be a JSON object, got ${show(body)}`);
}
