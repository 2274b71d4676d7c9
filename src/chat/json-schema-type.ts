// The type of the values that a JSON Schema allows, computed from the schema's own type. It needs the schema's literals: a schema that is written where
// it is used has them, one that is declared apart is declared `as const`.

/** A JSON Schema as data. */
export type JsonSchema = { readonly [keyword: string]: unknown } & { readonly '~standard'?: never };

type Flat<T> = { [K in keyof T]: T[K] };

interface Simple {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type ListOf<S> = S extends { readonly prefixItems: infer Entries extends readonly unknown[] }
  ? { -readonly [At in keyof Entries]: JsonValueOf<Entries[At]> }
  : S extends { readonly items: infer Entry }
    ? JsonValueOf<Entry>[]
    : unknown[];

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type ObjectOf<S> = S extends { readonly properties: infer Members }
  ? Flat<
      { -readonly [K in keyof Members as K extends RequiredOf<S> ? K : never]: JsonValueOf<Members[K]> } & {
        -readonly [K in keyof Members as K extends RequiredOf<S> ? never : K]?: JsonValueOf<Members[K]>;
      }
    >
  : S extends { readonly additionalProperties: infer Other extends object }
    ? Record<string, JsonValueOf<Other>>
    : Record<string, unknown>;

type NamedType<Name, S> = Name extends keyof Simple
  ? Simple[Name]
  : Name extends 'array'
    ? ListOf<S>
    : Name extends 'object'
      ? ObjectOf<S>
      : unknown;

/** The values of a JSON Schema, by const, enum, anyOf, oneOf, type, properties, required, items and prefixItems; else unknown. */
export type JsonValueOf<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer One)[] }
      ? One extends unknown
        ? JsonValueOf<One>
        : never
      : S extends { readonly oneOf: readonly (infer One)[] }
        ? One extends unknown
          ? JsonValueOf<One>
          : never
        : S extends { readonly type: readonly (infer Name)[] }
          ? Name extends unknown
            ? NamedType<Name, S>
            : never
          : S extends { readonly type: infer Name extends string }
            ? NamedType<Name, S>
            : unknown;
