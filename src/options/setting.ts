// Defines a setting: its values, its meaning, and the interfaces that accept it. Tables of settings are keyed by the library's
// camel-case name; the names in other interfaces are derived from it unless a row sets them.

/** The HTTP interfaces, whose requests have fields. */
export type Interface = 'chat' | 'completions' | 'responses' | 'anthropic' | 'ollama' | 'images';

/** The kinds of models. */
export type ModelKind = 'text' | 'embedding' | 'image' | 'transcription';

export type Kind =
  /** `min` and `max` are inclusive, `above` is an exclusive lower bound. */
  | { readonly type: 'number'; readonly min?: number; readonly above?: number; readonly max?: number }
  /** Without `max` a program may also pass Infinity. */
  | { readonly type: 'integer'; readonly min?: number; readonly max?: number }
  | { readonly type: 'boolean' }
  /** `isEmpty`: "" is a valid value. */
  | { readonly type: 'text'; readonly isEmpty?: true }
  /** Any value; another check decides. */
  | { readonly type: 'anything' }
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  /** A size in bytes; on the command line with a unit, for example 6GB or 512MiB. */
  | { readonly type: 'bytes' }
  /** Milliseconds in the library; seconds on the command line and in requests. */
  | { readonly type: 'duration' }
  /** Part of an adapter's name, or its index in the list of adapters. */
  | { readonly type: 'adapter' }
  /** A token id; the upper bound depends on the model's vocabulary. */
  | { readonly type: 'tokenId' }
  /** `orOne`: a request may send one entry without a list around it. */
  | {
      readonly type: 'list';
      readonly of: Kind;
      readonly least?: number;
      readonly most?: number;
      readonly orOne?: true;
    }
  /** An object with arbitrary names as keys. */
  | { readonly type: 'record'; readonly of: Kind }
  /** An object with token ids, written as text, as keys. */
  | { readonly type: 'tokens'; readonly of: Kind; readonly most: number };

/** The values of a kind. */
export type ValueOf<K extends Kind> = K extends { type: 'boolean' }
  ? boolean
  : K extends { type: 'adapter' }
    ? string | number
    : K extends { type: 'text' }
      ? string
      : K extends { type: 'anything' }
        ? unknown
        : K extends { type: 'choice'; choices: readonly (infer Choice)[] }
          ? Choice
          : K extends { type: 'list'; of: infer Entry extends Kind }
            ? ValueOf<Entry>[]
            : K extends { type: 'record' | 'tokens'; of: infer Entry extends Kind }
              ? Record<string, ValueOf<Entry>>
              : number;

/** The values of a kind as a request sends them. */
export type SentValueOf<K extends Kind> = K extends {
  type: 'list';
  of: infer Entry extends Kind;
  orOne: true;
}
  ? ValueOf<Entry> | ValueOf<Entry>[]
  : ValueOf<K>;

/** A setting as an option of the command line. */
export interface Flag {
  /** Name without hyphens; default: the setting's name in kebab case. */
  readonly name?: string;
  /** Heading in the help. */
  readonly group: string;
  /** Placeholder of the value in the help. */
  readonly value?: string;
  /** Text of the default in the help. Without it the setting's default is shown and passed to the engine. */
  readonly otherwise?: string;
  /** Names in other programs; the error for such a name suggests this option. */
  readonly elsewhere?: readonly string[];
  /** Other words for some values of a choice, as other programs have them. */
  readonly words?: Readonly<Record<string, string>>;
  /** Other names of the option itself. */
  readonly aliases?: readonly string[];
  /** The option is the negation of the setting. */
  readonly negates?: true;
  /** The value is the path of an input, which a configuration file may give relative to itself. */
  readonly isInput?: true;
  /** The value, an object, may also be given by a file, or as key=value,key=value. */
  readonly isSettings?: true;
  /** "" is a valid value on the command line. */
  readonly mayBeEmpty?: true;
}

export interface Setting {
  readonly kind: Kind;
  /** One sentence, for every table and help text. */
  readonly help: string;
  /** The value that holds where the setting is left out; missing where no single value says that. */
  readonly default?: unknown;
  /** Key in generation_config.json whose value takes precedence over `default`. */
  readonly modelKey?: string;
  /** The model's files may set a value that takes precedence over `default`. */
  readonly isOfModel?: true;
  /** The file under src/ that implements the setting. */
  readonly by?: string;
  /** Interfaces whose requests have a field of this name and kind. */
  readonly in?: readonly Interface[];
  /** Name of the field; default: the setting's name in snake case. */
  readonly field?: string;
  /** Names of the field in interfaces where it differs. */
  readonly fields?: Readonly<Partial<Record<Interface, string>>>;
  readonly flag?: Flag;
  /** Kinds of models that have the setting. */
  readonly models?: readonly ModelKind[];
  /** Text of a limit that OpenAI's interface does not have. */
  readonly stricter?: string;
}

export type Settings = Readonly<Record<string, Setting>>;

/** A table whose rows have the members of `shared`, unless they state their own. */
export function rowsWith<const Shared extends Partial<Setting>, const T extends Settings>(
  shared: Shared,
  rows: T,
): { readonly [K in keyof T]: T[K] & Omit<Shared, keyof T[K]> } {
  const whole = Object.entries(rows).map(([name, row]) => [name, { ...shared, ...row }]);
  return Object.fromEntries(whole) as { [K in keyof T]: T[K] & Omit<Shared, keyof T[K]> };
}

/** Values that a program gives; every setting may be left out. */
export type SettingValues<T extends Settings> = {
  -readonly [K in keyof T]?: ValueOf<T[K]['kind']>;
};

/** The snake-case form of a name: `topP` becomes `top_p`. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name;

export function snakeCase<Name extends string>(name: Name): SnakeCase<Name> {
  return separated(name, '_') as SnakeCase<Name>;
}

/** The kebab-case form of a name: `topP` becomes `top-p`. */
export type KebabCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${KebabCase<Rest>}`
    : `-${Lowercase<First>}${KebabCase<Rest>}`
  : Name;

export function kebabCase<Name extends string>(name: Name): KebabCase<Name> {
  return separated(name, '-') as KebabCase<Name>;
}

function separated(name: string, mark: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `${mark}${letter.toLowerCase()}`);
}

/** The name of a setting's field in a request of an interface. */
export type FieldName<Name extends string, S, I extends Interface> = S extends {
  fields: { readonly [K in I]: infer Own extends string };
}
  ? Own
  : S extends { field: infer Own extends string }
    ? Own
    : SnakeCase<Name>;

export function fieldName(name: string, setting: Setting, face: Interface): string {
  return setting.fields?.[face] ?? setting.field ?? snakeCase(name);
}

/** The name of a setting's option on the command line, without hyphens. */
export type FlagName<Name extends string, S> = S extends { flag: { name: infer Own extends string } }
  ? Own
  : KebabCase<Name>;

export function flagName(name: string, { flag }: Setting): string {
  return flag?.name ?? kebabCase(name);
}

/** The settings of a table that apply to a kind of model. */
export type ForModels<T extends Settings, M extends ModelKind> = {
  readonly [
    K in keyof T as T[K] extends { models: readonly (infer One)[] } ? (M extends One ? K : never) : never
  ]: T[K];
};

export function forModels<const T extends Settings, M extends ModelKind>(
  settings: T,
  kind: M,
): ForModels<T, M> {
  return Object.fromEntries(
    Object.entries(settings).filter(([, { models }]) => models?.includes(kind)),
  ) as ForModels<T, M>;
}

/** Names of settings in other interfaces and programs, as `plainName` writes them → the library's name. */
export type OtherNames = ReadonlyMap<string, string>;

/** A name without the marks by which interfaces differ: `guidance_scale` and `guidanceScale` are the same. */
export const plainName = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase();

export function otherNamesOf(settings: Settings): OtherNames {
  const pairs = Object.entries(settings).flatMap(([name, setting]) => {
    const { field, fields = {}, flag } = setting;
    const others = [
      field,
      ...Object.values(fields),
      flag?.name,
      ...(flag?.aliases ?? []),
      ...(flag?.elsewhere ?? []),
    ];
    return others.flatMap((other) => (other === undefined ? [] : [[plainName(other), name] as const]));
  });
  return new Map(pairs);
}
