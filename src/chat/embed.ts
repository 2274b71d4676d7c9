// Vectors of texts, and texts by the similarity of their vectors.

import { badRequest, internalError } from '../files/error.ts';
import type { EmbeddingModel } from '../engine/embedding/embedding-model.ts';

export interface EmbedOptions {
  /** Only the first values, scaled to length one again. Left out: all. */
  dimensions?: number;
  signal?: AbortSignal;
}

export interface RankOptions extends EmbedOptions {
  /** Most texts to return. Default: all. */
  top?: number;
}

export interface Ranked {
  /** Index of the text in the list that was given. */
  index: number;
  text: string;
  /** Cosine of the angle between its vector and that of the query, -1 to 1. */
  score: number;
}

/** Most texts of one request. */
const MOST_INPUTS = 2048;

/** The vectors of texts, in their order. Errors: those of generate(). */
export async function embedTexts(
  model: Pick<EmbeddingModel, 'generate'>,
  texts: readonly string[],
  { signal, ...options }: EmbedOptions = {},
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += MOST_INPUTS) {
    const request = { ...options, inputs: texts.slice(at, at + MOST_INPUTS) };
    for await (const event of model.generate(request, signal ? { signal } : {}))
      if (event.type === 'embedding') vectors[at + event.index] = event.values;
  }
  return vectors;
}

export async function rankTexts(
  model: Pick<EmbeddingModel, 'generate'>,
  query: string,
  texts: readonly string[],
  { top = texts.length, ...options }: RankOptions = {},
): Promise<Ranked[]> {
  if (!(Number.isInteger(top) && top >= 0))
    throw badRequest(`top is ${String(top)}: give a whole number of texts`, 'top');
  const [asked, ...others] = await embedTexts(model, [query, ...texts], options);
  if (asked === undefined) throw internalError('the model has no vector of the query');
  const ranked = others.map((vector, index) => ({
    index,
    text: texts[index]!,
    score: cosine(asked, vector),
  }));
  return ranked.toSorted((a, b) => b.score - a.score || a.index - b.index).slice(0, top);
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, ofA, ofB] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    product += a[at]! * b[at]!;
    ofA += a[at]! ** 2;
    ofB += b[at]! ** 2;
  }
  return product === 0 ? 0 : product / Math.sqrt(ofA * ofB);
}
