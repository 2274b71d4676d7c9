// The networks that enlarge images, by class.

import { ConfigError, type Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import { readRrdbNetConfig, rrdbNet } from './rrdb-net.ts';
import { readSrvggNetCompactConfig, srvggNetCompact } from './srvgg-net-compact.ts';
import type { UpscalerPart } from './upscaler-part.ts';

/** The parts of a network, the first of which takes images in 0 … 1, and the last of which gives larger ones. */
export type UpscalerPage = readonly UpscalerPart[];

export interface Upscaler {
  /** How many times as large as the image its result is. */
  scale: number;
  /** Width and height of images are multiples of it. */
  multiple: number;
  build(weights: WeightTable): UpscalerPage;
}

const CLASSES: Readonly<Record<string, (config: Json, file: string) => Upscaler>> = {
  RRDBNet(json, file) {
    const config = readRrdbNetConfig(json, file);
    const scale = 2 ** config.doublings / config.unshuffle;
    return { scale, multiple: config.unshuffle, build: (weights) => rrdbNet(config, weights) };
  },
  SRVGGNetCompact(json, file) {
    const config = readSrvggNetCompactConfig(json, file);
    return { scale: config.scale, multiple: 1, build: (weights) => srvggNetCompact(config, weights) };
  },
};

export const UPSCALER_CLASSES: readonly string[] = Object.keys(CLASSES);

/** Returns the network of a component according to its class and configuration. */
export function readUpscaler(className: string, config: Json, file = 'config.json'): Upscaler {
  const read = CLASSES[className];
  if (read) return read(config, file);
  throw new ConfigError(
    'unsupported',
    file,
    `${className} enlarges no images; give ${UPSCALER_CLASSES.join(' or ')}`,
  );
}
