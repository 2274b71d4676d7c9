// Reads a command line by a table of options. Unknown flags, missing values and numbers out of bounds are usage errors that suggest
// the option that was probably meant.

import { parseArgs } from 'node:util';
import { nearestName } from '../../options/nearest-name.ts';
import { UsageError } from '../process/exit.ts';
import {
  findElsewhere,
  findMember,
  findOption,
  namesIn,
  readText,
  valueText,
  wordsOf,
  type Option,
  type OptionTable,
  type Values,
} from './option.ts';

export interface Positional {
  name: string;
  help: string;
  required: boolean;
  /** Options that carry this value in other commands; the error for such an option says to give the value without an option. */
  elsewhere?: readonly string[];
}

/** Names of the option that gives the model in other commands and programs, for positionals that are a model. */
export const MODEL_OPTIONS = ['model-path', 'model', 'm'];

export interface Arguments<T extends OptionTable> {
  options: Values<T>;
  /** Names of the options on the command line; every other option has its default, or is missing. */
  typed: ReadonlySet<string>;
  positionals: string[];
}

/** `remedies`: what to do instead of options that other programs have, by their names. */
export function readArguments<T extends OptionTable>(
  args: string[],
  table: T,
  positionals: Positional[],
  remedies: Readonly<Record<string, string>> = {},
): Arguments<T> {
  const config = Object.entries(table).flatMap(([name, { kind, alias, aliases = [] }]) => {
    const type: 'boolean' | 'string' = kind === 'boolean' ? 'boolean' : 'string';
    return [name, ...aliases].map((known) => {
      const isShort = alias !== undefined && known === name;
      return [known, { type, ...(isShort && { short: alias }) }] as const;
    });
  });
  const { tokens } = parseArgs({
    args: foldMembers(args, table),
    options: Object.fromEntries(config),
    strict: false,
    tokens: true,
  });

  const values: Record<string, unknown> = {};
  const given: string[] = [];
  /** Names of the switches after which positionals stand, by their indices. */
  const switches = new Map<number, string>();
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'positional') given.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value, isSwitch } = readOption(token, table, { positionals, remedies });
    if (table[name]!.isOne && values[name] !== undefined)
      throw new UsageError(
        `--${name} takes one, and is given as ${values[name] as string} and ${value as string}`,
      );
    values[name] = joined(values[name], value, table[name]);
    // A switch also accepts its value as the next word: --x true, --x false.
    const next = tokens[at + 1];
    const words = isSwitch && table[name]?.kind === 'boolean' ? wordsOf(table[name]) : {};
    if (next?.kind === 'positional' && Object.hasOwn(words, next.value)) {
      values[name] = words[next.value];
      tokens.splice(at + 1, 1);
    } else if (isSwitch && next?.kind === 'positional') switches.set(given.length, name);
  }
  checkPositionals(given, positionals, { table, values, switches });
  const typed = new Set(Object.keys(values));
  for (const [name, option] of Object.entries(table)) {
    if ('default' in option && values[name] === undefined) values[name] = option.default;
  }
  return { options: values as Values<T>, typed, positionals: given };
}

/** Rewrites `--name.member value`, `--name.member=value` and `--<member>-path value` of map options to `--name={"member":"value"}`. */
function foldMembers(args: string[], table: OptionTable): string[] {
  const folded: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[at]!) ?? [];
    const [base = '', dotted] = [name.split('.', 1)[0], name.split('.').slice(1).join('.')];
    const isMap = dotted !== '' && isMapOption(findOption(base, table)?.option);
    const found = isMap ? { map: base, member: dotted } : findMember(name, table);
    const value = inline ?? args[at + 1];
    if (found && value === undefined)
      throw new UsageError(`--${found.map} needs a value: --${found.map}.${found.member} <value>`);
    folded.push(found ? `--${found.map}=${JSON.stringify({ [found.member]: value })}` : args[at]!);
    if (found && inline === undefined) at++;
  }
  return folded;
}

export function isMapOption(option: Option | undefined): boolean {
  return option?.kind === 'json' && option.isMap === true;
}

/** Joins a repeated option with its earlier value: lists of texts and maps are extended, other values are replaced. */
export function joined(before: unknown, value: unknown, option: Option | undefined): unknown {
  if (Array.isArray(value) && option?.kind !== 'integers')
    return [...((before as string[] | undefined) ?? []), ...value];
  return isMapOption(option) ? { ...(before as object | undefined), ...(value as object) } : value;
}

interface OptionToken {
  name: string;
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

interface ReadOption {
  name: string;
  value: unknown;
  /** The switch was given without a value, so the next word may be its value. */
  isSwitch?: boolean;
}

/** What is read beside the options of a command: its positional arguments, and advice for options that it does not have. */
interface Beside {
  positionals: readonly Positional[];
  remedies: Readonly<Record<string, string>>;
}

function readOption(token: OptionToken, table: OptionTable, { positionals, remedies }: Beside): ReadOption {
  const { rawName, value } = token;
  const negated = token.name.startsWith('no-') ? findOption(token.name.slice(3), table) : null;
  if (negated?.option.kind === 'boolean' && value === undefined) return { name: negated.name, value: false };
  const found = findOption(token.name, table);
  if (!found) {
    const bare = positionals.find(({ elsewhere = [] }) => elsewhere.includes(token.name));
    if (bare) throw new UsageError(`there is no option ${rawName} here: give the ${bare.name} by itself`);
    const remedy = Object.hasOwn(remedies, token.name) ? remedies[token.name] : undefined;
    if (remedy !== undefined) throw new UsageError(`there is no option ${rawName} here: ${remedy}`);
    const near = meantBy(token.name, table);
    throw new UsageError(`there is no option ${rawName}${near === null ? '' : `; did you mean --${near}?`}`);
  }
  const { name, option } = found;
  // Messages use the option's own name, even if an alias was typed.
  const flag = `--${name}`;
  if (option.kind === 'boolean' && value === undefined) return { name, value: true, isSwitch: true };
  if (
    value === undefined ||
    (value === '' && !option.mayBeEmpty) ||
    (!token.inlineValue && /^--./.test(value))
  ) {
    throw new UsageError(`${flag} needs a value: ${flag} ${valueText(option)}`);
  }
  return { name, value: value === '' ? emptyValue(option) : readText(flag, option, value) };
}

function emptyValue({ kind }: Option): unknown {
  if (kind === 'texts') return [''];
  return kind === 'string' ? '' : kind === 'list' ? [] : {};
}

interface Surrounding {
  table: OptionTable;
  values: Readonly<Record<string, unknown>>;
  switches: ReadonlyMap<number, string>;
}

function checkPositionals(given: string[], positionals: Positional[], surrounding: Surrounding): void {
  const extra = given[positionals.length];
  if (extra !== undefined) throw surplus(extra, positionals.length, surrounding);
  const missing = positionals[given.length];
  if (missing?.required) throw new UsageError(`the ${missing.name} is missing: give ${missing.help}`);
}

/** The error for an argument that no positional takes: it may be a model, or the value of the switch before it. */
function surplus(extra: string, at: number, { table, values, switches }: Surrounding): UsageError {
  const after = switches.get(at);
  const option = after === undefined ? undefined : table[after];
  if (option?.kind === 'boolean') {
    const words = Object.keys(wordsOf(option)).join(', ');
    return new UsageError(`--${after} is on or off: it takes one of ${words}, and not "${extra}"`);
  }
  const isModel = !/\s/.test(extra) && /[/\\]|\.(safetensors|gguf)$/.test(extra);
  if (isModel && table['model-path'] !== undefined && values['model-path'] === undefined)
    return new UsageError(`a model is given with its option here: write --model-path ${extra}`);
  const remedy = /\s/.test(extra)
    ? 'values stand after the options they are for'
    : 'a value of several words needs quotes';
  return new UsageError(`"${extra}" is one argument too many; ${remedy}`);
}

/** The option that `typed` probably stands for, by its own name or that of another program; null where no name is similar. */
export function meantBy(typed: string, table: OptionTable): string | null {
  const written = typed.replaceAll('_', '-');
  const known = findElsewhere(typed, table) ?? findElsewhere(written, table);
  if (known !== null) return known;
  // Names of one or two letters resemble too many other names to be compared.
  const others = Object.values(table).flatMap(({ elsewhere = [] }) =>
    elsewhere.filter((name) => name.length > 2),
  );
  const near = nearestName(written, [...namesIn(table), ...others]);
  return near === null ? null : (findOption(near, table)?.name ?? findElsewhere(near, table));
}
