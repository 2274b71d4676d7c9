// Words of prompts whose embeddings are given beside a CLIP text encoder (textual inversion): their ids, and the rows that these stand for.

import { unsupported } from '../../../files/error.ts';
import type { EmbeddedWord, NamedEncoder, WordRows } from '../../../files/pipeline/embedded-words.ts';
import { FIRST_EXTRA_ID } from '../../../kernels/embed-extra.ts';
import { joinFloats } from '../../../models/join-floats.ts';

/** Name in files for XL of the rows of a component. */
const ENCODERS: Readonly<Record<string, NamedEncoder>> = {
  text_encoder: 'clip_l',
  text_encoder_2: 'clip_g',
};

/** Columns of the text encoders of published models. */
const FAMILIES: readonly (readonly [columns: number, models: string])[] = [
  [768, 'Stable Diffusion 1'],
  [1024, 'Stable Diffusion 2'],
];

export class ClipWords {
  /** Rows of all words, [rows, columns]; null: there are no words. */
  readonly rows: WordRows | null;
  readonly #pattern: RegExp | null;
  /** Ids by the lower-case word. */
  readonly #ids = new Map<string, readonly number[]>();

  /** `columns`: those of the encoder's states; `xl`: whether the model is of the family whose files name the encoders. */
  constructor(words: readonly EmbeddedWord[], encoder: string, columns: number, xl: boolean) {
    const all: Float32Array[] = [];
    let count = 0;
    for (const word of words) {
      const { rows, values } = rowsFor(word, encoder, columns, xl);
      const first = FIRST_EXTRA_ID + count;
      this.#ids.set(
        word.word.toLowerCase(),
        Array.from({ length: rows }, (_, i) => first + i),
      );
      all.push(values);
      count += rows;
    }
    this.rows = count === 0 ? null : { rows: count, columns, values: joinFloats(all) };
    // Of words that begin alike the longest is meant.
    const texts = [...this.#ids.keys()].sort((a, b) => b.length - a.length).map(escaped);
    this.#pattern = texts.length === 0 ? null : new RegExp(`(?:\\bembedding:)?(${texts.join('|')})`, 'gi');
  }

  /** Ids of a text, whose other parts `encode` reads. */
  encode(text: string, encode: (text: string) => number[]): number[] {
    if (this.#pattern === null) return encode(text);
    const ids: number[] = [];
    let at = 0;
    for (const match of text.matchAll(this.#pattern)) {
      ids.push(...encode(text.slice(at, match.index)), ...this.#ids.get(match[1]!.toLowerCase())!);
      at = match.index + match[0].length;
    }
    return [...ids, ...encode(text.slice(at))];
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** The rows of a word for one encoder. Throws unsupported for a word of another family. */
function rowsFor({ rows, path }: EmbeddedWord, encoder: string, columns: number, xl: boolean): WordRows {
  const isNamed = 'clip_l' in rows;
  const own = isNamed ? rows[ENCODERS[encoder]!] : rows;
  if (isNamed === xl && own.columns === columns) return own;
  const fits = isNamed ? 'Stable Diffusion XL' : FAMILIES.find(([width]) => width === rows.columns)?.[1];
  const model = xl ? `rows for two text encoders, clip_l and clip_g` : `one of ${columns} columns`;
  const held = isNamed && !xl ? 'rows for two text encoders' : `rows of ${own.columns} columns`;
  throw unsupported(
    `${path} holds ${held}, and the model takes ${model}; ${fits === undefined ? 'it was trained on another model' : `it fits ${fits}`}: choose a textual inversion for this model`,
    'textualInversionPath',
  );
}
