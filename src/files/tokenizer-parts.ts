// Parts of a tokenizer.json, for tokenizers that stand in files of other formats.

export const sequence = (
  member: 'normalizers' | 'pretokenizers' | 'decoders',
  parts: readonly unknown[],
) => ({ type: 'Sequence', [member]: parts });

export const byteLevel = (use_regex: boolean, add_prefix_space = false) => ({
  type: 'ByteLevel',
  add_prefix_space,
  trim_offsets: false,
  use_regex,
});

/** Cuts a text so that each match of an expression is a piece of its own. */
export const isolated = (Regex: string) => ({
  type: 'Split',
  pattern: { Regex },
  behavior: 'Isolated',
  invert: false,
});

export const metaspace = (prepend_scheme: 'always' | 'never') => ({
  type: 'Metaspace',
  replacement: '▁',
  prepend_scheme,
  split: true,
});

export const addedToken = (id: number, content: string, special: boolean) => ({
  ...{ id, content, special, normalized: false },
  ...{ lstrip: false, rstrip: false, single_word: false },
});

/** `id` left out: it is looked up in the vocabulary. */
interface NamedToken {
  content: string;
  id?: number;
}

/** The post-processor that puts tokens before and behind each text. */
export function aroundText(before: NamedToken | null, after: NamedToken | null) {
  const part = (token: NamedToken | null): unknown[] =>
    token === null ? [] : [{ SpecialToken: { id: token.content, type_id: 0 } }];
  const stated = [before, after].flatMap((token) =>
    token?.id === undefined
      ? []
      : [[token.content, { id: token.content, ids: [token.id], tokens: [token.content] }]],
  );
  return {
    type: 'TemplateProcessing',
    single: [...part(before), { Sequence: { id: 'A', type_id: 0 } }, ...part(after)],
    pair: [],
    special_tokens: Object.fromEntries(stated) as Record<string, unknown>,
  };
}

export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
