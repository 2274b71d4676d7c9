// Vectors of texts.

import { unsupported } from '../files/error.ts';
import { valuesOf, type ScoreOptions, type ScoringModel } from './score.ts';

export interface EmbedOptions extends Omit<ScoreOptions, 'activation' | 'instruction'> {
  /** The task that the vectors are made for, one of `model.info.tasks`, such as "retrieval.query"; left out: the task that the model's files name, or none. */
  task?: string;
}

/** The vectors of texts, in their order. Errors: those of generate(); unsupported for a model that classifies. */
export async function embedTexts(
  model: ScoringModel,
  texts: readonly string[],
  options: EmbedOptions = {},
): Promise<Float32Array[]> {
  const { classifier, architecture } = model.info;
  if (classifier)
    throw unsupported(
      `${architecture} makes no vectors, since it classifies: call rank(), score() or classify(), or open an embedding model`,
    );
  return valuesOf(model, [...texts], options);
}
