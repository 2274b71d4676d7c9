// Converts config.json of EAGLE3 checkpoints to the configuration of eagle3.ts: those of the original program and SGLang, whose class is often that of
// Llama, and those of vLLM's speculators.

import { paddedHead } from '../../../kernels/resize-heads.ts';
import {
  CONFIG_JSON,
  isJsonObject,
  readConfig,
  shown,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';
import type { DraftDeclaration, TextDeclaration } from '../blocks/architecture.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import { eagle3Page, type Eagle3Config } from './eagle3.ts';

/** Classes of EAGLE3 in config.json. */
export const EAGLE3_CLASSES: readonly string[] = [
  'LlamaForCausalLMEagle3',
  'Eagle3LlamaForCausalLM',
  'Eagle3Speculator',
  'Eagle3DraftModel',
];

/** States of the target that are taken. */
const STATES = 3;

/** Whether a configuration is one of EAGLE3, whatever its class: no other has a vocabulary of guessed tokens. */
export function isEagle3(json: Json, architecture: string): boolean {
  return EAGLE3_CLASSES.includes(architecture) || json['draft_vocab_size'] != null;
}

/** Errors: bad_checkpoint; unsupported for settings that eagle3.ts does not compute, and for another target than the one it was made for. */
export function readEagle3(
  json: Json,
  architecture: string,
  target: TextDeclaration,
  file = CONFIG_JSON,
): DraftDeclaration {
  const { transformer_layer_config: layer, ...outer } = json;
  const config = readConfig(file, isJsonObject(layer) ? { ...layer, ...outer } : json);
  const read = readModel(config, target);
  const { hidden, vocabulary, ropes, heads, guessed } = read;
  return {
    name: architecture,
    kind: 'eagle3',
    hidden,
    taken: readDepths(config, target.depth),
    vocabulary,
    ropes,
    positions: target.inputs.positions,
    layers: [{ kind: 'kv', kvHeads: heads.kvHeads, dims: paddedHead(heads.dims), window: null }],
    tokenOffsets: guessed === vocabulary ? null : { name: 'd2t', count: guessed },
    page: (weights, shared) => eagle3Page(read, weights, shared),
  };
}

function readModel(config: ConfigReader, target: TextDeclaration): Eagle3Config {
  config.only({ hidden_act: ['silu', 'swish'], num_hidden_layers: [1], bias: [false] });
  const hidden = config.count('hidden_size');
  const heads = readHeads(config, hidden, { kvHeads: null, dims: null });
  const vocabulary = config.count('vocab_size');
  const targetHidden = config.count('target_hidden_size', hidden);
  for (const [key, own, of] of [
    ['vocab_size', vocabulary, target.vocabulary],
    ['target_hidden_size', targetHidden, target.hidden],
  ] as const) {
    if (own !== of)
      throw config.error(
        'unsupported',
        key,
        `is ${own}, and that of ${target.architecture} is ${of}: ${OTHER}`,
      );
  }
  const bias = config.flag('attention_bias', false);
  return {
    hidden,
    ffn: config.count('intermediate_size'),
    heads,
    vocabulary,
    guessed: config.count('draft_vocab_size', vocabulary),
    targetHidden,
    ropes: [readRope(config, heads.dims)],
    eps: config.real('rms_norm_eps', 1e-6),
    qkvBias: bias,
    outBias: bias,
    mlpBias: config.flag('mlp_bias', false),
    normBeforeResidual: config.flag('norm_before_residual', false),
  };
}

const OTHER = 'choose the draft model that was made for this model';

/**
 * Numbers of layers after which states are taken. SGLang's eagle_config counts the layers whose output it is, from 0; vLLM's configurations count those
 * before it.
 */
function readDepths(config: ConfigReader, layers: number): number[] {
  const key = 'eagle_aux_hidden_state_layer_ids';
  const nested = config.part('eagle_config');
  const [own, before] = nested.values[key] == null ? [config, 0] : [nested, 1];
  const standard = [2, Math.floor(layers / 2), layers - 3];
  const depths = own.values[key] == null ? standard : own.list(key).map((layer) => layer + before);
  const isRising = depths.every((depth, i) => depth > (depths[i - 1] ?? 0) && depth <= layers);
  if (depths.length === STATES && isRising) return depths;
  throw own.error(
    'unsupported',
    key,
    `stands for the states after ${shown(depths)} layers, and three of a model of ${layers} layers are taken, from the first to the last: ${OTHER}`,
  );
}
