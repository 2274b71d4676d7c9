// What classes with a head give in place of states: values of a text or of each token, and how they become scores. Keys are those of transformers,
// and of sentence-transformers for cross-encoders.

import { isJsonObject, shown, type ConfigReader } from '../../config-values.ts';

/** How the values of a head become scores. */
export type OutputActivation = 'none' | 'sigmoid' | 'softmax';

export interface TextOutputs {
  /** Whether the head reads one vector for a text, or the state of each token. */
  per: 'text' | 'token';
  /** Name of each value. */
  labels: readonly string[];
  activation: OutputActivation;
  /** The states of a text that the head reads; of tokens, all are. */
  pooling: 'cls' | 'mean' | 'last';
}

/** What a class's head is for, as the end of its name tells. */
const HEADS = {
  ForSequenceClassification: 'text',
  ForTokenClassification: 'token',
  ForQuestionAnswering: 'span',
} as const;

export type HeadKind = (typeof HEADS)[keyof typeof HEADS];

/** null: the class has no such head. */
export function headOf(className: string): HeadKind | null {
  const found = Object.entries(HEADS).find(([end]) => className.endsWith(end));
  return found?.[1] ?? null;
}

/** The outputs of a head. `pooling`: the states that it reads where it is for texts. Errors: unsupported, bad_checkpoint. */
export function readOutputs(
  config: ConfigReader,
  head: HeadKind,
  pooling: TextOutputs['pooling'],
): TextOutputs {
  if (head === 'span') return { per: 'token', labels: ['start', 'end'], activation: 'none', pooling };
  const labels = readLabels(config);
  return { per: head, labels, activation: readActivation(config, head, labels.length), pooling };
}

/** Limit on the labels of a model. */
export const MOST_LABELS = 2 ** 16;

/** The names in id2label, by their numbers; without it as many as num_labels says, and two by default. */
function readLabels(config: ConfigReader): string[] {
  const { id2label: stated, num_labels: count = 2 } = config.values;
  if (isJsonObject(stated)) {
    const names = Array.from(Object.keys(stated), (_, id) => stated[id]);
    if (names.length > 0 && names.length <= MOST_LABELS && names.every((name) => typeof name === 'string'))
      return names;
    const needed = 'a name for each number from 0 on is needed';
    throw config.error('bad_checkpoint', 'id2label', `is ${shown(stated)}, ${needed}`);
  }
  if (!Number.isSafeInteger(count) || Number(count) < 1 || Number(count) > MOST_LABELS)
    throw config.error(
      'bad_checkpoint',
      'num_labels',
      `is ${shown(count)}, an integer from 1 to ${MOST_LABELS} is needed`,
    );
  return Array.from({ length: Number(count) }, (_, id) => `LABEL_${id}`);
}

/** Functions of torch, by the ends of their names. */
const FUNCTIONS: Readonly<Record<string, OutputActivation>> = {
  Identity: 'none',
  Sigmoid: 'sigmoid',
  Softmax: 'softmax',
};
const PROBLEMS: Readonly<Record<string, OutputActivation>> = {
  regression: 'none',
  single_label_classification: 'softmax',
  multi_label_classification: 'sigmoid',
};

/** The function that sentence-transformers states, or that of the problem for which the head was trained. */
function readActivation(config: ConfigReader, head: 'text' | 'token', labels: number): OutputActivation {
  const { sentence_transformers: own, problem_type: problem } = config.values;
  const stated =
    (isJsonObject(own) ? own['activation_fn'] : undefined) ??
    config.values['sbert_ce_default_activation_function'];
  if (head === 'text' && stated != null) return activationNamed(stated, config);
  if (head === 'text' && problem != null) return config.choice('problem_type', PROBLEMS, '');
  return labels === 1 ? 'sigmoid' : 'softmax';
}

/** `torch.nn.modules.linear.Identity`. */
export function activationNamed(name: unknown, config: Pick<ConfigReader, 'error'>): OutputActivation {
  const last = String(name).split('.').at(-1)!;
  if (Object.hasOwn(FUNCTIONS, last)) return FUNCTIONS[last]!;
  throw config.error(
    'unsupported',
    'activation_fn',
    `${shown(name)} is not built; choose a checkpoint that has ${Object.keys(FUNCTIONS).join(' or ')}`,
  );
}
