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
interface TextHead {
  /** Name behind the root's; `inRoot`: the module is part of the body. */
  dense: string;
  inRoot: boolean;
  activation: Activation;
  out: string;
}
const TEXT_HEADS: Readonly<Record<BertConfig['layout'], TextHead>> = {
  bert: { dense: 'pooler.dense', inRoot: true, activation: 'tanh', out: 'classifier' },
  roberta: { dense: 'classifier.dense', inRoot: false, activation: 'tanh', out: 'classifier.out_proj' },
  distilbert: { dense: 'pre_classifier', inRoot: false, activation: 'relu', out: 'classifier' },
};

/** Values of each text [sampled, labels], or of each token [rows, labels]. */
export function bertHead(config: BertConfig, outputs: TextOutputs, weights: WeightTable): TextForward {
  const { hidden, layout, architecture } = config;
  const { labels, per } = outputs;
  const states = bert(config, weights);
  if (per === 'token') {
    const name = architecture.endsWith('ForQuestionAnswering') ? 'qa_outputs' : 'classifier';
    const out = weights.matrix(`${name}.weight`, labels.length, hidden, { bias: true });
    return (...step) => linear(states(...step), out);
  }
  const head = TEXT_HEADS[layout];
  const root = head.inRoot ? rootOf(config, weights) : '';
  const dense = weights.matrix(`${root}${head.dense}.weight`, hidden, hidden, { bias: true });
  const out = weights.matrix(`${head.out}.weight`, labels.length, hidden, { bias: true });
  return (tape, batch, stores) => {
    const first = meanRows(states(tape, batch, stores), batch.pooled); // [sampled, hidden]
    return linear(linear(first, dense, { activation: head.activation }), out);
  };
}
