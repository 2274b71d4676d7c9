// The tokenizer of a GGUF file's metadata as a tokenizer.json and its settings, so that one tokenizer reads both.

import { addedToken, aroundText } from '../tokenizer-parts.ts';
import type { GgufKeys } from './keys.ts';
import { MODELS, plainText, type Kind, type TokenizerParts, type Roles } from './tokenizer-kinds.ts';
import { END_KEYS, endIds, KIND, readTokens, roleIds, tokenizerKey as own } from './vocabulary.ts';

export interface TokenizerFiles {
  tokenizerJson: Record<string, unknown>;
  tokenizerConfig: Record<string, unknown>;
}

/** Kinds of tokens that are cut out of a text before the rest of it is tokenized. */
const ADDED: readonly number[] = [KIND.control, KIND.userDefined, KIND.unknown];

/** Throws bad_checkpoint, and unsupported for a tokenizer that is not known. */
export function tokenizerFiles(keys: GgufKeys): TokenizerFiles {
  const model = kindOf(keys);
  const tokens = readTokens(keys);
  const roles = roleIds(keys, tokens, model.roles);
  const { adds, ...parts } = model.parts(keys, tokens, roles);
  const added = tokens.filter((token) => ADDED.includes(token.kind));
  const shown = model.textOf ?? plainText;
  const named = Object.entries(roles).map(([role, id]) => [role, shown(tokens[id]!)]);
  return {
    tokenizerJson: {
      version: '1.0',
      ...parts,
      added_tokens: added.map((token) => addedToken(token.id, shown(token), token.kind !== KIND.userDefined)),
      post_processor: postProcessor(keys, adds, roles, (id) => shown(tokens[id]!)),
    },
    tokenizerConfig: Object.fromEntries(named),
  };
}

/** Throws what tokenizerFiles throws about the kind of the tokenizer and its rules; the tokens are not looked at. */
export function checkTokenizer(keys: GgufKeys): void {
  kindOf(keys).check?.(keys);
}

/** A note for the user on an end token that is beyond the vocabulary and therefore never sampled; null: there is no such token. */
export function endTokenProblem(keys: GgufKeys): string | null {
  const count = keys.texts(own('tokens'))?.length ?? 0;
  const key = END_KEYS.find((name) => keys.get(name) !== undefined && keys.count(name) >= count);
  if (key === undefined) return null;
  const tokens = readTokens(keys);
  const { eos_token: eos } = roleIds(keys, tokens, kindOf(keys).roles);
  const ids = new Set([...endIds(keys, tokens), ...(eos === undefined ? [] : [eos])]);
  const ends = Array.from(ids, (id) => JSON.stringify(tokens[id]!.text));
  const instead =
    ends.length > 0
      ? `replies end with ${ends.join(', ')}`
      : 'no token ends a reply, which runs to its limit: fetch the file of another conversion, or give stop_token_ids in requests';
  return `${key} is ${keys.count(key)}, beyond the vocabulary of ${count} tokens, and is not used; ${instead}`;
}

function kindOf(keys: GgufKeys): Kind {
  const kind = keys.text(own('model'));
  if (Object.hasOwn(MODELS, kind)) return MODELS[kind]!;
  throw keys.unsupported(own('model'), `choose a model that has one of ${Object.keys(MODELS).join(', ')}`);
}

/** The post-processor: BOS and EOS by the file's flags, or by what its kind of tokenizer adds; CLS and SEP always. null: no token is added. */
function postProcessor(
  keys: GgufKeys,
  adds: TokenizerParts['adds'],
  roles: Roles,
  textOf: (id: number) => string,
): unknown {
  const before = adds === 'cls-sep' || keys.flag(own('add_bos_token'), adds.bos);
  const after = adds === 'cls-sep' || keys.flag(own('add_eos_token'), adds.eos);
  const first = before ? (roles['bos_token'] ?? roles['cls_token']) : undefined;
  const last = after ? roles[adds === 'cls-sep' ? 'sep_token' : 'eos_token'] : undefined;
  if (first === undefined && last === undefined) return null;
  const part = (id: number | undefined) => (id === undefined ? null : { id, content: textOf(id) });
  return { ...aroundText(part(first), part(last)), pair: pairOf(part(first), part(last), adds, roles, part) };
}

type Part = { id: number; content: string } | null;

/** Two texts: of BERT with types, of RoBERTa with a further separator between them. */
function pairOf(
  first: Part,
  last: Part,
  adds: TokenizerParts['adds'],
  roles: Roles,
  part: (id: number | undefined) => Part,
): unknown[] {
  const isTyped = adds === 'cls-sep';
  const second = isTyped ? 1 : 0;
  const special = (token: Part, type: number): unknown[] =>
    token === null ? [] : [{ SpecialToken: { id: token.content, type_id: type } }];
  // The pairs of RoBERTa have the end token of the first text, then a separator.
  const between = isTyped ? null : part(roles['sep_token']);
  return [
    ...special(first, 0),
    { Sequence: { id: 'A', type_id: 0 } },
    ...special(last, 0),
    ...special(between, 0),
    { Sequence: { id: 'B', type_id: second } },
    ...special(last, second),
  ];
}
