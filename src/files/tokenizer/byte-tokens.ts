// ByT5's tokenizer, which has no files of its own: a token is a byte of a text, behind three special tokens.

import { addedToken, byteLevel } from '../tokenizer-parts.ts';
import { standInBinary } from './encode/stand-ins.ts';

/** The class in tokenizer_config.json. */
export const BYTE_TOKENIZER = 'ByT5Tokenizer';

const SPECIALS = { pad_token: '<pad>', eos_token: '</s>', unk_token: '<unk>' };

/** A tokenizer.json for the class, and the settings of its folder with the special tokens that the class has where they name none. */
export function byteTokenizer(config: Record<string, unknown>): {
  tokenizerJson: Record<string, unknown>;
  tokenizerConfig: Record<string, unknown>;
} {
  const specials = Object.values(SPECIALS);
  const bytes = Array.from({ length: 256 }, (_, byte): [string, number] => [
    standInBinary(String.fromCharCode(byte)),
    specials.length + byte,
  ]);
  return {
    tokenizerJson: {
      added_tokens: specials.map((content, id) => ({
        ...addedToken(id, content, true),
        ...{ lstrip: true, rstrip: true },
      })),
      pre_tokenizer: byteLevel(false),
      decoder: byteLevel(false),
      model: { type: 'BPE', byte_fallback: false, vocab: new Map(bytes), merges: [] },
    },
    tokenizerConfig: { ...SPECIALS, ...config },
  };
}
