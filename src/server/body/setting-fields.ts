// Settings of the options tables as request fields: their zod schemas, the tables of fields, and the conversion of a request's
// values to the library's.

import { z } from 'zod';
import {
  type FieldName,
  fieldName,
  type Interface,
  type Kind,
  type SentValueOf,
  type Setting,
  type Settings,
  type SettingValues,
} from '../../options/setting.ts';
import { LIMITS } from '../../options/limits.ts';
import type { ObjectShape, Shape, ShapeOf } from '../../options/shape.ts';
import { list, MOST_IDS, MOST_TOOLS, record, tokenId } from './bounded.ts';
import type { Field } from './fields.ts';

/** The settings of a table that are fields of an interface, by their field names. */
export type FieldsOf<T extends Settings, I extends Interface> = {
  [
    K in keyof T & string as T[K] extends { in: readonly (infer Face)[] }
      ? I extends Face
        ? FieldName<K, T[K], I>
        : never
      : never
  ]: Field<'honoured', z.ZodType<SentValueOf<T[K]['kind']>>>;
};

export function fieldsOf<const T extends Settings, I extends Interface>(
  settings: T,
  face: I,
): FieldsOf<T, I> {
  const fields = taken(settings, face).map(([name, setting]) => [
    fieldName(name, setting, face),
    fieldOf(setting),
  ]);
  return Object.fromEntries(fields) as FieldsOf<T, I>;
}

function taken(settings: Settings, face: Interface): [name: string, setting: Setting][] {
  return Object.entries(settings).filter(([, setting]) => setting.in?.includes(face));
}

function fieldOf(setting: Setting): Field<'honoured'> {
  const { kind, help, by, default: fallback, stricter } = setting;
  const inWords = defaultText(setting);
  return {
    status: 'honoured',
    help,
    schema: anySchemaOf(kind),
    default: fallback,
    neutral: [],
    ...(inWords !== undefined && { defaultText: inWords }),
    ...(by !== undefined && { by }),
    ...(stricter !== undefined && { stricter }),
  };
}

/** The default in words, where the model or a random choice decides it. */
function defaultText({ default: fallback, modelKey, isOfModel, flag }: Setting): string | undefined {
  if (modelKey !== undefined || isOfModel) return `the model's, else ${String(fallback)}`;
  return fallback === undefined ? flag?.otherwise : undefined;
}

/** The schema of a kind's values as requests send them. */
export const schemaOf = <const K extends Kind>(kind: K): z.ZodType<SentValueOf<K>> =>
  anySchemaOf(kind) as z.ZodType<SentValueOf<K>>;

/** Schemas of an object's members as requests send them, where null, too, may stand for one that is left out. */
export function membersOf<const S extends ObjectShape>({ members, required }: S) {
  const schemas = Object.entries(members).map(([name, shape]) => {
    const schema = anySchemaOf(shape);
    return [name, required.includes(name) ? schema : schema.nullish()];
  });
  return Object.fromEntries(schemas) as {
    -readonly [K in keyof S['members']]: K extends S['required'][number]
      ? z.ZodType<ShapeOf<S['members'][K]>>
      : z.ZodOptional<z.ZodNullable<z.ZodType<ShapeOf<S['members'][K]>>>>;
  };
}

/** The schema of a value with members as requests send it. Objects may have unknown members; those whose members depend on one may not. */
export const shapeSchema = <const S extends Shape>(shape: S): z.ZodType<ShapeOf<S>> =>
  anySchemaOf(shape) as z.ZodType<ShapeOf<S>>;

function anySchemaOf(kind: Shape): z.ZodType {
  switch (kind.type) {
    case 'number':
      return bounded(z.number(), kind);
    case 'duration':
      return bounded(z.number(), { above: 0, max: Math.floor(LIMITS.timeout / 1000) });
    case 'integer':
      return bounded(z.int(), kind);
    case 'bytes':
      return z.int().min(1);
    case 'boolean':
      return z.boolean();
    case 'adapter':
    case 'text':
      return kind.type === 'text' && kind.isEmpty ? z.string() : z.string().min(1);
    case 'choice':
      return kind.choices.length === 1 ? z.literal(kind.choices[0]!) : z.enum(kind.choices);
    case 'tokenId':
      return tokenId;
    case 'list':
      return listSchema(kind);
    case 'record':
      return record(anySchemaOf(kind.of));
    case 'tokens':
      return record(anySchemaOf(kind.of), { names: z.string().regex(/^(0|[1-9]\d*)$/), most: kind.most });
    case 'object':
      return z.looseObject(shapeOf(kind));
    case 'either': {
      const schemas = kind.of.filter(({ type }) => type !== 'null').map(anySchemaOf);
      const schema = schemas.length === 1 ? schemas[0]! : z.union(schemas);
      return schemas.length < kind.of.length ? schema.nullable() : schema;
    }
    case 'tagged':
      return z.discriminatedUnion(
        kind.by,
        Object.entries(kind.forms).map(([name, form]) =>
          z.strictObject({ [kind.by]: z.literal(name), ...shapeOf(form) }),
        ) as [z.ZodObject, ...z.ZodObject[]],
      );
    default:
      return z.unknown();
  }
}

function shapeOf({ members, required }: ObjectShape): z.ZodRawShape {
  const schemas = Object.entries(members).map(([name, shape]) => {
    const schema = anySchemaOf(shape);
    return [name, required.includes(name) ? schema : schema.optional()];
  });
  return Object.fromEntries(schemas) as z.ZodRawShape;
}

function listSchema(kind: Extract<Shape, { type: 'list' }>): z.ZodType {
  const entry = anySchemaOf(kind.of);
  const most =
    kind.most ?? (entry === tokenId ? MOST_IDS : kind.of.type === 'object' ? MOST_TOOLS : Infinity);
  const entries = list(entry, most);
  if ('orOne' in kind && kind.orOne) return z.union([entry, entries]);
  return kind.least === undefined ? entries : entries.min(kind.least);
}

/** Bounds beyond the safe integers are left out, because zod's integers are safe integers already. */
const isUnsafe = (bound: number): boolean => Math.abs(bound) >= Number.MAX_SAFE_INTEGER;

function bounded(schema: z.ZodNumber, { min, above, max }: { min?: number; above?: number; max?: number }) {
  let held = schema;
  if (min !== undefined && !isUnsafe(min)) held = held.min(min);
  if (above !== undefined) held = held.gt(above);
  if (max !== undefined && !isUnsafe(max)) held = held.max(max);
  return held;
}

/** A body's fields under the library's names, as the library takes them; what was left out is missing. */
export function settingsIn<const T extends Settings>(
  body: object,
  settings: T,
  face: Interface,
): SettingValues<T> {
  const given = taken(settings, face).flatMap(([name, setting]) => {
    const sent: unknown = Reflect.get(body, fieldName(name, setting, face));
    return sent === undefined ? [] : [[name, valueOf(setting.kind, sent)]];
  });
  return Object.fromEntries(given) as SettingValues<T>;
}

function valueOf(kind: Kind, sent: unknown): unknown {
  if (kind.type === 'list' && kind.orOne && !Array.isArray(sent)) return [sent];
  return kind.type === 'duration' ? Math.ceil(1000 * (sent as number)) : sent;
}

/** Pairs of the library's name of a setting and its field name. */
export function fieldNames(settings: Settings, face: Interface): [name: string, field: string][] {
  return taken(settings, face).map(([name, setting]) => [name, fieldName(name, setting, face)]);
}

/** Pairs of a chat completion's field name and the name of the same field in another interface. */
export function chatNames(settings: Settings, face: Interface): [chat: string, own: string][] {
  return taken(settings, face).map(([name, setting]) => [
    fieldName(name, setting, 'chat'),
    fieldName(name, setting, face),
  ]);
}

/** The fields of another interface under the names of a chat completion; those left out are undefined. */
export function sharedFields(body: object, settings: Settings, face: Interface): Record<string, unknown> {
  return Object.fromEntries(
    chatNames(settings, face).map(([chat, own]) => [chat, Reflect.get(body, own) as unknown]),
  );
}

/** Renames values from the library's names to the field names. */
export function underFieldNames<const T extends Settings, V>(
  values: Record<keyof T & string, V>,
  settings: T,
  face: Interface,
): Record<string, V> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [fieldName(name, setting, face), values[name]!]),
  );
}
