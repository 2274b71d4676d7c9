// Heads of BERT, RoBERTa and DistilBERT: labels of a text, of each token, or where an answer begins and ends.

import type { Activation } from '../../../kernels/activation.ts';
import { linear } from '../../../kernels/matmul.ts';
import { meanRows } from '../../../kernels/mean-rows.ts';
import type { WeightTable } from '../../weights.ts';
import type { TextForward } from '../blocks/architecture.ts';
import type { TextOutputs } from '../blocks/outputs.ts';
import type { BertConfig } from './bert-config.ts';
import { bert, rootOf } from './bert.ts';

/** The two matrices of a head for texts, which reads the state of the first token. */
export interface TextHead {
  /** Names of the two. */
  dense: string;
  out: string;
  activation: Activation;
}
interface BertTextHead extends TextHead {
  /** The first is part of the body. */
  inRoot: boolean;
}
const TEXT_HEADS: Readonly<Record<BertConfig['layout'], BertTextHead>> = {
  bert: { dense: 'pooler.dense', inRoot: true, activation: 'tanh', out: 'classifier' },
  roberta: { dense: 'classifier.dense', inRoot: false, activation: 'tanh', out: 'classifier.out_proj' },
  distilbert: { dense: 'pre_classifier', inRoot: false, activation: 'relu', out: 'classifier' },
};

export function bertHead(config: BertConfig, outputs: TextOutputs, weights: WeightTable): TextForward {
  const head = TEXT_HEADS[config.layout];
  const root = head.inRoot ? rootOf(config, weights) : '';
  const states = bert(config, weights);
  return encoderHead(config, outputs, weights, states, { ...head, dense: `${root}${head.dense}` });
}

/** Values of each text [sampled, labels], or of each token [rows, labels]. */
export function encoderHead(
  { hidden, architecture }: Pick<BertConfig, 'hidden' | 'architecture'>,
  { labels, per }: TextOutputs,
  weights: WeightTable,
  states: TextForward,
  { dense: denseName, out: outName, activation }: TextHead,
): TextForward {
  if (per === 'token') {
    const name = architecture.endsWith('ForQuestionAnswering') ? 'qa_outputs' : 'classifier';
    const out = weights.matrix(`${name}.weight`, labels.length, hidden, { bias: true });
    return (...step) => linear(states(...step), out);
  }
  const dense = weights.matrix(`${denseName}.weight`, hidden, hidden, { bias: true });
  const out = weights.matrix(`${outName}.weight`, labels.length, hidden, { bias: true });
  return (tape, batch, stores) => {
    const first = meanRows(states(tape, batch, stores), batch.pooled); // [sampled, hidden]
    return linear(linear(first, dense, { activation }), out);
  };
}
