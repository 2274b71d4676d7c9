// A setting: its values, what it means, which interfaces take it, and under which name. Tables of settings are keyed by the name that
// the library has for them, in camel case; the other names follow from it unless a row gives one.

/** The interfaces whose requests have fields. */
export type Interface = 'chat' | 'completions' | 'responses' | 'anthropic' | 'ollama' | 'images';

/** The kinds of models. */
export type ModelKind = 'text' | 'embedding' | 'image';

export type Kind =
  /** Bounds are allowed values, but for `above`, a lower bound that is itself too low. */
  | { readonly type: 'number'; readonly min?: number; readonly above?: number; readonly max?: number }
  /** Without a largest value a program may also give Infinity. */
  | { readonly type: 'integer'; readonly min?: number; readonly max?: number }
  | { readonly type: 'boolean' }
  /** `isEmpty`: "" is a value. */
  | { readonly type: 'text'; readonly isEmpty?: true }
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  /** A size of memory; typed with a unit, as 6GB or 512MiB. */
  | { readonly type: 'bytes' }
  /** Milliseconds in the library; typed and sent in seconds. */
  | { readonly type: 'duration' }
  /** Part of an adapter's name, or its index in the list of adapters. */
  | { readonly type: 'adapter' }
  /** An id of the vocabulary, whose size only the model knows. */
  | { readonly type: 'tokenId' }
  /** `orOne`: a request may send one entry without a list around it. */
  | {
      readonly type: 'list';
      readonly of: Kind;
      readonly least?: number;
      readonly most?: number;
      readonly orOne?: true;
    }
  /** Names of the caller's own, each with a value. */
  | { readonly type: 'record'; readonly of: Kind }
  /** Token ids, as text, each with a value. */
  | { readonly type: 'tokens'; readonly of: Kind; readonly most: number };

/** The values of a kind. */
export type ValueOf<K extends Kind> = K extends { type: 'boolean' }
  ? boolean
  : K extends { type: 'adapter' }
    ? string | number
    : K extends { type: 'text' }
      ? string
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
  /** Without its hyphens; left out: the setting's own name in kebab case. */
  readonly name?: string;
  /** Heading in the help. */
  readonly group: string;
  /** Stands for the value in the help. */
  readonly value?: string;
  /** The default in words; left out: the setting's own default, which then is given to the engine. */
  readonly otherwise?: string;
  /** Names that other programs have for it: whoever types one of them is told this option's. */
  readonly elsewhere?: readonly string[];
  /** Other names of the option itself. */
  readonly aliases?: readonly string[];
  /** The option says the opposite of the setting. */
  readonly negates?: true;
}

export interface Setting {
  readonly kind: Kind;
  /** One sentence, for every table and help text. */
  readonly help: string;
  /** The value that holds where the setting is left out; missing where no single value says that. */
  readonly default?: unknown;
  /** Left out, the value of the model's own file counts, under this key; the default counts where it has none. */
  readonly modelKey?: string;
  /** Left out, the model decides by its files, and the default counts where it does not. */
  readonly isOfModel?: true;
  /** The file under src/ that computes with it. */
  readonly by?: string;
  /** Interfaces whose requests have a field of this name and kind. */
  readonly in?: readonly Interface[];
  /** The field's name; left out: the setting's own in snake case. */
  readonly field?: string;
  /** The field's name where one interface calls it otherwise. */
  readonly fields?: Readonly<Partial<Record<Interface, string>>>;
  readonly flag?: Flag;
  /** Kinds of models that are opened with it. */
  readonly models?: readonly ModelKind[];
  /** A limit that the contract does not have, in words. */
  readonly stricter?: string;
}

export type Settings = Readonly<Record<string, Setting>>;

/** Values that a program gives; every setting may be left out. */
export type SettingValues<T extends Settings> = {
  -readonly [K in keyof T]?: ValueOf<T[K]['kind']>;
};

/** `topP` as `top_p`. */
export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name;

export function snakeCase<Name extends string>(name: Name): SnakeCase<Name> {
  return separated(name, '_') as SnakeCase<Name>;
}

/** `topP` as `top-p`. */
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

/** The settings of a table that a kind of model is opened with. */
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
