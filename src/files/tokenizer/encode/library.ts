// The parts of @huggingface/tokenizers that are used: its translation of Oniguruma's syntax, and the decoders of vocabularies that are not
// spelled in bytes. Its encoding is not: its classes are JavaScript's.

import { Tokenizer } from '@huggingface/tokenizers';
import { isRecord } from '../../source.ts';
import { partType } from './part-type.ts';

/** A tokenizer of nothing but these parts. */
function partsOf(parts: { pre_tokenizer?: unknown; decoder?: unknown }): Tokenizer {
  const model = { type: 'WordPiece', vocab: { '': 0 }, unk_token: '', continuing_subword_prefix: '' };
  const none = {
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
  };
  return new Tokenizer({ ...none, model, ...parts }, {});
}

/** The expression with the flags g and u. Throws a SyntaxError for syntax that JavaScript lacks. */
export function translate(expression: string): RegExp {
  const split = { type: 'Split', pattern: { Regex: expression }, behavior: 'Isolated', invert: true };
  const { pre_tokenizer: part } = partsOf({ pre_tokenizer: split });
  return (part as unknown as { pattern: RegExp }).pattern;
}

/** Tokens of a text → the text. `config` null: tokens are words. */
export function libraryDecoder(config: unknown): (tokens: string[]) => string {
  if (config === null || config === undefined) return (tokens) => tokens.join(' ');
  if (!isRecord(config)) throw new Error('the decoder is not an object');
  partType('decoder', config);
  const { decoder } = partsOf({ decoder: config });
  return (tokens) => decoder?.decode(tokens) ?? '';
}
