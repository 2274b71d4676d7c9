// The tokens of a GGUF file's metadata: texts, scores, kinds, and which of them have a role.

import type { GgufKeys } from './keys.ts';

/** Kinds of tokens by their number in tokenizer.ggml.token_type; 0 is undefined. */
export const KIND = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

export interface GgufToken {
  id: number;
  text: string;
  kind: number;
  score: number;
}

export const tokenizerKey = (name: string): string => `tokenizer.ggml.${name}`;
const own = tokenizerKey;

/** Throws bad_checkpoint where there are no tokens, or fewer kinds or scores than tokens. */
export function readTokens(keys: GgufKeys): GgufToken[] {
  const texts = keys.texts(own('tokens'));
  if (texts === null || texts.length === 0) throw keys.wrong(own('tokens'), 'a list of tokens');
  const kinds = listFor(keys, 'token_type', texts.length);
  const scores = listFor(keys, 'scores', texts.length);
  return texts.map((text, id) => ({
    id,
    text: text === '' ? `[EMPTY_${id}]` : text,
    kind: kinds?.[id] ?? KIND.normal,
    score: scores?.[id] ?? 0,
  }));
}

function listFor(keys: GgufKeys, name: string, tokens: number): ArrayLike<number> | null {
  const list = keys.numbers(own(name));
  if (list === null || list.length >= tokens) return list;
  throw keys.wrong(own(name), `one number for each of ${tokens} tokens`);
}

/** Roles of tokens, by the names that tokenizer_config.json has for them, with the keys of their ids. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  bos_token: ['bos_token_id'],
  eos_token: ['eos_token_id'],
  unk_token: ['unknown_token_id'],
  sep_token: ['seperator_token_id', 'separator_token_id'],
  pad_token: ['padding_token_id'],
  cls_token: ['cls_token_id'],
  mask_token: ['mask_token_id'],
};

export type TokenRole = keyof typeof ROLES;

const KEPT = ['bos_token', 'eos_token'];

/**
 * Ids of roles. A role that a file leaves out, or whose id is beyond the vocabulary, has the id that llama.cpp takes for its kind of
 * tokenizer, if that token is not text.
 */
export function roleIds(
  keys: GgufKeys,
  tokens: readonly GgufToken[],
  otherwise: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const found = Object.entries(ROLES).flatMap(([role, names]): [string, number][] => {
    const stated = names.map(own).find((name) => keys.get(name) !== undefined);
    // Converters write an id beyond the tokens where there is none.
    const key = stated !== undefined && keys.count(stated) < tokens.length ? stated : undefined;
    const id = key === undefined ? otherwise[role] : keys.count(key);
    const token = id === undefined ? undefined : tokens[id];
    if (token === undefined) return [];
    const isText = token.kind === KIND.normal && keys.get(own('token_type')) !== undefined;
    // A token of text would be cut out of every text; a file may still begin or end replies with one.
    const isKept = key !== undefined && KEPT.includes(role);
    return isText && !isKept ? [] : [[role, token.id]];
  });
  return Object.fromEntries(found);
}

/** Texts of tokens that end a turn, in models whose files name them by no key. source: llama.cpp's list */
const TURN_ENDS = new Set([
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<|flush|>',
  '<|calls|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '</s>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<|end_of_text|>',
  '<end_of_utterance>',
  '<eos>',
]);

/** Keys of the tokens that end a reply. */
export const END_KEYS: readonly string[] = ['eos_token_id', 'eot_token_id', 'eom_token_id'].map(own);

/** Ids of the tokens that end a reply: eos, eot and eom, and control tokens that are known to end a turn. */
export function endIds(keys: GgufKeys, tokens: readonly GgufToken[]): number[] {
  const stated = END_KEYS.flatMap((key) => (keys.get(key) === undefined ? [] : [keys.count(key)]));
  // In the harmony format <|end|> ends a message, and <|return|> the reply.
  const isHarmony = tokens.some(({ text }) => text === '<|return|>');
  const known = tokens
    .filter(({ kind, text }) => kind === KIND.control && TURN_ENDS.has(text))
    .filter(({ text }) => !(isHarmony && text === '<|end|>'))
    .map(({ id }) => id);
  return [...new Set([...stated, ...known])].filter((id) => id < tokens.length);
}
