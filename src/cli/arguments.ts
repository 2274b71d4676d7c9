// Options as a table, and a command line read by it: unknown flags, missing values and numbers out of bounds are usage
// errors that say what was meant.

import { parseArgs } from 'node:util';
import { UsageError } from './exit.ts';

interface OptionBase {
  /** Heading in the help. */
  group: string;
  help: string;
  /** One letter. */
  alias?: string;
  /** Stands for the value in the help. */
  value?: string;
  /** What the help says where there is no `default`. */
  otherwise?: string;
}

export type Option = OptionBase &
  (
    | { kind: 'string'; default?: string }
    | { kind: 'boolean' }
    | { kind: 'integer' | 'number'; default?: number; min?: number; max?: number }
    /** A number with a unit, as 6GB or 512MiB; its value is bytes. */
    | { kind: 'bytes'; default?: number }
    | { kind: 'choice'; choices: readonly string[]; default?: string }
    /** May be repeated, and takes commas. */
    | { kind: 'list' }
  );

export type OptionTable = Readonly<Record<string, Option>>;

type Value<O extends Option> = O extends { kind: 'boolean' }
  ? boolean
  : O extends { kind: 'integer' | 'number' | 'bytes' }
    ? number
    : O extends { kind: 'list' }
      ? string[]
      : O extends { kind: 'choice'; choices: readonly (infer C)[] }
        ? C
        : string;

/** What a command line gave: options without a default may be missing. */
export type Values<T extends OptionTable> = {
  [K in keyof T as T[K] extends { default: unknown } ? K : never]: Value<T[K]>;
} & { [K in keyof T as T[K] extends { default: unknown } ? never : K]?: Value<T[K]> };

export interface Positional {
  name: string;
  help: string;
  required: boolean;
}

export interface Arguments<T extends OptionTable> {
  options: Values<T>;
  positionals: string[];
}

export function readArguments<T extends OptionTable>(
  args: string[],
  table: T,
  positionals: Positional[],
): Arguments<T> {
  const config = Object.entries(table).map(([name, { kind, alias }]) => {
    const type: 'boolean' | 'string' = kind === 'boolean' ? 'boolean' : 'string';
    return [name, { type, ...(alias && { short: alias }) }] as const;
  });
  const { tokens } = parseArgs({ args, options: Object.fromEntries(config), strict: false, tokens: true });

  const values: Record<string, unknown> = {};
  const given: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') given.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value } = readOption(token, table);
    values[name] = Array.isArray(value)
      ? [...((values[name] as string[] | undefined) ?? []), ...value]
      : value;
  }
  checkPositionals(given, positionals);
  for (const [name, option] of Object.entries(table)) {
    if ('default' in option && values[name] === undefined) values[name] = option.default;
  }
  return { options: values as Values<T>, positionals: given };
}

interface OptionToken {
  name: string;
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

function readOption(token: OptionToken, table: OptionTable): { name: string; value: unknown } {
  const { name, rawName, value } = token;
  const negated = name.startsWith('no-') ? name.slice(3) : null;
  if (negated !== null && table[negated]?.kind === 'boolean') return { name: negated, value: false };
  const option = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!option) {
    const near = nearest(name, Object.keys(table));
    throw new UsageError(`there is no option ${rawName}${near === null ? '' : `; did you mean --${near}?`}`);
  }
  if (option.kind === 'boolean') {
    if (value === undefined || value === 'true') return { name, value: true };
    if (value === 'false') return { name, value: false };
    throw new UsageError(`${rawName} is on or off and takes no value, got "${value}"`);
  }
  if (value === undefined || value === '' || (!token.inlineValue && /^--./.test(value))) {
    throw new UsageError(`${rawName} needs a value: ${rawName} ${valueText(option)}`);
  }
  return { name, value: convert(rawName, option, value) };
}

function convert(name: string, option: Exclude<Option, { kind: 'boolean' }>, text: string): unknown {
  switch (option.kind) {
    case 'string':
      return text;
    case 'list':
      return text.split(',').filter((part) => part !== '');
    case 'choice':
      if (option.choices.includes(text)) return text;
      throw new UsageError(`${name} is one of ${option.choices.join(', ')}, got "${text}"`);
    case 'bytes':
      return parseBytes(name, text);
    default: {
      const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
      const { kind, min = -Infinity, max = Infinity } = option;
      const whole = kind === 'integer';
      if (Number.isNaN(value) || (whole && !Number.isSafeInteger(value)) || value < min || value > max) {
        throw new UsageError(`${name} is ${boundsText(whole, min, max)}, got "${text}"`);
      }
      return value;
    }
  }
}

function boundsText(whole: boolean, min: number, max: number): string {
  const kind = whole ? 'a whole number' : 'a number';
  if (Number.isFinite(min) && Number.isFinite(max)) return `${kind} from ${min} to ${max}`;
  return Number.isFinite(min) ? `${kind} of at least ${min}` : kind;
}

const UNITS: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
const BINARY_UNITS: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

function parseBytes(name: string, text: string): number {
  const [, digits, unit = '', binary] = /^(\d+\.?\d*|\.\d+) ?([kmgt]?)(i?)b?$/i.exec(text) ?? [];
  const factor = (binary ? BINARY_UNITS : UNITS)[unit.toLowerCase()];
  if (digits === undefined || factor === undefined || Number(digits) === 0) {
    throw new UsageError(`${name} is a size such as 6GB or 512MiB, got "${text}"`);
  }
  return Math.floor(Number(digits) * factor);
}

function checkPositionals(given: string[], positionals: Positional[]): void {
  const extra = given[positionals.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many`);
  const missing = positionals[given.length];
  if (missing?.required) throw new UsageError(`the ${missing.name} is missing: give ${missing.help}`);
}

export function valueText(option: Option): string {
  if (option.value !== undefined) return `<${option.value}>`;
  if (option.kind === 'choice') return `<${option.choices.join('|')}>`;
  const words = { string: 'text', boolean: '', integer: 'n', number: 'x', bytes: 'size', list: 'name,...' };
  return option.kind === 'boolean' ? '' : `<${words[option.kind]}>`;
}

/** The name most like what was typed, by the letters and pairs of letters they share; null where none is much like it. */
export function nearest(typed: string, names: string[]): string | null {
  let best: { name: string; share: number } | null = null;
  for (const name of names) {
    const share = likeness(typed, name);
    if (share >= 0.6 && share > (best?.share ?? 0)) best = { name, share };
  }
  return best?.name ?? null;
}

function likeness(a: string, b: string): number {
  const [left, right] = [pieces(a), pieces(b)];
  const shared = left.filter((piece) => right.includes(piece)).length;
  return (2 * shared) / (left.length + right.length);
}

function pieces(text: string): string[] {
  const pairs = Array.from({ length: text.length + 1 }, (_, at) => ` ${text} `.slice(at, at + 2));
  return [...text.split(''), ...pairs];
}
