// A setting: its values, what it means, which interfaces take it, and under which name. Tables of settings are keyed by the name that
// the library has for them, in camel case; the other names follow from it unless a row gives one.

/** The interfaces whose requests have fields. */
export type Interface = 'chat' | 'completions' | 'responses' | 'anthropic' | 'ollama' | 'images';

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

export interface Setting {
  readonly kind: Kind;
  /** One sentence, for every table and help text. */
  readonly help: string;
  /** What a value that is left out means; missing where that is no value of its own. */
  readonly default?: unknown;
  /** Left out, the value of the model's own file counts, under this key; the default counts where it has none. */
  readonly modelKey?: string;
  /** The file under src/ that computes with it. */
  readonly by?: string;
  /** Interfaces whose requests have a field of this name and kind. */
  readonly in?: readonly Interface[];
  /** The field's name; left out: the setting's own in snake case. */
  readonly field?: string;
  /** The field's name where one interface calls it otherwise. */
  readonly fields?: Readonly<Partial<Record<Interface, string>>>;
  /** A limit that the contract does not have, in words. */
  readonly stricter?: string;
}

export type Settings = Readonly<Record<string, Setting>>;

/** What a program gives: every setting may be left out. */
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
