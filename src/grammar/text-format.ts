// A text as a tree of formats: the `format` of structural tags as xgrammar and the servers built on it define it, member by member.

export type TextFormat =
  | { type: 'const_string'; value: string }
  /** `any_order`: whether properties may come in any order, or only in the one in which they are declared. Left out: as the constraint's `strict` says. */
  | { type: 'json_schema'; json_schema: unknown; style?: 'json'; any_order?: boolean }
  /** Free text of at most `max_chars` characters that contains none of `excludes`. */
  | { type: 'any_text'; excludes?: string[]; max_chars?: number | null }
  | { type: 'regex'; pattern: string }
  | { type: 'grammar'; grammar: string }
  | TokenFormat
  | { type: 'sequence' | 'or'; elements: TextFormat[] }
  | { type: 'optional' | 'plus' | 'star'; content: TextFormat }
  /** `max` -1: no upper bound. */
  | { type: 'repeat'; min: number; max: number; content: TextFormat }
  | TagFormat
  /** Free text in which a trigger must continue as one of the tags. `at_least_one`: the text begins with a tag. */
  | TriggeredTagsFormat
  /** Tags with `separator` between them and no other text. */
  | ({ type: 'tags_with_separator'; separator: string } & Tags)
  /** Free text in which each pattern is followed by its format. `loop` false: the text ends after the first. Ends of enclosing tags do not apply. */
  | { type: 'dispatch'; rules: [pattern: string, format: TextFormat][]; loop?: boolean; excludes?: string[] };

/** A single token, by its id. */
export interface TokenFormat {
  type: 'token';
  token: number;
}

/** Free text in `content` ends at the first occurrence of an end. */
export interface TagFormat {
  type: 'tag';
  begin: string | TokenFormat;
  content: TextFormat;
  /** Text or token that ends the content; with a list, any of its texts. */
  end: string | string[] | TokenFormat;
}

export interface TriggeredTagsFormat extends Tags {
  type: 'triggered_tags';
  triggers: string[];
  excludes?: string[];
}

interface Tags {
  tags: TagFormat[];
  at_least_one?: boolean;
  stop_after_first?: boolean;
}
