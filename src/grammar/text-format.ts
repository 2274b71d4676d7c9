// A text as a tree of formats: what the structural tags of xgrammar and the servers on it mean by `format`, member by member.

export type TextFormat =
  | { type: 'const_string'; value: string }
  /** `any_order`: properties may come in any order, which they may here in any case. */
  | { type: 'json_schema'; json_schema: unknown; style?: 'json'; any_order?: boolean }
  /** Without the texts of `excludes`; of at most `max_chars` characters. */
  | { type: 'any_text'; excludes?: string[]; max_chars?: number | null }
  | { type: 'regex'; pattern: string }
  | { type: 'grammar'; grammar: string }
  | TokenFormat
  | { type: 'sequence' | 'or'; elements: TextFormat[] }
  | { type: 'optional' | 'plus' | 'star'; content: TextFormat }
  /** `max` -1: without end. */
  | { type: 'repeat'; min: number; max: number; content: TextFormat }
  | TagFormat
  /** Free text; what comes to a trigger goes on as one of the tags. `at_least_one`: it begins with a tag. */
  | TriggeredTagsFormat
  /** Tags and nothing else, `separator` between them. */
  | ({ type: 'tags_with_separator'; separator: string } & Tags)
  /** Free text; after a pattern comes its format. Without `loop` the text ends after the first. Ends of tags around do not bind it. */
  | { type: 'dispatch'; rules: [pattern: string, format: TextFormat][]; loop?: boolean; excludes?: string[] };

/** One token, by its id. */
export interface TokenFormat {
  type: 'token';
  token: number;
}

/** Free text in `content` ends where the first end stands. */
export interface TagFormat {
  type: 'tag';
  begin: string | TokenFormat;
  content: TextFormat;
  /** Or one of several. */
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
