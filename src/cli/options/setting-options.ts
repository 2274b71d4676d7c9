// Converts settings to command-line options, and values of command-line options to values of the library.

import { LIMITS } from '../../options/limits.ts';
import {
  type Flag,
  type FlagName,
  flagName,
  type Kind,
  type Setting,
  type Settings,
  type SettingValues,
} from '../../options/setting.ts';
import type { Option } from './option.ts';

type OptionKind<K extends Kind> = K extends { type: 'choice'; choices: infer Choices }
  ? { kind: 'choice'; choices: Choices }
  : K extends { type: 'number' | 'duration' }
    ? { kind: 'number' }
    : K extends { type: 'list'; of: { type: 'number' } }
      ? { kind: 'numbers' }
      : K extends { type: infer Same extends 'integer' | 'bytes' | 'boolean' | 'list' }
        ? { kind: Same }
        : K extends { type: 'record' }
          ? { kind: 'json' }
          : { kind: 'string' };

type WithDefault<S> = S extends { flag: { otherwise: string } }
  ? object
  : S extends { default: infer Default }
    ? { default: Default }
    : object;

/** The option of a setting. Its type has a default only if that default is passed to the engine. */
export type OptionOf<S extends Setting> = Option & OptionKind<S['kind']> & WithDefault<S>;

/** The command-line options of a table's settings, by option name. */
export type OptionsOf<T extends Settings> = {
  [K in keyof T & string as T[K] extends { flag: Flag } ? FlagName<K, T[K]> : never]: OptionOf<T[K]>;
};

/** Options of a table's settings; `group` replaces the headings of the settings. */
export function optionsOf<const T extends Settings>(settings: T, group?: string): OptionsOf<T> {
  const options = Object.entries(settings).flatMap(([name, setting]) => {
    const { flag } = setting;
    return flag ? [[flagName(name, setting), optionOf(setting, { ...flag, ...(group && { group }) })]] : [];
  });
  return Object.fromEntries(options) as OptionsOf<T>;
}

function optionOf({ kind, help, default: fallback }: Setting, flag: Flag): Option {
  const { name: _, negates: __, ...shown } = flag;
  const hasDefault = flag.otherwise === undefined && fallback !== undefined;
  return {
    ...bounds(kind),
    ...shown,
    help,
    ...(kind.type === 'duration' && { value: 'seconds' }),
    ...(kind.type === 'text' && kind.isEmpty && { mayBeEmpty: true }),
    ...(hasDefault && { default: fallback }),
  } as Option;
}

function bounds(kind: Kind): object {
  switch (kind.type) {
    case 'number':
    case 'integer': {
      const { type, ...rest } = kind;
      return { kind: type, ...rest };
    }
    case 'duration':
      return { kind: 'number', above: 0, max: Math.floor(LIMITS.timeout / 1000) };
    case 'choice':
      return { kind: 'choice', choices: kind.choices };
    case 'list':
      return { kind: kind.of.type === 'number' ? 'numbers' : 'list' };
    case 'bytes':
    case 'boolean':
      return { kind: kind.type };
    case 'record':
      return { kind: 'json' };
    default:
      return { kind: 'string' };
  }
}

/** Values of options under the library's names; options that were not given are left out. */
export function settingsGiven<const T extends Settings>(
  settings: T,
  given: Readonly<Record<string, unknown>>,
): SettingValues<T> {
  const values = Object.entries(settings).flatMap(([name, setting]) => {
    const value = setting.flag && given[flagName(name, setting)];
    return value === undefined ? [] : [[name, valueOf(setting, value)]];
  });
  return Object.fromEntries(values) as SettingValues<T>;
}

function valueOf({ kind, flag }: Setting, value: unknown): unknown {
  if (flag?.negates) return !value;
  return kind.type === 'duration' ? Math.ceil(1000 * (value as number)) : value;
}
