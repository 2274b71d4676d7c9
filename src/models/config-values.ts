// Reads values of a component's config.json. Errors name the file and the key for a value that is missing, of the wrong kind, or
// would change the computation.

import { EngineError } from '../files/error.ts';
import { boundsText, COUNTS, isCount, isReal, REALS, type CountKey, type RealKey } from './config-bounds.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Reader of a configuration. Numbers are checked against their key's bounds (config-bounds.ts); null counts as missing. */
export interface ConfigReader {
  /** An integer. */
  count(key: CountKey, fallback?: number): number;
  real(key: RealKey, fallback?: number): number;
  flag(key: string, fallback: boolean): boolean;
  /** A list of `length` numbers; null where there is none. */
  reals(key: RealKey, length: number): number[] | null;
  /** A list of `length` numbers, or one number for all of them. */
  each(key: CountKey, length: number, fallback?: number): number[];
  /** Integers; at least one of them, unless the fallback is empty. */
  list(key: CountKey, fallback?: readonly number[]): number[];
  texts(key: string, known: readonly string[], fallback?: readonly string[]): string[];
  /** Reads a name and returns its value in `known`. Throws for other names. */
  choice<T>(key: string, known: Readonly<Record<string, T>>, fallback: string): T;
  /** Throws for keys whose value is not listed, because other values are not built; a missing key counts as the first value. */
  only(values: Readonly<Record<string, readonly unknown[]>>): void;
}

/** Limit on the entries of a list. */
const MOST_ENTRIES = 1024;
const MOST_SHOWN = 200;

/** Formats a value for a message: JSON, extended by the numbers that JSON lacks. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const plain = (_: string, one: unknown): unknown =>
    typeof one === 'number' && !Number.isFinite(one) ? String(one) : one;
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value, plain);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

export function readConfig(file: string, config: Json): ConfigReader {
  const given = (key: string): unknown =>
    Object.hasOwn(config, key) ? (config[key] ?? undefined) : undefined;
  const bad = (key: string, needed: string): EngineError =>
    new EngineError('bad_checkpoint', `${file}: ${key} is ${shown(given(key))}, ${needed} is needed`, {
      param: key,
    });
  const unsupported = (key: string, value: unknown, known: readonly unknown[]): EngineError =>
    new EngineError(
      'unsupported',
      `${file}: ${key} ${shown(value)} is not built; choose a checkpoint that has ${known.map(shown).join(' or ')}`,
      { param: key },
    );

  return {
    count(key, fallback) {
      const value = given(key) ?? fallback;
      if (!isCount(value, COUNTS[key])) throw bad(key, `an integer ${boundsText(COUNTS[key])}`);
      return value;
    },
    real(key, fallback) {
      const value = given(key) ?? fallback;
      if (!isReal(value, REALS[key])) throw bad(key, `a number ${boundsText(REALS[key])}`);
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
      if (!Array.isArray(value) || value.length !== length || !value.every((one) => isReal(one, REALS[key])))
        throw bad(key, `a list of ${length} numbers ${boundsText(REALS[key])}`);
      return value;
    },
    each(key, length, fallback) {
      const value = given(key) ?? fallback;
      const values = Array.isArray(value) ? (value as unknown[]) : Array.from({ length }, () => value);
      if (values.length !== length || !values.every((one) => isCount(one, COUNTS[key]))) {
        throw bad(key, `an integer ${boundsText(COUNTS[key])}, or ${length} of them,`);
      }
      return values;
    },
    list(key, fallback) {
      const value = given(key) ?? fallback;
      const fewest = fallback?.length === 0 ? 0 : 1;
      const fits = Array.isArray(value) && value.length >= fewest && value.length <= MOST_ENTRIES;
      if (!fits || !value.every((one) => isCount(one, COUNTS[key])))
        throw bad(key, `a list of integers ${boundsText(COUNTS[key])}`);
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
        const value = given(key);
        if (value !== undefined && !known.some((one) => shown(one) === shown(value))) {
          throw unsupported(key, value, known);
        }
      }
    },
  };
}

/** Checks the number of attention heads, which must divide `columns` into valid head dimensions; returns it. */
export function checkHeads(file: string, columns: number, heads: number): number {
  const dims = columns / heads;
  if (!Number.isInteger(dims)) {
    throw new EngineError(
      'bad_checkpoint',
      `${file}: ${columns} columns cannot be divided into ${heads} heads`,
      {
        param: file,
      },
    );
  }
  const step = dims > 160 ? 32 : 4;
  if (dims % step === 0) return heads;
  throw new EngineError(
    'unsupported',
    `${file}: ${heads} heads over ${columns} columns are not built; choose a checkpoint whose heads have a multiple of ${step} dimensions`,
  );
}

/** Checks the number of groups of a group norm, which must divide each number of channels; returns it. */
export function checkGroups(file: string, channels: readonly number[], groups: number): number {
  const uneven = channels.find((count) => count % groups !== 0);
  if (uneven === undefined) return groups;
  throw new EngineError(
    'bad_checkpoint',
    `${file}: norm_num_groups is ${groups}, and the ${uneven} channels of block_out_channels cannot be divided into as many groups`,
    { param: 'norm_num_groups' },
  );
}
