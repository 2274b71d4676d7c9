// Scores of documents for a query, and labels of texts, by models that classify. A model that makes vectors scores documents by the cosine of the
// vectors.

import { countText } from '../files/count-text.ts';
import { badRequest, unsupported } from '../files/error.ts';
import { option, say } from '../files/message.ts';
import type { EmbeddingModel, EmbeddingRequest } from '../engine/embedding/embedding-model.ts';

/** The members of a model that these functions call. */
export type ScoringModel = Pick<EmbeddingModel, 'generate' | 'info'>;

export interface ScoreOptions {
  /** Only the first values of vectors. Left out: all; a model that classifies has none. */
  dimensions?: number;
  /** Cuts each text, or query with its document, to so many tokens; -1: to as many as the model takes. Left out: a longer one is refused. */
  truncate?: number;
  /** Instruction for a model that scores pairs by its logits (Qwen3-Reranker). Left out: the model's own. Other models refuse it. */
  instruction?: string;
  /** Whether values become scores by the model's own function. Default: true. */
  activation?: boolean;
  signal?: AbortSignal;
}

export interface RankOptions extends ScoreOptions {
  /** Most texts to return. Default: all. */
  top?: number;
}

export interface Ranked {
  /** Index of the text in the list that was given. */
  index: number;
  text: string;
  /** Score of the text for the query; of a model that makes vectors, the cosine of their angle, -1 to 1. */
  score: number;
}

/** A text and the label that fits it best. */
export interface Classified {
  label: string;
  score: number;
  /** The score of each label, in the order of `model.info.classifier.labels`. */
  scores: Float32Array;
}

/** Most texts of one request. */
const MOST_INPUTS = 2048;

/** The vectors or scores of inputs, in their order. Errors: those of generate(). */
export async function valuesOf(
  model: Pick<EmbeddingModel, 'generate'>,
  inputs: EmbeddingRequest['inputs'],
  { signal, ...options }: ScoreOptions & Pick<EmbeddingRequest, 'task'>,
): Promise<Float32Array[]> {
  const values: Float32Array[] = [];
  for (let at = 0; at < inputs.length; at += MOST_INPUTS) {
    const request = { ...options, inputs: inputs.slice(at, at + MOST_INPUTS) };
    for await (const event of model.generate(request, signal ? { signal } : {}))
      if (event.type === 'embedding') values[at + event.index] = event.values;
  }
  return values;
}

/**
 * The score of each text for the query, or for the query of the same index, in their order. Errors: those of generate(); unsupported for a model that has
 * several labels.
 */
export async function scoreTexts(
  model: ScoringModel,
  query: string | readonly string[],
  texts: readonly string[],
  options: ScoreOptions = {},
): Promise<number[]> {
  const queries = [query].flat();
  if (queries.length !== 1 && queries.length !== texts.length)
    throw badRequest(
      `there are ${queries.length} queries for ${countText(texts.length, 'text')}: give one, or one for each text`,
      'query',
    );
  const queryAt = (at: number): number => (queries.length === 1 ? 0 : at);
  if (scoresPairs(model)) {
    const pairs = texts.map((pair, at) => ({ text: queries[queryAt(at)]!, pair }));
    return (await valuesOf(model, pairs, options)).map(([score]) => score!);
  }
  const vectors = await valuesOf(model, [...queries, ...texts], options);
  return texts.map((_, at) => cosine(vectors[queryAt(at)]!, vectors[queries.length + at]!));
}

/** Texts by their scores for a query, best first. */
export async function rankTexts(
  model: ScoringModel,
  query: string,
  texts: readonly string[],
  { top = texts.length, ...options }: RankOptions = {},
): Promise<Ranked[]> {
  if (!(Number.isInteger(top) && top >= 0))
    throw badRequest(`top is ${String(top)}: give a whole number of texts`, 'top');
  const scores = await scoreTexts(model, query, texts, options);
  const ranked = scores.map((score, index) => ({ index, text: texts[index]!, score }));
  return ranked.toSorted((a, b) => b.score - a.score || a.index - b.index).slice(0, top);
}

/** The labels of texts, in their order. Errors: those of generate(); unsupported for a model that has none for whole texts. */
export async function classifyTexts(
  model: ScoringModel,
  texts: readonly string[],
  options: Omit<ScoreOptions, 'instruction'> = {},
): Promise<Classified[]> {
  const { classifier, architecture } = model.info;
  if (classifier?.per !== 'text')
    throw unsupported(
      `${architecture} has no labels of whole texts: choose a model whose class ends in ForSequenceClassification`,
    );
  return (await valuesOf(model, [...texts], options)).map((scores) => {
    const best = scores.indexOf(Math.max(...scores));
    return { label: classifier.labels[best]!, score: scores[best]!, scores };
  });
}

/** Whether the model judges pairs of texts; false: it makes vectors. Throws unsupported if it does neither. */
function scoresPairs({ info: { classifier, architecture, isUnstated, path } }: ScoringModel): boolean {
  if (isUnstated)
    throw unsupported(
      say`${path} is a language model (${architecture}) whose files do not say how it ranks: open it with ${option('judge')} if it answers yes or no (Qwen3-Reranker), or choose an embedding model`,
    );
  if (!classifier) return false;
  if (classifier.per === 'text' && classifier.labels.length === 1) return true;
  const problem =
    classifier.per === 'token' ? 'it labels tokens' : `it has ${classifier.labels.length} labels`;
  throw unsupported(
    `${architecture} does not score a text for a query, since ${problem}: choose a cross-encoder with one label, or an embedding model`,
  );
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
