// Tokens that stand outside the vocabulary's merging: those added after training, and those with a role (BOS, EOS …).
// Two files speak of them, tokenizer.json and tokenizer_config.json; where they differ the config wins, as in the
// reference implementation.

import { badCheckpoint } from '../../error.ts';
import { isRecord } from '../../source.ts';

/** bos_token, eos_token and their kin → text. */
export type SpecialTokens = Record<string, string | string[]>;

const SPECIAL_NAMES = [
  'bos_token',
  'eos_token',
  'unk_token',
  'sep_token',
  'pad_token',
  'cls_token',
  'mask_token',
];

export interface AddedToken {
  id: number;
  content: string;
  special: boolean;
  [flag: string]: unknown;
}

/** tokenizer.json's own, overruled by the config's, and the named special tokens that neither lists. */
export function addedTokens(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  specials: SpecialTokens,
): AddedToken[] {
  const configured = isRecord(config['added_tokens_decoder']) ? config['added_tokens_decoder'] : {};
  const byId = new Map<number, AddedToken>();
  for (const token of ownAddedTokens(json)) byId.set(token.id, token);
  for (const [id, token] of Object.entries(configured)) {
    const read = asAdded(isRecord(token) ? { ...token, id: Number(id) } : token, 'tokenizer_config.json');
    byId.set(read.id, read);
  }
  const byContent = new Map([...byId.values()].map((token) => [token.content, token]));
  const vocab = isRecord(json['model']) ? json['model']['vocab'] : null;
  for (const content of Object.values(specials).flat()) {
    const listed = byContent.get(content);
    const id = idIn(vocab, content);
    if (listed !== undefined) listed.special = true;
    else if (typeof id === 'number') byId.set(id, { id, content, special: true, normalized: false });
  }
  return [...byId.values()].toSorted((a, b) => a.id - b.id);
}

/** The id of a token in a vocabulary: an object of a file, or a map that was made here. */
function idIn(vocab: unknown, token: string): unknown {
  if (vocab instanceof Map) return (vocab as ReadonlyMap<string, number>).get(token);
  return isRecord(vocab) && Object.hasOwn(vocab, token) ? vocab[token] : undefined;
}

/** Added tokens that tokenizer.json lists. Throws bad_checkpoint for anything but a list of tokens. */
export function ownAddedTokens(json: Record<string, unknown>): AddedToken[] {
  const own: unknown = json['added_tokens'] ?? [];
  if (Array.isArray(own)) return own.map((token) => asAdded(token, 'tokenizer.json'));
  throw badCheckpoint(
    `tokenizer.json: added_tokens is ${JSON.stringify(own).slice(0, 200)}, a list of tokens is needed: put the published file in its place`,
    'tokenizer.json',
  );
}

function asAdded(token: unknown, file: string): AddedToken {
  const { id, content, special } = isRecord(token) ? token : {};
  if (!isRecord(token) || typeof content !== 'string' || !Number.isSafeInteger(id) || Number(id) < 0) {
    throw badCheckpoint(
      `${file}: the added token ${JSON.stringify(token).slice(0, 200)} has no id or content: put the published file in its place`,
      file,
    );
  }
  return { ...token, id: Number(id), content, special: special === true };
}

/** In the config a token is its text, or an object that holds it. Throws bad_checkpoint for anything else. */
export function specialTokens(config: Record<string, unknown>): SpecialTokens {
  const content = (value: unknown): string | null =>
    typeof value === 'string'
      ? value
      : isRecord(value) && typeof value['content'] === 'string'
        ? value['content']
        : null;
  const named = SPECIAL_NAMES.flatMap((name) => {
    const value = config[name] ?? null;
    const text = content(value);
    if (text !== null) return [[name, text] as const];
    if (value === null) return [];
    throw badCheckpoint(
      `${name} of the tokenizer is ${JSON.stringify(value)}, a text or an object with its content is needed: correct tokenizer_config.json or special_tokens_map.json`,
      name,
    );
  });
  const others = config['additional_special_tokens'];
  const additional = Array.isArray(others) ? others.flatMap((value) => content(value) ?? []) : [];
  return {
    ...Object.fromEntries(named),
    ...(additional.length > 0 && { additional_special_tokens: additional }),
  };
}
