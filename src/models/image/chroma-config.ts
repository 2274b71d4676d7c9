// Converts config.json of a ChromaTransformer2DModel to the configuration of chroma.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import { readFluxConfig, type FluxConfig } from './flux-config.ts';

export interface ChromaConfig extends Omit<FluxConfig, 'inputs' | 'pooledDims' | 'distilledGuidance'> {
  /** The network that gives the modulation of all blocks: columns of its input and of its layers, number of its layers. */
  approximator: { columns: number; hidden: number; layers: number };
}

/** Columns of the input are sines and cosines of a time, of a guidance scale, and twice as many of a place. */
const PARTS = 4;

/** Throws bad_checkpoint and unsupported. */
export function readChromaConfig(json: Json, file = 'config.json'): ChromaConfig {
  const { pooledDims: _pooled, distilledGuidance: _guidance, inputs, ...shape } = readFluxConfig(json, file);
  const config = readConfig(file, json);
  if (inputs !== shape.channels) {
    throw config.error(
      'unsupported',
      'in_channels',
      `is ${json['in_channels'] as number}, and the model gives fewer channels: models of Chroma that take more than latents are not built; choose Chroma1-HD`,
    );
  }
  const columns = config.count('approximator_num_channels', 64);
  if (columns % (2 * PARTS) !== 0) {
    throw config.error(
      'bad_checkpoint',
      'approximator_num_channels',
      `is ${columns}, a multiple of ${2 * PARTS} is needed`,
    );
  }
  return {
    ...shape,
    approximator: {
      columns,
      hidden: config.count('approximator_hidden_dim', 5120),
      layers: config.count('approximator_layers', 5),
    },
  };
}
