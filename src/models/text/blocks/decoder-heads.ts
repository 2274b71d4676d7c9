// Decoders with a head in place of that of a language model: labels of a text by the state of its last token, or of each token.

import { logitDifference } from '../../../kernels/logit-difference.ts';
import { linear } from '../../../kernels/matmul.ts';
import { meanRows } from '../../../kernels/mean-rows.ts';
import { readConfig, type ConfigFile, type Json } from '../../config-values.ts';
import type { TextClass, TextDeclaration } from './architecture.ts';
import { headOf, readOutputs, type TextOutputs } from './outputs.ts';

/** By what the heads of classes differ. */
export interface DecoderHead {
  /** The class of the language model whose layers it has. */
  whole: string;
  examples?: string;
  /** Name of its matrix. */
  module: string;
  bias: boolean;
  /** The one value that a reward model gives; left out: config.json names labels. */
  reward?: string;
}

export type DecoderHeads = Readonly<Record<string, DecoderHead>>;

/** The two heads that transformers gives to decoders alike, by the beginning of the classes' names. */
export function scoreHeads(
  families: Readonly<Record<string, { whole: string; examples?: string }>>,
): DecoderHeads {
  const entries = Object.entries(families).flatMap(([name, family]): [string, DecoderHead][] => [
    [`${name}ForSequenceClassification`, { ...family, module: 'score', bias: false }],
    [`${name}ForTokenClassification`, { whole: family.whole, module: 'score', bias: true }],
  ]);
  return Object.fromEntries(entries);
}

export function headClasses(heads: DecoderHeads): TextClass[] {
  return Object.entries(heads).map(([name, { examples }]): TextClass => ({
    ...{ name, modelType: null, serves: ['embed'] },
    ...(examples !== undefined && { examples }),
  }));
}

/** The declaration of a language model with a head in place of its own. Errors: unsupported, bad_checkpoint. */
export function withHead(
  whole: TextDeclaration,
  className: string,
  head: DecoderHead,
  json: Json,
  file: ConfigFile,
): TextDeclaration {
  const outputs = outputsOf(className, head, json, file);
  // In GGUF files the logits of two answers make one score.
  const byAnswers = json['judged_by_answers'] === true;
  const { hidden } = whole;
  const { mtp: _, ...body } = whole;
  return {
    ...{ ...body, architecture: className, outputs },
    ...{ tied: null, generate: null, states: null },
    embed(weights) {
      const states = whole.embed!(weights);
      const { module, bias } = head;
      const rows = byAnswers ? 2 : outputs.labels.length;
      const out = weights.matrix(`${module}.weight`, rows, hidden, { bias });
      return (tape, batch, stores) => {
        const x = states(tape, batch, stores); //                                 [rows, hidden]
        const values = linear(outputs.per === 'token' ? x : meanRows(x, batch.pooled), out);
        return byAnswers ? logitDifference(values, 0, 1) : values;
      };
    },
  };
}

function outputsOf(className: string, { reward }: DecoderHead, json: Json, file: ConfigFile): TextOutputs {
  const config = readConfig(file, json);
  if (json['judged_by_answers'] === true)
    return { per: 'text', labels: ['LABEL_0'], activation: 'sigmoid', pooling: 'last' };
  if (reward === undefined) return readOutputs(config, headOf(className)!, 'last');
  const pooling = config.choice('pooling', { last: 'last', mean: 'mean' } as const, 'last');
  return { per: 'text', labels: [reward], activation: 'none', pooling };
}
