// Models of SentencePiece, protocol buffers with the pieces of a unigram tokenizer: how they are read, the tokenizer.json that T5's and Marian's have in
// common, and T5's. Sources: sentencepiece_model.proto of SentencePiece; T5Tokenizer of transformers, which adds the sentinel tokens and splits at
// white space.

import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { addedToken, aroundText, base64, metaspace, sequence } from '../tokenizer-parts.ts';
import { specialTokens } from './encode/special-tokens.ts';
import { fieldsOf, floatOf, type Field } from './protocol-buffer.ts';

/** The file of T5's tokenizer. */
export const SPIECE = 'spiece.model';

/** Classes whose tokenizers SPIECE defines. */
const CLASSES = /^M?T5Tokenizer(Fast)?$/;
/** Tokens that the classes name where the config does not. */
const SPECIALS = { eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };
/** Number of sentinel tokens behind the pieces where the config does not state it. */
const SENTINELS = 100;
const MOST_SENTINELS = 10_000;
/** Kinds of models by their names in messages. */
const MODEL_KINDS = { unigram: 1n, bpe: 2n };
/** Kinds of pieces that are cut out of a text before it is tokenized. */
const CUT = { control: 3n, userDefined: 4n };
const [TEXT, UNKNOWN] = [1n, 2n];
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

type OwnTokens = Record<keyof typeof SPECIALS, string>;

/** Texts of the special tokens: those that the config names, else those of the classes. Throws bad_checkpoint. */
export function ownTokens(config: Readonly<Record<string, unknown>>): OwnTokens {
  const named = specialTokens(config);
  return Object.fromEntries(
    Object.entries(SPECIALS).map(([name, text]) => [name, named[name as keyof OwnTokens] ?? text]),
  ) as OwnTokens;
}

/** tokenizer_config.json with the special tokens that the classes have where it names none. */
export function withOwnTokens(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...config, ...ownTokens(config) };
}

/** The tokenizer.json of a vocabulary whose texts are split at white space and end with a token. `unknown`: the id for text without pieces. */
export function unigramTokenizer({
  vocab,
  unknown,
  added,
  end,
  charsmap,
}: {
  vocab: readonly (readonly [string, number])[];
  unknown: number;
  added: readonly object[];
  end: { content: string; id: number };
  charsmap: Uint8Array | null;
}): Record<string, unknown> {
  const space = metaspace('always');
  return {
    version: '1.0',
    added_tokens: added,
    normalizer: charsmap && { type: 'Precompiled', precompiled_charsmap: base64(charsmap) },
    pre_tokenizer: sequence('pretokenizers', [{ type: 'WhitespaceSplit' }, space]),
    post_processor: aroundText(null, end),
    decoder: space,
    model: { type: 'Unigram', unk_id: unknown, vocab, byte_fallback: false },
  };
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
  const { pieces, charsmap } = readModel(bytes, SPIECE);
  const sentinels = Array.from({ length: sentinelsOf(config) }, (_, i) => `<extra_id_${i}>`).reverse();
  const content = ownTokens(config).eos_token;
  const id = pieces.findIndex(({ text }) => text === content);
  if (id < 0) throw damaged(`its pieces lack the end token ${JSON.stringify(content)}`, SPIECE);
  return unigramTokenizer({
    vocab: [
      ...pieces.map(({ text, score }) => [text, score] as const),
      ...sentinels.map((text) => [text, 0] as const),
    ],
    unknown: pieces.findIndex(({ kind }) => kind === UNKNOWN),
    added: addedTokens(pieces, sentinels),
    end: { content, id },
    charsmap,
  });
}

/** The pieces of a model, by their ids, and its normalizer. Throws bad_checkpoint for a damaged file, and for another kind; `file` for messages. */
export function readModel(
  bytes: Uint8Array,
  file: string,
  wanted: keyof typeof MODEL_KINDS = 'unigram',
): { pieces: Piece[]; charsmap: Uint8Array | null } {
  const fields = fieldsOf(bytes, file);
  const pieces = fields
    .filter(({ number, bytes: of }) => number === MODEL.pieces && of !== undefined)
    .map((field) => pieceOf(field, file));
  const within = (message: number): Field[] =>
    fields
      .filter(({ number }) => number === message)
      .flatMap(({ bytes: of }) => fieldsOf(of ?? new Uint8Array(), file));
  const kind =
    within(MODEL.trainer).findLast(({ number }) => number === TRAINER.kind)?.value ?? MODEL_KINDS.unigram;
  if (kind !== MODEL_KINDS[wanted])
    throw damaged(`its model_type is ${kind}, and ${MODEL_KINDS[wanted]} (${wanted}) is needed`, file);
  if (!pieces.some((piece) => piece.kind === UNKNOWN))
    throw damaged('it has no piece for unknown text', file);
  const charsmap = within(MODEL.normalizer).findLast(({ number }) => number === NORMALIZER.charsmap)?.bytes;
  return { pieces, charsmap: charsmap && charsmap.length > 0 ? charsmap : null };
}

/** Whether a piece is of texts. */
export const isTextPiece = ({ kind }: Piece): boolean => kind === TEXT;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

function pieceOf({ bytes = new Uint8Array() }: Field, file: string): Piece {
  const piece: Piece = { text: '', score: 0, kind: 1n };
  for (const field of fieldsOf(bytes, file)) {
    if (field.number === PIECE.text) piece.text = utf8.decode(field.bytes);
    else if (field.number === PIECE.score) piece.score = floatOf(field);
    else if (field.number === PIECE.kind) piece.kind = field.value ?? 1n;
  }
  if (Number.isFinite(piece.score)) return piece;
  throw damaged(`the score of ${JSON.stringify(piece.text.slice(0, 100))} is ${piece.score}`, file);
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

function damaged(reason: string, file: string): EngineError {
  return badCheckpoint(
    `${file} is not a tokenizer that can be read: ${reason}; fetch the file again, or put tokenizer.json beside it`,
    file,
  );
}
