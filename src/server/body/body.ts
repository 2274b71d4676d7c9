// Checks a parsed JSON body against a table of fields: returns the honoured fields, or throws an error that names the wrong field.

import type { z } from 'zod';
import { fieldError, RequestError } from '../http/errors.ts';
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

export type { HonouredBody } from './fields.ts';

export interface BodyRules<T extends FieldTable, R extends keyof HonouredBody<T> & string = never> {
  fields: T;
  /** Fields that cannot be left out. */
  required?: readonly R[];
  /** Fields that may be sent in place of required ones. */
  inPlace?: Readonly<Record<string, string>>;
  /** Fields in which an empty value is an error instead of meaning "left out". */
  mayBeEmpty?: readonly string[];
  /** What to do about a required field that is missing. */
  remedies?: Readonly<Record<string, string>>;
  /** Checks rules that involve more than one field. Throws RequestError. */
  checkTogether?(body: Checked<T, R>): void;
}

/** A body after its check: the honoured fields, as sent, without those that are left out, null or at their default. */
export type Checked<T extends FieldTable, R extends keyof HonouredBody<T>> = HonouredBody<T> & {
  [K in R]-?: Exclude<HonouredBody<T>[K], undefined>;
};

/** `ignored`: names that nothing here reads; with `strict` they are an error. */
type CheckBody<T extends FieldTable, R extends keyof HonouredBody<T>> = (
  value: unknown,
  strict?: boolean,
) => { body: Checked<T, R>; ignored: string[] };

const MODEL_REMEDY = '; send a served name, or "default" for the model this server has';

export function bodyChecker<T extends FieldTable, R extends keyof HonouredBody<T> & string = never>({
  fields,
  required = [],
  inPlace = {},
  mayBeEmpty = [],
  remedies = {},
  checkTogether,
}: BodyRules<T, R>): CheckBody<T, R> {
  const schema: z.ZodType = honouredSchema(fields);
  return (value, strict = false) => {
    const { honoured, ignored } = sortFields(objectOf(value), fields, [...mayBeEmpty, ...required]);
    const has = (name: string | undefined): boolean => name !== undefined && honoured[name] !== undefined;
    const param = required.find((name) => !has(name) && !has(inPlace[name]));
    if (param !== undefined)
      throw fieldError(
        param,
        `is required${remedies[param] ?? (param === 'model' ? MODEL_REMEDY : '')}`,
        'missing_required_parameter',
      );
    const parsed = schema.safeParse(honoured);
    if (!parsed.success) throw toRequestError(parsed.error, honoured);
    const body = parsed.data as Checked<T, R>;
    checkTogether?.(body);
    const unread = [...ignored, ...unknownMembers(honoured, fields)];
    if (strict) refuseUnknown(unread, fields);
    return { body, ignored: unread };
  };
}

function objectOf(body: unknown): object {
  if (isObject(body)) return body;
  throw new RequestError('invalid_type', `the body must be a JSON object, got ${show(body)}`);
}
