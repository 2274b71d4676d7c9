// The shape of a value with members: what the kinds of settings cannot say. Types, the library's rules and the schemas of requests are
// derived from it.

import type { Kind, ValueOf } from './setting.ts';

export type Shape =
  | Kind
  | { readonly type: 'null' }
  | { readonly type: 'list'; readonly of: Shape; readonly least?: number; readonly most?: number }
  | { readonly type: 'record'; readonly of: Shape }
  | ObjectShape
  /** One of several shapes whose values have different types in JSON. */
  | { readonly type: 'either'; readonly of: readonly Shape[] }
  /** An object whose other members depend on the value of the member `by`. */
  | { readonly type: 'tagged'; readonly by: string; readonly forms: Readonly<Record<string, ObjectShape>> };

export interface ObjectShape {
  readonly type: 'object';
  readonly members: Readonly<Record<string, Shape>>;
  readonly required: readonly string[];
  /** Unknown members pass, too. */
  readonly isOpen?: true;
}

type Flat<T> = { [K in keyof T]: T[K] };

type Members<M, R> = Flat<
  { -readonly [K in keyof M as K extends R ? K : never]: ShapeOf<M[K]> } & {
    -readonly [K in keyof M as K extends R ? never : K]?: ShapeOf<M[K]>;
  }
>;

type ObjectOf<S> = S extends { members: infer M; required: readonly (infer R)[] } ? Members<M, R> : never;

type Tagged<By extends string, Forms> = {
  [Name in keyof Forms]: Flat<Record<By, Name> & ObjectOf<Forms[Name]>>;
}[keyof Forms];

/** The values of a shape. */
export type ShapeOf<S> = Shape extends S
  ? unknown
  : S extends { type: 'object' }
    ? ObjectOf<S>
    : S extends { type: 'list'; of: infer Entry }
      ? ShapeOf<Entry>[]
      : S extends { type: 'record'; of: infer Entry }
        ? Record<string, ShapeOf<Entry>>
        : S extends { type: 'either'; of: readonly (infer One)[] }
          ? ShapeOf<One>
          : S extends { type: 'tagged'; by: infer By extends string; forms: infer Forms }
            ? Tagged<By, Forms>
            : S extends { type: 'anything' }
              ? unknown
              : S extends { type: 'null' }
                ? null
                : S extends Kind
                  ? ValueOf<S>
                  : never;

const NULL = { type: 'null' } as const;

export const orNull = <const S extends Shape>(shape: S) => ({ type: 'either', of: [shape, NULL] }) as const;

/** The shape of a value's type in JSON; null: any. */
export function jsonType({ type }: Shape): 'text' | 'flag' | 'list' | 'null' | 'object' | 'number' | null {
  if (type === 'text' || type === 'choice') return 'text';
  if (type === 'boolean') return 'flag';
  if (type === 'list' || type === 'null') return type;
  if (type === 'anything' || type === 'either' || type === 'adapter') return null;
  return ['object', 'record', 'tokens', 'tagged'].includes(type) ? 'object' : 'number';
}
