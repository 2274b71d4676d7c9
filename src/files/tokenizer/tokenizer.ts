// Text to token ids (encode/) and back. Going back is done on bytes (token-decoder.ts), so that a whole decode, a stream and a single
// token's bytes cannot disagree. Spaces around punctuation are never "cleaned up": that would corrupt code.

import { createDetokenizer, type TokenPieces } from './detokenizer.ts';
import { createEncoder, type TextEncoding } from './encode/encoder.ts';
import type { TypedIds } from './encode/post-processor.ts';
import { UnknownKind } from './encode/unknown-kind.ts';
import { libraryDecoder } from './encode/library.ts';
import { badCheckpoint, badRequest, EngineError, reasonOf } from '../error.ts';
import {
  addedTokens,
  ownAddedTokens,
  specialTokens,
  type AddedToken,
  type SpecialTokens,
} from './encode/special-tokens.ts';
import type { TekkenChat } from './tekken.ts';
import { tokenDecoder } from './token-decoder.ts';
import { tokensById } from './token-ids.ts';
import { assembleTokenizer, withClassTokens } from './tokenizer-pair.ts';

export interface Tokenizer extends TokenPieces {
  /** Highest id plus one; a model's embedding may have more rows. */
  vocabSize: number;
  /** Highest id of the tokens that were not added after training; -1 where there are none. */
  highestId: number;
  /** `addSpecialTokens`: what the tokenizer puts around a plain prompt (BOS …). A rendered chat template has them already. */
  /** `most`: the tokens that are kept, of the text's beginning; left out: all. */
  encode(text: string, options?: { addSpecialTokens?: boolean; most?: number }): number[];
  /** Two texts as the tokenizer joins them, with the type of each token. `most`: the tokens that are kept; the longer text is cut first. */
  encodePair(first: string, second: string, most?: number): TypedIds;
  decode(ids: readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /** The bytes an id stands for in a text, special tokens included; none for an id without a token. */
  tokenBytes(id: number, first?: boolean): Uint8Array;
  /** The token's bytes as text; U+FFFD where they are part of a character. */
  tokenText(id: number): string;
  tokenToId(text: string): number | null;
  /** Added tokens that mark parts of a conversation, special or not; they never occur in quoted text. */
  markIds: ReadonlySet<number>;
  eosId: number | null;
  /** bos_token, eos_token and their kin, as chat templates name them. */
  specials: SpecialTokens;
  /** The format of conversations, where the tokenizer's file tells it; null: it does not. */
  chat: TekkenChat | null;
}

interface TokenizerFiles {
  tokenizerJson?: Record<string, unknown>;
  /** The file that tokenizerJson is of, for messages; left out: tokenizer.json. */
  file?: string;
  tokenizerConfig?: Record<string, unknown>;
  chat?: TekkenChat;
  /** vocab.json and merges.txt, where there is no tokenizer.json. */
  vocab?: Record<string, unknown> | undefined;
  merges?: string;
}

/**
 * Matches added tokens that mark parts of a conversation: <think>, </tool_call>, <|im_end|>, [INST]. Runs of spaces are added
 * tokens too, but count as text.
 */
const MARK = /^[<[].*[>\]]$/s;

/** UTF-16 units. Two million take one to eight seconds on one core. */
export const MAX_TEXT_LENGTH = 2_000_000;
/** UTF-16 units without a change between space and text; such a run is merged in one piece, 200,000 in about half a second. */
export const MAX_RUN_LENGTH = 200_000;

export function openTokenizer(files: TokenizerFiles): Tokenizer {
  const given = files.tokenizerConfig ?? {};
  const config =
    files.tokenizerJson === undefined && files.merges !== undefined ? withClassTokens(given) : given;
  const json = complete(files, config);
  const specials = specialTokens(config);
  const added = addedTokens(json, config, specials);
  const file = files.tokenizerJson === undefined ? 'vocab.json' : (files.file ?? 'tokenizer.json');
  const { encoding, decodeTokens } = openPieces(json, added, file);
  const { model, tokenToId } = encoding;
  const tokens = tokensById(model.ids, ownAddedTokens(json), file);
  for (const { id, content } of added) tokens[id] = content;
  const addedIds = new Set(added.map(({ id }) => id));
  const specialIds = new Set(added.filter(({ special }) => special).map(({ id }) => id));
  const markIds = new Set(added.filter(({ content }) => MARK.test(content)).map(({ id }) => id));
  const decoder = model.wordSuffix === '' ? tokenDecoder(json['decoder']) : null;
  const utf8 = new TextEncoder();
  let highestId = -1;
  for (const id of model.ids.values()) if (id > highestId && !addedIds.has(id)) highestId = id;

  const tokenBytes = (id: number, first = false): Uint8Array => {
    const token = tokens[id];
    if (token === undefined) return new Uint8Array(0);
    return decoder === null ? utf8.encode(token) : decoder.bytes(token, { first, added: addedIds.has(id) });
  };
  const { eos_token: eos } = specials;
  const tokenizer: Tokenizer = {
    vocabSize: tokens.length,
    highestId,
    specialIds,
    markIds,
    specials,
    chat: files.chat ?? null,
    leadingSpaces: decoder?.leadingSpaces ?? 0,
    eosId: typeof eos === 'string' ? tokenToId(eos) : null,
    tokenBytes,
    tokenToId,
    tokenText: (id) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(tokenBytes(id)),
    encode(text, { addSpecialTokens = true, most = Infinity } = {}) {
      assertLengths(text, 'text');
      return encoding.encode(text, addSpecialTokens, most);
    },
    encodePair(first, second, most = Infinity) {
      for (const text of [first, second]) assertLengths(text, 'text');
      return encoding.encodePair(first, second, most);
    },
    decode(ids, { skipSpecialTokens = true } = {}) {
      if (ids.length === 0) return '';
      if (decoder === null) {
        const kept = skipSpecialTokens ? ids.filter((id) => !specialIds.has(id)) : ids;
        const text = decodeTokens(kept.flatMap((id) => tokens[id] ?? []));
        return model.wordSuffix === '' ? text : stripped(text.replaceAll(model.wordSuffix, ' '));
      }
      const stream = createDetokenizer(tokenizer, { skipSpecialTokens });
      return ids.map((id) => stream.push(id)).join('') + stream.flush();
    },
  };
  return tokenizer;
}

/** Python's definition: U+FEFF is not a space, and the four separators of ASCII are. */
const isPythonSpace = (character: string): boolean =>
  /\p{White_Space}/u.test(character) || (character >= '\u001c' && character <= '\u001f');

/** The text without spaces at its ends. */
function stripped(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isPythonSpace(text[from]!)) from++;
  while (to > from && isPythonSpace(text[to - 1]!)) to--;
  return text.slice(from, to);
}

function complete(files: TokenizerFiles, config: Record<string, unknown>): Record<string, unknown> {
  const parts = {
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
  };
  if (files.tokenizerJson !== undefined) return { ...parts, ...files.tokenizerJson };
  if (files.merges !== undefined) {
    return { ...parts, ...assembleTokenizer(files.vocab, files.merges, config) };
  }
  throw badCheckpoint('a tokenizer needs tokenizer.json, or vocab.json with merges.txt: fetch them');
}

function openPieces(
  json: Record<string, unknown>,
  added: readonly AddedToken[],
  file: string,
): { encoding: TextEncoding; decodeTokens: (tokens: string[]) => string } {
  try {
    return { encoding: createEncoder(json, added), decodeTokens: libraryDecoder(json['decoder']) };
  } catch (cause) {
    const isUnknown = cause instanceof UnknownKind;
    const remedy = isUnknown
      ? 'choose a model with another tokenizer'
      : 'fetch the file again, or correct it';
    throw new EngineError(
      isUnknown ? 'unsupported' : 'bad_checkpoint',
      `${file}: the tokenizer cannot be built (${reasonOf(cause)}): ${remedy}`,
      { param: file, cause },
    );
  }
}

/** Throws for a text that would take too long; `param` is the field it was given in. */
export function assertLengths(text: string, param: string): void {
  if (text.length > MAX_TEXT_LENGTH) {
    throw new EngineError(
      'context_length_exceeded',
      `the text has ${text.length} characters and at most ${MAX_TEXT_LENGTH} are tokenized: shorten it`,
      { param },
    );
  }
  let run = 0;
  let spaces = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const space = code === 0x20 || (code >= 0x09 && code <= 0x0d);
    run = space === spaces ? run + 1 : 1;
    spaces = space;
    if (run > MAX_RUN_LENGTH) {
      throw badRequest(
        `from character ${at - run + 1} on the text runs over ${MAX_RUN_LENGTH} characters ${space ? 'of nothing but' : 'without a'} space: break it up or leave it out`,
        param,
      );
    }
  }
}
