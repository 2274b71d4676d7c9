// LoRAs for tasks among the weights of a checkpoint (Jina Embeddings v3): factors of all tasks in one tensor. Those of linear layers are added by the
// engine like others; those of embeddings are added here.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { loraEmbed } from '../../../kernels/lora-embed.ts';
import type { WeightTable } from '../../weights.ts';
import type { RotaryBertConfig } from './rotary-bert-config.ts';

/** Adds to the embeddings x [rows, hidden] of tokens and their one type what the rows' tasks change of them, in place → x. */
export function taskEmbedding(
  { tasks, hidden, vocabulary, types }: RotaryBertConfig,
  weights: WeightTable,
  name: string,
): (x: Tensor, batch: TextBatch) => Tensor {
  const factors = (table: string, tokens: number) => {
    const own = `${name}.${table}.weight`;
    if (tasks === null || !weights.has(`${own}.lora_A`)) return [];
    const { names, rank } = tasks;
    const a = weights.table(`${own}.lora_A`, names.length, tokens * rank, [tokens, rank]);
    const b = weights.table(`${own}.lora_B`, names.length, rank * hidden, [rank, hidden]);
    return [{ a, b, tokens, rank }];
  };
  const all = [
    ...factors('word_embeddings', vocabulary),
    ...(types > 0 ? factors('token_type_embeddings', types) : []),
  ];
  // The others are read by the engine, and those of the pooler by nobody.
  if (tasks !== null) weights.ignore(/\.weight\.lora_[AB]$/);
  return (x, batch) => {
    for (const one of all) loraEmbed(x, batch, { ...one, scale: tasks!.scale });
    return x;
  };
}
