// Converts config.json of JinaBERT, as its repositories define it by Python code, to the configuration of jina-bert.ts.

import { CONFIG_JSON, checkHeads, readConfig, type Json } from '../../config-values.ts';
import { headOf, readOutputs } from '../blocks/outputs.ts';

/** Exponent of the least of ALiBi's slopes. */
const SLOPES = 8;

export type JinaBertConfig = ReturnType<typeof readJinaBertConfig>;

export function readJinaBertConfig(json: Json, architecture: string, file = CONFIG_JSON) {
  const config = readConfig(file, json);
  config.only({
    hidden_act: ['gelu'],
    is_decoder: [false],
    add_cross_attention: [false],
  });
  // Left out, they have values with which nothing is published.
  for (const [key, needed] of [
    ['position_embedding_type', 'alibi'],
    ['feed_forward_type', 'geglu'],
  ] as const) {
    const stated = config.values[key];
    if (stated !== needed)
      throw config.error(
        'unsupported',
        key,
        `${JSON.stringify(stated) ?? 'is missing, which'} is not built; choose a checkpoint that has ${needed}`,
      );
  }
  const hidden = config.count('hidden_size', 768);
  const head = headOf(architecture);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    heads: checkHeads(file.name, hidden, config.count('num_attention_heads', 12), 2),
    ffn: config.count('intermediate_size', 3072),
    layers: config.count('num_hidden_layers', 12),
    eps: config.real('layer_norm_eps', 1e-12),
    types: config.count('type_vocab_size', 2),
    slopes: SLOPES,
    context: config.count('max_position_embeddings', 512),
    outputs: head && readOutputs(config, head, 'cls'),
  };
}
