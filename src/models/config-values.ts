// Values out of a component's config.json, each said with the file's name where it is missing, of another kind, or would
// make other numbers than those computed here.

import { EngineError } from '../files/error.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface ConfigReader {
  /** An integer of at least `least`. */
  count(key: string, fallback?: number, least?: number): number;
  real(key: string, fallback?: number): number;
  flag(key: string, fallback: boolean): boolean;
  /** A list of `length` numbers; null where there is none. */
  reals(key: string, length: number): number[] | null;
  /** A list, or one value for all of `length`. */
  each(key: string, length: number, fallback?: number): number[];
  list(key: string, fallback?: readonly number[]): number[];
  texts(key: string, known: readonly string[], fallback?: readonly string[]): string[];
  /** One of the values that `known` computes by. */
  choice<T>(key: string, known: Readonly<Record<string, T>>, fallback: string): T;
  /** Keys whose other values are not built; left out counts as the first. */
  only(values: Readonly<Record<string, readonly unknown[]>>): void;
}

export function readConfig(file: string, config: Json): ConfigReader {
  const shown = (value: unknown): string => JSON.stringify(value) ?? 'missing';
  const bad = (key: string, needed: string): EngineError =>
    new EngineError('bad_checkpoint', `${file}: ${key} is ${shown(config[key])}, ${needed} is needed`);
  const unsupported = (key: string, value: unknown, known: readonly unknown[]): EngineError =>
    new EngineError(
      'unsupported',
      `${file}: ${key} ${shown(value)} is not built; choose a checkpoint that has ${known.map(shown).join(' or ')}`,
    );
  const isCount = (value: unknown, least: number): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= least;
  const given = (key: string): unknown => config[key] ?? undefined;

  return {
    count(key, fallback, least = 1) {
      const value = given(key) ?? fallback;
      if (!isCount(value, least)) throw bad(key, least > 0 ? 'a positive integer' : 'an integer');
      return value;
    },
    real(key, fallback) {
      const value = given(key) ?? fallback;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw bad(key, 'a number');
      return value;
    },
    flag(key, fallback) {
      const value = given(key) ?? fallback;
      if (typeof value !== 'boolean') throw bad(key, 'true or false');
      return value;
    },
    reals(key, length) {
      const value = given(key);
      if (value === undefined) return null;
      if (!Array.isArray(value) || value.length !== length || !value.every(Number.isFinite))
        throw bad(key, `a list of ${length} numbers`);
      return value as number[];
    },
    each(key, length, fallback) {
      const value = given(key) ?? fallback;
      const values = Array.isArray(value) ? (value as unknown[]) : Array.from({ length }, () => value);
      if (values.length !== length || !values.every((one) => isCount(one, 0))) {
        throw bad(key, `an integer, or ${length} of them,`);
      }
      return values;
    },
    list(key, fallback) {
      const value = given(key) ?? fallback;
      if (!Array.isArray(value) || value.length === 0 || !value.every((one) => isCount(one, 1))) {
        throw bad(key, 'a list of positive integers');
      }
      return value;
    },
    texts(key, known, fallback) {
      const value = given(key) ?? fallback;
      if (!Array.isArray(value) || value.length === 0) throw bad(key, 'a list of names');
      const unknown = (value as unknown[]).find((one) => !known.includes(one as string));
      if (unknown !== undefined) throw unsupported(key, unknown, known);
      return value as string[];
    },
    choice(key, known, fallback) {
      const value = given(key) ?? fallback;
      const found = typeof value === 'string' && Object.hasOwn(known, value) ? known[value] : undefined;
      if (found === undefined) throw unsupported(key, value, Object.keys(known));
      return found;
    },
    only(values) {
      for (const [key, known] of Object.entries(values)) {
        const value = config[key] ?? null;
        if (key in config && value !== null && !known.some((one) => shown(one) === shown(value))) {
          throw unsupported(key, value, known);
        }
      }
    },
  };
}

/** The number of heads, where attention takes heads of `columns` / `heads` dimensions. */
export function checkHeads(file: string, columns: number, heads: number): number {
  const dims = columns / heads;
  const step = dims > 160 ? 32 : 4;
  if (dims % step === 0) return heads;
  throw new EngineError(
    'unsupported',
    `${file}: ${heads} heads over ${columns} columns are not built; choose a checkpoint whose heads have a multiple of ${step} dimensions`,
  );
}
