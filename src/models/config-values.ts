// Reads values of a component's config.json. Errors name the file and the key for a value that is missing, of the wrong kind, or
// would change the computation.

import { EngineError } from '../files/error.ts';
import { boundsText, COUNTS, isCount, isReal, REALS, type CountKey, type RealKey } from './config-bounds.ts';

export type Json = Readonly<Record<string, unknown>>;

/** An error about a configuration: `<file>: <problem>`. */
export class ConfigError extends EngineError {
  readonly file: string;
  readonly problem: string;

  constructor(code: 'bad_checkpoint' | 'unsupported', file: string, problem: string, param?: string) {
    super(code, `${file}: ${problem}`, param === undefined ? {} : { param });
    this.file = file;
    this.problem = problem;
  }
}

/** The file that a configuration is from. */
export interface ConfigFile {
  readonly name: string;
  /** The file's own names of settings, by their keys in config.json; a key that is left out has its own name. A key within another is `outer.inner`. */
  readonly keys: Readonly<Record<string, string>>;
}

export const CONFIG_JSON: ConfigFile = { name: 'config.json', keys: {} };

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

export function isJsonObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readConfig(file: ConfigFile | string, values: Json): ConfigReader {
  return new ConfigReader(typeof file === 'string' ? { name: file, keys: {} } : file, values);
}

/** Reads the settings of a file. Numbers are checked against their key's bounds (config-bounds.ts); null counts as missing. */
export class ConfigReader {
  readonly values: Json;
  readonly #file: ConfigFile;
  readonly #outer: string | null;

  /** `outer`: the key whose value the settings are; null: they are those of the file itself. */
  constructor(file: ConfigFile, values: Json, outer: string | null = null) {
    this.values = values;
    this.#file = file;
    this.#outer = outer;
  }

  /** A reader of other values of the same file. */
  with(values: Json): ConfigReader {
    return new ConfigReader(this.#file, values, this.#outer);
  }

  /** A reader of the settings that are the value of `key`; of none where that is not an object. */
  part(key: string): ConfigReader {
    const inner = this.values[key];
    return this.within(key, isJsonObject(inner) ? inner : {});
  }

  /** A reader of the settings that are the value of `key`. */
  within(key: string, values: Json): ConfigReader {
    return new ConfigReader(this.#file, values, key);
  }

  /** An error about a setting, `problem` being its predicate: `config.json: <key> <problem>`. */
  error(code: 'bad_checkpoint' | 'unsupported', key: string, problem: string): ConfigError {
    const own = this.#file.keys[this.#outer === null ? key : `${this.#outer}.${key}`];
    const name = own ?? (this.#outer === null ? key : `${this.#outer}: ${key}`);
    return new ConfigError(code, this.#file.name, `${name} ${problem}`, own ?? key);
  }

  /** An integer. */
  count(key: CountKey, fallback?: number): number {
    const value = this.#given(key) ?? fallback;
    if (!isCount(value, COUNTS[key])) throw this.#bad(key, `an integer ${boundsText(COUNTS[key])}`);
    return value;
  }

  real(key: RealKey, fallback?: number): number {
    const value = this.#given(key) ?? fallback;
    if (!isReal(value, REALS[key])) throw this.#bad(key, `a number ${boundsText(REALS[key])}`);
    return value;
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.#given(key) ?? fallback;
    if (typeof value !== 'boolean') throw this.#bad(key, 'true or false');
    return value;
  }

  flags(key: string, fallback: readonly boolean[]): boolean[] {
    const value = this.#given(key) ?? fallback;
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'boolean'))
      throw this.#bad(key, 'a list of true and false');
    return value;
  }

  /** A list of `length` numbers; null where there is none. */
  reals(key: RealKey, length: number): number[] | null {
    const value = this.#given(key);
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.length !== length || !value.every((one) => isReal(one, REALS[key])))
      throw this.#bad(key, `a list of ${length} numbers ${boundsText(REALS[key])}`);
    return value;
  }

  /** A list of `length` numbers, or one number for all of them. */
  each(key: CountKey, length: number, fallback?: number): number[] {
    const value = this.#given(key) ?? fallback;
    const values = Array.isArray(value) ? (value as unknown[]) : Array.from({ length }, () => value);
    if (values.length !== length || !values.every((one) => isCount(one, COUNTS[key])))
      throw this.#bad(key, `an integer ${boundsText(COUNTS[key])}, or ${length} of them,`);
    return values;
  }

  /** Integers; at least one of them, unless the fallback is empty. */
  list(key: CountKey, fallback?: readonly number[]): number[] {
    const value = this.#given(key) ?? fallback;
    const fewest = fallback?.length === 0 ? 0 : 1;
    const fits = Array.isArray(value) && value.length >= fewest && value.length <= MOST_ENTRIES;
    if (!fits || !value.every((one) => isCount(one, COUNTS[key])))
      throw this.#bad(key, `a list of integers ${boundsText(COUNTS[key])}`);
    return value;
  }

  texts(key: string, known: readonly string[], fallback?: readonly string[]): string[] {
    const value = this.#given(key) ?? fallback;
    if (!Array.isArray(value) || value.length === 0) throw this.#bad(key, 'a list of names');
    const unknown = (value as unknown[]).find((one) => !known.includes(one as string));
    if (unknown !== undefined) throw this.#unsupported(key, unknown, known);
    return value as string[];
  }

  /** Reads a name and returns its value in `known`. Throws for other names. */
  choice<T>(key: string, known: Readonly<Record<string, T>>, fallback: string): T {
    const value = this.#given(key) ?? fallback;
    const found = typeof value === 'string' && Object.hasOwn(known, value) ? known[value] : undefined;
    if (found === undefined) throw this.#unsupported(key, value, Object.keys(known));
    return found;
  }

  /** Throws for keys whose value is not listed, because other values are not built; a missing key counts as the first value. */
  only(values: Readonly<Record<string, readonly unknown[]>>): void {
    for (const [key, known] of Object.entries(values)) {
      const value = this.#given(key);
      if (value !== undefined && !known.some((one) => shown(one) === shown(value)))
        throw this.#unsupported(key, value, known);
    }
  }

  #given(key: string): unknown {
    return Object.hasOwn(this.values, key) ? (this.values[key] ?? undefined) : undefined;
  }

  #bad(key: string, needed: string): EngineError {
    return this.error('bad_checkpoint', key, `is ${shown(this.#given(key))}, ${needed} is needed`);
  }

  #unsupported(key: string, value: unknown, known: readonly unknown[]): EngineError {
    const choices = known.map(shown).join(' or ');
    return this.error(
      'unsupported',
      key,
      `${shown(value)} is not built; choose a checkpoint that has ${choices}`,
    );
  }
}

/**
 * Checks the number of attention heads, which must divide `columns` into valid head dimensions, multiples of `least`; returns it.
 */
export function checkHeads(file: string, columns: number, heads: number, least = 4): number {
  const dims = columns / heads;
  if (!Number.isInteger(dims)) {
    const problem = `${columns} columns cannot be divided into ${heads} heads`;
    throw new ConfigError('bad_checkpoint', file, problem, file);
  }
  const step = dims > 160 ? 32 : least;
  if (dims % step === 0) return heads;
  throw new ConfigError(
    'unsupported',
    file,
    `${heads} heads over ${columns} columns are not built; choose a checkpoint whose heads have a multiple of ${step} dimensions`,
  );
}

/** Checks the number of groups of a group norm, which must divide each number of channels; returns it. */
export function checkGroups(file: string, channels: readonly number[], groups: number): number {
  const uneven = channels.find((count) => count % groups !== 0);
  if (uneven === undefined) return groups;
  throw new ConfigError(
    'bad_checkpoint',
    file,
    `norm_num_groups is ${groups}, and the ${uneven} channels of block_out_channels cannot be divided into as many groups`,
    'norm_num_groups',
  );
}
