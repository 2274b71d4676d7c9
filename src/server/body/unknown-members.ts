// Finds members inside a field's value that its schema does not know; like unknown fields they are reported to the client.

import { z } from 'zod';
import { isEmpty, type FieldTable } from './fields.ts';

type MembersOf = (type: unknown) => z.ZodObject | undefined;

const byType = new WeakMap<z.core.$ZodType, MembersOf>();

/** Marks a schema of objects whose members depend on their `type`. */
export function withMembers<S extends z.ZodObject>(schema: S, members: MembersOf): S {
  byType.set(schema, members);
  return schema;
}

interface TypedRules<B> {
  /** Members of all types; default: only `type`. */
  base?: B;
  /** The type of an object without one. */
  usual?: string;
  /** What is wrong with an object of another type; default: the value of `type`. */
  refusal?(type: string, types: readonly string[]): { message: string; path?: string[]; code?: string };
  /** The path of an issue in an object of a type, as the interface writes it; default: that in the object. */
  placeOf?(issue: z.core.$ZodIssue, type: string): PropertyKey[];
}

/** Schema of objects whose members depend on their `type`. */
export function typedObject<B extends z.ZodObject = z.ZodObject<{ type: z.ZodString }, z.core.$loose>>(
  members: Readonly<Record<string, z.ZodObject>>,
  { base, usual, refusal = noSuchType, placeOf = ({ path }) => path }: TypedRules<B> = {},
): B {
  const typeOf = (type: unknown): string => (typeof type === 'string' ? type : (usual ?? ''));
  const given: z.ZodObject = base ?? z.looseObject({ type: z.string() });
  const types = Object.keys(members);
  const schema = given.superRefine((value, context) => {
    const type = typeOf(value['type']);
    const own = Object.hasOwn(members, type) ? members[type] : undefined;
    if (own) {
      for (const issue of own.safeParse(value).error?.issues ?? [])
        context.addIssue({ ...issue, path: placeOf(issue, type), input: value } as never);
      return;
    }
    const { code, ...wrong } = refusal(type, types);
    context.addIssue({ code: 'custom', path: ['type'], ...wrong, ...(code && { params: { code } }) });
  });
  return withMembers(schema as B, (type) => members[typeOf(type)]);
}

function noSuchType(type: string, types: readonly string[]) {
  return { message: `must be one of ${types.join(', ')}, got ${JSON.stringify(type)}` };
}

/** Paths of unknown members in the honoured fields of a body. */
export function unknownMembers(body: Record<string, unknown>, table: FieldTable): string[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const field = table[name];
    return field?.status === 'honoured' ? unknownIn(field.schema, value, name) : [];
  });
}

const open = new WeakMap<z.core.$ZodType, boolean>();

/** Whether values of a schema can have unknown members: a list of token ids cannot, however long. */
function hasMembers(schema: z.core.$ZodType): boolean {
  const known = open.get(schema);
  if (known !== undefined) return known;
  const has =
    schema instanceof z.ZodObject ||
    (schema instanceof z.ZodArray && hasMembers(schema.element)) ||
    (schema instanceof z.ZodUnion && schema.options.some((option) => hasMembers(option))) ||
    ((schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) && hasMembers(schema.unwrap()));
  open.set(schema, has);
  return has;
}

function unknownIn(schema: z.core.$ZodType, value: unknown, path: string): string[] {
  if (!hasMembers(schema) || isEmpty(value)) return [];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unknownIn(schema.unwrap(), value, path);
  if (schema instanceof z.ZodUnion) {
    const fitting = schema.options.find((option) => z.validate(option, value));
    return fitting ? unknownIn(fitting, value, path) : [];
  }
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((entry, at) => unknownIn(schema.element, entry, `${path}.${at}`));
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return [];
  const own = byType.get(schema)?.(Reflect.get(value, 'type'));
  const shape: z.core.$ZodShape = { ...schema.shape, ...own?.shape };
  return Object.entries(value).flatMap(([name, member]) => {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known) return unknownIn(known, member, `${path}.${name}`);
    return isEmpty(member) ? [] : [`${path}.${name}`];
  });
}
