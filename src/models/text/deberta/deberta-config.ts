// Converts config.json of DeBERTa v2 and v3 to the configuration of deberta.ts.

import { CONFIG_JSON, checkHeads, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { MOST_DISTANCE_DIMS, type DistancePlaces } from '../../../kernels/distance-attend.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';
import { headOf, readOutputs } from '../blocks/outputs.ts';

export type DebertaConfig = ReturnType<typeof readDebertaConfig>;

export function readDebertaConfig(json: Json, architecture: string, file = CONFIG_JSON) {
  const config = readConfig(file, json);
  const hidden = config.count('hidden_size', 1536);
  checkAttention(config, hidden);
  const heads = checkHeads(file.name, hidden, config.count('num_attention_heads', 24));
  if (hidden / heads > MOST_DISTANCE_DIMS)
    throw config.error(
      'unsupported',
      'num_attention_heads',
      `${heads} over ${hidden} columns are not built; choose a checkpoint whose heads have at most ${MOST_DISTANCE_DIMS} dimensions`,
    );
  const context = config.count('max_position_embeddings', 512);
  const head = headOf(architecture);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 128_100),
    hidden,
    heads,
    ffn: config.count('intermediate_size', 6144),
    layers: config.count('num_hidden_layers', 24),
    eps: config.real('layer_norm_eps', 1e-7),
    activation: config.choice('hidden_act', ACTIVATIONS, 'gelu'),
    poolerActivation: config.choice('pooler_hidden_act', ACTIVATIONS, 'gelu'),
    places: placesOf(config, context),
    placesNorm: config.choice('norm_rel_ebd', { none: false, layer_norm: true }, 'none'),
    /** The projections of queries and keys are also those of places. */
    shared: config.flag('share_att_key', false),
    context,
    convolution: readConvolution(config),
    outputs: head && readOutputs(config, head, 'cls'),
  };
}

export type Convolution = NonNullable<ReturnType<typeof readConvolution>>;

/** The convolution along a text beside the first layer, which the largest models of v2 have; null: there is none. */
function readConvolution(config: ConfigReader) {
  if (!config.values['conv_kernel_size']) return null;
  const taps = config.count('conv_kernel_size');
  if (taps % 2 === 0)
    throw config.error(
      'unsupported',
      'conv_kernel_size',
      `${taps} is not built; choose a checkpoint that has 3`,
    );
  return { taps, activation: config.choice('conv_act', ACTIVATIONS, 'tanh') };
}

/** Throws unsupported for what no published model of v2 or v3 has. */
function checkAttention(config: ConfigReader, hidden: number): void {
  config.only({
    relative_attention: [true],
    position_biased_input: [false],
    type_vocab_size: [0],
    conv_groups: [1],
    embedding_size: [hidden],
    pooler_hidden_size: [hidden],
  });
  const { relative_attention: relative, position_biased_input: biased, pos_att_type: stated } = config.values;
  if (relative !== true || biased !== false)
    throw config.error(
      'unsupported',
      relative === true ? 'position_biased_input' : 'relative_attention',
      'is missing, and learned positions are not built; choose a checkpoint with relative_attention true and position_biased_input false',
    );
  const kinds =
    typeof stated === 'string'
      ? stated
          .toLowerCase()
          .split('|')
          .map((kind) => kind.trim())
      : stated;
  const isBoth = Array.isArray(kinds) && ['c2p', 'p2c'].every((kind) => kinds.includes(kind));
  if (!isBoth || kinds.length !== 2)
    throw config.error(
      'unsupported',
      'pos_att_type',
      `${JSON.stringify(stated)} is not built; choose a checkpoint that has "p2c|c2p"`,
    );
}

function placesOf(config: ConfigReader, context: number): DistancePlaces {
  const stated = config.count('max_relative_positions', -1);
  const most = stated < 1 ? context : stated;
  const buckets = config.count('position_buckets', -1);
  if (buckets < 1) return { span: most, near: most, far: null };
  const near = Math.floor(buckets / 2);
  if (near >= 2 && most - 1 > near) return { span: buckets, near, far: most - 1 };
  throw config.error(
    'bad_checkpoint',
    'position_buckets',
    `is ${buckets} for distances up to ${most}: take the values that the model was published with`,
  );
}
