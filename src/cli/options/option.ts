// Defines a command-line option (kind, bounds, help) and reads its value from an argument or from a configuration file.

import { isObject, readObject, readSettings } from './object-text.ts';
import { UsageError } from '../process/exit.ts';

export interface OptionBase {
  /** Heading in the help. */
  group: string;
  help: string;
  /** Short name of one letter. */
  alias?: string;
  /** Other names that this program accepts. */
  aliases?: readonly string[];
  /** Names of this option in other programs: a user who types one of them is told this name. */
  elsewhere?: readonly string[];
  /** Placeholder of the value in the help. */
  value?: string;
  /** The remedy for a value that cannot be honoured. */
  instead?: string;
  /** Description of the default, if there is no `default`. */
  otherwise?: string;
  /** The value is the path of an input (file, folder or model), which a configuration file may give relative to itself. */
  isInput?: true;
  /** Configuration key of the input's digest. */
  digestKey?: string;
  /** A repeated option is an error instead of replacing the first value, because other programs accept several values. */
  isOne?: true;
  /** "" is a valid value. */
  mayBeEmpty?: true;
}

export type Option = OptionBase &
  (
    | { kind: 'string'; default?: string }
    /** `words` are accepted for on and off in addition to true and false. */
    | { kind: 'boolean'; words?: Readonly<Record<string, boolean>> }
    | {
        kind: 'integer' | 'number';
        default?: number;
        min?: number;
        max?: number;
        /** Exclusive lower bound. */
        above?: number;
        /** Words that are accepted for numbers. */
        words?: Readonly<Record<string, number>>;
      }
    /** Integers: one, or several separated by commas. */
    | { kind: 'integers'; min?: number; max?: number }
    /** Numbers: one, or several separated by commas. */
    | { kind: 'numbers' }
    /** A number with a unit, for example 6GB or 512MiB; the value is in bytes. */
    | { kind: 'bytes'; default?: number }
    | {
        kind: 'choice';
        choices: readonly string[];
        default?: string;
        /** Other words that are accepted for some choices. */
        words?: Readonly<Record<string, string>>;
      }
    /** Strings: the option may be repeated, and commas separate entries. */
    | { kind: 'list' }
    /** Strings: the option may be repeated, and each value is one entry, commas included. */
    | { kind: 'texts' }
    /**
     * A JSON object. A map also accepts --name.member, and --<member>-path for each of `members`; settings may be in a file, or be written as
     * key=value,key=value.
     */
    | { kind: 'json'; isMap?: true; isSettings?: true; members?: readonly string[] }
  );

export type OptionTable = Readonly<Record<string, Option>>;

type Value<O extends Option> = O extends { kind: 'boolean' }
  ? boolean
  : O extends { kind: 'integer' | 'number' | 'bytes' }
    ? number
    : O extends { kind: 'integers' | 'numbers' }
      ? number[]
      : O extends { kind: 'list' | 'texts' }
        ? string[]
        : O extends { kind: 'json' }
          ? Record<string, unknown>
          : O extends { kind: 'choice'; choices: readonly (infer C)[] }
            ? C
            : string;

/** Values by option name; options without a default may be missing. */
export type Values<T extends OptionTable> = {
  [K in keyof T as T[K] extends { default: unknown } ? K : never]: Value<T[K]>;
} & { [K in keyof T as T[K] extends { default: unknown } ? never : K]?: Value<T[K]> };

/** The option with that name or alias; null if there is none. */
export function findOption(name: string, table: OptionTable): { name: string; option: Option } | null {
  const known = Object.hasOwn(table, name)
    ? name
    : Object.keys(table).find((other) => table[other]?.aliases?.includes(name));
  const option = known === undefined ? undefined : table[known];
  return known === undefined || !option ? null : { name: known, option };
}

/** The map option and member that a name such as vae-path sets (component-paths, vae); null if there is none. */
export function findMember(name: string, table: OptionTable): { map: string; member: string } | null {
  if (findOption(name, table) || !name.endsWith('-path')) return null;
  const member = name.slice(0, -'-path'.length).replaceAll('-', '_');
  const map = Object.keys(table).find((other) => {
    const option = table[other];
    return option?.kind === 'json' && option.members?.includes(member);
  });
  return map === undefined ? null : { map, member };
}

/** Returns the option that has this name in other programs; null if there is none. */
export function findElsewhere(name: string, table: OptionTable): string | null {
  return Object.keys(table).find((known) => table[known]?.elsewhere?.includes(name)) ?? null;
}

/** Names and aliases of all options. */
export function namesIn(table: OptionTable): string[] {
  return Object.entries(table).flatMap(([name, { aliases = [] }]) => [name, ...aliases]);
}

/** The words that turn a switch on and off. */
export function wordsOf({ words }: Extract<Option, { kind: 'boolean' }>): Readonly<Record<string, boolean>> {
  return { true: true, false: false, ...words };
}

/** Reads a value from the text of an argument; `name` is the subject of messages. Throws UsageError. */
export function readText(name: string, option: Option, text: string): unknown {
  switch (option.kind) {
    case 'string':
      return text;
    case 'texts':
      return [text];
    case 'list':
      return text.split(',').filter((part) => part !== '');
    case 'boolean':
      if (Object.hasOwn(wordsOf(option), text)) return wordsOf(option)[text];
      throw new UsageError(
        `${name} is on or off and takes no value but ${Object.keys(wordsOf(option))
          .join(', ')
          .replace(/, ([^,]*)$/, ' and $1')}, got "${text}"`,
      );
    case 'choice': {
      const chosen = option.words?.[text] ?? text;
      if (option.choices.includes(chosen)) return chosen;
      throw new UsageError(`${name} is one of ${option.choices.join(', ')}, got "${text}"`);
    }
    case 'integers':
      return text.split(',').map((one) => readNumber(name, { ...option, kind: 'integer' }, one.trim()));
    case 'numbers':
      return text.split(',').map((one) => readNumber(name, { ...option, kind: 'number' }, one.trim()));
    case 'bytes':
      return readBytes(name, text);
    case 'json':
      return option.isSettings ? readSettings(name, text) : readObject(name, text);
    default:
      return readNumber(name, option, text);
  }
}

/** Reads an option's value from a configuration file, where numbers, booleans, lists and objects need not be text. */
export function readValue(name: string, option: Option, value: unknown): unknown {
  const wrong = (wanted: string) => new UsageError(`${name} is ${wanted}, got ${JSON.stringify(value)}`);
  if (option.kind === 'list' || option.kind === 'texts') {
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    if (!texts.every((text) => typeof text === 'string')) throw wrong('a text or a list of texts');
    return option.kind === 'list' ? texts.flatMap((text) => text.split(',')).filter(Boolean) : texts;
  }
  if (option.kind === 'json' && isObject(value)) return value;
  if (option.kind === 'integers' || option.kind === 'numbers') {
    const numbers: unknown[] = Array.isArray(value) ? value : [value];
    const isList = numbers.length > 0 && numbers.every((one) => typeof one === 'number');
    const kind = option.kind === 'integers' ? 'integer' : 'number';
    if (!isList) throw wrong(`${boundsText({ ...option, kind })}, or a list of them`);
    return readText(name, option, numbers.join());
  }
  const isWord = typeof value === 'string' && 'words' in option && Object.hasOwn(option.words ?? {}, value);
  if (option.kind === 'boolean' && typeof value !== 'boolean' && !isWord) throw wrong('true or false');
  if (option.kind === 'string' && typeof value !== 'string') throw wrong('a text');
  const isSingle = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!isSingle) throw wrong(option.kind === 'json' ? 'an object' : 'a single value');
  const needsNumber = option.kind === 'integer' || option.kind === 'number';
  if (needsNumber && typeof value !== 'number' && !isWord) throw wrong(boundsText(option));
  return readText(name, option, String(value));
}

type NumberOption = Extract<Option, { kind: 'integer' | 'number' }>;

function readNumber(name: string, option: NumberOption, text: string): number {
  const word = option.words && Object.hasOwn(option.words, text) ? option.words[text] : undefined;
  if (word !== undefined) return word;
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  const { kind, min = -Infinity, max = Infinity, above = -Infinity } = option;
  const fits = Number.isFinite(value) && value >= min && value <= max && value > above;
  if (!fits || (kind === 'integer' && !Number.isSafeInteger(value))) {
    const instead = option.instead === undefined ? '' : `: ${option.instead}`;
    throw new UsageError(`${name} is ${boundsText(option)}, got "${text}"${instead}`);
  }
  return value;
}

function boundsText({ kind, min, max, above, words = {} }: NumberOption): string {
  const what = kind === 'integer' ? 'a whole number' : 'a number';
  const range =
    above !== undefined && max !== undefined
      ? `${what} above ${above} and at most ${max}`
      : min !== undefined && max !== undefined
        ? `${what} from ${min} to ${max}`
        : min !== undefined
          ? `${what} of at least ${min}`
          : what;
  return [...Object.keys(words), range].join(', ').replace(/, ([^,]*)$/, ' or $1');
}

const UNITS: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
const BINARY_UNITS: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

function readBytes(name: string, text: string): number {
  const [, digits, unit = '', binary] = /^(\d+\.?\d*|\.\d+) ?([kmgt]?)(i?)b?$/i.exec(text) ?? [];
  const factor = (binary ? BINARY_UNITS : UNITS)[unit.toLowerCase()];
  if (digits === undefined || factor === undefined || Number(digits) === 0) {
    throw new UsageError(`${name} is a size such as 6GB or 512MiB, got "${text}"`);
  }
  return Math.floor(Number(digits) * factor);
}

/** The placeholder of an option's value in the help. */
export function valueText(option: Option): string {
  if (option.value !== undefined) return `<${option.value}>`;
  if (option.kind === 'choice') return `<${option.choices.join('|')}>`;
  const words = {
    string: 'text',
    boolean: '',
    integer: 'n',
    integers: 'n,...',
    number: 'x',
    numbers: 'x,...',
    bytes: 'size',
    list: 'name,...',
    texts: 'text',
    json: 'JSON',
  };
  return option.kind === 'boolean' ? '' : `<${words[option.kind]}>`;
}
