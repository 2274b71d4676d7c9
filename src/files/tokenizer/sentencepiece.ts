// T5's tokenizer in spiece.model, a protocol buffer of SentencePiece, as a tokenizer.json. Sources: sentencepiece_model.proto of SentencePiece;
// T5Tokenizer of transformers, which adds the sentinel tokens and splits at white space.

import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { addedToken, aroundText, base64, metaspace, sequence } from '../tokenizer-parts.ts';
import { fieldsOf, floatOf, type Field } from './protocol-buffer.ts';

export const SPIECE = 'spiece.model';

/** Classes whose tokenizers this file defines. */
const CLASSES = /^M?T5Tokenizer(Fast)?$/;
/** Tokens that the class names where the config does not. */
const SPECIALS = { eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };
/** Number of sentinel tokens behind the pieces where the config does not state it. */
const SENTINELS = 100;
const MOST_SENTINELS = 10_000;
const UNIGRAM = 1n;
/** Kinds of pieces that are cut out of a text before it is tokenized. */
const CUT = { control: 3n, userDefined: 4n };
const UNKNOWN = 2n;
/** Numbers of the fields that are read, by message. */
const MODEL = { pieces: 1, trainer: 2, normalizer: 3 };
const PIECE = { text: 1, score: 2, kind: 3 };
const TRAINER = { kind: 3 };
const NORMALIZER = { charsmap: 2 };

interface Piece {
  text: string;
  score: number;
  kind: bigint;
}

/** tokenizer_config.json with the special tokens that the class has where it names none. */
export function withSpieceTokens(config: Record<string, unknown>): Record<string, unknown> {
  return { ...SPECIALS, ...config };
}

/** Returns the tokenizer.json of the file. Throws bad_checkpoint for a damaged file, and unsupported for classes other than T5's. */
export function spieceTokenizer(
  bytes: Uint8Array,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { tokenizer_class: className = 'T5Tokenizer' } = config;
  if (typeof className !== 'string' || !CLASSES.test(className)) {
    throw unsupported(
      `${SPIECE} is read for T5Tokenizer, and this one is for ${JSON.stringify(className)}: fetch or make a tokenizer.json for it`,
      'tokenizer_config.json',
    );
  }
  const { pieces, charsmap } = readModel(bytes);
  const sentinels = Array.from({ length: sentinelsOf(config) }, (_, i) => `<extra_id_${i}>`).reverse();
  const vocab = [...pieces.map(({ text, score }) => [text, score]), ...sentinels.map((text) => [text, 0])];
  const space = metaspace('always');
  return {
    version: '1.0',
    added_tokens: addedTokens(pieces, sentinels),
    normalizer: charsmap && { type: 'Precompiled', precompiled_charsmap: base64(charsmap) },
    pre_tokenizer: sequence('pretokenizers', [{ type: 'WhitespaceSplit' }, space]),
    post_processor: endOfText(pieces, withSpieceTokens(config)['eos_token']),
    decoder: space,
    model: {
      type: 'Unigram',
      unk_id: pieces.findIndex(({ kind }) => kind === UNKNOWN),
      vocab,
      byte_fallback: false,
    },
  };
}

/** The pieces of a model, by their ids, and its normalizer. Throws bad_checkpoint for a damaged file, `file` for messages. */
export function readModel(
  bytes: Uint8Array,
  file = SPIECE,
): { pieces: Piece[]; charsmap: Uint8Array | null } {
  const fields = fieldsOf(bytes, file);
  const pieces = fields
    .filter(({ number, bytes: of }) => number === MODEL.pieces && of !== undefined)
    .map(pieceOf);
  const within = (message: number): Field[] =>
    fields
      .filter(({ number }) => number === message)
      .flatMap(({ bytes: of }) => fieldsOf(of ?? new Uint8Array(), file));
  const kind = within(MODEL.trainer).findLast(({ number }) => number === TRAINER.kind)?.value ?? UNIGRAM;
  if (kind !== UNIGRAM) throw damaged(`its model_type is ${kind}, and T5's is ${UNIGRAM} (unigram)`);
  if (!pieces.some((piece) => piece.kind === UNKNOWN)) throw damaged('it has no piece for unknown text');
  const charsmap = within(MODEL.normalizer).findLast(({ number }) => number === NORMALIZER.charsmap)?.bytes;
  return { pieces, charsmap: charsmap && charsmap.length > 0 ? charsmap : null };
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

function pieceOf({ bytes = new Uint8Array() }: Field): Piece {
  const piece: Piece = { text: '', score: 0, kind: 1n };
  for (const field of fieldsOf(bytes, SPIECE)) {
    if (field.number === PIECE.text) piece.text = utf8.decode(field.bytes);
    else if (field.number === PIECE.score) piece.score = floatOf(field);
    else if (field.number === PIECE.kind) piece.kind = field.value ?? 1n;
  }
  if (Number.isFinite(piece.score)) return piece;
  throw damaged(`the score of ${JSON.stringify(piece.text.slice(0, 100))} is ${piece.score}`);
}

function sentinelsOf({ extra_ids: count = SENTINELS }: Readonly<Record<string, unknown>>): number {
  if (Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MOST_SENTINELS) return Number(count);
  throw badCheckpoint(
    `extra_ids of the tokenizer is ${JSON.stringify(count)}, an integer from 0 to ${MOST_SENTINELS} is needed: correct tokenizer_config.json`,
    'extra_ids',
  );
}

/** Pieces that are not text, those that users defined, and the sentinels. */
function addedTokens(pieces: readonly Piece[], sentinels: readonly string[]): object[] {
  const own = pieces.flatMap(({ text, kind }, id) => {
    const isText = kind === CUT.userDefined;
    return isText || kind === CUT.control || kind === UNKNOWN ? [addedToken(id, text, !isText)] : [];
  });
  return [...own, ...sentinels.map((text, i) => addedToken(pieces.length + i, text, true))];
}

/** The class puts its end token behind each text. */
function endOfText(pieces: readonly Piece[], token: unknown): object {
  const content = typeof token === 'object' && token !== null && 'content' in token ? token.content : token;
  const id = pieces.findIndex(({ text }) => text === content);
  if (typeof content !== 'string' || id < 0)
    throw damaged(`its pieces lack the end token ${JSON.stringify(content ?? null)}`);
  return aroundText(null, { content, id });
}

function damaged(reason: string): EngineError {
  return badCheckpoint(
    `${SPIECE} is not the tokenizer of a T5 encoder: ${reason}; fetch the file again, or put tokenizer.json beside it`,
    SPIECE,
  );
}
